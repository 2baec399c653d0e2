"""Is it the receiver, or our own connection to the world? What attempts say about it. Pure; times are seconds.

decisions.md section 7: a host that could not be reached says nothing against its owner unless another host answered
TCP within the last 60 s, and still does: whoever judges a failure knocks at that host first. So the minute after the
link went down counts against nobody either. While everything fails so, nothing is attempted: hosts that could not be reached are held
back, and are only knocked at (TCP, no request) every 10 to 60 s. A host that has not failed yet is still tried: one
broken name must not stop the others.
"""

from collections.abc import Iterable
from typing import Final

from daemon.core.delivery import Link

ANSWERED_S: Final = 60.0
"""Another host that answered within this time proves that our own link works."""
KNOCK_S: Final = (10.0, 20.0, 40.0, 60.0)
"""Between two looks whether the link is back; the last one for ever."""
KNOCKS_MAX: Final = 4
"""Hosts that are knocked at at the same time, besides `[network] probe_hosts`."""


class LinkWatch:
    """What is known of our own link. A host is `name` or `name:port`, as the caller likes."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """Begin with the hosts that are known from the settings and the endpoints."""
        self._known = set(known)
        self._answered: dict[str, float] = {}
        self._failed: dict[str, float] = {}
        self._down = False

    @property
    def down(self) -> bool:
        """Our own link seems to be down."""
        return self._down

    def know(self, host: str) -> None:
        """Learn of a host that could answer."""
        self._known.add(host)

    def answered(self, host: str, now: float) -> bool:
        """Note that a host answered TCP; True when the link was down until now."""
        self._known.add(host)
        self._answered[host] = now
        self._failed.pop(host, None)
        returned, self._down = self._down, False
        if returned:
            self._failed.clear()
        return returned

    def unreachable(self, host: str, now: float) -> Link:
        """Note that a host could not be reached, and return how that is to be judged."""
        self._known.add(host)
        self.silent(host)
        self._failed[host] = now
        link = self.evidence(host, now)
        self._down = self._down or not link.other_host_answered
        return link

    def silent(self, host: str) -> None:
        """Note that a host does not answer now: that it did a moment ago proves nothing any more."""
        self._answered.pop(host, None)

    def witnesses(self, host: str, since: float, now: float) -> list[str]:
        """Return the other hosts whose word on our link is older than `since`, the freshest first; few of them.

        Nobody when one of them has spoken since: there is nothing to ask.
        """
        heard = {
            other: at
            for other, at in self._answered.items()
            if other != host and now - at <= ANSWERED_S
        }
        if any(at >= since for at in heard.values()):
            return []
        return sorted(heard, key=lambda other: -heard[other])[:KNOCKS_MAX]

    def evidence(self, host: str, now: float) -> Link:
        """Say what is known of the other hosts."""
        answered = any(
            other != host and now - at <= ANSWERED_S for other, at in self._answered.items()
        )
        return Link(answered, bool(self._known - {host}))

    def held(self) -> frozenset[str]:
        """Return the hosts that nothing is sent to now."""
        return frozenset(self._failed) if self._down else frozenset()

    def to_knock(self) -> list[str]:
        """Return some of the hosts that are held, those first that were tried longest ago."""
        return sorted(self._failed, key=lambda host: self._failed[host])[:KNOCKS_MAX]

    def knocked(self, host: str, now: float) -> None:
        """Note that a host that is held was knocked at and did not answer."""
        if host in self._failed:
            self._failed[host] = now
