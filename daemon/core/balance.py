"""The running balance of a line, rule 5 of decisions.md section 4: does a receipt fit what the wallet held?

`judge` looks at one message that just came in, among the messages of its line; `decide` at one that a person decided.
Both give the message's standing and everything that changes for others. The questions, in this order:

1. Do its neighbours already join each other without it? Then it has no place between them, unless with all else that was
   told it leads from the one to the other another way (`daemon.core.balance_detour`).
2. Is it impossible in itself: a balance below its own amount?
3. Does it find the last known balance, or that of a held message before it (which it thereby releases)?
4. Does a later message find its balance?
5. Is it the first? Is the break explained? Does it find the balance *before* the last known one?

What cannot be excused is held, and the very next message of the line usually settles it: one that finds the held
balance releases the hold and leaves the missing amount named; one that finds the balance before it shows the forgery.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from daemon.core.balance_detour import TURNED_US_MAX
from daemon.core.balance_line import Away, Entry, Gap, Standing, Why, id_number
from daemon.core.balance_settle import Line
from daemon.core.limits import MINUTE_US

HELD_US_MAX: Final = 30 * MINUTE_US
"""A receipt held for longer is told to a person (decisions.md section 4)."""
WINDOW: Final = 64
"""Messages of a line to load on each side of a new one, by time; see `judge` for what else must be among them."""

NEAR: Final = 10
"""So many are enough for nearly every message: see `is_plain`."""


class BalanceCheck(StrEnum):
    """The setting `[trust] balance_check`."""

    REVIEW = "review"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Change:
    """What is different about an earlier message; `before` and `after` are the entry then and now."""

    before: Entry
    after: Entry

    @property
    def released(self) -> bool:
        """A hold that ends by itself: the payment may now pay."""
        return self.before.standing is Standing.HELD and self.after.standing is Standing.ACCEPTED

    @property
    def forged(self) -> bool:
        """A held receipt that is shown to be forged."""
        return self.after.standing is Standing.FORGED is not self.before.standing

    @property
    def suspect(self) -> bool:
        """A receipt that was accepted, and whose money is not there: tell a person."""
        return self.after.standing is Standing.SUSPECT is not self.before.standing

    @property
    def restored(self) -> bool:
        """A suspect receipt that a late message shows to be genuine: take the notice back."""
        return self.before.standing is Standing.SUSPECT and self.after.standing is Standing.ACCEPTED


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be written down.

    Attributes:
        entry: The message, with its standing and gap; store it as it is, unless `why` is `ID_TAKEN`.
        why: What decided.
        gaps: The amounts unaccounted for in front of it, to be named in a notice: counted from the last known balance,
            and, where messages are held between, also from each of them, nearest first behind it. Empty when it joins.
        changes: Earlier messages whose standing or gap is another now.
        warning: The setting is `warn` and it would have been held.
    """

    entry: Entry
    why: Why
    gaps: tuple[Gap, ...] = ()
    changes: tuple[Change, ...] = ()
    warning: bool = False

    @property
    def holds(self) -> bool:
        """The receipt may pay nothing now: a review `balance_break`, which later messages may settle."""
        return self.entry.pays and self.entry.standing in {Standing.HELD, Standing.FORGED}


def judge(
    chain: Iterable[Entry],
    new: Entry,
    *,
    away: Sequence[Away] = (),
    check: BalanceCheck = BalanceCheck.REVIEW,
) -> Ruling:
    """Judge a message that just came in.

    Args:
        chain: The messages of the line and provider that were judged before, live ones only: the `WINDOW` nearest in
            time on each side. Among them, however far back, must be the last two accepted ones with a balance and one
            accepted receipt, if there are any: a row of held ones must not make the next one look like the first.
        new: The message, standing `NEW`. Its sender is the network's own: nothing else may come here.
        away: When the modem was not there, since the oldest of them.
        check: The setting.

    Returns:
        The ruling. A message with an ID that the chain has is not judged (`ID_TAKEN`): a twin if it says the same.
    """
    before = list(chain)
    if check is BalanceCheck.OFF:
        standing = Standing.NOTED if new.after is None else Standing.ACCEPTED
        return Ruling(replace(new, standing=standing), Why.OFF)
    number = id_number(new.telco_id)
    if number is not None and any(id_number(entry.telco_id) == number for entry in before):
        return Ruling(replace(new, standing=Standing.HELD), Why.ID_TAKEN)
    line = Line(before, new, away)
    standing, why = line.verdict()
    if standing is not Standing.ACCEPTED and (turned := _turned(before, new)) is not None:
        line = turned
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
        if (turned := _turned(others, forged)) is not None:
            turned.settle(Standing.ACCEPTED)
            entries = turned.entries
    by_key = {entry.key: entry for entry in entries}
    pairs = ((then, by_key[then.key]) for then in before)
    changes = tuple(Change(then, now) for then, now in pairs if then != now)
    return Ruling(by_key[judged.key], why, gaps, changes, warning)


def is_plain(near: Sequence[Entry], ruling: Ruling) -> bool:
    """Say whether more of the line could not change a ruling that was made among the `NEAR` nearest messages.

    Fewer than that are all there are. Of more it could not when the message stands behind all of them by ID and by time,
    goes on from the last known balance, and nothing of them is open: neither the balance nor the clock of the IDs
    (`daemon.core.doubts`) looks any further back then.
    """
    if len(near) < NEAR:
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


def _turned(others: Sequence[Entry], entry: Entry) -> Line | None:
    """Try a message behind one with a higher ID: payments of one moment may be booked against the order of their IDs."""
    number = id_number(entry.telco_id)
    for known in others:
        higher = id_number(known.telco_id)
        if (
            number is not None
            and higher is not None
            and higher > number
            and known.standing is Standing.ACCEPTED
            and abs(known.at - entry.at) <= TURNED_US_MAX
            and known.after in entry.befores
        ):
            line = Line(others, replace(entry, place=higher, standing=Standing.NEW), ())
            if line.left is not None and line.verdict()[0] is Standing.ACCEPTED:
                return line
    return None


def decide(chain: Iterable[Entry], key: str, *, genuine: bool) -> Ruling:
    """Take a person's word for a held message, and judge those behind it again.

    Args:
        chain: As for `judge`, with the message in it.
        key: The message that was decided.
        genuine: Whether the person says that its money came in.
    """
    before = list(chain)
    chosen = next(entry for entry in before if entry.key == key)
    others = [entry for entry in before if entry.key != key]
    line = Line(others, replace(chosen, doubted=chosen.doubted and not genuine), ())
    line.settle(Standing.ACCEPTED if genuine else Standing.FORGED)
    return Ruling(line.judged, Why.PERSON, (), _changes(line))


def overdue(chain: Iterable[Entry], now: int) -> list[Entry]:
    """Return the receipts that are held for so long that a person has to be told."""
    return [
        entry
        for entry in chain
        if entry.pays and entry.standing is Standing.HELD and now - entry.stored_at >= HELD_US_MAX
    ]


@dataclass(frozen=True, slots=True)
class Unaccounted:
    """How much of a line's money no message told of.

    Attributes:
        came_in_minor: Money that came in untold.
        went_out_minor: Money that left untold.
        since: Time of the first message that showed it, microseconds; None when everything is accounted for.
    """

    came_in_minor: int
    went_out_minor: int
    since: int | None


def unaccounted(chain: Iterable[Entry]) -> Unaccounted:
    """Add up the gaps of a line; those in front of messages that are held are not known yet."""
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


def _changes(line: Line) -> tuple[Change, ...]:
    return tuple(Change(then, now) for then, now in line.changes())
