"""The guard against private addresses: malicious URLs, malicious addresses, and exceptions in the settings."""

import ipaddress
import socket
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.webhooks.delivery import DeliveryError
from daemon.core.webhooks.signing import normalise_url
from daemon.sender.address_guard import (
    EXPLANATIONS,
    PUBLIC_ONLY,
    AddressPolicy,
    UrlRefusal,
    canonical_host,
    check_addresses,
    check_destination,
    check_url,
    is_public,
)
from daemon.sender.connect import HostProbe
from daemon.sender.https import Sender
from tests.fakes.each import each

NASTY_URLS = {
    # Not https.
    "http://example.com/": UrlRefusal.NOT_HTTPS,
    "HTTP://example.com/": UrlRefusal.NOT_HTTPS,
    "ftp://example.com/": UrlRefusal.NOT_HTTPS,
    "file:///etc/passwd": UrlRefusal.NOT_HTTPS,
    "gopher://example.com:70/_x": UrlRefusal.NOT_HTTPS,
    "ws://example.com/": UrlRefusal.NOT_HTTPS,
    # Not a URL.
    "": UrlRefusal.MALFORMED,
    "example.com/hook": UrlRefusal.MALFORMED,
    "//example.com/hook": UrlRefusal.MALFORMED,
    "https:/example.com/": UrlRefusal.MALFORMED,
    "https:example.com": UrlRefusal.MALFORMED,
    "javascript:alert(1)": UrlRefusal.MALFORMED,
    " https://example.com/": UrlRefusal.MALFORMED,
    "https://example.com/ x": UrlRefusal.MALFORMED,
    "https://example.com/\r\nHost: internal": UrlRefusal.MALFORMED,
    "https://example.com/\0": UrlRefusal.MALFORMED,
    "https://example.com\t/": UrlRefusal.MALFORMED,
    "https://exämple.com/": UrlRefusal.MALFORMED,
    "https://127。0。0。1/": UrlRefusal.MALFORMED,
    "https://①②⑦.0.0.1/": UrlRefusal.MALFORMED,
    "https://example.com/é": UrlRefusal.MALFORMED,
    "https://example.com/%zz": UrlRefusal.MALFORMED,
    "https://example.com/a\\b": UrlRefusal.MALFORMED,
    "https://example.com/<x>": UrlRefusal.MALFORMED,
    "https://example.com/?q={x}": UrlRefusal.MALFORMED,
    "https://example.com/" + "a" * 2048: UrlRefusal.TOO_LONG,
    # Shows one host and connects to another.
    "https://user@example.com/": UrlRefusal.USERINFO,
    "https://user:secret@example.com/": UrlRefusal.USERINFO,
    "https://example.com@127.0.0.1/": UrlRefusal.USERINFO,
    "https://@example.com/": UrlRefusal.USERINFO,
    "https://127.0.0.1\\@example.com/": UrlRefusal.USERINFO,
    "https://example.com/#x": UrlRefusal.FRAGMENT,
    "https://example.com#@127.0.0.1/": UrlRefusal.FRAGMENT,
    # No host, or one that is read differently by different readers.
    "https:///hook": UrlRefusal.INVALID_HOST,
    "https://:443/": UrlRefusal.INVALID_HOST,
    "https://./": UrlRefusal.INVALID_HOST,
    "https://example..com/": UrlRefusal.INVALID_HOST,
    "https://.example.com/": UrlRefusal.INVALID_HOST,
    "https://localhost./": UrlRefusal.INVALID_HOST,
    "https://-x.com/": UrlRefusal.INVALID_HOST,
    "https://x_y.com/": UrlRefusal.INVALID_HOST,
    "https://%6cocalhost/": UrlRefusal.INVALID_HOST,
    "https://example.com%2f.evil.net/": UrlRefusal.INVALID_HOST,
    "https://ex*mple.com/": UrlRefusal.INVALID_HOST,
    "https://" + "a" * 64 + ".com/": UrlRefusal.INVALID_HOST,
    "https://" + "a." * 127 + "com/": UrlRefusal.INVALID_HOST,
    "https://127.1/": UrlRefusal.INVALID_HOST,
    "https://127.0.1/": UrlRefusal.INVALID_HOST,
    "https://2130706433/": UrlRefusal.INVALID_HOST,
    "https://0x7f000001/": UrlRefusal.INVALID_HOST,
    "https://0x7f.0.0.1/": UrlRefusal.INVALID_HOST,
    "https://127.0.0.0x1/": UrlRefusal.INVALID_HOST,
    "https://0177.0.0.1/": UrlRefusal.INVALID_HOST,
    "https://017700000001/": UrlRefusal.INVALID_HOST,
    "https://127.0.0.01/": UrlRefusal.INVALID_HOST,
    "https://127.0.0.1./": UrlRefusal.INVALID_HOST,
    "https://256.256.256.256/": UrlRefusal.INVALID_HOST,
    "https://1.2.3.4.5/": UrlRefusal.INVALID_HOST,
    "https://0/": UrlRefusal.INVALID_HOST,
    "https://[::1/": UrlRefusal.INVALID_HOST,
    "https://[]/": UrlRefusal.INVALID_HOST,
    "https://[127.0.0.1]/": UrlRefusal.INVALID_HOST,
    "https://[fe80::1%25eth0]/": UrlRefusal.INVALID_HOST,
    "https://[::1]x/": UrlRefusal.INVALID_HOST,
    "https://[example.com]/": UrlRefusal.INVALID_HOST,
    "https://::1/": UrlRefusal.INVALID_HOST,
    # Ports.
    "https://example.com:/": UrlRefusal.INVALID_PORT,
    "https://example.com:0/": UrlRefusal.INVALID_PORT,
    "https://example.com:65536/": UrlRefusal.INVALID_PORT,
    "https://example.com:-1/": UrlRefusal.INVALID_PORT,
    "https://example.com:443x/": UrlRefusal.INVALID_PORT,
    "https://example.com:4 3/": UrlRefusal.MALFORMED,
    "https://example.com:80:80/": UrlRefusal.INVALID_PORT,
    "https://example.com:000443/": UrlRefusal.INVALID_PORT,
    # A proper URL of a place that is not public.
    "https://127.0.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://127.255.255.254:8443/": UrlRefusal.PRIVATE_ADDRESS,
    "https://0.0.0.0/": UrlRefusal.PRIVATE_ADDRESS,
    "https://10.0.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://172.16.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://172.31.255.255/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.168.1.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://100.64.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://169.254.1.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.0.0.8/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.0.0.9/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.0.0.170/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.0.2.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://192.88.99.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://198.18.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://198.51.100.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://203.0.113.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://224.0.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://239.255.255.250/": UrlRefusal.PRIVATE_ADDRESS,
    "https://240.0.0.1/": UrlRefusal.PRIVATE_ADDRESS,
    "https://255.255.255.255/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[0:0:0:0:0:0:0:1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::127.0.0.1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::8.8.8.8]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::ffff:127.0.0.1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::ffff:7f00:1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::ffff:10.0.0.1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[64:ff9b::7f00:1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[64:ff9b::8.8.8.8]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[64:ff9b:1::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[100::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2001::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2001:10::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2001:db8::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2002:7f00:1::]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2002:808:808::]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[3fff::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[5f00::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[1::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[4000::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::ffff:0:127.0.0.1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[::ffff:0:169.254.169.254]/": UrlRefusal.METADATA_ADDRESS,
    "https://[fc00::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[fd12:3456::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[fe80::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[fec0::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[ff02::1]/": UrlRefusal.PRIVATE_ADDRESS,
    "https://[2606:4700::5efe:10.0.0.1]/": UrlRefusal.PRIVATE_ADDRESS,
    # Names for an address.
    "https://localhost/": UrlRefusal.PRIVATE_ADDRESS,
    "https://LOCALHOST:8443/x": UrlRefusal.PRIVATE_ADDRESS,
    "https://loopback.test/": UrlRefusal.PRIVATE_ADDRESS,
    "https://half-private.test/": UrlRefusal.PRIVATE_ADDRESS,
    "https://half-private-v6.test/": UrlRefusal.PRIVATE_ADDRESS,
    "https://scoped.test/": UrlRefusal.PRIVATE_ADDRESS,
    "https://garbage.test/": UrlRefusal.INVALID_HOST,
    "https://nothing.test/": UrlRefusal.UNRESOLVABLE,
    "https://unknown.test/": UrlRefusal.UNRESOLVABLE,
    # Metadata.
    "https://169.254.169.254/latest/meta-data/": UrlRefusal.METADATA_ADDRESS,
    "https://[::ffff:169.254.169.254]/": UrlRefusal.METADATA_ADDRESS,
    "https://[64:ff9b::a9fe:a9fe]/": UrlRefusal.METADATA_ADDRESS,
    "https://[2002:a9fe:a9fe::]/": UrlRefusal.METADATA_ADDRESS,
    "https://[fd00:ec2::254]/": UrlRefusal.METADATA_ADDRESS,
    "https://[fd20:ce::254]/": UrlRefusal.METADATA_ADDRESS,
    "https://169.254.170.2/": UrlRefusal.METADATA_ADDRESS,
    "https://100.100.100.200/": UrlRefusal.METADATA_ADDRESS,
    "https://168.63.129.16/": UrlRefusal.METADATA_ADDRESS,
    "https://192.0.0.192/": UrlRefusal.METADATA_ADDRESS,
    "https://metadata.google.internal/": UrlRefusal.METADATA_ADDRESS,
}

