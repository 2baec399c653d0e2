"""Waiting for what nobody tells of."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 30


async def until(condition: Callable[[], object]) -> None:
    """Return when the condition holds; fail when it does not in half a minute."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 -- what changes tells nobody
            await asyncio.sleep(0.005)
