"""The HTTP client of one server that the owner has named: with the connections of webhooks, without their address guard.

One connection is kept open between two requests. A request is never sent twice: the caller knows whether it may be.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender import streams
from daemon.sender.address_guard import AddressPolicy
from daemon.sender.connect import Dialer, SystemResolver, connect_socket
from daemon.sender.connection import Connection, encode_post, target_of
from daemon.sender.streams import NetworkError, Trace

ANSWER_BYTES_MAX: Final = 8 * 1024 * 1024
RECEIVED_BYTES_MAX: Final = 2 * ANSWER_BYTES_MAX
"""Limit of one answer with its head and chunk marks."""
CONNECT_S: Final = 10.0
KEPT_S: Final = 20.0
"""Longest time between two requests over one connection; our own servers close it after 30 s."""


class Reply(Struct, frozen=True):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case; of several fields with one name the last."""
    body: bytes


class HttpClient:
    """A client of one server."""

    def __init__(self, url: str, context: Callable[[], ssl.SSLContext]) -> None:
        """Create it; nothing is connected yet.

        Args:
            url: The server's address, which paths are appended to.
            context: Makes the TLS context; only called for https, because it may load the CAs.

        Raises:
            NetworkError: Its host is not a name.
        """
        self._url = url.rstrip("/")
        self._context = None if self._url.lower().startswith("http:") else context()
        try:
            host = target_of(self._url).host
        except UnicodeError as error:
            raise NetworkError(DeliveryError.DNS_ERROR, f"not a host name: {error}") from error
        allowed = AddressPolicy.from_settings(hosts=[host])
        self._dialer = Dialer(allowed, SystemResolver(), connect_socket, CONNECT_S)
        self._kept: Connection | None = None
        self._kept_at = 0.0

    async def post(
        self, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float, whole_s: float
    ) -> Reply:
        """POST, and return the answer; redirects are not followed. Cancelling it closes the connection.

        Args:
            path: Appended to the address.
            headers: Sent after those of every request.
            body: Sent byte for byte.
            timeout_s: Time limit of the request with the head of its answer, and then of each part of the body.
            whole_s: Time limit of all, also while parts come.

        Raises:
            NetworkError: The server was not reached, or did not answer properly or in time.
        """
        try:
            async with asyncio.timeout(whole_s):
                return await self._post(path, headers, body, timeout_s)
        except TimeoutError as error:
            message = f"the answer was not complete within {whole_s:g} s"
            raise NetworkError(DeliveryError.TIMEOUT, message) from error

    async def _post(
        self, path: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Reply:
        target = target_of(self._url + path)
        request = encode_post(target, headers, body)
        loop = asyncio.get_running_loop()
        connection = self._take()
        if connection is None:
            connected = await self._dialer.connect_tcp(*target.origin)
            stream = await streams.open_stream(connected, self._context, target.host, CONNECT_S)
            connection = Connection(target.origin, stream, RECEIVED_BYTES_MAX, self._keep)
        trace = Trace(loop.time() + timeout_s)
        try:
            await connection.exchange(request, trace)
            try:
                received = bytearray()
                async for part in connection:
                    received += part
                    if len(received) > ANSWER_BYTES_MAX:
                        raise NetworkError(DeliveryError.PROTOCOL_ERROR, "the answer is too long")
                    trace.deadline = loop.time() + timeout_s
            finally:
                connection.release()
        except TimeoutError as error:
            message = f"no answer within {timeout_s:g} s"
            raise NetworkError(DeliveryError.TIMEOUT, message) from error
        fields = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in connection.headers
        }
        return Reply(connection.status, fields, bytes(received))

    async def aclose(self) -> None:
        """Close the connection that was kept."""
        if self._kept is not None:
            self._kept.stream.abort()
            self._kept = None
            await asyncio.sleep(0)  # it finishes closing in the loop's next turn

    def _keep(self, connection: Connection) -> None:
        if self._kept is None and connection.is_reusable():
            self._kept, self._kept_at = connection, streams.CLOCK.boottime()
        else:
            connection.stream.abort()

    def _take(self) -> Connection | None:
        connection, self._kept = self._kept, None
        if connection is None:
            return None
        # Boot time includes sleep of the machine, after which the server and routers have dropped the connection.
        if streams.CLOCK.boottime() - self._kept_at > KEPT_S or connection.stream.is_stale():
            connection.stream.abort()
            return None
        return connection
