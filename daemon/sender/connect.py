"""Connections for webhooks: resolve the name, check every address, connect to a checked one.

`Dialer` checks the address whenever a connection is made, and the connection keeps that address, so a changed DNS answer
(DNS rebinding) has no effect. `HostProbe` tests by a TCP
connect without data whether a host answers; the delivery loop detects by it that our connection is back.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.address_guard import EXPLANATIONS, AddressPolicy, Resolver, check_addresses, check_url, parse_address
from daemon.sender.connection import CLOCK, ExchangeError, ExchangeTimeout

Connector = Callable[[str, int], Awaitable[socket.socket]]
"""`await connector(address, port)` returns a connected, non-blocking TCP socket; raises OSError."""
RESOLVE_S: Final = 5.0
ADDRESSES_MAX: Final = 4
"""Number of addresses of one name that are tried; the connect timeout is shared among them."""
LOOKUPS_MAX: Final = 8
"""Maximum number of hanging look-ups: they cannot be cancelled, and each uses a thread."""
HTTPS_PORT: Final = 443


class Dialer:
    """Opens TCP connections to checked addresses."""

    def __init__(
        self, policy: AddressPolicy, resolver: Resolver, connector: Connector, connect_timeout_s: float
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._connector = connector
        self.connect_timeout_s = connect_timeout_s

    async def connect_tcp(self, host: str, port: int) -> socket.socket:
        """Connect to a checked address of `host`.

        Raises:
            ExchangeError: DNS, the address check or TCP failed.
        """
        addresses = await self._resolve(host, port)
        reason = check_addresses(host, addresses, self._policy)
        if reason is not None:
            raise ExchangeError(DeliveryError.BLOCKED_ADDRESS, f"{host}: {EXPLANATIONS[reason]}")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.connect_timeout_s
        tried = addresses[:ADDRESSES_MAX]
        failures: list[ExchangeError] = []
        for index, address in enumerate(tried):
            try:
                async with asyncio.timeout((deadline - loop.time()) / (len(tried) - index)):
                    return await self._connector(address, port)
            except OSError as error:
                failures.append(connect_error(host, error))
        # A missing IPv6 route is less informative than the failures of the other addresses.
        failures.sort(key=lambda failure: failure.code is DeliveryError.NETWORK_UNREACHABLE)
        raise failures[0]

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        literal = parse_address(host)
        if literal is not None:
            return (str(literal),)
        try:
            async with asyncio.timeout(RESOLVE_S):
                return await self._resolver(host, port)
        except TimeoutError as error:
            message = f"the look-up of {host} took longer than {RESOLVE_S:g} s"
            raise ExchangeError(DeliveryError.DNS_ERROR, message) from error
        except OSError as error:
            message = f"the address of {host} could not be found ({error.strerror or error})"
            raise ExchangeError(DeliveryError.DNS_ERROR, message) from error


def connect_error(host: str, error: OSError) -> ExchangeError:
    """Convert the error of a failed TCP connect."""
    match error:
        case TimeoutError():
            return ExchangeTimeout(f"{host} did not answer the connect in time")
        case ConnectionRefusedError():
            return ExchangeError(DeliveryError.CONNECTION_REFUSED, f"{host} refused the connection")
        case ConnectionResetError() | ConnectionAbortedError():
            return ExchangeError(DeliveryError.CONNECTION_RESET, f"{host} reset the connection")
    # No route, no network, a local firewall, or no file handles left: not caused by the receiver.
    message = f"{host} could not be reached ({error.strerror or error})"
    return ExchangeError(DeliveryError.NETWORK_UNREACHABLE, message)


async def connect_socket(address: str, port: int) -> socket.socket:
    """Open a TCP connection to an address (never a name)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is given because asyncio sets TCP_NODELAY only if it is.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except BaseException:
        opened.close()
        raise
    return opened


class SystemResolver:
    """The system's resolver, with one thread per look-up.

    Not the event loop's thread pool: a dead DNS server blocks each call for up to half a minute, and with the few threads
    of a pool every other name would wait. Callers that look up the same name at the same time share the answer.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[Sequence[str] | OSError]] = {}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of `host`, in the order in which they should be tried."""
        if host == "localhost" or host.endswith(".localhost"):
            return ("127.0.0.1", "::1")  # RFC 6761 section 6.3: never sent to a DNS server
        future = self._running.get(host)
        if future is None:
            if len(self._running) >= LOOKUPS_MAX:
                raise OSError(errno.EAGAIN, "too many look-ups are hanging")
            loop = asyncio.get_running_loop()
            future = self._running[host] = loop.create_future()
            future.add_done_callback(lambda _: self._running.pop(host, None))
            looking = threading.Thread(target=self._look_up, args=(loop, future, host, port), name="dns", daemon=True)
            try:
                looking.start()
            except RuntimeError as error:  # no thread or memory is left
                del self._running[host]
                raise OSError(errno.EAGAIN, "no thread for the look-up") from error
        found = await asyncio.shield(future)
        if isinstance(found, OSError):
            raise found
        return found

    @staticmethod
    def _look_up(
        loop: asyncio.AbstractEventLoop, future: asyncio.Future[Sequence[str] | OSError], host: str, port: int
    ) -> None:
        answer: Sequence[str] | OSError
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer = tuple(dict.fromkeys(str(row[4][0]) for row in rows))
        except OSError as error:
            answer = error
        except UnicodeError:  # a label that IDNA cannot encode
            answer = OSError(errno.EINVAL, "not a name")

        def finish() -> None:
            if not future.done():
                future.set_result(answer)

        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(finish)


