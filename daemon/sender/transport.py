"""HTTP/1.1 for webhooks (RFC 9112): httpx's `Request` and `Response` over httptools and checked TLS connections.

Imported with the first delivery, because httpx is heavy. `httpx.Client` is not used: its redirects, cookies, proxies and
authentication are not wanted, and it costs more than the rest of a post.

A warm connection that the receiver has closed meanwhile is not a failed attempt: if no byte of an answer came on a
reused connection, the same request is sent again on a new one (RFC 9110 section 9.2.2; a receiver recognises
repetitions by `webhook-id` in any case). A connection is used again only if the answer before ended exactly where its head
said, the receiver did not ask to close, and the whole request was sent. So nothing that a receiver sends too much can pose
as the next answer.
"""

import asyncio
import functools
import ssl
from collections.abc import Callable, Mapping
from typing import Final, Self

import httptools
import httpx

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.connect import HTTPS_PORT, Dialer
from daemon.sender.tls_streams import NetworkError, TlsStream, Trace, start_tls

WARM_CONNECTIONS_MAX: Final = 64
"""Open connections without a request; each takes 0.3 MB."""
HEAD_BYTES_MAX: Final = 100 * 1024
"""Limit of the head of an answer, with interim answers."""
RECEIVED_BYTES_MAX: Final = 256 * 1024
"""Limit of one answer: 64 KiB of body, the head, and chunk marks."""
QUOTED_BYTES_MAX: Final = 80
COMMON_FIELDS: Final = (
    (b"Connection", b"keep-alive"),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"identity"),
)

Origin = tuple[str, int]


