"""Open connections, with TLS or without, and the errors of all that is sent over them.

A connection keeps its address for its whole life.
"""

import asyncio
import contextlib
import math
import select
import socket
import ssl
from typing import Final, cast

import httpx

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
    if isinstance(
        error, ssl.SSLError
    ):  # an alert, e.g. "certificate required", may come after the handshake
        why = error.reason or str(error)
        if "CERTIFICATE_REQUIRED" in why:
            why += "; the other side asks for a certificate of ours, and momo has none"
        return ExchangeError(DeliveryError.TLS_ERROR, f"TLS failed: {why}")
    return ExchangeError(DeliveryError.CONNECTION_RESET, "the other side broke the connection")
