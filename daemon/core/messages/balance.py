"""Check a receipt against the running balance of its line (rule 5 of decisions.md section 4).

`judge` rules on a new message among the messages of its line; `decide` on a message that an operator decided. Both return
the message's standing and all changes to other messages. The checks, in this order:

1. Do its neighbours join each other without it? Then it has no place between them, unless all messages together form
   another path from one to the other (`daemon.core.messages.balance_chain`).
2. Is it impossible in itself: a balance below its own amount?
3. Does it follow the last known balance, or that of a held message before it (which it then releases)?
4. Does a later message follow its balance?
5. Is it the first? Is the break explained? Does it follow the balance *before* the last known one?

A break without an explanation is held. Usually the next message of the line settles it: if it follows the held balance,
the hold ends and the missing amount is reported; if it follows the balance before it, the held message is a forgery.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import (
    REORDERED_US_MAX,
    UNSETTLED,
    Absence,
    Entry,
    Gap,
    Standing,
    Why,
    alternative_path,
    expected,
    gap_between,
    id_number,
    in_order,
    is_evidence,
    joins,
    joins_suspect,
    known_after,
    known_before,
    unsettled_between,
)

HELD_US_MAX: Final = 30 * MINUTE_US
"""An operator is notified of a receipt that is held for longer (decisions.md section 4)."""
WINDOW: Final = 64
"""Messages of a line to load on each side of a new one, by time; `judge` states the other messages that it needs."""

NEAREST: Final = 10
"""This many are enough for nearly every message: see `is_plain`."""


class BalanceCheck(StrEnum):
    """The setting `[trust] balance_check`."""

    REVIEW = "review"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Change:
    """A change to an earlier message; `before` and `after` are its old and new entry."""

    before: Entry
    after: Entry

    @property
    def released(self) -> bool:
        """Whether a later message ended the hold: the payment may pay now."""
        return self.before.standing is Standing.HELD and self.after.standing is Standing.ACCEPTED

    @property
    def forged(self) -> bool:
        """Whether a held receipt turned out to be forged."""
        return self.after.standing is Standing.FORGED is not self.before.standing

    @property
    def suspect(self) -> bool:
        """Whether an accepted receipt turned suspect, because its money is missing: notify the operator."""
        return self.after.standing is Standing.SUSPECT is not self.before.standing

    @property
    def restored(self) -> bool:
        """Whether a late message proved a suspect receipt genuine: withdraw the notice."""
        return self.before.standing is Standing.SUSPECT and self.after.standing is Standing.ACCEPTED


@dataclass(frozen=True, slots=True)
class Ruling:
    """The result of judging a message.

    Attributes:
        entry: The message with its standing and gap; store it as it is, unless `why` is `ID_TAKEN`.
        why: The deciding reason.
        gaps: The unaccounted amounts before it, for a notice: counted from the last known balance, and also from each held
            message since then, nearest first after it. Empty when it joins.
        changes: Earlier messages with a new standing or gap.
        warning: The setting is `warn`, and the message would have been held.
    """

    entry: Entry
    why: Why
    gaps: tuple[Gap, ...] = ()
    changes: tuple[Change, ...] = ()
    warning: bool = False

    @property
    def holds(self) -> bool:
        """Whether the receipt must not pay now: it gets a review `balance_break`, which later messages may settle."""
        return self.entry.pays and self.entry.standing in {Standing.HELD, Standing.FORGED}


def judge(
    chain: Iterable[Entry],
    new: Entry,
    *,
    away: Sequence[Absence] = (),
    check: BalanceCheck = BalanceCheck.REVIEW,
) -> Ruling:
    """Judge a new message.

    Args:
        chain: The live messages of the line and provider that were judged before: the `WINDOW` nearest in time on each
            side. It must contain, however old, the last two accepted messages with a balance and one accepted receipt, if
            there are any. Otherwise a row of held messages would make the next one look like the first.
        new: The message, with standing `NEW`, from the network's own sender. No other message may be given.
        away: The times without a modem, since the oldest message of the chain.
        check: The setting.

    Returns:
        The ruling. A message with an ID that is in the chain is not judged (`ID_TAKEN`): it may be a duplicate.
    """
    before = list(chain)
    if check is BalanceCheck.OFF:
        standing = Standing.NOTED if new.after is None else Standing.ACCEPTED
        return Ruling(replace(new, standing=standing), Why.OFF)
    number = id_number(new.telco_id)
    if number is not None and any(id_number(entry.telco_id) == number for entry in before):
        return Ruling(replace(new, standing=Standing.HELD), Why.ID_TAKEN)
    line = JudgedLine(before, new, away)
    standing, why = line.verdict()
    if standing is not Standing.ACCEPTED and (reordered := _reordered(before, new)) is not None:
        line = reordered
        standing, why = Standing.ACCEPTED, Why.JOINS
    warning = False
    if check is BalanceCheck.WARN and new.pays and standing in {Standing.HELD, Standing.FORGED}:
        warning = True
        standing = Standing.ACCEPTED if why is Why.BREAKS else Standing.SUSPECT
    gaps = line.gaps()
    line.settle(standing)
    judged, entries = line.judged, line.entries
    for forged in [now for then, now in line.changes() if Change(then, now).forged]:
        others = [entry for entry in entries if entry.key != forged.key]
        if (reordered := _reordered(others, forged)) is not None:
            reordered.settle(Standing.ACCEPTED)
            entries = reordered.entries
    by_key = {entry.key: entry for entry in entries}
    pairs = ((then, by_key[then.key]) for then in before)
    changes = tuple(Change(then, now) for then, now in pairs if then != now)
    return Ruling(by_key[judged.key], why, gaps, changes, warning)


def decide(chain: Iterable[Entry], key: str, *, genuine: bool) -> Ruling:
    """Apply an operator's decision to a held message, and judge the later messages again.

    Args:
        chain: As for `judge`, with the message in it.
        key: The message that was decided.
        genuine: Whether the operator confirmed that its money came in.
    """
    before = list(chain)
    chosen = next(entry for entry in before if entry.key == key)
    others = [entry for entry in before if entry.key != key]
    line = JudgedLine(others, replace(chosen, doubted=chosen.doubted and not genuine), ())
    line.settle(Standing.ACCEPTED if genuine else Standing.FORGED)
    return Ruling(line.judged, Why.PERSON, (), _changes(line))


def is_conclusive(near: Sequence[Entry], ruling: Ruling) -> bool:
    """Return whether a ruling among the `NEAR` nearest messages holds for the whole line.

    With fewer messages there are no others. With more, it holds if the message comes after all of them by ID and by time,
    follows the last known balance, and none of them is unsettled: then neither the balance nor the ID clock
    (`daemon.core.messages.trust`) looks further back.
    """
    if len(near) < NEAREST:
        return True
    new = ruling.entry
    number = id_number(new.telco_id)
    return (
        number is not None
        and ruling.why is Why.JOINS
        and not ruling.changes
        and new.place is None
        and all(
            entry.standing is Standing.ACCEPTED
            and entry.after is not None
            and entry.at <= new.at
            and entry.place is None
            and (known := id_number(entry.telco_id)) is not None
            and known < number
            for entry in near
        )
    )


def overdue(chain: Iterable[Entry], now: int) -> list[Entry]:
    """Return the receipts that are held for so long that an operator must be notified."""
    return [
        entry
        for entry in chain
        if entry.pays and entry.standing is Standing.HELD and now - entry.stored_at >= HELD_US_MAX
    ]


@dataclass(frozen=True, slots=True)
class Unaccounted:
    """The amount of a line's money that no message accounts for.

    Attributes:
        came_in_minor: Money that came in without a message.
        went_out_minor: Money that left without a message.
        since: Time of the first message that showed it, microseconds; None when everything is accounted for.
    """

    came_in_minor: int
    went_out_minor: int
    since: int | None


def unaccounted(chain: Iterable[Entry]) -> Unaccounted:
    """Add up the gaps of a line. Gaps before held messages are not known yet and do not count."""
    open_gaps = [
        (entry.gap_minor, entry.at)
        for entry in chain
        if entry.gap_minor and entry.standing is Standing.ACCEPTED
    ]
    return Unaccounted(
        sum(gap for gap, _ in open_gaps if gap > 0),
        -sum(gap for gap, _ in open_gaps if gap < 0),
        min((at for _, at in open_gaps), default=None),
    )


class JudgedLine:
    """The messages of a line in order, one of them being judged. `verdict` only reads, `settle` changes.

    Attributes:
        index: Index of the judged message.
        base: The last known balance before it, None when there is none.
        following: The next known balance after it.
        left: The message before it that it joins: the base, or a held one after the base.
        right: The message after it that joins it.
    """

    def __init__(self, others: Sequence[Entry], judged: Entry, away: Sequence[Absence]) -> None:
        self.entries = in_order([*others, judged])
        self.index = next(i for i, entry in enumerate(self.entries) if entry.key == judged.key)
        self._judged_before = {entry.key: entry for entry in others}
        self._away = away
        self.base = known_before(self.entries, self.index)
        self.following = known_after(self.entries, self.index)
        self.left = self._joined_before()
        self.right = self._joined_behind()
        self._excused = self._explained(self.index)
        self._path = alternative_path(self.entries, self.base, self.following, self.index)

    @property
    def judged(self) -> Entry:
        """The judged message in its present state."""
        return self.entries[self.index]

    def changes(self) -> list[tuple[Entry, Entry]]:
        """Return the other messages that changed, each as its old and new entry."""
        pairs = ((self._judged_before.get(entry.key), entry) for entry in self.entries)
        return [(then, now) for then, now in pairs if then is not None and then != now]

    def verdict(self) -> tuple[Standing, Why]:
        """Return the standing of the message and the deciding reason."""
        new = self.judged
        broken = Standing.HELD if new.pays else Standing.UNPROVEN
        if new.after is None:
            return self._verdict_without_balance()
        if self._is_closed():
            return self._verdict_in_closed_link(broken)
        if new.pays and max(new.balances_before) < 0:
            return broken, Why.IMPOSSIBLE
        why = self._acceptable()
        if why is not None:
            return Standing.ACCEPTED, why
        return broken, Why.REPEATED if self._repeats(self.index) else Why.BREAKS

    def _acceptable(self) -> Why | None:
        """Return the reason to accept a message with a free place; None when there is none."""
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
        """Judge a message between neighbours that join each other: accept it only if all messages form another path."""
        if self._path:
            return Standing.ACCEPTED, Why.JOINS
        joined = self.left is not None or self.right is not None
        if joined or not self.judged.pays or joins_suspect(self.entries, self.index):
            return broken, Why.CONTRADICTED
        return Standing.FORGED, Why.CONTRADICTED

    def gaps(self) -> tuple[Gap, ...]:
        """Return the amounts to report for a message that joins none before it."""
        if (
            self.base is None
            or self.left is not None
            or self._path
            or not self.judged.balances_before
        ):
            return ()
        held = [*unsettled_between(self.entries, self.base, self.index)]
        starts = [self.base, *reversed(held)][:GAPS_MAX]
        amounts = ((start, gap_between(self.entries, start, self.index)) for start in starts)
        return tuple(Gap(self.entries[start].key, minor) for start, minor in amounts if minor)

    def settle(self, standing: Standing) -> None:
        """Give the message its standing, and update its neighbours."""
        if self.judged.pays and self.judged.after is None and self.base is not None:
            # The balance that it would have left, so that the next message can confirm it.
            left = expected(self.entries, self.base, self.index) + self.judged.effects[0]
            self._set(self.index, after=left)
        self._set(self.index, standing=standing)
        if standing is Standing.ACCEPTED and self._path:
            self._settle_path()
        elif standing is Standing.ACCEPTED and self.judged.after is not None:
            self._settle_before()
            self._settle_behind(self.index)
            self._restore()
        elif not self.judged.pays:
            self._excuse_behind()

    def _is_closed(self) -> bool:
        """Return whether its neighbours join each other without it."""
        return (
            self.base is not None
            and self.following is not None
            and joins(self.entries, self.base, self.following)
        )

    def _joined_before(self) -> int | None:
        if self.base is not None and joins(self.entries, self.base, self.index):
            return self.base
        for i in reversed([*unsettled_between(self.entries, self.base, self.index)]):
            if self._may_settle(i) and joins(self.entries, i, self.index):
                return i
        return None

    def _joined_behind(self) -> int | None:
        if self.judged.after is None:
            return None
        for i in unsettled_between(self.entries, self.index, self.following):
            if self._may_settle(i) and joins(self.entries, self.index, i):
                return i
        if self.following is not None and joins(self.entries, self.index, self.following):
            return self.following
        return None

    def _may_settle(self, other: int) -> bool:
        # Two doubted messages prove nothing about each other.
        return not (self.entries[other].doubted and self.judged.doubted)

    def _repeats(self, index: int) -> bool:
        """Return whether a receipt leaves the balance unchanged: a genuine text that is used again."""
        base = known_before(self.entries, index)
        entry = self.entries[index]
        return entry.pays and base is not None and entry.after == self.entries[base].after

    def _is_first(self) -> bool:
        if not self.judged.pays:
            return self.base is None and self.following is None
        accepted = {Standing.ACCEPTED, Standing.SUSPECT}
        return not any(entry.pays and entry.standing in accepted for entry in self.entries)

    def _explained(self, index: int) -> bool:
        """Return whether an entry or an absence explains the break before a message, or after it if it is the oldest."""
        start, end = known_before(self.entries, index), index
        if start is None:
            behind = known_after(self.entries, index)
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
        """Return whether it follows the balance before the last known one, and no later message confirms that one."""
        if self.base is None or self.following is not None:
            return False
        earlier = known_before(self.entries, self.base)
        return earlier is not None and joins(self.entries, earlier, self.index)

    def _set(self, index: int, **values: Any) -> None:
        self.entries[index] = replace(self.entries[index], **values)

    def _settle_before(self) -> None:
        if self.left is not None and self.left != self.base:
            self._set(self.left, standing=Standing.ACCEPTED)
            self._check_base(self.left)
            self._measure(self.left)
        elif self.left is None and (self.right is not None or not self._excused):
            self._check_base(self.index)
        if self.left is not None:
            self._forge_between(self.left, self.index)
        self._measure(self.index)

    def _settle_path(self) -> None:
        """Accept all messages of the alternative path: release held ones and restore suspect ones."""
        for i in self._path:
            self._set(i, standing=Standing.ACCEPTED)
        for i in self._path[1:]:
            self._measure(i)

    def _settle_behind(self, start: int) -> None:
        """Release the messages that join from here on, up to the next known balance, and measure its gap again."""
        known = start
        for i in range(start + 1, len(self.entries)):
            entry = self.entries[i]
            if entry.standing in UNSETTLED and entry.after is not None:
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
        """Release the first later break that a late message explains."""
        for i in unsettled_between(self.entries, self.index, self.following):
            entry = self.entries[i]
            joined = self.base is not None and joins(self.entries, self.base, i)
            explained = entry.pays and not entry.doubted and self._explained(i)
            if joined or (explained and not self._repeats(i) and max(entry.balances_before) >= 0):
                self._set(i, standing=Standing.ACCEPTED)
                self._measure(i)
                self._settle_behind(i)
                return
        if self.following is not None:
            self._measure(self.following)

    def _restore(self) -> None:
        """Restore a suspect message that joins the known balances on both sides after a late message came."""
        for i, entry in enumerate(self.entries):
            if entry.standing is not Standing.SUSPECT or not entry.balances_before:
                continue
            base, following = known_before(self.entries, i), known_after(self.entries, i)
            if base is None or following is None:
                continue
            joined = joins(self.entries, base, i) and joins(self.entries, i, following)
            if joined and all(is_evidence(self.entries, side) for side in (base, following)):
                self._set(i, standing=Standing.ACCEPTED)
                self._measure(i)
                self._measure(following)

    def _measure(self, index: int) -> None:
        """Store the gap before a message."""
        base = known_before(self.entries, index)
        gap = None if base is None else gap_between(self.entries, base, index)
        self._set(index, gap_minor=gap)

    def _forge_between(self, start: int, end: int) -> None:
        """Mark the held receipts between two joined messages as forged.

        A receipt with exactly the balance that the second message follows may be genuine; it stays held for the operator.
        """
        for i in unsettled_between(self.entries, start, end):
            entry = self.entries[i]
            if entry.pays and entry.after not in self.entries[end].balances_before:
                self._set(i, standing=Standing.FORGED)

    def _check_base(self, index: int) -> None:
        """Check the known balance before a message that is proved genuine and does not follow it.

        That balance is suspect when the message follows the balance before it, or when it was only explained, never proved.
        The first balance of a line stays: the amount after it is reported as missing.
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


def _reordered(others: Sequence[Entry], entry: Entry) -> JudgedLine | None:
    """Try a message after one with a higher ID. Payments of one moment may be booked in another order than their IDs."""
    number = id_number(entry.telco_id)
    for known in others:
        higher = id_number(known.telco_id)
        if (
            number is not None
            and higher is not None
            and higher > number
            and known.standing is Standing.ACCEPTED
            and abs(known.at - entry.at) <= REORDERED_US_MAX
            and known.after in entry.balances_before
        ):
            line = JudgedLine(others, replace(entry, place=higher, standing=Standing.NEW), ())
            if line.left is not None and line.verdict()[0] is Standing.ACCEPTED:
                return line
    return None


def _changes(line: JudgedLine) -> tuple[Change, ...]:
    return tuple(Change(then, now) for then, now in line.changes())


GAPS_MAX: Final = 4


"""Most amounts reported for one message; more alternatives would not help the operator."""
