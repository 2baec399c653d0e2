"""Polling for conditions that no event announces."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 30


async def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds; fail after half a minute."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 -- no event announces the change
            await asyncio.sleep(0.005)
