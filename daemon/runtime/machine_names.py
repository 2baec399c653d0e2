"""The names and addresses under which other devices of the shop's network reach this machine."""

import contextlib
import fcntl
import re
import socket
import struct
import sys
from ipaddress import IPv4Address
from typing import Final

from msgspec import Struct

_SIOCGIFADDR: Final = 0x8915
"""ioctl(2) that returns the IPv4 address of an interface (netdevice(7))."""
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class MachineNames(Struct, frozen=True):
    """Names and addresses of this machine in the local network.

    `host` is its name without a domain, empty if it has none that DNS allows. `addresses` are its IPv4 addresses without
    loopback, sorted. IPv6 addresses are left out: most change every day, and a phone uses the IPv4 address as typed.
    """

    host: str
    addresses: tuple[str, ...]


def machine_names() -> MachineNames:
    """Return the present names of this machine."""
    host = socket.gethostname().partition(".")[0].lower()
    found = _interface_addresses() if sys.platform == "linux" else _route_address()
    kept = sorted({each for each in found if not IPv4Address(each).is_loopback}, key=IPv4Address)
    return MachineNames(host if _LABEL.fullmatch(host) else "", tuple(kept))


def _interface_addresses() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):  # an interface without an IPv4 address
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                found.append(socket.inet_ntoa(answer[20:24]))
    return found


def _route_address() -> list[str]:
    """Return the address of the default route. Connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return [str(probe.getsockname()[0])]
    return []
