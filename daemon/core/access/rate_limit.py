"""Address of a caller, and the rate limit of API keys: a token bucket for each key. Pure.

The bucket counts microseconds of refill time as integers, not fractions of calls, so that there is no loss by rounding.
"""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Final

from msgspec import Struct

from daemon.core.limits import MINUTE_US, SECOND_US

KEYS_MAX: Final = 1024
"""Buckets kept at one time. Full ones are dropped first, because a missing bucket counts as full."""


def plain_address(text: str) -> str:
    """Return an IP address in its usual form; one of IPv4 that a socket of IPv6 shows (`::ffff:192.0.2.1`) as IPv4.

    Raises:
        ValueError: The text is no address.
    """
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def is_loopback_address(address: str) -> bool:
    """Return whether an address is this machine's own; an empty one is."""
    try:
        return not address or ip_address(address).is_loopback
    except ValueError:
        return False


def forwarded_address(headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str | None:
    """Return the address that a proxy's header names; None if it names none.

    Trust the header only from this machine, because any other client could forge it. The nearest proxy adds the last item,
    and some proxies add it as another line after the client's own.
    """
    told = [value for name, value in headers if name == header]
    return told[-1].decode("latin-1").rpartition(",")[2].strip() if told else None


def caller_address(peer: str, headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str:
    """Return the address that a call came from: the peer's own if no proxy names one."""
    forwarded = forwarded_address(headers, header) if header and is_loopback_address(peer) else None
    if forwarded is None:
        return peer
    try:
        return plain_address(forwarded)
    except ValueError:
        return peer


class RateLimitResult(Struct, frozen=True):
    """Result of the rate limit for one call.

    Attributes:
        allowed: Whether the call may proceed.
        limit: Calls per minute.
        remaining: Calls that are allowed at once after this one.
        reset_s: Seconds until the bucket is full again, rounded up.
        retry_after_s: Seconds until the next call is allowed, rounded up; 0 when one is allowed now.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    retry_after_s: int


class Rates:
    """The buckets of all keys with one limit."""

    def __init__(self, per_min: int, burst: int) -> None:
        """Allow each key `per_min` calls a minute and bursts of `burst`; `per_min` 0 means no limit."""
        self._limit = per_min
        self._each_us = MINUTE_US // per_min if per_min else 0
        self._full_us = self._each_us * max(1, burst)
        self._full_at: dict[str, int] = {}

    def take(self, key_id: str, now_us: int) -> RateLimitResult | None:
        """Count one call of a key and return the result; None if there is no limit."""
        if not self._each_us:
            return None
        # A bucket is stored as the time at which it will be full.
        missing = max(0, self._full_at.get(key_id, now_us) - now_us)
        # A clock that was set back locks a key out for no longer than an empty bucket takes to fill.
        missing = min(missing, self._full_us)
        allowed = missing + self._each_us <= self._full_us
        if allowed:
            missing += self._each_us
        self._keep(key_id, now_us + missing, now_us)
        wait = max(0, missing + self._each_us - self._full_us)
        return RateLimitResult(
            allowed=allowed,
            limit=self._limit,
            remaining=(self._full_us - missing) // self._each_us,
            reset_s=_seconds(missing),
            retry_after_s=0 if allowed else _seconds(wait),
        )

    def _keep(self, key_id: str, full_at: int, now_us: int) -> None:
        if key_id not in self._full_at and len(self._full_at) >= KEYS_MAX:
            self._full_at = {known: at for known, at in self._full_at.items() if at > now_us}
            if len(self._full_at) >= KEYS_MAX:
                self._full_at.clear()
        self._full_at[key_id] = full_at


def _seconds(us: int) -> int:
    return -(-us // SECOND_US)
