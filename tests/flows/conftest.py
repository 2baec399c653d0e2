"""A small working shop for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.shop import FakeShop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()
