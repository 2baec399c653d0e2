"""One open page: told what it shows now, and again whenever that changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import Receive, Send

from daemon.env import Env
from daemon.pages.show import Shown
from daemon.store import events

KEEP_ALIVE_S: Final = 15.0
"""Mobile networks forget connections that are silent for longer."""
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
        left = asyncio.create_task(_left(receive))
        stopping = asyncio.create_task(self._stopping.wait())
        start = [(b"content-type", b"text/event-stream; charset=utf-8"), *headers]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": start})
            await _send(send, RETRY)
            known = ""
            while not (left.done() or stopping.done()):
                # Cleared before the look: what comes after it wakes us again.
                wake.clear()
                shown = await self._look()
                if shown is not None and shown.version != known:
                    known = shown.version
                    await _send(send, _event(known, self._news(shown)))
                if shown is None or shown.ended:
                    break
                await asyncio.wait({left, stopping}, timeout=APART_S)
                if not await self._wait(wake, left, stopping, shown):
                    await _send(send, b": still here\n\n")
            if not left.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            unsubscribe()
            left.cancel()
            stopping.cancel()

    async def _wait(
        self,
        wake: asyncio.Event,
        left: "asyncio.Task[None]",
        stopping: "asyncio.Task[bool]",
        shown: Shown,
    ) -> bool:
        """Wait for a commit, for the order to expire, or for the visitor to leave; False when nothing happened."""
        timeout = KEEP_ALIVE_S
        if shown.ends_at is not None:
            remaining = (shown.ends_at - self._env.clock.now_us()) / 1e6
            timeout = max(0.01, min(timeout, remaining))
        woken = asyncio.create_task(wake.wait())
        try:
            done, _ = await asyncio.wait(
                {woken, left, stopping}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            woken.cancel()
        return bool(done)


def _event(version: str, data: bytes) -> bytes:
    """Write one event; JSON has no line break in it."""
    return b"id: %b\nevent: status\ndata: %b\n\n" % (version.encode(), data)


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
