"""A running API, with its pages, for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from daemon.runtime.config import Config, Pages
from tests.fakes.api import FakeApi, running

HOST = "shop.example"


@pytest_asyncio.fixture(loop_scope="session")
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path, Config(pages=Pages(contact="Ama, 024 412 4567"))) as made:
        yield made
