"""Whose address a caller over TCP has: the one that connected, or the one that a proxy on this machine names. Pure."""

from collections.abc import Iterable
from ipaddress import ip_address


def is_own(address: str) -> bool:
    """Say whether an address is this machine's own; an empty one is."""
    try:
        return not address or ip_address(address).is_loopback
    except ValueError:
        return False


def named(headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str | None:
    """Return the address that a proxy's header names; None where it names none.

    It counts only when this machine sends it: anybody else could write whatever they like. Its last item is the one that
    the nearest proxy has added.
    """
    for name, value in headers:
        if name == header:
            return value.decode("latin-1").rpartition(",")[2].strip()
    return None


def origin(peer: str, headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str:
    """Return the address that a call came from; the peer's own where a proxy names none."""
    told = named(headers, header) if header and is_own(peer) else None
    if told is None:
        return peer
    try:
        return str(ip_address(told))
    except ValueError:
        return peer
