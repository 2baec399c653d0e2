"""The one-time links of `momo open`: kept in memory by their hash, for 60 seconds of the boot clock. Pure.

The boot clock cannot be set, so a link works while the wall clock is wrong. A restart forgets all links.
"""

from typing import Final, NamedTuple

from daemon.core.access.browser_sessions import hash_token
from daemon.core.limits import ONE_TIME_LINK_S

LINKS_MAX: Final = 20


class _Link(NamedTuple):
    user_id: str
    ends_s: float
    anywhere: bool


class OneTimeLinks:
    """The links that were made and not used yet."""

    def __init__(self) -> None:
        self._links: dict[str, _Link] = {}

    def add(self, token: str, user_id: str, boot_s: float, *, anywhere: bool = False) -> None:
        """Store a link; `anywhere` lets it be used from another machine too."""
        while len(self._links) >= LINKS_MAX:
            del self._links[next(iter(self._links))]
        self._links[hash_token(token)] = _Link(user_id, boot_s + ONE_TIME_LINK_S, anywhere)

    def take(self, token: str, boot_s: float, *, own_machine: bool) -> str | None:
        """Use a link up and return its user's id; None if it is unknown, used, too old or bound to this machine."""
        found = self._links.get(hash_token(token))
        if found is None or (not own_machine and not found.anywhere):
            return None
        del self._links[hash_token(token)]
        return found.user_id if boot_s < found.ends_s else None
