"""A small working shop for each test. After the test, the invariants must hold."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.engines import engine, pytest_generate_tests
from tests.fakes.invariants import check_invariants
from tests.fakes.shop import FakeShop

__all__ = ["engine", "pytest_generate_tests"]


@pytest.fixture
async def shop(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()
    if request.node.get_closest_marker("tampers") is None:
        check_invariants(tmp_path / "momo.db")
