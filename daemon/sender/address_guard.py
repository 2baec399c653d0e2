"""Guard against webhook URLs with private addresses, also known as SSRF protection.

Two checks: of the URL's text (`check_url`), and of every address that its name resolves to (`check_addresses`).
Python's `is_global` is not sufficient: it differs between versions, and ranges that carry or translate other
addresses are refused too; an IPv4 address inside an IPv6 address is checked on its own. This module opens no
connections, and the resolver is passed in.
"""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.limits import URL_CHARACTERS_MAX
from daemon.core.text import Text
from daemon.core.webhooks.signing import LOCAL_SCHEMES

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""`await resolver(host, port)` returns every address of a name, as text; raises OSError on failure."""

HOST_CHARACTERS_MAX: Final = 253
"""RFC 1035 section 2.3.4, without the trailing dot."""


class UrlRefusal(StrEnum):
    """Reason why a URL is refused: the `reason` of URL_NOT_ALLOWED, and part of a `blocked_address` message."""

    NOT_HTTPS = "not_https"
    MALFORMED = "malformed"
    TOO_LONG = "too_long"
    USERINFO = "userinfo"
    FRAGMENT = "fragment"
    INVALID_HOST = "invalid_host"
    INVALID_PORT = "invalid_port"
    UNRESOLVABLE = "unresolvable"
    PRIVATE_ADDRESS = "private_address"
    METADATA_ADDRESS = "metadata_address"
    LOCAL_TARGET = "local_target"
    UNTRUSTED_TARGET = "untrusted_target"


EXPLANATIONS: Final[dict[UrlRefusal, Text]] = {
    reason: Text(f"url.{reason}", most=URL_CHARACTERS_MAX) for reason in UrlRefusal
}
"""One readable sentence per reason."""


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


_DENIED: Final = _networks(
    # IANA IPv4 special-purpose registry, and more. `is_global` covers
    # most of them, but not in every version of Python.
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    # Of the IPv6 addresses in _PUBLIC_IPV6: protocols and tunnels, documentation.
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
)
_PUBLIC_IPV6: Final = ipaddress.IPv6Network("2000::/3")
"""The only IPv6 addresses that are given to networks of the public internet (RFC 4291 section 2.4, IANA)."""

_METADATA: Final = _networks(
    "169.254.169.0/24",  # AWS, Google, Azure, DigitalOcean, Oracle: metadata, time and DNS
    "169.254.170.0/24",  # AWS container credentials
    "169.254.0.23/32",  # Tencent
    "100.100.100.200/32",  # Alibaba
    "168.63.129.16/32",  # Azure's host: a public address with a private service
    "192.0.0.192/32",  # Oracle Cloud, classic
    "fd00:ec2::/32",  # AWS over IPv6
    "fd20:ce::/32",  # Google over IPv6
)

_NEVER_A_HOST: Final = _networks("0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", "::/128", "ff00::/8")
"""No machine can have these addresses, so no setting allows them."""

_NAT64: Final = _networks("64:ff9b::/96", "64:ff9b:1::/48")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)
URL_PARTS: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)"
    r"(?P<query>\?[^#]*)?(?P<fragment>#.*)?"
)
_PRINTABLE: Final = re.compile(r"[!-~]+")
_NOT_IN_URLS: Final = re.compile(r'[\\"<>^`{|}]|%(?![0-9A-Fa-f]{2})')
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")


def parse_address(text: str) -> Address | None:
    """Parse an IP address (brackets and scope are dropped), None if it is not one."""
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None


def canonical_host(host: str) -> str:
    """Return the canonical spelling of a host: lower case, an address in its shortest form without brackets."""
    address = parse_address(host)
    return host.lower() if address is None else str(address)


class AddressPolicy(Struct, frozen=True):
    """`[webhooks] allow_private_hosts, allow_private_cidrs`: settings of the daemon, not changeable by the API."""

    allow_private_hosts: frozenset[str] = frozenset()
    """Names and addresses in the spelling of `canonical_host`, which `from_settings` applies."""
    allow_private_cidrs: tuple[Network, ...] = ()

    @classmethod
    def from_settings(cls, hosts: Iterable[str] = (), cidrs: Iterable[str] = ()) -> "AddressPolicy":
        """Read the two settings.

        Raises:
            ValueError: A network is invalid, for example has host bits set.
        """
        return cls(
            frozenset(canonical_host(host) for host in hosts), tuple(ipaddress.ip_network(cidr) for cidr in cidrs)
        )


PUBLIC_ONLY: Final = AddressPolicy()


def embedded_addresses(address: Address) -> tuple[ipaddress.IPv4Address, ...]:
    """Return the IPv4 addresses that an IPv6 address carries: mapped, compatible, translated, 6to4, NAT64, Teredo, ISATAP."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    low = int(address) & 0xFFFF_FFFF
    found: list[ipaddress.IPv4Address] = []
    if address.ipv4_mapped is not None:
        found.append(address.ipv4_mapped)
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found.extend(address.teredo)
    isatap = (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP
    compatible = int(address) >> 32 == 0 and low > 1
    translated = int(address) >> 32 == 0xFFFF_0000  # ::ffff:0:0:0/96 (RFC 2765)
    if isatap or compatible or translated or any(address in network for network in _NAT64):
        found.append(ipaddress.IPv4Address(low))
    return tuple(found)


def is_public(address: Address) -> bool:
    """Return whether an address and all addresses it carries are on the public internet."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)  # the same IPv4 address in another spelling
        if address not in _PUBLIC_IPV6:
            return False
    if not address.is_global or _in(address, _DENIED):
        return False
    return all(is_public(inner) for inner in embedded_addresses(address))


def check_address(host: str, address: Address, policy: AddressPolicy) -> UrlRefusal | None:
    """Return the reason why an address of `host` is refused, None when it is allowed."""
    every = (address, *embedded_addresses(address))
    if any(_in(one, _METADATA) for one in every):
        return UrlRefusal.METADATA_ADDRESS
    if is_public(address):
        return None
    if any(_in(one, _NEVER_A_HOST) for one in every):
        return UrlRefusal.PRIVATE_ADDRESS
    if canonical_host(host) in policy.allow_private_hosts:
        return None
    # A setting must allow this address and those it carries; of a mapped one only the latter.
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    judged = every[1:] if mapped else every
    if all(is_public(one) or _in(one, policy.allow_private_cidrs) for one in judged):
        return None
    return UrlRefusal.PRIVATE_ADDRESS


def check_addresses(host: str, addresses: Sequence[str], policy: AddressPolicy = PUBLIC_ONLY) -> UrlRefusal | None:
    """Return the reason why `host` is refused, None when all of its addresses are allowed.

    One refused address refuses the host, because the owner of the name could choose which one is used.
    """
    if not addresses:
        return UrlRefusal.UNRESOLVABLE
    for text in addresses:
        address = parse_address(text)
        if address is None:
            return UrlRefusal.INVALID_HOST
        reason = check_address(host, address, policy)
        if reason is not None:
            return reason
    return None


def check_url(url: str) -> UrlRefusal | None:  # noqa: PLR0911 - one return per reason
    """Return the reason why the text of a URL is refused, None when it is allowed. Does not use DNS."""
    if len(url) > URL_CHARACTERS_MAX:
        return UrlRefusal.TOO_LONG
    if url.startswith(LOCAL_SCHEMES):
        return UrlRefusal.LOCAL_TARGET
    match = URL_PARTS.fullmatch(url)
    if not _PRINTABLE.fullmatch(url) or match is None:
        return UrlRefusal.MALFORMED
    if match["scheme"].lower() != "https":
        return UrlRefusal.NOT_HTTPS
    if "@" in match["authority"]:
        return UrlRefusal.USERINFO
    if match["fragment"] is not None:
        return UrlRefusal.FRAGMENT
    host, port = split_authority(match["authority"])
    if not _is_host(host):
        return UrlRefusal.INVALID_HOST
    if port is not None and not (port.isdecimal() and len(port) <= 5 and 0 < int(port) < 65_536):
        return UrlRefusal.INVALID_PORT
    return UrlRefusal.MALFORMED if _NOT_IN_URLS.search(url) else None


def split_authority(authority: str) -> tuple[str, str | None]:
    """Split `host[:port]`; an IPv6 address keeps its brackets. The port is None when there is no colon."""
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        return host + bracket + rest.partition(":")[0], rest[1:] if ":" in rest else None
    host, colon, port = authority.partition(":")
    return host, port if colon else None


async def check_destination(
    url: str, policy: AddressPolicy, resolver: Resolver
) -> tuple[UrlRefusal | None, Text | str]:
    """Check a URL before an endpoint is saved: its text, then every address of its name.

    Return the reason, None if allowed, and a sentence. `resolver` resolves the name, within its own time limit.
    `UNRESOLVABLE` may only mean that the shop is offline; the caller decides whether to refuse the URL then.
    """
    reason = check_url(url)
    if reason is None:
        match = URL_PARTS.fullmatch(url)
        assert match is not None, "check_url has matched it"
        host, port = split_authority(match["authority"])
        literal = parse_address(host)
        try:
            found = [str(literal)] if literal else await resolver(host.lower(), int(port or 443))
        except OSError:
            found = ()
        reason = check_addresses(host, found, policy)
    return reason, "" if reason is None else EXPLANATIONS[reason]


def _in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _is_host(host: str) -> bool:
    """Return whether the host is a name, or an address with only one interpretation."""
    if host.startswith("["):
        return host.endswith("]") and "%" not in host and ":" in host and parse_address(host) is not None
    lowered = host.lower()
    labels = lowered.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # 127.1, 2130706433, 0x7f.1 and 0177.0.0.1 are loopback for some programs and names for others.
        address = parse_address(lowered)
        return address is not None and str(address) == lowered
    return len(lowered) <= HOST_CHARACTERS_MAX and all(map(_LABEL.fullmatch, labels))
