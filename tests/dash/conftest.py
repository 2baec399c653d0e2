"""A running shop with its dashboard for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.fakes.api import FakeApi, running


@pytest_asyncio.fixture(loop_scope="session")
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path) as made:
        yield made
