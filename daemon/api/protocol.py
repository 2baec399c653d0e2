"""uvicorn's HTTP/1.1 protocol, with what it leaves out: who is at the other end, and patience with an end.

Its private surface that we lean on (`app_state`, `connections`, `send_400_response`) is held by `tests/api`.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

REQUEST_S_MAX: Final = 15.0
"""From a request's first byte to its last; slow enough for 64 KB over a 2G link."""
HEAD_BYTES_MAX: Final = 32 * 1024
"""What common servers take in request line and headers; uvicorn sets no limit."""
_CREDENTIALS: Final = struct.Struct("3i")


@dataclass(slots=True)
class Limits:
    """What all connections of one server share.

    Attributes:
        tcp_max: Connections over TCP at one time. The socket of the shop's own people is not counted, so that
            nobody can lock them out.
        busy: Makes the whole answer, status line and all, for one connection too many.
        malformed: The same, for what is not HTTP.
        connections: Those that are open.
        emptied: Set when the last one closes.
    """

    tcp_max: int
    busy: Callable[[], bytes]
    malformed: Callable[[], bytes]
    request_s_max: float = REQUEST_S_MAX
    tcp_now: int = 0
    connections: "set[HttpProtocol]" = field(default_factory=set)
    emptied: asyncio.Event = field(default_factory=asyncio.Event)


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, config: Config, server_state: ServerState, limits: Limits) -> None:
        super().__init__(config, server_state, {})
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._counted = False
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # asyncio.Protocol takes any transport
        """Learn who calls: the kernel's word on the Unix socket (unix(7), SO_PEERCRED)."""
        super().connection_made(transport)
        self._limits.connections.add(self)
        self._limits.emptied.clear()
        connection = transport.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _pid, uid, _gid = _CREDENTIALS.unpack(raw)
            self.app_state = {"peer_uid": uid}
        else:
            self._limits.tcp_now += 1
            self._counted = True
            if self._limits.tcp_now > self._limits.tcp_max:
                transport.write(self._limits.busy())
                transport.close()
                return
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._disarm()
        if self._counted:
            self._counted = False
            self._limits.tcp_now -= 1
        self._limits.connections.discard(self)
        if not self._limits.connections:
            self._limits.emptied.set()

    def data_received(self, data: bytes) -> None:
        """Take bytes, while there is patience and room."""
        if self.transport.is_closing():
            return
        self._arm()
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._in_head = True
        self._arm()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End the headers."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        super().on_message_complete()
        self._disarm()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's signature
        """Answer what is not HTTP in our own envelope."""
        self.transport.write(self._limits.malformed())
        self.transport.close()

    def _arm(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.request_s_max, self._too_slow)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.close()
