"""Rate limits and stream limits for visitors of the pages, by address. Kept in memory only."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from starlette.types import Scope

from daemon.core.access.rate_limit import (
    Rates,
    forwarded_address,
    is_loopback_address,
    plain_address,
)

STREAMS_MAX: Final = 200
"""Of the 512 connections; a visitor without a stream polls every few seconds instead."""
STREAMS_PER_PAGE: Final = 4
"""A customer's phone, the shop's screen, and a second connection of each."""
OWN_MACHINE_FACTOR: Final = 10
"""Behind a tunnel all customers come from this machine, so its limit is this many times higher."""
CLAIMS_PER_MIN: Final = 1
CLAIMS_AT_ONCE: Final = 10
"""Transaction IDs that one address may enter, for all transactions; a shop's customers share its Wi-Fi."""


class Visitors:
    """The request counts and open streams of visitors."""

    def __init__(self, per_min: int, client_header: str) -> None:
        """Allow each address `per_min` views a minute, 0 for no limit; `client_header` is set by a proxy."""
        self._header = client_header.lower().encode()
        self._looks = Rates(per_min, per_min)
        self._own = Rates(per_min * OWN_MACHINE_FACTOR, per_min * OWN_MACHINE_FACTOR)
        self._claims = Rates(CLAIMS_PER_MIN, CLAIMS_AT_ONCE)
        self._streams: Counter[str] = Counter()

    def may_look(self, scope: Scope, now_us: int) -> int:
        """Count a view; return 0 if it is allowed, else the seconds to wait."""
        who, own = self._who(scope)
        taken = (self._own if own else self._looks).take(who, now_us)
        return 0 if taken is None else taken.retry_after_s

    def may_claim(self, scope: Scope, now_us: int) -> int:
        """Count an entered transaction ID; return 0 if it is allowed, else the seconds to wait."""
        taken = self._claims.take(self._who(scope)[0], now_us)
        return 0 if taken is None else taken.retry_after_s

    @contextmanager
    def stream(self, slug: str) -> Iterator[bool]:
        """Reserve one stream; yield False if there are too many."""
        if self._streams.total() >= STREAMS_MAX or self._streams[slug] >= STREAMS_PER_PAGE:
            yield False
            return
        self._streams[slug] += 1
        try:
            yield True
        finally:
            self._streams[slug] -= 1
            if not self._streams[slug]:
                del self._streams[slug]

    def _who(self, scope: Scope) -> tuple[str, bool]:
        """Return the visitor's address, and whether it is this machine's own."""
        client = scope.get("client")
        peer = client[0] if client else ""
        if not is_loopback_address(peer):
            return _network(peer), False
        forwarded = forwarded_address(scope["headers"], self._header)
        return (peer, True) if forwarded is None else (_network(forwarded), False)


def _network(address: str) -> str:
    """Return an address, for IPv6 its /64 network, which is one customer's."""
    try:
        parsed = ip_address(plain_address(address.partition("%")[0]))
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return parsed.exploded[:19]
    return str(parsed)