class HostProbe:
    """Probes receivers, with the same address check as deliveries, and the hosts of `[network] probe_hosts`."""

    def __init__(
        self,
        policy: AddressPolicy,
        probe_hosts: Sequence[str] = (),
        *,
        connect_timeout_s: float = 5.0,
        resolver: Resolver | None = None,
        connector: Connector = connect_socket,
    ) -> None:
        """Create the dialers. `policy` is for receivers.

        The hosts of the settings, `probe_hosts`, may have private addresses (but not a metadata address).
        """
        self.probe_hosts = tuple(probe_hosts)
        looked_up = resolver or SystemResolver()
        inside = AddressPolicy.from_settings(hosts=self.probe_hosts)
        self._receivers = Dialer(policy, looked_up, connector, connect_timeout_s)
        self._probes = Dialer(inside, looked_up, connector, connect_timeout_s)

    async def receiver(self, url: str) -> bool:
        """Return whether the host of a webhook URL answers; a refused connection counts as an answer."""
        if check_url(url) is not None:
            return False
        parts = urlsplit(url)
        return await _answers(self._receivers, parts.hostname or "", parts.port or HTTPS_PORT)

    async def probe_host(self, host: str) -> bool:
        """Return whether a host of the settings answers at the HTTPS port."""
        return await _answers(self._probes, host, HTTPS_PORT)


async def _answers(dialer: Dialer, host: str, port: int) -> bool:
    try:
        connected = await dialer.connect_tcp(host, port)
    except ExchangeError as error:
        # A host that refuses the connection was reached.
        return error.code is DeliveryError.CONNECTION_REFUSED
    connected.close()
    return True


APART_S: Final = 600.0
"""A wall clock that differs by more from the time of the signature is wrong."""
NO_CHECK_TIME: Final = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL's x509_vfy.h."""


class _DatedTls(ssl.SSLObject):
    """One connection; `at_s` is the time to compare the dates with, None if OpenSSL has checked them."""

    at_s: float | None = None

    def do_handshake(self) -> None:
        """Make the handshake, then check the dates.

        Raises:
            ssl.SSLCertVerificationError: The certificate is not valid at that time.
        """
        super().do_handshake()
        if self.at_s is None:
            return
        dates: dict[str, Any] = self.getpeercert() or {}
        begin, end = (ssl.cert_time_to_seconds(dates[name]) for name in ("notBefore", "notAfter"))
        if not begin <= self.at_s <= end:
            error = ssl.SSLCertVerificationError(1, "certificate verify failed")
            when = "is not yet valid" if self.at_s < begin else "has expired"
            error.verify_message = f"certificate {when}, by the best known time"
            raise error


class DatedContext(ssl.SSLContext):
    """A client's context with the defaults of `ssl.create_default_context`, which may check dates at another time than now.

    Python's `ssl` has no setting for the time of the check (OpenSSL: X509_VERIFY_PARAM_set_time), so OpenSSL's own check of
    the dates is switched off while the wall clock is known to be wrong, and the dates of the receiver's certificate are
    compared here. Everything else (issuer, signature, name) is checked as always; the dates of intermediate certificates are
    not.

    Set `stamp` to the `webhook-timestamp` of each request, the best known time: if the wall clock differs much from it, the
    connections that are made from then on are checked at that time.
    """

    sslobject_class = _DatedTls
    stamp = ""

    @classmethod
    def make(cls) -> "DatedContext":
        """Create one that trusts the system's CAs."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return context

    def wrap_bio(self, *args: Any, **named: Any) -> ssl.SSLObject:
        """Make the TLS state of one connection."""
        signed_s = int(self.stamp) if self.stamp.isdecimal() else 0
        is_wrong = signed_s and abs(signed_s - CLOCK.now_us() / SECOND_US) > APART_S
        flags = int(self.verify_flags)
        self.verify_flags = ssl.VerifyFlags(flags | NO_CHECK_TIME if is_wrong else flags & ~NO_CHECK_TIME)
        made = super().wrap_bio(*args, **named)
        assert isinstance(made, _DatedTls)
        made.at_s = signed_s if is_wrong else None
        return made
