"""Calls that are running under an idempotency key: a second one waits for the first (decisions.md section 2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.core.errors import Refusal
from daemon.core.limits import IDEMPOTENCY_WAIT_S
from daemon.core.requests import Idempotency
from daemon.wire import ErrorCode


class InFlight:
    """The table of this process."""

    def __init__(self, wait_s: float = IDEMPOTENCY_WAIT_S) -> None:
        self._wait_s = wait_s
        self._running: dict[tuple[str, str], asyncio.Event] = {}

    @asynccontextmanager
    async def alone(self, claim: Idempotency | None) -> AsyncIterator[None]:
        """Run the block while no other call with this key runs; without a key, at once.

        Raises:
            Refusal: IDEMPOTENCY_IN_PROGRESS, when the other one is still running after two seconds.
        """
        if claim is None:
            yield
            return
        key = (claim.scope, claim.key)
        try:
            async with asyncio.timeout(self._wait_s):
                while (running := self._running.get(key)) is not None:
                    await running.wait()
        except TimeoutError:
            raise Refusal(ErrorCode.IDEMPOTENCY_IN_PROGRESS) from None
        done = self._running[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._running[key]
            done.set()
