"""uvicorn's HTTP/1.1 protocol with additions: peer credentials, a request timeout, and limits.

It uses private names of uvicorn (`app_state`, `connections`, `send_400_response`); `tests/api` checks that they exist.

Accepts TLS connections, and limits those whose handshake has not ended.

asyncio's own server calls the protocol after the handshake only, so the limit of connections would not see clients that
never end theirs; each holds a file descriptor until its timeout.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from daemon.api.http.uvicorn_parts import Config, HttpToolsProtocol, ServerState
from daemon.core.access.callers import plain_address

REQUEST_S_MAX: Final = 15.0
"""Timeout from a request's first byte to its last; long enough for 64 KB over a 2G link."""
HEAD_BYTES_MAX: Final = 32 * 1024
"""Limit for request line and headers, as in common servers; uvicorn sets no limit."""
LINGER_S: Final = 1.0
"""After a refusal without the application, the rest of the request is read for this long: closing a connection with
unread data resets it, and the client would lose the answer (RFC 9112, section 9.6)."""
_CREDENTIALS: Final = struct.Struct("3i")


class ConnectionLimits(Struct):
    """State shared by all connections of one server.

    Attributes:
        tcp_max: Maximum number of simultaneous TCP connections. Connections of the Unix socket are not counted, so
            that TCP clients cannot lock the shop's own users out.
        busy: Builds the complete response, with status line, for a connection above the maximum.
        malformed: The same for data that is not HTTP.
        too_large: The same for a request line and headers above the limit (RFC 6585, section 5).
        emptied: Set when the last connection closes.
    """

    tcp_max: int
    busy: Callable[[], bytes]
    malformed: Callable[[], bytes]
    too_large: Callable[[], bytes]
    request_s_max: float = REQUEST_S_MAX
    tcp_now: int = 0
    connections: "set[HttpProtocol]" = field(default_factory=set)
    emptied: asyncio.Event = field(default_factory=asyncio.Event)


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, config: Config, server_state: ServerState, limits: ConnectionLimits) -> None:
        super().__init__(config, server_state, {})
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._counted = False
        self._head_bytes = 0
        self._unfinished_bytes = 0
        self._in_head = True
        self._too_large = False
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # asyncio.Protocol takes any transport
        """Register the connection and read the peer's user id on the Unix socket (unix(7), SO_PEERCRED)."""
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
            if self.client is None:
                # The client has reset the connection. Without an address, its request would count as one of this machine.
                transport.abort()
                return
            # With `bind = "[::]:..."` IPv4 clients would share one network of IPv6, and none would be of this machine.
            self.client = (plain_address(self.client[0]), self.client[1])
            if self._limits.tcp_now > self._limits.tcp_max:
                transport.write(self._limits.busy())
                transport.close()
                return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister the connection."""
        super().connection_lost(exc)
        self._stop_timer()
        if self._counted:
            self._counted = False
            self._limits.tcp_now -= 1
        self._limits.connections.discard(self)
        if not self._limits.connections:
            self._limits.emptied.set()

    def data_received(self, data: bytes) -> None:
        """Receive bytes, within the request timeout and the limit for the head."""
        if self._refused or self.transport.is_closing():
            return
        self._start_timer()
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head and not self._refused:
            # A header without an end: the parser reports it only when it is complete.
            self._unfinished_bytes += len(data)
            self._too_large = self._unfinished_bytes > HEAD_BYTES_MAX
            if self._too_large:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Handle the begin of a request."""
        self._in_head = True
        self._head_bytes = self._unfinished_bytes = 0
        self._start_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Handle a part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle one header."""
        self._count(len(name) + len(value) + len(": \r\n"))
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES_MAX:
            self._too_large = True
            raise ValueError("too large")  # the parser stops, and `send_400_response` is called

    def on_headers_complete(self) -> None:
        """Handle the end of the headers."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        super().on_message_complete()
        self._stop_timer()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn's signature
        """Answer malformed HTTP, and too large headers, with the API's own error format."""
        self._refused = True
        answer = self._limits.too_large if self._too_large else self._limits.malformed
        self.transport.write(answer())
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._stop_timer()
        self._timer = self.loop.call_later(LINGER_S, self._too_slow)

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.request_s_max, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.close()


HANDSHAKE_S: Final = 10.0
"""Timeout of a TLS handshake; a phone on 2G needs three seconds."""
ACCEPT_RETRY_S: Final = 0.1
"""Wait after an error, for example while no file descriptor is free."""


class TlsServer:
    """Accepts connections on one listening socket, from its creation until `close`."""

    def __init__(
        self,
        listening: socket.socket,
        factory: Callable[[], HttpProtocol],
        context: ssl.SSLContext,
        limits: ConnectionLimits,
    ) -> None:
        self._listening = listening
        self._factory = factory
        self._context = context
        self._limits = limits
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Accept no more, and end the handshakes that run; connections that are open stay. The socket is not closed."""
        tasks = [self._accepting, *self._handshakes]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _address = await loop.sock_accept(self._listening)
            except Exception:  # noqa: BLE001 -- nothing would accept connections then
                await asyncio.sleep(ACCEPT_RETRY_S)
                continue
            connection.setblocking(False)
            # Twice the maximum, so that a client above it gets the answer which says so, as without TLS.
            if len(self._handshakes) + self._limits.tcp_now >= 2 * self._limits.tcp_max:
                connection.close()
            else:
                handshake = loop.create_task(self._shake(connection))
                self._handshakes.add(handshake)
                handshake.add_done_callback(self._handshakes.discard)
            # `sock_accept` returns at once while clients wait, and nothing else would run.
            await asyncio.sleep(0)

    async def _shake(self, connection: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory, connection, ssl=self._context, ssl_handshake_timeout=HANDSHAKE_S
            )
        except OSError:
            connection.close()
