"""The connections of webhooks: opened to checked addresses, over TLS, and kept open between two requests.

A warm connection that the receiver has closed meanwhile is not a failed attempt: if no byte of an answer came on a
reused connection, the same request is sent again on a new one (RFC 9110 section 9.2.2; a receiver recognises
repetitions by `webhook-id` in any case).
"""

import asyncio
import functools
import ssl
from collections.abc import Mapping
from typing import Final

from daemon.sender.connect import Dialer
from daemon.sender.connection import Connection, Origin, Target, encode_post, target_of
from daemon.sender.streams import NetworkError, Trace, open_stream

WARM_CONNECTIONS_MAX: Final = 64
"""Open connections without a request; each takes 0.3 MB."""
RECEIVED_BYTES_MAX: Final = 256 * 1024
"""Limit of one answer: 64 KiB of body, the head, and chunk marks."""
CHECK_S: Final = 60.0
"""How long an address check is valid for an open connection."""

_target: Final = functools.lru_cache(maxsize=256)(target_of)


class Transport:
    """Sends requests over connections of its own, and keeps some of them open between two requests."""

    def __init__(self, context: ssl.SSLContext, dialer: Dialer) -> None:
        self._context = context
        self._dialer = dialer
        self._warm: list[Connection] = []

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, trace: Trace
    ) -> Connection:
        """Send a request, and return its connection when the head of the answer has come. The caller must release it.

        Args:
            url: An https URL whose text was checked.
            headers: Sent after those of every request.
            body: Sent byte for byte.
            trace: The time limit.

        Raises:
            NetworkError: The request was refused or failed.
            TimeoutError: The deadline of the trace has passed. Reading the body raises the same two.
        """
        target = _target(url)
        octets = encode_post(target, headers, body)
        warm = self._take(target.origin)
        if warm is not None:
            trace.connected = True
            try:
                await warm.exchange(octets, trace)
            except NetworkError:
                if trace.received:
                    raise
            else:
                return warm
        made = await self._connect(target, trace)
        await made.exchange(octets, trace)
        return made

    async def _connect(self, target: Target, trace: Trace) -> Connection:
        trace.connected = False
        async with asyncio.timeout_at(trace.deadline):
            connected = await self._dialer.connect_tcp(*target.origin)
            trace.connected = True
            stream = await open_stream(
                connected, self._context, target.host, self._dialer.connect_timeout_s
            )
        return Connection(target.origin, stream, RECEIVED_BYTES_MAX, self._keep)

    def _keep(self, connection: Connection) -> None:
        """Keep a connection for the next request, or close it."""
        if not connection.is_reusable():
            connection.stream.abort()
            return
        self._warm.append(connection)
        if len(self._warm) > WARM_CONNECTIONS_MAX:
            self._warm.pop(0).stream.abort()

    async def aclose(self) -> None:
        """Close the warm connections."""
        while self._warm:
            self._warm.pop().stream.abort()

    def _take(self, origin: Origin) -> Connection | None:
        for connection in reversed(self._warm):
            if connection.origin == origin:
                self._warm.remove(connection)
                stream = connection.stream
                if stream.age_s() <= CHECK_S and not stream.is_stale():
                    return connection
                stream.abort()
        return None
