"""TLS connections for webhooks, as httpcore's streams, and the record of what an attempt met on the wire.

httpcore is not imported (only `sender` does, and late). Compared with its own streams these send head and body in
one record, cost half the time, and tell the attempt what happened, which decides whether a failed one may be tried
again unseen. A connection is bound for its whole life to the address that was checked when it was made.
"""

import asyncio
import contextlib
import select
import socket
import ssl
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, cast

from daemon.core.delivery import DeliveryError
from daemon.system import Clock, SystemClock

CLOCK: Clock = SystemClock()
CHECK_S: Final = 60.0
"""How long the check of an address holds for a connection that stays open."""
RECEIVED_BYTES_MAX: Final = 256 * 1024
"""Of one answer: 64 KiB of body, 100 KiB of head (httpcore's limit), chunk marks and interim answers."""
BUFFER_BYTES_MAX: Final = 128 * 1024


class NetworkError(Exception):
    """The network, or our guard, ended the attempt."""

    def __init__(self, code: DeliveryError, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


@dataclass(slots=True)
class Trace:
    """What happened on the wire during one attempt; filled in as it happens."""

    connected: bool = False
    """The host answered TCP, now or when the warm connection was made."""
    reused: bool = False
    """The request went out on a connection that had served one before."""
    received: int = 0
    """Bytes of the answer."""


TRACE: Final[ContextVar[Trace]] = ContextVar("webhook_trace")
"""The attempt that the running task is making; httpcore stays in the caller's task."""


class PlainStream:
    """A TCP connection that waits for its TLS; nothing is ever sent over it in the clear."""

    def __init__(self, connected: socket.socket, timeout_s: float) -> None:
        self._socket = connected
        self._timeout_s = timeout_s

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - ours is given once
    ) -> "TlsStream":
        """Do the handshake; the certificate must be the name's.

        Raises:
            NetworkError: It failed.
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
        except ConnectionAbortedError as error:  # how asyncio and uvloop say ssl_handshake_timeout
            message = f"{server_hostname} did not finish the TLS handshake in time"
            raise NetworkError(DeliveryError.TIMEOUT, message) from error
        except OSError as error:
            message = f"{server_hostname} closed the connection in the TLS handshake"
            raise NetworkError(DeliveryError.CONNECTION_RESET, message) from error
        except BaseException:
            # Cut off by the wall clock: the transport that owns the socket sees its end and lets go.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            raise
        return stream

    async def aclose(self) -> None:
        """Close it."""
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ARG002 - httpcore's signature
        """Know nothing."""
        return None


class TlsStream(asyncio.Protocol):
    """One TLS connection, as httpcore's stream."""

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
        """Keep the transport; the handshake is over."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not one by class

    def data_received(self, data: bytes) -> None:
        """Take decrypted bytes; past the limit the peer waits."""
        self._in += data
        if len(self._in) > BUFFER_BYTES_MAX and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note the peer's end; the transport then closes itself."""
        self._ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, and why."""
        self._ended = True
        self._lost = exc
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002, ASYNC109 -- httpcore's own signature
        """Take bytes of the request; they leave together at the next `read`."""
        trace = TRACE.get()
        if self._trace is not trace:
            trace.reused = self._trace is not None
            trace.connected = True
            self._trace = trace
        self._out += buffer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002, ASYNC109 -- httpcore's own signature
        """Return what came, b"" at the end.

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
        """Let go at once: a courteous TLS goodbye could be held up by the other side."""
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(self, *_: object, **__: object) -> "TlsStream":
        """Refuse: there is no TLS within TLS without a proxy."""
        raise NetworkError(DeliveryError.PROTOCOL_ERROR, "this connection is already encrypted")

    def get_extra_info(self, info: str) -> Any:
        """Answer httpcore's questions; `is_readable` means that this connection is not to be used again."""
        if info == "is_readable":
            return self._is_stale()
        return None if self._transport is None else self._transport.get_extra_info(info)

    def _is_stale(self) -> bool:
        # Through a sleep of the machine too: the other end and the routers between have long forgotten it.
        if self._ended or self._in or CLOCK.boottime() - self._opened_at > CHECK_S:
            return True
        opened = self.get_extra_info("socket")
        # The peer's goodbye may have reached the kernel and not yet us.
        poll = select.poll()
        poll.register(opened.fileno(), select.POLLIN)
        return bool(poll.poll(0))


def _broken(error: Exception) -> NetworkError:
    if isinstance(
        error, ssl.SSLError
    ):  # an alert, e.g. "certificate required", may come after the handshake
        return NetworkError(DeliveryError.TLS_ERROR, f"TLS failed: {error.reason or error}")
    return NetworkError(DeliveryError.CONNECTION_RESET, "the receiver broke the connection")
