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
TOLD_AFTER_S: Final = 900.0
"""The owner is told of an outage of this length; shorter ones mend themselves."""


class LinkWatch:
    """What is known of our own link. A host is `name` or `name:port`, as the caller likes."""

    def __init__(self, always: Iterable[str] = ()) -> None:
        """Begin with a link that works, and the hosts of the settings, which whoever knocks asks anyway."""
        self._always = frozenset(always)
        self._receivers: dict[str, float] = {}
        """When each was last knocked at in vain, or failed; 0 when it never did."""
        self._answered: dict[str, float] = {}
        self._failed: set[str] = set()
        self._down = False

    @property
    def down(self) -> bool:
        """Our own link seems to be down."""
        return self._down

    def was_down(self) -> None:
        """Take it that the link was down when we last looked: the first answer is its return."""
        self._down = True

    def know(self, host: str) -> None:
        """Learn of a receiver's host, which could answer."""
        self._receivers.setdefault(host, 0.0)

    def answered(self, host: str, now: float) -> bool:
        """Note that a host answered TCP; True when the link was down until now."""
        self._answered[host] = now
        if host not in self._always:
            self.know(host)
        self._failed.discard(host)
        returned, self._down = self._down, False
        if returned:
            self._failed.clear()
        return returned

    def unreachable(self, host: str, now: float) -> Link:
        """Note that a receiver's host could not be reached, and return how that is to be judged."""
        self._receivers[host] = now
        self.silent(host)
        self._failed.add(host)
        link = self.evidence(host, now)
        self._down = self._down or not link.other_host_answered
        return link

    def silent(self, host: str) -> None:
        """Note that a host does not answer now: that it did a moment ago proves nothing any more."""
        self._answered.pop(host, None)

    def witnesses(self, host: str, since: float, now: float) -> list[str]:
        """Return other receivers' hosts to knock at: those that spoke last, then those tried longest ago; few of them.

        Nobody when one of them has spoken since: there is nothing to ask.
        """
        heard = {other: at for other, at in self._answered.items() if other != host}
        if any(at >= since and now - at <= ANSWERED_S for at in heard.values()):
            return []
        others = [other for other in self._receivers if other != host]
        others.sort(key=lambda other: (-heard.get(other, 0.0), self._receivers[other]))
        return others[:KNOCKS_MAX]

    def evidence(self, host: str, now: float) -> Link:
        """Say what is known of the other hosts."""
        answered = any(
            other != host and now - at <= ANSWERED_S for other, at in self._answered.items()
        )
        return Link(answered, self._others(host))

    def held(self) -> frozenset[str]:
        """Return the hosts that nothing is sent to now."""
        if not self._down:
            return frozenset()
        return frozenset(host for host in self._failed if self._others(host))

    def to_knock(self) -> list[str]:
        """Return some receivers' hosts, those first that were tried longest ago; each gets its turn."""
        return sorted(self._receivers, key=lambda host: self._receivers[host])[:KNOCKS_MAX]

    def knocked(self, host: str, now: float) -> None:
        """Note that a host was knocked at and did not answer."""
        self.silent(host)
        if host in self._receivers:
            self._receivers[host] = now

    def _others(self, host: str) -> bool:
        return bool((self._always | self._receivers.keys()) - {host})