GOOD_URLS = [
    "https://example.com",
    "https://example.com/",
    "HTTPS://Example.COM/Hook",
    "https://example.com:8443/hook?token=a%20b&x=1",
    "https://a-b.c1.example.com:1/~x;y=1,2!$'()*+",
    "https://xn--exmple-cua.com/",
    "https://8.8.8.8/hook",
    "https://8.8.8.8:65535/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]:8443/",
    "https://example.com/?",
    "https://example.com?x",
    "https://1.example.com/",
    "https://example.c0m/",
]

NAMES = {
    "localhost": ("127.0.0.1", "::1"),
    "loopback.test": ("127.0.0.1",),
    "half-private.test": ("8.8.8.8", "10.0.0.1"),
    "half-private-v6.test": ("8.8.8.8", "fd00::1"),
    "scoped.test": ("fe80::1%2",),
    "garbage.test": ("not an address",),
    "nothing.test": (),
    "metadata.google.internal": ("169.254.169.254",),
}


class RecordingResolver:
    """Answers from a table, without a network."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        if host == "unknown.test":
            raise OSError(-2, "Name or service not known")
        return NAMES.get(host, ("8.8.8.8", "2606:4700::1111"))


def test_there_are_enough_nasty_urls() -> None:
    assert len(NASTY_URLS) >= 60


@each(("url", "reason"), NASTY_URLS.items())
async def test_a_nasty_url_is_refused_with_its_reason(url: str, reason: UrlRefusal) -> None:
    resolver = RecordingResolver()
    assert await check_destination(url, PUBLIC_ONLY, resolver) == (reason, EXPLANATIONS[reason])
    if check_url(url) is not None:
        assert resolver.asked == []


@each("url", GOOD_URLS)
async def test_a_good_url_is_allowed(url: str) -> None:
    assert await check_destination(url, PUBLIC_ONLY, RecordingResolver()) == (None, "")
    assert normalise_url(url).startswith("https://")


async def test_the_resolver_is_asked_for_names_only() -> None:
    resolver = RecordingResolver()
    for url in GOOD_URLS[:4] + GOOD_URLS[6:10]:
        await check_destination(url, PUBLIC_ONLY, resolver)
    assert resolver.asked == [("example.com", 443), ("example.com", 443), ("example.com", 443), ("example.com", 8443)]


def test_every_reason_has_a_sentence() -> None:
    assert set(EXPLANATIONS) == set(UrlRefusal)
    assert "does not begin with https://" in str(EXPLANATIONS[UrlRefusal.MALFORMED])


ALLOWED_HOSTS = AddressPolicy.from_settings(hosts=["Shop.Local", "192.168.1.5", "[FD00::5]", "8.8.8.8"])
ALLOWED_NETWORKS = AddressPolicy.from_settings(cidrs=["10.1.0.0/16", "fd01::/16", "64:ff9b::/96"])


@each(
    ("policy", "host", "addresses", "reason"),
    [
        (ALLOWED_HOSTS, "shop.local", ["192.168.7.7"], None),
        (ALLOWED_HOSTS, "SHOP.local", ["127.0.0.1", "::1", "8.8.8.8"], None),
        (ALLOWED_HOSTS, "shop.local", ["100.101.102.103"], None),  # a Tailscale address
        (ALLOWED_HOSTS, "shop.local", ["fe80::1%2"], None),
        (ALLOWED_HOSTS, "shop.local", ["::ffff:127.0.0.1"], None),
        (ALLOWED_HOSTS, "192.168.1.5", ["192.168.1.5"], None),
        (ALLOWED_HOSTS, "[fd00:0::5]", ["fd00::5"], None),
        # Exact: neither a neighbour nor a name below, nor another name of an allowed address.
        (ALLOWED_HOSTS, "192.168.1.6", ["192.168.1.6"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "x.shop.local", ["192.168.7.7"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "evil.example", ["192.168.1.5"], UrlRefusal.PRIVATE_ADDRESS),
        # Refused with any settings.
        (ALLOWED_HOSTS, "shop.local", ["169.254.169.254"], UrlRefusal.METADATA_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["10.0.0.1", "fd00:ec2::254"], UrlRefusal.METADATA_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["::ffff:169.254.169.254"], UrlRefusal.METADATA_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["0.0.0.0"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["::"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["224.0.0.1"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", ["255.255.255.255"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_HOSTS, "shop.local", [], UrlRefusal.UNRESOLVABLE),
        (ALLOWED_NETWORKS, "a.example", ["10.1.2.3"], None),
        (ALLOWED_NETWORKS, "a.example", ["::ffff:10.1.2.3"], None),
        (ALLOWED_NETWORKS, "a.example", ["fd01::1", "8.8.8.8"], None),
        (ALLOWED_NETWORKS, "a.example", ["10.2.2.3"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_NETWORKS, "a.example", ["10.1.2.3", "10.2.2.3"], UrlRefusal.PRIVATE_ADDRESS),
        # Translation is allowed there, its private side is not.
        (ALLOWED_NETWORKS, "a.example", ["64:ff9b::8.8.8.8"], None),
        (ALLOWED_NETWORKS, "a.example", ["64:ff9b::192.168.1.1"], UrlRefusal.PRIVATE_ADDRESS),
        (ALLOWED_NETWORKS, "a.example", ["64:ff9b::169.254.169.254"], UrlRefusal.METADATA_ADDRESS),
        (
            AddressPolicy.from_settings(cidrs=["0.0.0.0/0", "::/0"]),
            "a.example",
            ["169.254.169.254"],
            UrlRefusal.METADATA_ADDRESS,
        ),
    ],
)
def test_the_settings_allow_private_places_exactly_and_metadata_never(
    policy: AddressPolicy, host: str, addresses: list[str], reason: UrlRefusal | None
) -> None:
    assert check_addresses(host, addresses, policy) is reason


def test_a_broken_network_in_the_settings_is_an_error() -> None:
    with pytest.raises(ValueError, match="host bits"):
        AddressPolicy.from_settings(cidrs=["10.0.0.1/8"])


def test_hosts_have_one_spelling() -> None:
    assert [canonical_host(host) for host in ("A.B", "[::0001]", "::1", "1.2.3.4")] == ["a.b", "::1", "::1", "1.2.3.4"]


@each(
    "network",
    [
        "192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4", "ff00::/8", "::/96", "64:ff9b::/96", "64:ff9b:1::/48",
        "2002::/16", "2001::/32", "3fff::/20", "5f00::/16", "fec0::/10",
    ],
)  # fmt: skip
def test_what_python_may_call_global_and_the_specification_denies_is_not_public(network: str) -> None:
    whole = ipaddress.ip_network(network)
    for number in (0, 1, whole.num_addresses // 2, whole.num_addresses - 1):
        assert not is_public(whole[number])


@given(st.ip_addresses(v=4))
def test_public_never_says_more_than_python(address: ipaddress.IPv4Address) -> None:
    assert not is_public(address) or address.is_global
    # In any notation, an address is not more public than the address itself.
    number = int(address)
    for wrapped in (
        ipaddress.IPv6Address((0xFFFF << 32) | number),
        ipaddress.IPv6Address((0x64FF9B << 96) | number),
        ipaddress.IPv6Address((0x2002 << 112) | (number << 80)),
        ipaddress.IPv6Address((0x26064700 << 96) | (0x5EFE << 32) | number),
    ):
        assert not is_public(wrapped) or is_public(address)


@given(st.ip_addresses(v=6))
def test_no_ipv6_address_outside_the_public_range_is_public(address: ipaddress.IPv6Address) -> None:
    if address.ipv4_mapped is None and int(address) >> 125 != 1:
        assert not is_public(address)


@given(st.text(max_size=60) | st.text(max_size=40).map("https://".__add__))
def test_any_text_gets_an_answer_and_what_passes_has_a_normal_form(text: str) -> None:
    if check_url(text) is None:
        normal = normalise_url(text)
        assert check_url(normal) is None
        assert normalise_url(normal) == normal


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
    assert not await HostProbe(PUBLIC_ONLY, resolver=net.look_up, connector=net.connect).receiver(url)
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
