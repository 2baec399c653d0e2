"""A hub with two branches."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.branches import Chain


@pytest.fixture
async def chain(tmp_path: Path) -> AsyncIterator[Chain]:
    made = await Chain.make(tmp_path, "kumasi", "tamale")
    yield made
    made.close()
