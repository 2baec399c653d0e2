"""Search for the ways from one balance of the chain to a home message through held foreign messages. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import ChainEntry

REORDERED_US: Final = MINUTE_US
"""Messages this close in SMSC time may have been booked in another order."""
BETWEEN_MAX: Final = 8
"""Most foreign messages in a row that are released together."""
SEARCH_MAX: Final = 400
"""Most steps of the search for other ways from one balance to another; a flood of guesses ends it without a release."""


class PathSearch:
    """The search for the ways from one balance to a home message through held foreign messages."""

    def __init__(
        self, foreign: Iterable[ChainEntry], targets: Sequence[ChainEntry], left_at: int
    ) -> None:
        until = max(target.time for target in targets) + REORDERED_US
        self._next: dict[int, list[ChainEntry]] = {}
        for entry in foreign:
            if left_at - REORDERED_US <= entry.time <= until:
                for before in entry.balances_before:
                    self._next.setdefault(before, []).append(entry)
        self._targets = targets
        self._steps = 0
        self._found: list[tuple[tuple[ChainEntry, ...], ChainEntry]] = []

    @property
    def reached(self) -> ChainEntry:
        """The home message at the end of the path."""
        return self._found[0][1]

    def only_path(self, left: int) -> tuple[ChainEntry, ...] | None:
        """Return the path if there is exactly one, and the search could finish."""
        self._walk(left, ())
        finished = self._steps <= SEARCH_MAX
        return self._found[0][0] if finished and len(self._found) == 1 else None

    def _walk(self, balance: int, path: tuple[ChainEntry, ...]) -> None:
        self._steps += 1
        if self._steps > SEARCH_MAX or len(self._found) > 1:
            return
        if path:
            for target in self._targets:
                if balance in target.balances_before:
                    self._found.append((path, target))
        if len(path) < BETWEEN_MAX:
            for entry in self._next.get(balance, ()):
                if entry not in path and entry.after is not None:
                    self._walk(entry.after, (*path, entry))
