"""HTTP/1.1 (RFC 9112) over one connection: writes requests, and reads their answers with httptools.

A connection is used again only if the answer before ended exactly where its head said, the server did not ask to close, and
the whole request was sent. So nothing that a server sends too much can pose as the next answer.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Self

import httptools
from msgspec import Struct

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.address_guard import URL_PARTS, split_authority
from daemon.sender.connect import HTTPS_PORT
from daemon.sender.streams import NetworkError, Stream, Trace

HEAD_BYTES_MAX: Final = 100 * 1024
"""Limit of the head of an answer, with interim answers."""
QUOTED_BYTES_MAX: Final = 80
HTTP_PORT: Final = 80
COMMON_FIELDS: Final = (
    (b"Connection", b"keep-alive"),
    (b"Accept", b"*/*"),
    (b"Accept-Encoding", b"identity"),
)
Origin = tuple[str, int]


class Target(Struct, frozen=True):
    """The parts of a URL that a request needs."""

    host: str
    port: int
    authority: bytes
    """The field `Host`: the port only if it is not the scheme's own."""
    path: str
    """With the query."""

    @property
    def origin(self) -> "Origin":
        """The host and the port."""
        return self.host, self.port


def target_of(url: str) -> Target:
    """Return where a request to a URL goes; its text must have been checked.

    Raises:
        UnicodeError: The host is not a name.
    """
    match = URL_PARTS.fullmatch(url)
    assert match is not None, "the URL was checked"
    host, port_text = split_authority(match["authority"])
    if not host.startswith("["):
        host = host.lower()
    if not host.isascii():
        host = host.encode("idna").decode()
    usual = HTTP_PORT if match["scheme"].lower() == "http" else HTTPS_PORT
    port = int(port_text or usual)
    authority = host if port == usual else f"{host}:{port}"
    path = (_without_dots(match["path"]) or "/") + (match["query"] or "")
    return Target(host.strip("[]"), port, authority.encode(), path)


def _without_dots(path: str) -> str:
    """Remove the segments `.` and `..` (RFC 3986 section 5.2.4)."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if kept not in ([], [""]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/".join(kept)


def encode_post(target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the octets of a POST (RFC 9112 section 3): `headers` and those of every request, and the body byte for byte."""
    fields = (
        (b"Host", target.authority),
        *COMMON_FIELDS,
        *((name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()),
        (b"Content-Length", b"%d" % len(body)),
    )
    lines = [b"POST %s HTTP/1.1" % target.path.encode("ascii"), *map(b": ".join, fields)]
    head = b"\r\n".join(lines)
    assert head.count(b"\n") == head.count(b"\r") == len(lines) - 1, "a value with a line break"
    return b"\r\n".join((head, b"", body))


class Connection:
    """A connection; iterating it gives the body of its answer. httptools calls the methods `on_...`."""

    def __init__(
        self,
        origin: Origin,
        stream: Stream,
        received_bytes_max: int,
        give_back: Callable[["Connection"], None],
    ) -> None:
        """Create it.

        Args:
            origin: The server.
            stream: The bytes.
            received_bytes_max: Limit of one answer: the body, the head, and chunk marks.
            give_back: Called when the answer was read, or is not wanted any more; keeps the connection or aborts it.
        """
        self.origin = origin
        self.stream = stream
        self.headers: list[tuple[bytes, bytes]] = []
        """Of the answer."""
        self.status = 0
        """Status of the final answer; 0 until its head is complete."""
        self._received_bytes_max = received_bytes_max
        self._give_back = give_back
        self._trace = Trace()
        self._parts: deque[bytes] = deque()
        self._complete = False
        self._is_read = False
        self._keep_alive = False
        self._fault: NetworkError | None = None
        self._parser = httptools.HttpResponseParser(self)
        # Simple servers send these. They could confuse two programs about one stream; here only the server's own
        # answers follow, and after any doubt the connection is closed.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    async def exchange(self, request: bytes, trace: Trace) -> None:
        """Send a request and read the head of its answer. On failure the connection is closed.

        Afterwards the caller must call `release`, also if it does not read the body.

        Raises:
            NetworkError: The connection broke, or the answer is not proper HTTP.
            TimeoutError: The deadline has passed.
        """
        self._trace = trace
        self.headers, self._parts = [], deque()
        self.status, self._complete, self._is_read = 0, False, False
        self.stream.write(request)
        try:
            while not self.status:
                await self._read()
        except BaseException:
            self.stream.abort()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next part of the body; see `exchange` for the errors."""
        while not self._parts:
            if self._complete:
                self._is_read = True
                raise StopAsyncIteration
            await self._read()
        return self._parts.popleft()

    def release(self) -> None:
        """Give the connection back."""
        self._give_back(self)

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
        if trace.received > self._received_bytes_max:
            raise _improper("it is too long")
        self._feed(data)
        if not self.status and trace.received > HEAD_BYTES_MAX:
            raise _improper("its head is too long")

    def _feed(self, data: bytearray) -> None:
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._keep_alive = False
            why = str(error)
            if not self.status:
                start = data[:QUOTED_BYTES_MAX].partition(b"\r\n")[0]
                why += f" in {start.decode('ascii', 'backslashreplace')!r}"
            self._fault = self._fault or _improper(why)

    def _end(self) -> None:
        """Handle the end of the connection, which ends a body without a stated length."""
        if not self._trace.received:
            message = "the other side closed the connection without an answer"
            raise NetworkError(DeliveryError.CONNECTION_RESET, message)
        fields = {name.lower(): value.lower() for name, value in self.headers}
        coding = fields.get(b"transfer-encoding")
        has_length = b"content-length" in fields if coding is None else b"chunked" in coding
        if not self.status or has_length:
            raise _improper(f"it ended within its {'body' if self.status else 'head'}")
        self._complete = True

    def on_message_begin(self) -> None:
        """More follows a complete answer."""
        if self._complete:
            self._keep_alive = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a field of the head; trailers are ignored."""
        if not self.status:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Store the status of a final answer."""
        status = self._parser.get_status_code()
        if status < 100 or status == 101:
            self._fault = _improper(f"unexpected status {status}")
        elif status >= 200 and not self.status:
            self.status = status

    def on_body(self, part: bytes) -> None:
        """Store a part of the body."""
        if not self._complete:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """End the answer; after an interim answer another one follows (RFC 9110 section 15.2)."""
        if not self.status:
            self.headers.clear()
        elif not self._complete:
            self._complete = True
            self._keep_alive = self._parser.should_keep_alive()


def _improper(why: str) -> NetworkError:
    return NetworkError(DeliveryError.PROTOCOL_ERROR, f"the answer is not proper HTTP: {why}")
