"""Knock at a host: does it answer TCP? Nothing is sent. How the delivery loop learns that our own link is back."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from daemon.core.delivery import DeliveryError
from daemon.webhooks.addresses import AddressPolicy, Resolver, check_url
from daemon.webhooks.dial import Connector, Dialer, connect_socket
from daemon.webhooks.resolver import SystemResolver
from daemon.webhooks.streams import TRACE, NetworkError, Trace

HTTPS_PORT: Final = 443


class Reach:
    """Knocks at receivers, behind the same guard as deliveries, and at the hosts of `[network] probe_hosts`."""

    def __init__(
        self,
        policy: AddressPolicy,
        probe_hosts: Sequence[str] = (),
        *,
        connect_timeout_s: float = 5.0,
        resolver: Resolver | None = None,
        connector: Connector = connect_socket,
    ) -> None:
        """Make the dialers.

        Args:
            policy: For receivers.
            probe_hosts: Named by the owner, so they may be inside (a cloud's metadata address never).
            connect_timeout_s: For each knock.
            resolver: The system's by default.
            connector: Opens the connection.
        """
        self.probe_hosts = tuple(probe_hosts)
        looked_up = resolver or SystemResolver()
        inside = AddressPolicy.from_settings(hosts=self.probe_hosts)
        self._receivers = Dialer(policy, looked_up, connector, connect_timeout_s)
        self._probes = Dialer(inside, looked_up, connector, connect_timeout_s)

    async def receiver(self, url: str) -> bool:
        """Say whether the host of a webhook address answers; also when it refuses the connection."""
        if check_url(url) is not None:
            return False
        parts = urlsplit(url)
        return await _answers(self._receivers, parts.hostname or "", parts.port or HTTPS_PORT)

    async def probe_host(self, host: str) -> bool:
        """Say whether a host of the settings answers at the port of HTTPS."""
        return await _answers(self._probes, host, HTTPS_PORT)


async def _answers(dialer: Dialer, host: str, port: int) -> bool:
    token = TRACE.set(Trace())
    try:
        stream = await dialer.connect_tcp(host, port)
    except NetworkError as error:
        # Who refuses was reached.
        return error.code is DeliveryError.CONNECTION_REFUSED
    finally:
        TRACE.reset(token)
    await stream.aclose()
    return True
