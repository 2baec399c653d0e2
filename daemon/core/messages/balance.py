"""The rules of the balance chain of a line (docs/shop/concepts.md). Pure.

A message *joins* when the balance before it is the balance at the end of the chain. Only messages by a home SMSC that
join continue the chain. Any other home message opens a row beside the chain, and later home messages go to whichever end
they join. A row becomes part of the chain when a late message closes the gap, when the line's own traffic confirms it, or
when an operator approves one of its messages. It is refuted when the chain continues without it. A foreign or doubted
message is in no row: it changes nothing for other messages.

`LineMessages` has the entries that a decision needs and applies the rules to them. The caller stores `Line.changes()`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import combinations, product
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.messages.balance_chain import Absence, ChainEntry, Standing, Why
from daemon.core.messages.foreign_path import REORDERED_US, PathSearch
from daemon.core.messages.line_history import away_for
from daemon.core.messages.trust import ROUTE_DOUBTS

HELD_US_MAX: Final = 30 * MINUTE_US
"""An operator is notified of a receipt that is held for longer."""
PENDING_MAX: Final = 4
"""Most messages without a balance that are tried between two that name one."""
CONFIRMING_MESSAGES: Final = 3
CONFIRMING_RECEIPTS: Final = 6
"""A row is confirmed by three messages in a time in which the line usually gets six receipts."""
GUESSES_MAX: Final = 20
"""After this many held balances in an hour no message without an SMSC pays on that line."""
TOLD_APART_US: Final = 10 * SECOND_US
"""An app on a phone gives the time sent of a new message and the time received of an old one."""
BETWEEN_US: Final = 90 * MINUTE_US
"""A foreign message is released this long after both home messages around it are there: the longest delay of a genuine
message that was seen is 75 minutes."""


class BalanceCheck(StrEnum):
    """The setting `[trust] balance_check`."""

    REVIEW = "review"
    WARN = "warn"
    OFF = "off"


class Row(Struct, frozen=True):
    """A row of messages that join each other beside the chain."""

    entries: tuple[ChainEntry, ...]

    @property
    def first(self) -> ChainEntry:
        """The message after the break."""
        return self.entries[0]

    @property
    def last(self) -> ChainEntry:
        """The message that the next one must join."""
        return self.entries[-1]


class _Chain(Struct, frozen=True):
    """The end of the chain, the time of its latest message, and its messages with a gap before them."""

    end: ChainEntry | None
    latest: int
    gaps: list[ChainEntry]


class _Join(Struct, frozen=True):
    """How a message joins a balance: through these messages without a balance; `sole` when in one way only."""

    through: tuple[ChainEntry, ...] = ()
    sole: bool = True


class LineMessages:
    """The messages of a line that one decision concerns.

    Args:
        entries: The newest messages of the chain, all messages of open rows, and, unless `is_plain`, the messages with a gap
            before them, those without a balance, and the held foreign ones.
    """

    def __init__(self, entries: Iterable[ChainEntry]) -> None:
        self._before = {entry.key: entry for entry in entries}
        self._entries = dict(self._before)
        self._chain: _Chain | None = None
        self._unbalanced: list[ChainEntry] | None = None
        """The home messages without a balance; None when they must be looked up again."""

    def __getitem__(self, key: str) -> ChainEntry:
        return self._entries[key]

    @property
    def end(self) -> ChainEntry | None:
        """The last message of the chain; None before the first one."""
        return self._known.end

    @property
    def rows(self) -> list[Row]:
        """The open rows, oldest first."""
        found: dict[str, list[ChainEntry]] = {}
        for entry in self._of(Standing.UNCONFIRMED):
            found.setdefault(entry.row or entry.key, []).append(entry)
        rows = [
            Row(tuple(sorted(one, key=lambda entry: entry.position or 0))) for one in found.values()
        ]
        return sorted(rows, key=lambda row: (row.first.time, row.first.seq))

    @property
    def gaps(self) -> list[ChainEntry]:
        """The messages of the chain with a gap before them, oldest first."""
        return self._known.gaps

    def changes(self) -> list[tuple[ChainEntry | None, ChainEntry]]:
        """Return the entries that changed, each as its old value (None when new) and its new one, in order of time."""
        pairs = ((self._before.get(key), entry) for key, entry in self._entries.items())
        changed = [(then, now) for then, now in pairs if then != now]
        return sorted(changed, key=lambda pair: (pair[1].time, pair[1].seq))

    def is_plain(self, new: ChainEntry) -> bool:
        """Return whether a home message joins the chain and no row is open, so that no other entry matters."""
        end = self.end
        return (
            end is not None
            and not any(self._of(Standing.UNCONFIRMED))
            and (_stays_out(new) is not None or end.after in new.balances_before)
        )

    def take(self, new: ChainEntry, *, claims: bool, begins: bool = True) -> None:
        """Judge a new message, or an old one again.

        Args:
            new: The message; its standing is not looked at.
            claims: It is a receipt or a reversal, so that without a balance it waits for a message that joins behind it.
            begins: It may begin the chain: the owner's test payment is not expected.
        """
        why = _stays_out(new)
        if why is Why.NO_BALANCE and not claims:
            self._put(new, standing=Standing.NOTED, why=why)
        elif why is not None:
            self._put(new, standing=Standing.HELD, why=why)
        elif self._continues_chain(new) or self._fills_gap((new,)) or self._continues_row(new):
            self._settle()
        elif self.is_passed(new.time):
            self._put(new, standing=Standing.REFUTED, why=Why.CONTRADICTED)
        elif self.end is None and begins:
            self._accept_after_end((new,), Why.FIRST)
        else:
            self._put(new, standing=Standing.UNCONFIRMED, why=Why.BREAKS, row=new.key, position=0)
            self._settle()

    def take_without_route(self, new: ChainEntry) -> None:
        """Judge a new message of a source without SMSCs: it joins the end of the chain, or it waits.

        It opens no row and fills no gap, because the balance is the only evidence for it. It may be the missing one for which
        others wait, or end a flood because they follow it.
        """
        doubted = not ROUTE_DOUBTS.isdisjoint(new.doubts)
        self._put(new, standing=Standing.HELD, why=Why.DOUBTED if doubted else Why.NO_SMSC)
        self.join_without_route()

    def join_without_route(self) -> None:
        """Accept the waiting messages of such sources that join the end of the chain now, while only one does at a time.

        They may be handed over in any order.
        """
        while True:
            waiting = [one for one in self._of(Standing.HELD) if self._joins_alone(one)]
            if len(waiting) != 1:
                return
            self._accept_after_end(waiting, Why.JOINS)
            self._settle()

    def _joins_alone(self, entry: ChainEntry) -> bool:
        """Return whether a message without a known SMSC joins the confirmed end of the chain.

        There is no open row, and no held message leads to the same balance: of a row of guesses only the first could join.
        """
        end = self.end
        return (
            entry.why is Why.NO_SMSC
            and end is not None
            and end.after in entry.balances_before
            and not any(self._of(Standing.UNCONFIRMED))
            and not self.is_passed(entry.time)
            and not any(one.after == end.after for one in self.foreign if one.key != entry.key)
            and not self._is_flooded(entry.stored_at)
        )

    def _is_flooded(self, until: int) -> bool:
        """Return whether so many messages of the hour until then are held that one of them may be a lucky guess.

        One that follows a held message in balance and in time waits with it, and does not count: it cannot join. A guess can
        be made to lead to an earlier one, but it has a later time. Old messages, as of the first reading of a phone, cannot
        join, and do not count. The count falls when missing messages arrive late, so a message is asked about again then.
        """
        held = self.foreign
        began: dict[int | None, int] = {}
        for one in held:
            began[one.after] = min(one.at, began.get(one.after, one.at))
        return (
            sum(
                until - HOUR_US <= one.stored_at <= until
                and not (one.stored_at - one.at > HOUR_US and self.is_passed(one.time))
                and not any(
                    before in began and began[before] <= one.at + TOLD_APART_US
                    for before in one.balances_before
                )
                for one in held
            )
            > GUESSES_MAX
        )

    def begin(self, new: ChainEntry) -> None:
        """Accept the owner's test payment: the chain begins or continues with it."""
        self._accept_after_end((new,), Why.TEST_PAYMENT)
        self._settle()
        self.join_without_route()

    def fits(self, entry: ChainEntry) -> bool:
        """Return whether a held message joins the end of the chain or fits a gap from one side; True without a chain."""
        end = self.end
        if end is None or (self._joined(end, entry) and not self.is_passed(entry.time)):
            return True
        return any(
            _is_within(entry.time, right) and _fit(right, entry, entry) for right in self.gaps
        )

    def is_passed(self, time: int) -> bool:
        """Return whether the chain has taken a message later than this time (by 60 s) and has no gap at it."""
        if time >= self._latest - REORDERED_US:
            return False
        return not any(_is_within(time, right) for right in self.gaps)

    def confirm_rows(
        self, now: int, absences: Sequence[Absence], usual: Callable[[int, int], float]
    ) -> None:
        """Accept each row that the line's own traffic has confirmed.

        Args:
            now: The time, microseconds.
            absences: The times without a modem.
            usual: The number of receipts that the line usually gets between two times.
        """
        for row in self.rows:
            if len(row.entries) < CONFIRMING_MESSAGES or self._was_followed(row):
                continue
            until = now - away_for(absences, row.first.time, now)
            if usual(row.first.time, until) >= CONFIRMING_RECEIPTS:
                self._accept_after_end(row.entries, Why.CONFIRMED)
                self._settle()

    def release_between(self, now: int, absences: Sequence[Absence]) -> None:
        """Accept held foreign messages that lead from one home message to another, with no other way."""
        while (path := self._path_between(now, absences)) is not None:
            if not self._fills_gap(path, why=Why.BETWEEN):
                self._accept_after_end(path, Why.BETWEEN)
            self._settle()

    def maybe_taken(self, now: int) -> list[ChainEntry]:
        """Return the held foreign messages whose place in the chain a home message may have taken."""
        return [
            one
            for one in self.foreign
            if now - one.stored_at > BETWEEN_US and self.is_passed(one.time)
        ]

    def refute_taken(self, taken: Iterable[ChainEntry], now: int) -> None:
        """Refute held foreign messages if a home message has taken their place."""
        times: dict[int, list[int]] = {}
        for one in taken:
            if one.home and one.standing is Standing.ACCEPTED:
                for before in one.balances_before:
                    times.setdefault(before, []).append(one.time)
        for entry in self.maybe_taken(now):
            near = (time for before in entry.balances_before for time in times.get(before, ()))
            if any(abs(time - entry.time) <= BETWEEN_US + REORDERED_US for time in near):
                self._put(entry, standing=Standing.REFUTED, why=Why.CONTRADICTED)

    def approve(self, key: str) -> bool:
        """Accept a message that an operator approved, and its whole row; return whether its balance joins."""
        entry = self[key]
        row = next((row for row in self.rows if entry in row.entries), None)
        if row is not None:
            self._accept_at_its_time(row.entries)
            return True
        if entry.after is None or not entry.effects:
            self._put(entry, standing=Standing.ACCEPTED, why=Why.PERSON)
            return False
        group = self._linked(entry)
        fits = self.fits(group[0]) or self.fits(group[-1])
        self._accept_at_its_time(group)
        return fits

    def reject(self, key: str) -> None:
        """Refute a message that an operator rejected, and its whole row."""
        entry = self[key]
        row = next((row for row in self.rows if entry in row.entries), None)
        for one in self._linked(entry) if row is None else row.entries:
            self._refute(one, Why.PERSON)
        self._settle()

    def trust(self, is_home: Callable[[str | None], bool]) -> None:
        """Judge the held messages from SMSCs that are home now again, in order of time."""
        held = [
            one for one in self._of(Standing.HELD) if one.why is Why.FOREIGN and is_home(one.smsc)
        ]
        for entry in sorted(held, key=lambda one: (one.time, one.seq)):
            if self[entry.key].standing is Standing.HELD:
                self.take(replace(entry, home=True), claims=entry.pays or entry.after is None)

    def distrust(self, smsc: str) -> None:
        """Take the messages that came through an SMSC out of the chain, because it is not home after all."""
        for entry in [*self._of(Standing.ACCEPTED), *self._of(Standing.UNCONFIRMED)]:
            if entry.smsc == smsc:
                self._refute(replace(entry, home=False), Why.PERSON)
        self._settle()

    @property
    def _latest(self) -> int:
        """The time of the latest message that continued the chain; 0 before the first one."""
        return self._known.latest

    @property
    def _known(self) -> "_Chain":
        """The chain as it is now; it is looked up once for each change of it, because a flood asks often."""
        if self._chain is None:
            accepted = list(self._of(Standing.ACCEPTED))
            placed = [one for one in accepted if one.position is not None]
            gaps = [one for one in accepted if one.has_gap]
            self._chain = _Chain(
                max(placed, key=lambda one: one.position or 0, default=None),
                max((one.time for one in placed), default=0),
                sorted(gaps, key=lambda one: one.time),
            )
        return self._chain

    def _of(self, standing: Standing) -> Iterator[ChainEntry]:
        return (entry for entry in self._entries.values() if entry.standing is standing)

    @property
    def foreign(self) -> list[ChainEntry]:
        """The held messages that name a balance and have no other fault than a foreign or unknown SMSC."""
        return [
            one
            for one in self._of(Standing.HELD)
            if one.why in {Why.FOREIGN, Why.NO_SMSC} and one.after is not None
        ]

    def _put(self, entry: ChainEntry, **values: Any) -> ChainEntry:
        changed = replace(entry, **values)
        old = self._entries.get(entry.key)
        if Standing.ACCEPTED in (changed.standing, old and old.standing):
            self._chain = None
        if changed.after is None:
            self._unbalanced = None
        self._entries[entry.key] = changed
        return changed

    def _refute(self, entry: ChainEntry, why: Why) -> None:
        self._put(
            entry,
            standing=Standing.REFUTED,
            why=why,
            position=None,
            row=None,
            gap_minor=None,
            gap_left=None,
        )

    def _joined(self, start: ChainEntry, entry: ChainEntry) -> _Join | None:
        """Return how a message follows another one's balance; None when it does not.

        Messages without a balance may stand between the two.
        """
        if start.after in entry.balances_before:
            return _Join()
        ways = []
        pending = self._pending(start, entry)
        for count in range(1, len(pending) + 1):
            for chosen in combinations(pending, count):
                moves = product(*(one.effects for one in chosen))
                if any((start.after or 0) + sum(move) in entry.balances_before for move in moves):
                    ways.append(chosen)
        return _Join(ways[0], len(ways) == 1) if ways else None

    def _pending(self, start: ChainEntry, entry: ChainEntry) -> list[ChainEntry]:
        """Return the home messages without a balance that may stand between two messages."""
        if self._unbalanced is None:
            self._unbalanced = [
                one
                for one in self._entries.values()
                if one.after is None
                and one.effects
                and one.home
                and one.standing in {Standing.NOTED, Standing.HELD, Standing.ACCEPTED}
            ]
        found = [
            one
            for one in self._unbalanced
            if one.key != entry.key
            and start.time - REORDERED_US <= one.time <= entry.time + REORDERED_US
        ]
        return sorted(found, key=lambda one: one.time)[-PENDING_MAX:]

    def _continues_chain(self, new: ChainEntry) -> bool:
        end = self.end
        join = None if end is None else self._joined(end, new)
        if end is None or join is None:
            return False
        self._append(end, new, join, Why.JOINS)
        return True

    def _append(self, end: ChainEntry, entry: ChainEntry, join: _Join, why: Why) -> ChainEntry:
        """Accept a message that joins the end of the chain, and the receipts without a balance that it confirms."""
        for one in join.through if join.sole else ():
            if one.standing is Standing.HELD and not one.doubts:
                self._put(one, standing=Standing.ACCEPTED)
        return self._put(
            entry,
            standing=Standing.ACCEPTED,
            why=why,
            row=None,
            position=(end.position or 0) + 1,
            gap_left=None,
            gap_left_at=None,
            gap_minor=0,
        )

    def _accept_after_end(self, entries: Sequence[ChainEntry], why: Why) -> None:
        """Continue the chain with messages that join each other; a gap stays where the first one does not join."""
        for entry in entries:
            end = self.end
            if end is None:
                self._put(entry, standing=Standing.ACCEPTED, why=why, row=None, position=0)
                continue
            join = self._joined(end, entry)
            taken = self._append(end, entry, join or _Join(), why)
            if join is None:
                before = entry.balances_before[0]
                gap = before - (end.after or 0)
                self._put(taken, gap_left=end.after, gap_left_at=end.time, gap_minor=gap)

    def _accept_at_its_time(self, entries: Sequence[ChainEntry]) -> None:
        """Accept messages that an operator approved: in the gap at their time, else at the end of the chain."""
        older = entries[0].time < self._latest - REORDERED_US
        if not self._fills_gap(entries, Why.PERSON, anyhow=older):
            if older:
                for entry in entries:
                    self._put(
                        entry,
                        standing=Standing.ACCEPTED,
                        why=Why.PERSON,
                        row=None,
                        position=None,
                    )
            else:
                self._accept_after_end(entries, Why.PERSON)
        self._settle()

    def _fills_gap(
        self, entries: Sequence[ChainEntry], why: Why = Why.FILLS_GAP, *, anyhow: bool = False
    ) -> bool:
        """Accept messages that fit a gap of the chain from one side, and measure the rest of the gap.

        With `anyhow` they need not fit; there is a gap on both sides then.
        """
        first, last = entries[0], entries[-1]
        for right in self.gaps:
            if not (_is_within(first.time, right) and _is_within(last.time, right)):
                continue
            if not (anyhow or _fit(right, first, last)):
                continue
            for entry in entries:
                self._put(
                    entry, standing=Standing.ACCEPTED, why=why, row=None, position=None, gap_minor=0
                )
            self._measure(first, right.gap_left or 0, right.gap_left_at or right.time)
            self._measure(right, last.after or 0, last.time)
            return True
        return False

    def _measure(self, entry: ChainEntry, left: int, left_at: int) -> None:
        """Store the gap between a balance and the message behind it."""
        entry = self[entry.key]
        gap = 0 if left in entry.balances_before else entry.balances_before[0] - left
        self._put(
            entry,
            gap_minor=gap,
            gap_left=left if gap else None,
            gap_left_at=left_at if gap else None,
        )

    def _continues_row(self, new: ChainEntry) -> bool:
        for row in reversed(self.rows):
            if self._joined(row.last, new):
                place = (row.last.position or 0) + 1
            elif (
                new.after in row.first.balances_before and new.time <= row.first.time + REORDERED_US
            ):
                place = (row.first.position or 0) - 1
            else:
                continue
            self._put(
                new,
                standing=Standing.UNCONFIRMED,
                why=Why.BREAKS,
                row=row.first.row,
                position=place,
            )
            return True
        return False

    def _settle(self) -> None:
        """Take each row into the chain that joins it now, and refute those that the chain has passed."""
        rows = self.rows
        while any(self._absorb(row, rows) for row in rows):
            rows = self.rows
        for row in self.rows:
            if self.is_passed(row.first.time):
                for entry in row.entries:
                    self._refute(entry, Why.CONTRADICTED)

    def _absorb(self, row: Row, rows: Sequence[Row]) -> bool:
        end = self.end
        if end and row.first.time >= self._latest - REORDERED_US and self._joined(end, row.first):
            self._accept_after_end(row.entries, Why.JOINS)
            return True
        if self._fills_gap(row.entries):
            return True
        for other in rows:
            late = other.first.time >= row.last.time - REORDERED_US
            if other.first.row != row.first.row and late and self._joined(row.last, other.first):
                place = row.last.position or 0
                for count, entry in enumerate(other.entries, 1):
                    self._put(entry, row=row.first.row, position=place + count)
                return True
        return False

    def _was_followed(self, row: Row) -> bool:
        """Return whether another row, or the chain, has grown since a row began."""
        if self._latest > row.first.time + REORDERED_US:
            return True
        others = (other for other in self.rows if other.first.row != row.first.row)
        return any(other.last.time > row.first.time for other in others)

    def _linked(self, entry: ChainEntry) -> tuple[ChainEntry, ...]:
        """Return a held message with those of its SMSC that join it before and behind, as long as there is only one."""
        if entry.why not in {Why.FOREIGN, Why.NO_SMSC}:
            return (entry,)
        rest = [one for one in self.foreign if one.smsc == entry.smsc and one.key != entry.key]
        found = [entry]
        for ahead in (True, False):
            while True:
                edge = found[-1] if ahead else found[0]
                near = [
                    one
                    for one in rest
                    if (
                        edge.after in one.balances_before
                        if ahead
                        else one.after in edge.balances_before
                    )
                ]
                if len(near) != 1:
                    break
                rest.remove(near[0])
                found = [*found, *near] if ahead else [*near, *found]
        return tuple(found)

    def _path_between(self, now: int, absences: Sequence[Absence]) -> tuple[ChainEntry, ...] | None:
        """Return the first path of held foreign messages that is due; None when there is none."""
        foreign = self.foreign
        if not foreign:
            return None
        for left, left_at, targets in self._holes():
            search = PathSearch(foreign, targets, left_at)
            path = search.only_path(left)
            if path is None:
                continue
            target = search.reached
            # What lowers the balance, a debit or a receipt with a large fee, could be made up to leave room for a made-up receipt.
            if any(one.pays for one in path) and not all(
                one.pays and min(one.effects) > 0 for one in path
            ):
                continue
            since = max(one.stored_at for one in (*path, target))
            if now - since - away_for(absences, since, now) >= BETWEEN_US:
                return path
        return None

    def _holes(self) -> Iterator[tuple[int, int, list[ChainEntry]]]:
        """Yield each balance of the chain that no message follows, its time, and the home messages that may come next."""
        rows = self.rows
        for right in self.gaps:
            inside = [row.first for row in rows if _is_within(row.first.time, right)]
            yield right.gap_left or 0, right.gap_left_at or 0, [*inside, right]
        end = self.end
        if end is not None and end.after is not None:
            after = [row.first for row in rows if row.first.time >= self._latest - REORDERED_US]
            if after:
                yield end.after, end.time, after


def _stays_out(new: ChainEntry) -> Why | None:
    """Return why a message can be in neither the chain nor a row, independent of other messages; None when it can."""
    if not new.home:
        return Why.FOREIGN
    if not ROUTE_DOUBTS.isdisjoint(new.doubts):
        return Why.DOUBTED
    if new.after is None or not new.effects:
        return Why.NO_BALANCE
    return Why.IMPOSSIBLE if new.pays and max(new.balances_before) < 0 else None


def _is_within(time: int, right: ChainEntry) -> bool:
    """Return whether a time lies in the gap before a message, 60 s more on each side."""
    left_at = right.time if right.gap_left_at is None else right.gap_left_at
    return left_at - REORDERED_US <= time <= right.time + REORDERED_US


def _fit(right: ChainEntry, first: ChainEntry, last: ChainEntry) -> bool:
    """Return whether messages from `first` to `last` fit the gap before `right` from one side."""
    return right.gap_left in first.balances_before or last.after in right.balances_before
