"""Values over a socket between two processes of the daemon: four octets of length, then the value in Python's `marshal`.

Both ends are the same program on the same interpreter, and nobody else holds an end of the socket; a post passes four
times through here, and JSON over a stream took a tenth of what the post itself takes.
"""

import asyncio
import marshal
import socket
from collections.abc import Callable
from typing import Any, Final, Self, cast

_LENGTH: Final = 4


class Frames(asyncio.Protocol):
    """One end of the socket."""

    def __init__(self, on_value: Callable[[Any], None], on_end: Callable[[], None]) -> None:
        self._on_value = on_value
        self._on_end = on_end
        self._unread = bytearray()
        self._transport: asyncio.Transport

    @classmethod
    async def over(
        cls,
        connected: socket.socket,
        on_value: Callable[[Any], None],
        on_end: Callable[[], None] = lambda: None,
    ) -> Self:
        """Take an end over: `on_value` is called with each value that comes, `on_end` once when the other end is gone."""
        loop = asyncio.get_running_loop()
        _, made = await loop.create_connection(lambda: cls(on_value, on_end), sock=connected)
        return made

    def send(self, value: Any) -> None:
        """Send a value of plain kinds: None, numbers, texts, octets, and tuples, lists and dicts of them."""
        data = marshal.dumps(value)
        self._transport.write(len(data).to_bytes(_LENGTH, "big") + data)

    def close(self) -> None:
        """Let go of the socket."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not one by class

    def data_received(self, data: bytes) -> None:
        """Hand on each value that is whole."""
        unread = self._unread
        unread += data
        while len(unread) >= _LENGTH:
            end = _LENGTH + int.from_bytes(unread[:_LENGTH], "big")
            if len(unread) < end:
                return
            value = marshal.loads(bytes(unread[_LENGTH:end]))  # noqa: S302 -- our own: see the module
            del unread[:end]
            self._on_value(value)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's own signature
        """Say so."""
        self._on_end()
