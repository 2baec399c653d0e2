"""One open page: told what it shows now, and again whenever that changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import Receive, Send

from daemon import sse
from daemon.env import Env
from daemon.pages.show import Shown
from daemon.store import events

APART_S: Final = 0.2
"""A busy shop commits often; a page is looked up no more than five times a second."""
RETRY: Final = b"retry: 3000\n\n"


class Stream:
    """The stream of one page."""

    def __init__(
        self,
        env: Env,
        look: Callable[[], Awaitable[Shown | None]],
        news: Callable[[Shown], bytes],
        stopping: asyncio.Event,
    ) -> None:
        """Prepare; `look` makes the page as it is now, `news` what the script is told of it."""
        self._env = env
        self._look = look
        self._news = news
        self._stopping = stopping

    async def run(
        self, receive: Receive, send: Send, headers: tuple[tuple[bytes, bytes], ...]
    ) -> None:
        """Send until the page has reached its end, the visitor leaves or the daemon stops."""
        wake = asyncio.Event()
        unsubscribe = self._env.store.subscribe(events.TOPIC, wake.set)
        try:
            async with sse.opened(receive, send, self._stopping, headers) as stream:
                await stream.send(RETRY)
                known = ""
                while not stream.over:
                    # Cleared before the look: what comes after it wakes us again.
                    wake.clear()
                    shown = await self._look()
                    if shown is not None and shown.version != known:
                        known = shown.version
                        await stream.send(sse.event(known.encode(), b"status", self._news(shown)))
                    if shown is None or shown.ended:
                        break
                    await stream.rest(APART_S)
                    await stream.wait(wake, self._remaining_s(shown))
        finally:
            unsubscribe()

    def _remaining_s(self, shown: Shown) -> float | None:
        """Return how long the page holds by itself: until the order expires; None when it has no such end."""
        if shown.ends_at is None:
            return None
        return max(0.01, (shown.ends_at - self._env.clock.now_us()) / 1e6)
