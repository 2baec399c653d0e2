"""Distinguish an outage of our own connection from a failing receiver. Pure; times are seconds.

An unreachable host counts as the receiver's failure only if another host answered TCP within the
last 60 s and still does. That host is checked again by TCP before the failure is counted, so failures in the first minute
of our own outage do not count either. During an outage no delivery is attempted to a host that could not be reached; it
only gets a TCP connect without a request every 10 to 60 s. A host that has not failed yet is still tried: one broken host
name must not stop the others.
"""

from collections.abc import Iterable
from typing import Final

from daemon.core.webhooks.delivery import LinkState

ANSWERED_S: Final = 60.0
"""Another host that answered within this time proves that our own connection works."""
CHECK_PAUSES_S: Final = (10.0, 20.0, 40.0, 60.0)
"""Pauses between two checks whether the connection is back; the last one repeats."""
CHECKED_HOSTS_MAX: Final = 4
"""Hosts checked at the same time, besides `[network] probe_hosts`."""
NOTICE_AFTER_S: Final = 900.0
"""The owner gets a notice of an outage of this length; shorter ones end by themselves."""


class ConnectivityState:
    """State of our own connection. A host is `name` or `name:port`, as the caller chooses."""

    def __init__(self, always: Iterable[str] = ()) -> None:
        """Start with a working connection; `always` are the `probe_hosts`, which every check includes anyway."""
        self._always = frozenset(always)
        self._receivers: dict[str, float] = {}
        """Host to the time of its last failed check or attempt; 0 if it never failed."""
        self._answered: dict[str, float] = {}
        self._failed: set[str] = set()
        self._down = False

    @property
    def down(self) -> bool:
        """Whether our own connection seems to be down."""
        return self._down

    def was_down(self) -> None:
        """Assume that the connection was down before the start: the first answer then ends the outage."""
        self._down = True

    def know(self, host: str) -> None:
        """Add a receiver's host to the hosts that can be checked."""
        self._receivers.setdefault(host, 0.0)

    def answered(self, host: str, now: float) -> bool:
        """Record that a host answered TCP; return True if that ends an outage."""
        self._answered[host] = now
        if host not in self._always:
            self.know(host)
        self._failed.discard(host)
        returned, self._down = self._down, False
        if returned:
            self._failed.clear()
        return returned

    def unreachable(self, host: str, now: float) -> LinkState:
        """Record that a receiver's host could not be reached; return the evidence for judging the failure."""
        self._receivers[host] = now
        self.silent(host)
        self._failed.add(host)
        link = self.evidence(host, now)
        self._down = self._down or not link.other_host_answered
        return link

    def silent(self, host: str) -> None:
        """Record that a host does not answer now; its earlier answer is no longer evidence for our connection."""
        self._answered.pop(host, None)

    def witnesses(self, host: str, since: float, now: float) -> list[str]:
        """Return up to `KNOCKS_MAX` other receivers' hosts to check: latest answer first, then least recently tried.

        Empty if one of them has answered since `since`: no check is needed then.
        """
        heard = {other: at for other, at in self._answered.items() if other != host}
        if any(at >= since and now - at <= ANSWERED_S for at in heard.values()):
            return []
        others = [other for other in self._receivers if other != host]
        others.sort(key=lambda other: (-heard.get(other, 0.0), self._receivers[other]))
        return others[:CHECKED_HOSTS_MAX]

    def evidence(self, host: str, now: float) -> LinkState:
        """Return whether other hosts answered lately, and whether there are any."""
        answered = any(other != host and now - at <= ANSWERED_S for other, at in self._answered.items())
        return LinkState(answered, self._others(host))

    def held(self) -> frozenset[str]:
        """Return the hosts that get no attempts now."""
        if not self._down:
            return frozenset()
        return frozenset(host for host in self._failed if self._others(host))

    def hosts_to_check(self) -> list[str]:
        """Return up to `KNOCKS_MAX` receivers' hosts, least recently tried first (round-robin)."""
        return sorted(self._receivers, key=lambda host: self._receivers[host])[:CHECKED_HOSTS_MAX]

    def check_failed(self, host: str, now: float) -> None:
        """Record that a host did not answer a check."""
        self.silent(host)
        if host in self._receivers:
            self._receivers[host] = now

    def _others(self, host: str) -> bool:
        return bool((self._always | self._receivers.keys()) - {host})