class _Connection(httpx.AsyncByteStream):
    """A connection; as a stream the body of the answer that is read from it. httptools calls the methods `on_...`."""

    def __init__(
        self, origin: Origin, stream: TlsStream, release: Callable[["_Connection"], None]
    ) -> None:
        self.origin = origin
        self.stream = stream
        self._release = release
        self._trace = Trace()
        self._headers: list[tuple[bytes, bytes]] = []
        self._status = 0
        """Status of the final answer; 0 until its head is complete."""
        self._parts: list[bytes] = []
        self._complete = False
        self._is_read = False
        self._keep_alive = False
        self._fault: NetworkError | None = None
        self._parser = httptools.HttpResponseParser(self)
        # Simple receivers send these. They could confuse two programs about one stream; here only the receiver's own
        # answers follow, and after any doubt the connection is closed.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    async def exchange(self, request: bytes, trace: Trace) -> httpx.Response:
        """Send a request and read the head of its answer. On failure the connection is closed.

        Raises:
            NetworkError: The connection broke, or the answer is not proper HTTP.
            TimeoutError: The deadline has passed.
        """
        self._trace = trace
        self._headers, self._parts = [], []
        self._status, self._complete, self._is_read = 0, False, False
        self.stream.write(request)
        try:
            while not self._status:
                await self._read()
        except BaseException:
            self.stream.abort()
            raise
        return httpx.Response(self._status, headers=self._headers, stream=self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next part of the body; see `exchange` for the errors."""
        while not self._parts:
            if self._complete:
                self._is_read = True
                raise StopAsyncIteration
            await self._read()
        return self._parts.pop(0)

    async def aclose(self) -> None:
        """Give the connection back."""
        self._release(self)

    def is_reusable(self) -> bool:
        """Return whether the next request may be sent on it."""
        return self._is_read and self._keep_alive and self.stream.is_quiet()

    async def _read(self) -> None:
        """Read and parse the next bytes."""
        if self._fault is not None:
            raise self._fault
        data = await self.stream.read(self._trace.deadline)
        trace = self._trace
        trace.received += len(data)
        if not data:
            self._end()
            return
        if trace.received > RECEIVED_BYTES_MAX:
            raise _improper("it is too long")
        self._feed(data)
        if not self._status and trace.received > HEAD_BYTES_MAX:
            raise _improper("its head is too long")

    def _feed(self, data: bytearray) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep_alive = False
            why = str(error)
            if not self._status:
                start = data[:QUOTED_BYTES_MAX].partition(b"\r\n")[0]
                why += f" in {start.decode('ascii', 'backslashreplace')!r}"
            self._fault = self._fault or _improper(why)

    def _end(self) -> None:
        """Handle the end of the connection, which ends a body without a stated length."""
        if not self._trace.received:
            message = "the receiver closed the connection without an answer"
            raise NetworkError(DeliveryError.CONNECTION_RESET, message)
        fields = {name.lower(): value.lower() for name, value in self._headers}
        coding = fields.get(b"transfer-encoding")
        has_length = b"content-length" in fields if coding is None else b"chunked" in coding
        if not self._status or has_length:
            raise _improper(f"it ended within its {'body' if self._status else 'head'}")
        self._complete = True

    def on_message_begin(self) -> None:
        """More follows a complete answer."""
        if self._complete:
            self._keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a field of the head; trailers are ignored."""
        if not self._status:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Store the status of a final answer."""
        status = self._parser.get_status_code()
        if status < 100 or status == 101:
            self._fault = _improper(f"unexpected status {status}")
        elif status >= 200 and not self._status:
            self._status = status

    def on_body(self, part: bytes) -> None:
        """Store a part of the body."""
        if not self._complete:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """End the answer; after an interim answer another one follows (RFC 9110 section 15.2)."""
        if not self._status:
            self._headers.clear()
        elif not self._complete:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()


def _improper(why: str) -> NetworkError:
    return NetworkError(DeliveryError.PROTOCOL_ERROR, f"the answer is not proper HTTP: {why}")


class Transport(httpx.AsyncBaseTransport):
    """Sends requests over connections of its own, and keeps some of them open between two requests."""

    def __init__(self, context: ssl.SSLContext, dialer: Dialer) -> None:
        self._context = context
        self._dialer = dialer
        self._warm: list[_Connection] = []

    @staticmethod
    def build_request(
        url: str, headers: Mapping[str, str], body: bytes, trace: Trace
    ) -> httpx.Request:
        """Return the POST of one attempt: `headers` and those of every request, and the body byte for byte.

        Raises:
            NetworkError: The URL is not one.
        """
        parsed = _parse(url)
        # With `content` instead of `stream`, httpx would add two of these fields, at the cost of two more copies.
        # And names and values that are bytes are not encoded.
        fields = [
            (b"Host", parsed.netloc),
            *COMMON_FIELDS,
            *((name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()),
            (b"Content-Length", b"%d" % len(body)),
        ]
        return httpx.Request(
            "POST",
            parsed,
            headers=fields,
            stream=httpx.ByteStream(body),
            extensions={"trace": trace},
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its answer when the head has come. The caller must close the stream of the response.

        The extension `trace` of the request is its `Trace`.

        Raises:
            NetworkError: The request was refused or failed.
            TimeoutError: The deadline of the trace has passed. Reading the body raises the same two.
        """
        trace: Trace = request.extensions["trace"]
        octets = _encode(request)
        url = request.url
        origin = url.raw_host.decode("ascii"), url.port or HTTPS_PORT
        warm = self._take(origin)
        if warm is not None:
            trace.connected = True
            try:
                return await warm.exchange(octets, trace)
            except NetworkError:
                if trace.received:
                    raise
        trace.connected = False
        async with asyncio.timeout_at(trace.deadline):
            connected = await self._dialer.connect_tcp(*origin)
            trace.connected = True
            stream = await start_tls(
                connected, self._context, origin[0], self._dialer.connect_timeout_s
            )
        return await _Connection(origin, stream, self._release).exchange(octets, trace)

    def _release(self, connection: _Connection) -> None:
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

    def _take(self, origin: Origin) -> _Connection | None:
        for connection in reversed(self._warm):
            if connection.origin == origin:
                self._warm.remove(connection)
                if not connection.stream.is_stale():
                    return connection
                connection.stream.abort()
        return None


@functools.lru_cache(maxsize=256)
def _parse(url: str) -> httpx.URL:
    try:
        return httpx.URL(url)
    except httpx.InvalidURL as error:
        raise NetworkError(
            DeliveryError.BLOCKED_ADDRESS, f"the URL is not valid: {error}"
        ) from error


def _encode(request: httpx.Request) -> bytes:
    """Return the octets of a request (RFC 9112 section 3)."""
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += map(b": ".join, request.headers.raw)
    head = b"\r\n".join(lines)
    assert head.count(b"\n") == head.count(b"\r") == len(lines) - 1, "a value with a line break"
    assert isinstance(request.stream, httpx.ByteStream)
    return b"\r\n".join((head, b"", *request.stream))
