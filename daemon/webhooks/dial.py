"""Connect a webhook: look the name up, check every address, connect to a checked one.

The shape is httpcore's network backend, without importing it. An address is checked whenever a connection is made,
and the connection stays with that address: a name that changes its mind between two look-ups changes nothing.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from daemon.core.delivery import DeliveryError
from daemon.webhooks.addresses import (
    EXPLANATIONS,
    AddressPolicy,
    Resolver,
    check_addresses,
    parse_address,
)
from daemon.webhooks.streams import TRACE, NetworkError, PlainStream

Connector = Callable[[str, int], Awaitable[socket.socket]]
"""`await connector(address, port)` gives a connected, non-blocking TCP socket; raises OSError."""

RESOLVE_S: Final = 5.0
ADDRESSES_MAX: Final = 4
"""Addresses of one name that are tried; the connect time is shared among them."""


async def connect_socket(address: str, port: int) -> socket.socket:
    """Open a TCP connection to an address (never a name)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only where it sees it.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except BaseException:
        opened.close()
        raise
    return opened


class Dialer:
    """httpcore's network backend, behind the guard."""

    def __init__(
        self,
        policy: AddressPolicy,
        resolver: Resolver,
        connector: Connector,
        connect_timeout_s: float,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._connector = connector
        self._connect_timeout_s = connect_timeout_s

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - ours is given once
        local_address: str | None = None,  # noqa: ARG002 -- httpcore's own signature
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 -- httpcore's own signature
    ) -> PlainStream:
        """Connect to a checked address of `host`.

        Raises:
            NetworkError: DNS, the guard or TCP said no.
        """
        addresses = await self._resolve(host, port)
        reason = check_addresses(host, addresses, self._policy)
        if reason is not None:
            raise NetworkError(DeliveryError.BLOCKED_ADDRESS, f"{host}: {EXPLANATIONS[reason]}")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._connect_timeout_s
        tried = addresses[:ADDRESSES_MAX]
        failures: list[NetworkError] = []
        for index, address in enumerate(tried):
            try:
                async with asyncio.timeout((deadline - loop.time()) / (len(tried) - index)):
                    connected = await self._connector(address, port)
            except OSError as error:
                failures.append(connect_error(host, error))
            else:
                TRACE.get().connected = True
                return PlainStream(connected, self._connect_timeout_s)
        # A missing IPv6 route says less than what the other addresses answered.
        failures.sort(key=lambda failure: failure.code is DeliveryError.NETWORK_UNREACHABLE)
        raise failures[0]

    async def connect_unix_socket(self, *_: object, **__: object) -> PlainStream:
        """Refuse: webhooks go over TCP."""
        raise NetworkError(DeliveryError.BLOCKED_ADDRESS, "webhooks go over TCP only")

    async def sleep(self, seconds: float) -> None:
        """Wait, for httpcore's own retries (which are off)."""
        await asyncio.sleep(seconds)

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        literal = parse_address(host)
        if literal is not None:
            return (str(literal),)
        try:
            async with asyncio.timeout(RESOLVE_S):
                return await self._resolver(host, port)
        except TimeoutError as error:
            message = f"the look-up of {host} took longer than {RESOLVE_S:g} s"
            raise NetworkError(DeliveryError.DNS_ERROR, message) from error
        except OSError as error:
            message = f"the address of {host} could not be found ({error.strerror or error})"
            raise NetworkError(DeliveryError.DNS_ERROR, message) from error


def connect_error(host: str, error: OSError) -> NetworkError:
    """Say what a failed TCP connect means."""
    match error:
        case TimeoutError():
            return NetworkError(DeliveryError.TIMEOUT, f"{host} did not answer the connect in time")
        case ConnectionRefusedError():
            return NetworkError(DeliveryError.CONNECTION_REFUSED, f"{host} refused the connection")
        case ConnectionResetError() | ConnectionAbortedError():
            return NetworkError(DeliveryError.CONNECTION_RESET, f"{host} reset the connection")
    # No route, no network, a local firewall, or no file handles left: not the receiver's doing.
    message = f"{host} could not be reached ({error.strerror or error})"
    return NetworkError(DeliveryError.NETWORK_UNREACHABLE, message)
