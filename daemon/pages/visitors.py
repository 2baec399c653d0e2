"""Strangers: who is at the other end, how often they may look, how many streams they may hold. Kept in memory only."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from starlette.types import Scope

from daemon.core.client_address import is_own, named
from daemon.core.rate import Rates

STREAMS_MAX: Final = 200
"""Of the 512 connections; whoever gets none asks every few seconds instead."""
STREAMS_PER_PAGE: Final = 4
"""A customer's phone, the shop's screen, and a second try of each."""
OWN_MACHINE_TIMES: Final = 10
"""Behind a tunnel all customers come from this machine, so it may look so many times as often."""
CLAIMS_PER_MIN: Final = 1
CLAIMS_AT_ONCE: Final = 10
"""Transaction IDs that one address may name, for whatever order; a shop's customers share its Wi-Fi."""


class Visitors:
    """What is remembered about who looks at pages."""

    def __init__(self, per_min: int, client_header: str) -> None:
        """Let each address look `per_min` times a minute, 0 as often as it likes; `client_header` is a proxy's."""
        self._header = client_header.lower().encode()
        self._looks = Rates(per_min, per_min)
        self._own = Rates(per_min * OWN_MACHINE_TIMES, per_min * OWN_MACHINE_TIMES)
        self._claims = Rates(CLAIMS_PER_MIN, CLAIMS_AT_ONCE)
        self._streams: Counter[str] = Counter()

    def may_look(self, scope: Scope, now_us: int) -> int:
        """Count a look; 0 when it is allowed, else the seconds to wait."""
        who, own = self._who(scope)
        taken = (self._own if own else self._looks).take(who, now_us)
        return 0 if taken is None else taken.retry_after_s

    def may_claim(self, scope: Scope, now_us: int) -> int:
        """Count a named transaction ID; 0 when it is allowed, else the seconds to wait."""
        taken = self._claims.take(self._who(scope)[0], now_us)
        return 0 if taken is None else taken.retry_after_s

    @contextmanager
    def stream(self, slug: str) -> Iterator[bool]:
        """Hold one stream; False when there are too many."""
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
        if not is_own(peer):
            return _network(peer), False
        told = named(scope["headers"], self._header)
        return (peer, True) if told is None else (_network(told), False)


def _network(address: str) -> str:
    """Return an address, of IPv6 the /64: that much one household has."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        return parsed.exploded[:19]
    return str(parsed)
