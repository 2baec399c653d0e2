"""One message among those of its line: its verdict, and what it settles for its neighbours.

The working half of `daemon.core.balance`, which says in which order the questions are asked and why.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from daemon.core.balance_detour import OPEN, detour, is_beside_suspect, open_between, vouches
from daemon.core.balance_line import (
    Away,
    Entry,
    Gap,
    Standing,
    Why,
    expected,
    gap_between,
    in_order,
    joins,
    known_before,
    known_behind,
)

GAPS_MAX: Final = 4
"""Amounts named for one message: more alternatives help nobody."""


class Line:
    """The messages of a line in order, one of them being judged; `verdict` looks, `settle` changes.

    Attributes:
        index: Where the judged one stands.
        base: The last known balance before it, None when there is none.
        following: The next known balance behind it.
        left: The message before it that it joins: the base, or a held one behind the base.
        right: The message behind it that joins it.
    """

    def __init__(self, others: Sequence[Entry], judged: Entry, away: Sequence[Away]) -> None:
        self.entries = in_order([*others, judged])
        self.index = next(i for i, entry in enumerate(self.entries) if entry.key == judged.key)
        self._judged_before = {entry.key: entry for entry in others}
        self._away = away
        self.base = known_before(self.entries, self.index)
        self.following = known_behind(self.entries, self.index)
        self.left = self._joined_before()
        self.right = self._joined_behind()
        self._excused = self._explained(self.index)
        self._way = detour(self.entries, self.base, self.following, self.index)

    @property
    def judged(self) -> Entry:
        """The message that is judged, as it is now."""
        return self.entries[self.index]

    def changes(self) -> list[tuple[Entry, Entry]]:
        """Return the other messages that are different now: then and now."""
        pairs = ((self._judged_before.get(entry.key), entry) for entry in self.entries)
        return [(then, now) for then, now in pairs if then is not None and then != now]

    def verdict(self) -> tuple[Standing, Why]:
        """Say what is to be thought of the message."""
        new = self.judged
        broken = Standing.HELD if new.pays else Standing.UNPROVEN
        if new.after is None:
            return self._verdict_without_balance()
        if self._is_closed():
            return self._verdict_in_closed_link(broken)
        if new.pays and max(new.befores) < 0:
            return broken, Why.IMPOSSIBLE
        why = self._acceptable()
        if why is not None:
            return Standing.ACCEPTED, why
        return broken, Why.REPEATED if self._repeats(self.index) else Why.BREAKS

    def _acceptable(self) -> Why | None:
        """Say what speaks for a message whose place is free, None when nothing does."""
        repeated = self._repeats(self.index)
        if self.left is not None or (self.right is not None and not repeated):
            return Why.JOINS
        if self._is_first():
            return Why.FIRST
        if repeated or self.judged.doubted:
            return None
        if self._excused:
            return Why.EXPLAINED
        return Why.SKIPS if self._skips() else None

    def _verdict_without_balance(self) -> tuple[Standing, Why]:
        new = self.judged
        if new.pays and self.base is not None:
            return Standing.HELD, Why.NO_BALANCE
        return Standing.ACCEPTED if new.pays else Standing.NOTED, Why.NO_BALANCE

    def _verdict_in_closed_link(self, broken: Standing) -> tuple[Standing, Why]:
        """Its neighbours join each other: it belongs between them only if all that was told leads there another way."""
        if self._way:
            return Standing.ACCEPTED, Why.JOINS
        joined = self.left is not None or self.right is not None
        if joined or not self.judged.pays or is_beside_suspect(self.entries, self.index):
            return broken, Why.CONTRADICTED
        return Standing.FORGED, Why.CONTRADICTED

    def gaps(self) -> tuple[Gap, ...]:
        """Return the amounts to be named for a message that joins nothing before it."""
        if self.base is None or self.left is not None or self._way or not self.judged.befores:
            return ()
        held = [*open_between(self.entries, self.base, self.index)]
        starts = [self.base, *reversed(held)][:GAPS_MAX]
        amounts = ((start, gap_between(self.entries, start, self.index)) for start in starts)
        return tuple(Gap(self.entries[start].key, minor) for start, minor in amounts if minor)

    def settle(self, standing: Standing) -> None:
        """Give the message its standing, and its neighbours what follows from it."""
        if self.judged.pays and self.judged.after is None and self.base is not None:
            # What it would have left: so that the next message can say whether it did.
            left = expected(self.entries, self.base, self.index) + self.judged.effects[0]
            self._set(self.index, after=left)
        self._set(self.index, standing=standing)
        if standing is Standing.ACCEPTED and self._way:
            self._settle_way()
        elif standing is Standing.ACCEPTED and self.judged.after is not None:
            self._settle_before()
            self._settle_behind(self.index)
            self._restore()
        elif not self.judged.pays:
            self._excuse_behind()

    # What stands around it.

    def _is_closed(self) -> bool:
        """Say whether its neighbours join each other without it."""
        return (
            self.base is not None
            and self.following is not None
            and joins(self.entries, self.base, self.following)
        )

    def _joined_before(self) -> int | None:
        if self.base is not None and joins(self.entries, self.base, self.index):
            return self.base
        for i in reversed([*open_between(self.entries, self.base, self.index)]):
            if self._may_settle(i) and joins(self.entries, i, self.index):
                return i
        return None

    def _joined_behind(self) -> int | None:
        if self.judged.after is None:
            return None
        for i in open_between(self.entries, self.index, self.following):
            if self._may_settle(i) and joins(self.entries, self.index, i):
                return i
        if self.following is not None and joins(self.entries, self.index, self.following):
            return self.following
        return None

    def _may_settle(self, other: int) -> bool:
        # Two messages that are both doubted prove nothing about each other.
        return not (self.entries[other].doubted and self.judged.doubted)

    def _repeats(self, index: int) -> bool:
        """Say whether a receipt leaves the balance where it was: a genuine text that is used again."""
        base = known_before(self.entries, index)
        entry = self.entries[index]
        return entry.pays and base is not None and entry.after == self.entries[base].after

    def _is_first(self) -> bool:
        if not self.judged.pays:
            return self.base is None and self.following is None
        accepted = {Standing.ACCEPTED, Standing.SUSPECT}
        return not any(entry.pays and entry.standing in accepted for entry in self.entries)

    def _explained(self, index: int) -> bool:
        """Say whether something excuses the break in front of a message, or behind it if it is the oldest."""
        start, end = known_before(self.entries, index), index
        if start is None:
            behind = known_behind(self.entries, index)
            if behind is None:
                return False
            start, end = index, behind
        since, until = self.entries[start].at, self.entries[end].at
        if any(
            entry.explains and since <= entry.at <= until for entry in self.entries[start + 1 : end]
        ):
            return True
        return since <= until and any(
            away.since <= until and (away.until is None or away.until >= since)
            for away in self._away
        )

    def _skips(self) -> bool:
        """Say whether it finds the balance before the last known one, which nothing behind confirms."""
        if self.base is None or self.following is not None:
            return False
        earlier = known_before(self.entries, self.base)
        return earlier is not None and joins(self.entries, earlier, self.index)

    # What follows from it.

    def _set(self, index: int, **values: Any) -> None:
        self.entries[index] = replace(self.entries[index], **values)

    def _settle_before(self) -> None:
        if self.left is not None and self.left != self.base:
            self._set(self.left, standing=Standing.ACCEPTED)
            self._question(self.left)
            self._measure(self.left)
        elif self.left is None and (self.right is not None or not self._excused):
            self._question(self.index)
        if self.left is not None:
            self._forge_between(self.left, self.index)
        self._measure(self.index)

    def _settle_way(self) -> None:
        """All of the other way is genuine: what was held on it is released, and what was suspect is none any more."""
        for i in self._way:
            self._set(i, standing=Standing.ACCEPTED)
        for i in self._way[1:]:
            self._measure(i)

    def _settle_behind(self, start: int) -> None:
        """Release what joins from here on; the next known balance ends it and is measured again."""
        known = start
        for i in range(start + 1, len(self.entries)):
            entry = self.entries[i]
            if entry.standing in OPEN and entry.after is not None:
                doubted = entry.doubted and self.entries[known].doubted
                if not doubted and joins(self.entries, known, i):
                    self._set(i, standing=Standing.ACCEPTED)
                    self._forge_between(known, i)
                    self._measure(i)
                    known = i
            elif self.entries[i].is_known:
                if joins(self.entries, known, i):
                    self._forge_between(known, i)
                self._measure(i)
                return

    def _excuse_behind(self) -> None:
        """A message that explains came late: release the first break behind it that it explains."""
        for i in open_between(self.entries, self.index, self.following):
            entry = self.entries[i]
            joined = self.base is not None and joins(self.entries, self.base, i)
            explained = entry.pays and not entry.doubted and self._explained(i)
            if joined or (explained and not self._repeats(i) and max(entry.befores) >= 0):
                self._set(i, standing=Standing.ACCEPTED)
                self._measure(i)
                self._settle_behind(i)
                return
        if self.following is not None:
            self._measure(self.following)

    def _restore(self) -> None:
        """A message came late: a suspect one that now joins the known balances on both sides is none any more."""
        for i, entry in enumerate(self.entries):
            if entry.standing is not Standing.SUSPECT or not entry.befores:
                continue
            base, following = known_before(self.entries, i), known_behind(self.entries, i)
            if base is None or following is None:
                continue
            joined = joins(self.entries, base, i) and joins(self.entries, i, following)
            if joined and all(vouches(self.entries, side) for side in (base, following)):
                self._set(i, standing=Standing.ACCEPTED)
                self._measure(i)
                self._measure(following)

    def _measure(self, index: int) -> None:
        """Write down what is unaccounted for in front of a message."""
        base = known_before(self.entries, index)
        gap = None if base is None else gap_between(self.entries, base, index)
        self._set(index, gap_minor=gap)

    def _forge_between(self, start: int, end: int) -> None:
        """The chain goes from one to the other: held receipts between them are forged.

        One that left the very balance that is found may also be genuine, and stays with a person.
        """
        for i in open_between(self.entries, start, end):
            entry = self.entries[i]
            if entry.pays and entry.after not in self.entries[end].befores:
                self._set(i, standing=Standing.FORGED)

    def _question(self, index: int) -> None:
        """A message that is proved genuine breaks against the known balance before it: is that one genuine?

        It is suspect when the balance before *it* is the one that was found, or when it was itself only excused and
        never proved. The first of a line stays: what is missing behind it is told as missing.
        """
        base = known_before(self.entries, index)
        earlier = None if base is None else known_before(self.entries, base)
        if base is None or earlier is None or joins(self.entries, base, index):
            return
        skipped = joins(self.entries, earlier, index)
        proved = joins(self.entries, earlier, base)
        if skipped or (not proved and (self.right is not None or index == self.left)):
            suspect = Standing.SUSPECT if self.entries[base].pays else Standing.UNPROVEN
            self._set(base, standing=suspect, gap_minor=None)
