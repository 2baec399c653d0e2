"""TLS connections for webhooks, as httpcore streams, and the trace of an attempt on the network.

httpcore is not imported (only by `https`, with the first delivery). Compared with httpcore's streams these send head and body in
one record, cost half the time, and record the trace that decides whether a failed request may be repeated within the
attempt. A connection keeps the checked address for its whole life.
"""

import asyncio
import contextlib
import select
import socket
import ssl
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from daemon.core.webhooks.delivery import DeliveryError
from daemon.runtime.system import Clock, SystemClock

CLOCK: Clock = SystemClock()
CHECK_S: Final = 60.0
"""How long an address check is valid for an open connection."""
RECEIVED_BYTES_MAX: Final = 256 * 1024
"""Limit of one answer: 64 KiB of body, 100 KiB of head (httpcore's limit), chunk marks and interim answers."""
BUFFER_BYTES_MAX: Final = 128 * 1024


class NetworkError(Exception):
    """The network or the address check ended the attempt."""

    def __init__(self, code: DeliveryError, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(slots=True)
class Trace:
    """Network events of one attempt, filled in as they happen."""

    connected: bool = False
    """The host answered TCP, in this attempt or when the warm connection was made."""
    reused: bool = False
    """The request was sent on a connection that had served another one before."""
    received: int = 0
    """Number of received bytes of the answer."""


TRACE: Final[ContextVar[Trace]] = ContextVar("webhook_trace")
"""Trace of the current task's attempt; httpcore stays in the caller's task."""


class PlainStream:
    """A TCP connection before TLS; no data is sent over it unencrypted."""

    def __init__(self, connected: socket.socket, timeout_s: float) -> None:
        self._socket = connected
        self._timeout_s = timeout_s

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - ours is given once
    ) -> "TlsStream":
        """Make the TLS handshake; the certificate must match the name.

        Raises:
            NetworkError: The handshake failed.
        """
        loop = asyncio.get_running_loop()
        try:
            _, stream = await loop.create_connection(
                TlsStream,
                sock=self._socket,
                ssl=ssl_context,
                server_hostname=server_hostname,
                ssl_handshake_timeout=self._timeout_s,
            )
        except ssl.SSLError as error:
            why = getattr(error, "verify_message", "") or error.reason or str(error)
            message = f"TLS with {server_hostname} failed: {why}"
            raise NetworkError(DeliveryError.TLS_ERROR, message) from error
        except (
            ConnectionAbortedError
        ) as error:  # asyncio and uvloop raise it for ssl_handshake_timeout
            message = f"{server_hostname} did not finish the TLS handshake in time"
            raise NetworkError(DeliveryError.TIMEOUT, message) from error
        except OSError as error:
            message = f"{server_hostname} closed the connection in the TLS handshake"
            raise NetworkError(DeliveryError.CONNECTION_RESET, message) from error
        except BaseException:
            # Cancelled by the time limit: the transport that owns the socket notices the end and closes it.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            raise
        return stream

    async def aclose(self) -> None:
        """Close it."""
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002 - httpcore's signature
        """Return None: there is no extra information."""
        return None


class TlsStream(asyncio.Protocol):
    """One TLS connection, as an httpcore stream."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._opened_at = CLOCK.boottime()
        self._in = bytearray()
        self._out = bytearray()
        self._ended = False
        self._lost: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._trace: Trace | None = None
        self._paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; the handshake is complete."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not one by class

    def data_received(self, data: bytes) -> None:
        """Buffer decrypted bytes; above the limit reading pauses (back-pressure)."""
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
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 -- httpcore's own signature
        """Buffer bytes of the request; they are sent together at the next `read`."""
        trace = TRACE.get()
        if self._trace is not trace:
            trace.reused = self._trace is not None
            trace.connected = True
            self._trace = trace
        self._out += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 -- httpcore's own signature
        """Return received bytes, b"" at the end.

        Raises:
            NetworkError: The connection broke, or the answer is too long.
        """
        if self._out:
            if self._transport is not None and not self._ended:
                self._transport.write(bytes(self._out))
            self._out.clear()
        while not self._in:
            if self._lost is not None:
                raise _broken(self._lost) from self._lost
            if self._ended:
                return b""
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._in[:max_bytes])
        del self._in[:max_bytes]
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        assert self._trace is not None, "nothing is read before something was written"
        self._trace.received += len(data)
        if self._trace.received > RECEIVED_BYTES_MAX:
            raise NetworkError(DeliveryError.PROTOCOL_ERROR, "the answer is too long")
        return data

    async def aclose(self) -> None:
        """Close at once: a regular TLS shutdown could be delayed by the other side."""
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(self, *_: object, **__: object) -> "TlsStream":
        """Refuse: TLS within TLS is only needed with a proxy."""
        raise NetworkError(DeliveryError.PROTOCOL_ERROR, "this connection is already encrypted")

    def get_extra_info(self, info: str) -> Any:
        """Return information for httpcore; `is_readable` means that the connection must not be reused."""
        if info == "is_readable":
            return self._is_stale()
        return None if self._transport is None else self._transport.get_extra_info(info)

    def _is_stale(self) -> bool:
        # Boot time includes sleep of the machine, after which the peer and routers have dropped the connection.
        if self._ended or self._in or CLOCK.boottime() - self._opened_at > CHECK_S:
            return True
        opened = self.get_extra_info("socket")
        # The peer's close may have reached the kernel, but not this object yet.
        poll = select.poll()
        poll.register(opened.fileno(), select.POLLIN)
        return bool(poll.poll(0))


def _broken(error: Exception) -> NetworkError:
    if isinstance(
        error, ssl.SSLError
    ):  # an alert, e.g. "certificate required", may come after the handshake
        return NetworkError(DeliveryError.TLS_ERROR, f"TLS failed: {error.reason or error}")
    return NetworkError(DeliveryError.CONNECTION_RESET, "the receiver broke the connection")
