"""Calls that are running under an idempotency key: a second one waits for the first (decisions.md section 2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final

from daemon.core.errors import Refusal
from daemon.core.limits import IDEMPOTENCY_WAIT_S
from daemon.core.requests import Idempotency
from daemon.wire import ErrorCode

_AT_ONCE: Final = nullcontext()


class InFlight:
    """The table of this process."""

    def __init__(self, wait_s: float = IDEMPOTENCY_WAIT_S) -> None:
        self._wait_s = wait_s
        self._running: dict[tuple[str, str], asyncio.Event] = {}

    def alone(self, claim: Idempotency | None) -> AbstractAsyncContextManager[None]:
        """Run the block while no other call with this key runs; without a key, at once.

        Raises:
            Refusal: IDEMPOTENCY_IN_PROGRESS, when the other one is still running after two seconds.
        """
        return _AT_ONCE if claim is None else self._alone(claim)

    @asynccontextmanager
    async def _alone(self, claim: Idempotency) -> AsyncIterator[None]:
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
