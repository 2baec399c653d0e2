"""The transport under all HTTP that is sent: httpx's, over connections to checked addresses, some of which stay open.

Each trust has an instance, and so connections, of its own: webhooks, a hub, a phone. A connection that was opened with the
address guard and the certificate check of one of them is never used for another.

It follows no redirect, uses no proxy, sends no cookie and decompresses nothing.
"""

import asyncio
import math
import ssl
from typing import Final

import httpx

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender import connection as connections
from daemon.sender.connect import HTTPS_PORT, Dialer
from daemon.sender.connection import (
    ExchangeError,
    ExchangeLimits,
    ExchangeTimeout,
    HttpConnection,
    Origin,
    encode,
    open_stream,
)

WARM_CONNECTIONS_MAX: Final = 64
"""Open connections without a request; each takes 0.3 MB."""
WHOLE_S: Final = "whole_s"
"""The extension of a request with the time limit of all, in seconds; httpx's own read timeout limits each part."""
HTTP_PORT: Final = 80


class PlainResponse(httpx.Response):
    """An answer whose `Location` is not looked at: httpx reads it even if it follows no redirect, and some texts raise."""

    @property
    def has_redirect_location(self) -> bool:
        """Return that it leads nowhere."""
        return False


class Transport(httpx.AsyncBaseTransport):
    """Sends requests over connections of its own, and keeps some of them open between two requests."""

    def __init__(
        self,
        dialer: Dialer,
        context: ssl.SSLContext | None,
        answer_bytes_max: int,
        *,
        age_s_max: float = math.inf,
        idle_s_max: float = math.inf,
        repeats: bool = False,
    ) -> None:
        """Create it; nothing is connected yet. `dialer` checks the address of each new connection, and opens it.

        Without `context`, the certificate check, only http is spoken, otherwise only https. `age_s_max` is how long a
        connection is used, and so its address check; `idle_s_max` the longest time between two requests over one. With
        `repeats` a request whose warm connection breaks before any byte of an answer is sent once more on a new one:
        only for what the other side may get twice (RFC 9110 section 9.2.2).
        """
        self._dialer = dialer
        self._context = context
        self._answer_bytes_max = answer_bytes_max
        self._age_s_max = age_s_max
        self._idle_s_max = idle_s_max
        self._repeats = repeats
        self._warm: list[HttpConnection] = []
        self._closing: asyncio.TimerHandle | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return the answer when its head has come. The caller must close it.

        Raises:
            ExchangeError: The request was refused or failed. Reading the body raises it too.
        """
        url = request.url
        if url.scheme != ("http" if self._context is None else "https"):
            message = f"{url.scheme} is not spoken here"
            raise ExchangeError(DeliveryError.BLOCKED_ADDRESS, message)
        origin = (url.raw_host.decode(), url.port or (HTTP_PORT if self._context is None else HTTPS_PORT))
        octets = encode(request)
        whole_s = request.extensions.get(WHOLE_S, math.inf)
        part_s = request.extensions.get("timeout", {}).get("read") or math.inf
        limits = ExchangeLimits(whole_s, asyncio.get_running_loop().time() + whole_s, part_s)
        connection = self._take(origin)
        if connection is not None:
            try:
                await connection.exchange(octets, limits)
            except ExchangeError as error:
                if not self._repeats or connection.received or isinstance(error, ExchangeTimeout):
                    raise
                connection = None
        if connection is None:
            connection = await self._connect(origin, limits)
            await connection.exchange(octets, limits)
        return PlainResponse(connection.status, headers=connection.headers, stream=connection)

    async def aclose(self) -> None:
        """Close the warm connections."""
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        while self._warm:
            self._warm.pop().stream.abort()
        await asyncio.sleep(0)  # they finish closing in the loop's next turn

    async def _connect(self, origin: Origin, limits: ExchangeLimits) -> HttpConnection:
        connected = False
        try:
            async with asyncio.timeout_at(None if limits.ends_at == math.inf else limits.ends_at):
                opened = await self._dialer.connect_tcp(*origin)
                connected = True
                stream = await open_stream(opened, self._context, origin[0], self._dialer.connect_timeout_s)
        except TimeoutError as error:
            late = limits.passed()
            late.connected = connected
            raise late from error
        except ExchangeError as error:
            error.connected = connected
            raise

        return HttpConnection(origin, stream, self._answer_bytes_max, self._keep)

    def _keep(self, connection: HttpConnection) -> None:
        """Keep a connection for the next request, or close it."""
        if not connection.is_reusable():
            connection.stream.abort()
            return
        connection.kept_at = connections.CLOCK.boottime()
        self._warm.append(connection)
        if len(self._warm) > WARM_CONNECTIONS_MAX:
            self._warm.pop(0).stream.abort()
        self._close_later()

    def _close_later(self) -> None:
        """Close warm connections when they are too old, and not only when the next request finds them so."""
        limit_s = min(self._age_s_max, self._idle_s_max)
        if self._warm and self._closing is None and limit_s < math.inf:
            loop = asyncio.get_running_loop()
            self._closing = loop.call_later(max(0.0, limit_s), self._close_old)

    def _close_old(self) -> None:
        self._closing = None
        for connection in [one for one in self._warm if self._is_old(one)]:
            self._warm.remove(connection)
            connection.stream.abort()
        self._close_later()

    def _is_old(self, connection: HttpConnection) -> bool:
        # Boot time includes sleep of the machine, after which the peer and routers have dropped the connection.
        now = connections.CLOCK.boottime()
        return now - connection.stream.opened_at > self._age_s_max or now - connection.kept_at > self._idle_s_max

    def _take(self, origin: Origin) -> HttpConnection | None:
        for connection in reversed(self._warm):
            if connection.origin == origin:
                self._warm.remove(connection)
                if not self._is_old(connection) and not connection.stream.is_stale():
                    return connection
                connection.stream.abort()
        return None
