"""Fifty private, disguised or malformed addresses: neither a delivery nor a probe connects to them."""

import socket
from collections.abc import Sequence

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.address_guard import PUBLIC_ONLY
from daemon.sender.connect import HostProbe
from daemon.sender.https import Sender
from tests.fakes.each import each

INSIDE = (
    "127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "0.0.0.0", "0",
    "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.100.100.200", "100.64.0.1",
    "192.0.0.192", "192.88.99.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "[::1]", "[::]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
    "[2001::1]", "[3fff::1]", "[5f00::1]", "[fec0::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]",
    "[ff02::1]", "localhost", "LOCALHOST.", "a.localhost",
)  # fmt: skip
NONSENSE = (
    "http://shop.test/", "https://user:pass@shop.test/", "https://shop.test/#f", "https:///x", "https://shop.test:0/",
    "https://shop.test:99999/", "https://shop.test/\r\nHost: x", "https://shop.test/a b", "https://sh\u00f6p.test/",
    "file:///etc/passwd", "gopher://shop.test/", "//shop.test/", "https://[::1", "https://" + "a" * 300 + ".test/",
)  # fmt: skip


class Recording:
    """Looks names up as a hostile server does, and refuses every connection after noting it."""

    def __init__(self) -> None:
        self.connected: list[str] = []

    async def look_up(self, host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async def connect(self, address: str, port: int) -> socket.socket:
        self.connected.append(address)
        raise ConnectionRefusedError


def test_fifty_nasty_addresses_are_tried_at_least() -> None:
    assert len({*INSIDE, *NONSENSE}) >= 50


@each("url", [*(f"https://{host}/hook" for host in INSIDE), *NONSENSE])
async def test_it_is_blocked_before_anything_is_connected(url: str) -> None:
    net = Recording()
    sender = Sender(PUBLIC_ONLY, resolver=net.look_up, connector=net.connect)
    outcome = await sender.post(url, {}, b"{}")
    await sender.aclose()
    assert (outcome.error_code, outcome.connected) == (DeliveryError.BLOCKED_ADDRESS, False)
    assert not await HostProbe(PUBLIC_ONLY, resolver=net.look_up, connector=net.connect).receiver(
        url
    )
    assert net.connected == []


async def test_a_host_of_the_settings_may_be_inside_and_one_that_refuses_was_reached() -> None:
    net = Recording()
    reach = HostProbe(PUBLIC_ONLY, ["192.168.1.1"], resolver=net.look_up, connector=net.connect)
    assert await reach.probe_host("192.168.1.1")
    assert net.connected == ["192.168.1.1"]


async def test_a_cloud_s_metadata_address_is_not_even_knocked_at() -> None:
    net = Recording()
    hosts = ["169.254.169.254"]
    reach = HostProbe(PUBLIC_ONLY, hosts, resolver=net.look_up, connector=net.connect)
    assert not await reach.probe_host(hosts[0])
    assert net.connected == []
