r"""Server-sent events (HTML standard, section 9.2): open, keep alive and end a stream.

The producer has an `asyncio.Event` that is set whenever there may be new events:

    async with opened(receive, send, stopping) as stream:
        await stream.send(b": open\n\n")
        while not stream.over:
            wake.clear()  # before the query, so that a later event wakes us again
            ...query, and `stream.send(event(...))` for each new event
            await stream.wait(wake)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.types import Receive, Send

KEEP_ALIVE_S: Final = 15.0
"""Mobile networks and proxies drop connections that are silent for longer."""
STILL_HERE: Final = b": still here\n\n"
HEADERS: Final = ((b"cache-control", b"no-store"), (b"connection", b"close"))
_TYPE: Final = (b"content-type", b"text/event-stream; charset=utf-8")


class SseStream:
    """One open stream."""

    def __init__(self, send: Send, left: "asyncio.Task[None]", stopping: "asyncio.Task[object]") -> None:
        """Wrap a started response; `left` is done when the client has disconnected, `stopping` when the daemon stops."""
        self._send = send
        self._left = left
        self._stopping = stopping

    @property
    def left(self) -> bool:
        """Whether the client has disconnected."""
        return self._left.done()

    @property
    def over(self) -> bool:
        """Whether the stream must end: the client has disconnected, or the daemon stops."""
        return self.left or self._stopping.done()

    async def send(self, body: bytes) -> None:
        """Send complete events or comments."""
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def rest(self, seconds: float) -> None:
        """Sleep for some seconds, or until the stream is over."""
        await asyncio.wait({self._left, self._stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def wait(self, wake: asyncio.Event, within_s: float | None = None, sign: bytes = STILL_HERE) -> None:
        """Wait for new events or the end of the stream; at a timeout, send a sign that keeps the connection alive.

        `within_s` is the timeout in seconds, if shorter than the keep-alive. The sign is a comment, or a complete event.
        """
        limit_s = KEEP_ALIVE_S if within_s is None else min(within_s, KEEP_ALIVE_S)
        woken = asyncio.create_task(wake.wait())
        try:
            done, _ = await asyncio.wait(
                {woken, self._left, self._stopping}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            woken.cancel()
            # asyncio.wait instead of await, so that a cancellation of this task is not swallowed here.
            await asyncio.wait({woken})
        if not done:
            await self.send(sign)


@asynccontextmanager
async def opened(
    receive: Receive, send: Send, stopping: asyncio.Event, headers: tuple[tuple[bytes, bytes], ...] = HEADERS
) -> AsyncIterator[SseStream]:
    """Start the response; at the end of the block, end it too, unless the client has disconnected.

    `stopping` is set when the daemon begins to stop; `headers` come after the content type.
    """
    left = asyncio.create_task(_left(receive))
    stops = asyncio.create_task(stopping.wait())
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [_TYPE, *headers]})
        stream = SseStream(send, left, stops)
        yield stream
        if not stream.left:
            await send({"type": "http.response.body", "body": b""})
    finally:
        left.cancel()
        stops.cancel()


def event(event_id: bytes, kind: bytes, data: bytes) -> bytes:
    """Serialize one event; `data` must not contain a line break (compact JSON has none)."""
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event_id, kind, data)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
