"""HTTP/1.1 (RFC 9112) over one connection: writes requests, and reads their answers with httptools.

A connection is used again only if the answer before ended exactly where its head said, the server did not ask to close, and
the whole request was sent. So nothing that a server sends too much can pose as the next answer.
"""

import asyncio
import functools
import math
import re
from collections import deque
from collections.abc import Callable
from typing import Final, Self

import httptools
import httpx
from msgspec import Struct

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.streams import ExchangeError, ExchangeTimeout, SocketStream

HEAD_BYTES_MAX: Final = 100 * 1024
"""Limit of the head of an answer, with interim answers."""
QUOTED_BYTES_MAX: Final = 80
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
Origin = tuple[str, int]


def encode(request: httpx.Request) -> bytes:
    """Return the octets of a request; the order and the case of its headers are kept.

    Raises:
        ExchangeError: A header is malformed, or says again or otherwise where the request goes or ends.
    """
    assert isinstance(request.stream, httpx.ByteStream), "requests have whole bodies"
    fields = request.headers.raw
    start = b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)
    head = b"\r\n".join((start, *map(b": ".join, fields), b""))
    ends = 1 + len(fields)
    proper = head.count(b"\n") == head.count(b"\r") == ends and b"\0" not in head
    if not proper or not _are_proper(tuple([name for name, _ in fields])):
        message = "the request was not sent: one of its headers is malformed, or one of ours twice"
        raise ExchangeError(DeliveryError.PROTOCOL_ERROR, message)
    return b"".join((head, b"\r\n", *request.stream))


@functools.lru_cache(maxsize=64)
def _are_proper(names: tuple[bytes, ...]) -> bool:
    """Return whether these are names of headers, and each that says where the request goes or ends is there once."""
    lower = [name.lower() for name in names]
    return (
        all(map(_NAME.fullmatch, names))
        and lower.count(b"host") == lower.count(b"content-length") == 1
        and b"transfer-encoding" not in lower
    )


class ExchangeLimits(Struct, frozen=True):
    """The time limits of one exchange."""

    whole_s: float
    ends_at: float
    """End of `whole_s`, on the loop's clock."""
    part_s: float
    """Limit until the head has come, and then of each part of the body."""

    def passed(self) -> ExchangeTimeout:
        """Return the error of the limit that has passed."""
        if asyncio.get_running_loop().time() + 0.01 < self.ends_at:
            return ExchangeTimeout(f"no answer within {self.part_s:g} s")
        return ExchangeTimeout(f"no whole answer within {self.whole_s:g} s")


class HttpConnection(httpx.AsyncByteStream):
    """A connection; iterating it gives the body of its answer, as it came. httptools calls the methods `on_...`."""

    def __init__(
        self,
        origin: Origin,
        stream: SocketStream,
        bytes_max: int,
        give_back: Callable[["HttpConnection"], None],
    ) -> None:
        """Create it.

        Args:
            origin: The server.
            stream: The bytes.
            bytes_max: Limit of one answer: the body, the head, and chunk marks.
            give_back: Called when the answer was read, or is not wanted any more; keeps the connection or aborts it.
        """
        self.origin = origin
        self.stream = stream
        self.headers: list[tuple[bytes, bytes]] = []
        """Of the answer."""
        self.status = 0
        """Status of the final answer; 0 until its head is complete."""
        self.received = 0
        """Number of bytes of the answer."""
        self.kept_at = 0.0
        """When it was given back, in boot time."""
        self._bytes_max = bytes_max
        self._give_back = give_back
        self._limits = ExchangeLimits(math.inf, math.inf, math.inf)
        self._part_ends_at = math.inf
        self._parts: deque[bytes] = deque()
        self._complete = False
        self._is_read = False
        self._keep_alive = False
        self._states_no_body = True
        self._fault: ExchangeError | None = None
        self._parser = httptools.HttpResponseParser(self)
        # Simple servers send these. They could confuse two programs about one stream; here only the server's own
        # answers follow, and after any doubt the connection is closed.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    async def exchange(self, request: bytes, limits: ExchangeLimits) -> None:
        """Send a request and read the head of its answer. On failure the connection is closed.

        Afterwards the caller must call `aclose` once, also if it does not read the body.

        Raises:
            ExchangeError: The connection broke, a limit has passed, or the answer is not proper HTTP.
        """
        self._limits = limits
        self.headers, self._parts = [], deque()
        self.status = self.received = 0
        self._complete = self._is_read = False
        self.stream.write(request)
        self._part_ends_at = asyncio.get_running_loop().time() + limits.part_s
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
            self._part_ends_at = asyncio.get_running_loop().time() + self._limits.part_s
            await self._read()
        return self._parts.popleft()

    async def aclose(self) -> None:
        """Give the connection back."""
        self._give_back(self)

    def is_reusable(self) -> bool:
        """Return whether the next request may be sent on it."""
        return self._is_read and self._keep_alive and self.stream.is_quiet()

    async def _read(self) -> None:
        """Read and parse the next bytes."""
        if self._fault is not None:
            raise self._fault
        try:
            data = await self.stream.read(min(self._part_ends_at, self._limits.ends_at))
        except TimeoutError as error:
            raise self._limits.passed() from error
        self.received += len(data)
        if not data:
            # Handle the end of the connection, which ends a body without a stated length.
            if not self.received:
                message = "the other side closed the connection without an answer"
                raise ExchangeError(DeliveryError.CONNECTION_RESET, message)
            coding, length = self._framing()
            if not self.status or (length if coding is None else b"chunked" in coding.lower()):
                raise _improper(f"it ended within its {'body' if self.status else 'head'}")
            self._complete = True
            return
        if self.received > self._bytes_max:
            raise _improper("it is too long")
        self._feed(data)
        if not self.status and self.received > HEAD_BYTES_MAX:
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

    def _framing(self) -> tuple[bytes | None, bytes | None]:
        """Return the fields that say where the body ends: Transfer-Encoding and Content-Length."""
        fields = {name.lower(): value for name, value in self.headers}
        return fields.get(b"transfer-encoding"), fields.get(b"content-length")

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
        elif not self.status:
            # These have no body (RFC 9112 section 6.3), but some servers state one, and send it later.
            if status < 200 or status in (204, 304):
                self._states_no_body &= self._framing() in ((None, None), (None, b"0"))
            self.status = status if status >= 200 else 0

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
            self._keep_alive = self._parser.should_keep_alive() and self._states_no_body


def _improper(why: str) -> ExchangeError:
    return ExchangeError(DeliveryError.PROTOCOL_ERROR, f"the answer is not proper HTTP: {why}")
