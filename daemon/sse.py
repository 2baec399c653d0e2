r"""Server-sent events (HTML standard, section 9.2): how an open stream is begun, kept alive and ended.

Who has news to tell brings an `asyncio.Event` that is set whenever there may be some:

    async with opened(receive, send, stopping) as stream:
        await stream.send(b": open\n\n")
        while not stream.over:
            wake.clear()  # before the look: what comes after it wakes us again
            ...look, and `stream.send(event(...))` what is new
            await stream.wait(wake)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Receive, Send

KEEP_ALIVE_S: Final = 15.0
"""Mobile networks and proxies forget connections that are silent for longer."""
HEADERS: Final = ((b"cache-control", b"no-store"), (b"connection", b"close"))
_TYPE: Final = (b"content-type", b"text/event-stream; charset=utf-8")


class Stream:
    """One open stream."""

    def __init__(
        self, send: Send, left: "asyncio.Task[None]", stopping: "asyncio.Task[object]"
    ) -> None:
        """Take over; `left` is done when the reader has gone, `stopping` when the daemon stops."""
        self._send = send
        self._left = left
        self._stopping = stopping

    @property
    def left(self) -> bool:
        """Whether the reader has gone."""
        return self._left.done()

    @property
    def over(self) -> bool:
        """Whether there is nothing more to say: the reader has gone, or the daemon stops."""
        return self.left or self._stopping.done()

    async def send(self, body: bytes) -> None:
        """Send some bytes: whole events or comments."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def rest(self, seconds: float) -> None:
        """Let some time pass, or less when the stream is over."""
        await asyncio.wait(
            {self._left, self._stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )

    async def wait(self, wake: asyncio.Event, within_s: float | None = None) -> None:
        """Wait for news or for the end; when nothing happens, send a comment so that nobody forgets the connection.

        Args:
            wake: Set when there may be news.
            within_s: Do not wait longer than so many seconds, which are less than those of the keep-alive.
        """
        limit_s = KEEP_ALIVE_S if within_s is None else min(within_s, KEEP_ALIVE_S)
        woken = asyncio.create_task(wake.wait())
        try:
            done, _ = await asyncio.wait(
                {woken, self._left, self._stopping},
                timeout=limit_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            woken.cancel()
            # Waited for, not awaited: a cancellation of our own must pass through here.
            await asyncio.wait({woken})
        if not done:
            await self.send(b": still here\n\n")


@asynccontextmanager
async def opened(
    receive: Receive,
    send: Send,
    stopping: asyncio.Event,
    headers: tuple[tuple[bytes, bytes], ...] = HEADERS,
) -> AsyncIterator[Stream]:
    """Begin the answer; at the end of the block it ends too, if somebody is still there to be told.

    Args:
        receive: The ASGI connection's.
        send: The same.
        stopping: Set when the daemon begins to stop.
        headers: Of the answer, beside its content type.
    """
    left = asyncio.create_task(_left(receive))
    stops = asyncio.create_task(stopping.wait())
    try:
        await send(
            {"type": "http.response.start", "status": 200, "headers": [_TYPE, *headers]},
        )
        stream = Stream(send, left, stops)
        yield stream
        if not stream.left:
            await send({"type": "http.response.body", "body": b""})
    finally:
        left.cancel()
        stops.cancel()


def event(event_id: bytes, kind: bytes, data: bytes) -> bytes:
    """Write one event; `data` has no line break in it, and JSON has none."""
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id, kind, data)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
