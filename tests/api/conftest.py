"""A running API for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.api import FakeApi, running


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path) as made:
        yield made
