"""HTTP/1.1 (RFC 9112) over one connection: writes requests, and reads their answers with httptools.

A connection is used again only if the answer before ended exactly where its head said, the server did not ask to close, and
the whole request was sent. So nothing that a server sends too much can pose as the next answer.
"""

import asyncio
import contextlib
import functools
import math
import re
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final, Self, cast

import httptools
import httpx
from msgspec import Struct

from daemon.core.webhooks.delivery import DeliveryError
from daemon.runtime.system import Clock, SystemClock

CLOCK: Clock = SystemClock()
BUFFER_BYTES_MAX: Final = 128 * 1024
NO_ISSUER: Final = (20, 21)
"""X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY and X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE of OpenSSL."""
LOOP_CLOCK_STEP_S: Final = 0.001
"""Resolution of uvloop's clock: a timer may fire so much early."""


class ExchangeError(httpx.TransportError):
    """The network, the other side or the address check ended an exchange; the text is for people."""

    connected = True
    """The host answered TCP, in this exchange or when its connection was made."""

    def __init__(self, code: DeliveryError, message: str) -> None:
        self.code = code
        super().__init__(message)


class ExchangeTimeout(ExchangeError, httpx.TimeoutException):
    """A time limit ended the exchange."""

    def __init__(self, message: str) -> None:
        super().__init__(DeliveryError.TIMEOUT, message)


async def open_stream(
    connected: socket.socket, context: ssl.SSLContext | None, host: str, timeout_s: float
) -> "SocketStream":
    """Return a stream over a connected socket, which is then closed with the stream.

    With a context the TLS handshake is made, and the certificate must match; None is for HTTP without TLS.

    Raises:
        ExchangeError: The handshake failed.
    """
    loop = asyncio.get_running_loop()
    try:
        _, stream = await loop.create_connection(
            SocketStream,
            sock=connected,
            ssl=context,
            server_hostname=None if context is None else host,
            ssl_handshake_timeout=None if context is None else timeout_s,
        )
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
        if getattr(error, "verify_code", 0) in NO_ISSUER:
            why += (
                "; it probably sends its certificate without the intermediate one: "
                "give it the full chain (fullchain.pem)"
            )
        raise ExchangeError(DeliveryError.TLS_ERROR, f"TLS with {host} failed: {why}") from error
    except ConnectionAbortedError as error:  # asyncio and uvloop raise it for ssl_handshake_timeout
        message = f"{host} did not finish the TLS handshake in time"
        raise ExchangeTimeout(message) from error
    except OSError as error:
        message = f"{host} closed the connection in the TLS handshake"
        raise ExchangeError(DeliveryError.CONNECTION_RESET, message) from error
    except BaseException:
        # Cancelled by the time limit: the transport that owns the socket notices the end and closes it.
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)
        raise
    return stream


class SocketStream(asyncio.Protocol):
    """One connection, read by one task at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self.opened_at = CLOCK.boottime()
        """Boot time includes sleep of the machine."""
        self._in = bytearray()
        self._ended = False
        self._lost: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False
        self._poll = select.poll()
        self._fd = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; with TLS the handshake is complete."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not one by class
        self._fd = transport.get_extra_info("socket").fileno()
        self._poll.register(self._fd, select.POLLIN | select.POLLOUT)

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes, decrypted; above the limit reading pauses (back-pressure)."""
        self._in += data
        if len(self._in) > BUFFER_BYTES_MAX and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Record the peer's end; the transport then closes itself."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end and its cause."""
        self._ended = True
        self._lost = exc
        # It holds 0.3 MB of buffers, which a reference cycle would keep until a full garbage collection.
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _expire_at(self, deadline: float) -> None:
        """Let the present read fail at a time.

        The timer of the attempt before stays if it is not later: `asyncio.timeout` would cost as much as the rest of a
        read, and a timer for each read half of that.
        """
        self._deadline = deadline
        if deadline == math.inf:
            return
        if self._timer is not None:
            if self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() + LOOP_CLOCK_STEP_S < self._deadline:
            self._expire_at(self._deadline)
        else:
            self._waiter.set_exception(TimeoutError())

    def write(self, data: bytes) -> None:
        """Send bytes, without waiting; after the end of the connection, `read` reports it."""
        if self._transport is not None and not self._ended:
            self._transport.write(data)

    async def read(self, deadline: float = math.inf) -> bytearray:
        """Return the received bytes, empty at the end.

        Raises:
            ExchangeError: The connection broke.
            TimeoutError: No byte came until `deadline`, a time on the loop's clock.
        """
        while not self._in:
            if self._lost is not None:
                raise _broken(self._lost) from self._lost
            if self._ended:
                break
            self._waiter = self._loop.create_future()
            self._expire_at(deadline)
            try:
                await self._waiter
            finally:
                self._waiter = None
        data, self._in = self._in, bytearray()
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return data

    def abort(self) -> None:
        """Close at once: a regular TLS shutdown could be delayed by the other side."""
        if self._transport is not None:
            self._transport.abort()

    def is_quiet(self) -> bool:
        """Return whether it is open, and nothing was received that was not read."""
        return not (self._ended or self._in)

    def is_stale(self) -> bool:
        """Return whether the connection must not be used again: it ended, or something came."""
        if not self.is_quiet():
            return True
        # The peer's close may have reached the kernel, but not this object yet. And if the socket takes nothing, the
        # server has not read the request before.
        return self._poll.poll(0) != [(self._fd, select.POLLOUT)]


def _broken(error: Exception) -> ExchangeError:
    if isinstance(error, ssl.SSLError):  # an alert, e.g. "certificate required", may come after the handshake
        why = error.reason or str(error)
        if "CERTIFICATE_REQUIRED" in why:
            why += "; the other side asks for a certificate of ours, and momo has none"
        return ExchangeError(DeliveryError.TLS_ERROR, f"TLS failed: {why}")
    return ExchangeError(DeliveryError.CONNECTION_RESET, "the other side broke the connection")


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
        self, origin: Origin, stream: SocketStream, bytes_max: int, give_back: Callable[["HttpConnection"], None]
    ) -> None:
        """Create it. `bytes_max` limits one answer: the body, the head, and chunk marks.

        `give_back` is called when the answer was read, or is not wanted any more; it keeps the connection or aborts it.
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
