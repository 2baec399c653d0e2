"""The messages of one line as a chain of balances: their order, and which messages join.

A message that names the wallet's balance gives two values: the balance after it and, by its amount, the balance before it.
Two messages join when the *after* of one is the *before* of the other. A message between them without a balance may
change it by its own amount. The order is that of the network's transaction IDs, which rise with time; a message
without an ID is placed by its time.

If two neighbours join, no money seems to have moved between them, and a later message about that time has no place there.
But money may have come and left again. Then all messages together form another path from one to the other, each
following the balance of the one before it. Only a complete path proves anything, and only if no other is as long.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from daemon.core.limits import MINUTE_US
from parsers import reading as readings
from parsers.money import read_money

POSSIBLE_BALANCES_MAX: Final = 64
"""Most balances considered possible after a row of messages without one; with more, any message would join."""

_DIGITS: Final = re.compile(r"\d{1,40}", re.ASCII)
_COMVIVA: Final = re.compile(r"[A-Z]{2}(\d{6})\.(\d{4})\.([A-Z])(\d{4,6})", re.ASCII)
_LEAVES: Final = frozenset(
    {readings.Kind.SENT, readings.Kind.BILL, readings.Kind.CASH_OUT, readings.Kind.AIRTIME}
)


class Standing(StrEnum):
    """The chain's verdict on one message."""

    NEW = "new"
    """Not judged yet."""
    ACCEPTED = "accepted"
    """Its balance is a real balance of the wallet: it joins a neighbour, or its break is explained."""
    HELD = "held"
    """A receipt that breaks the chain; the next message may settle it."""
    FORGED = "forged"
    """A held receipt, and later messages continued without it."""
    SUSPECT = "suspect"
    """It was accepted, and later messages show that its money is not there."""
    UNPROVEN = "unproven"
    """It pays nothing and its balance joins no other: it explains a break and is no known balance."""
    NOTED = "noted"
    """It names no balance; it can only explain a break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message of a line from the network's own sender, as an entry of the chain.

    Attributes:
        key: The message's ID.
        seq: The order in which messages were stored.
        at: SMSC time, or time stored if that is unknown; microseconds.
        stored_at: Time stored; microseconds.
        telco_id: The network's transaction ID; None if the message has none.
        pays: It is a receipt. Only receipts are held.
        effects: Its possible changes of the balance, the likeliest first, in minor units and signed; empty when the
            message cannot be read.
        after: The balance it names; None when it names none.
        doubted: It has another doubt (a new SMSC): no explanation excuses its break, and it settles no other message.
        standing: The chain's verdict.
        gap_minor: The amount between it and the known balance before it that no message accounts for: positive for
            money that came in, negative for money that left. None when there was nothing to compare with.
        place: The ID after which it is placed, when the network booked two of the same moment against their IDs' order.
    """

    key: str
    seq: int
    at: int
    stored_at: int
    telco_id: str | None
    pays: bool
    effects: tuple[int, ...]
    after: int | None
    doubted: bool = False
    standing: Standing = Standing.NEW
    gap_minor: int | None = None
    place: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether its balance is a real balance of the wallet."""
        return self.standing is Standing.ACCEPTED and self.after is not None

    @property
    def balances_before(self) -> tuple[int, ...]:
        """The possible balances before it, the likeliest first; empty when the message does not give them."""
        after = self.after
        return () if after is None else tuple(after - effect for effect in self.effects)

    @property
    def explains(self) -> bool:
        """Whether it explains a changed balance: a debit, or a message that cannot be read."""
        return (
            not self.pays
            and not self.doubted
            and (not self.effects or min(self.effects) < 0)
            and self.standing in _EXPLAINING
        )


class Why(StrEnum):
    """The deciding reason of a verdict."""

    OFF = "off"
    NO_BALANCE = "no_balance"
    FIRST = "first"
    JOINS = "joins"
    SKIPS = "skips"
    EXPLAINED = "explained"
    BREAKS = "breaks"
    REPEATED = "repeated"
    IMPOSSIBLE = "impossible"
    CONTRADICTED = "contradicted"
    ID_TAKEN = "id_taken"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Absence:
    """A time without a modem, microseconds; `until` is None while it lasts."""

    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Gap:
    """An amount that no message accounts for.

    Attributes:
        since: Key of the message whose balance it is counted from.
        minor: Positive came in, negative went out.
    """

    since: str
    minor: int


_MAY_HAVE_CHANGED: Final = frozenset({Standing.NOTED, Standing.ACCEPTED})
"""Standings of messages without a balance that may have changed it."""
_REPORTED: Final = frozenset({Standing.NOTED, Standing.ACCEPTED, Standing.UNPROVEN})
_EXPLAINING: Final = frozenset({Standing.NEW, Standing.NOTED, Standing.UNPROVEN})
UNSETTLED: Final = frozenset({Standing.HELD, Standing.UNPROVEN})
"""Standings of messages whose balance is not proved yet."""
REORDERED_US_MAX: Final = MINUTE_US
"""Messages this close in time may be booked in another order than their IDs."""


def is_in_chain(reading: readings.Reading) -> bool:
    """Return whether a trusted message is part of the chain: promotions and one-time passwords are not."""
    if isinstance(reading, readings.NotPayment):
        return reading.balance is not None or any(effects_of(reading))
    return True


def effects_of(reading: readings.Reading) -> tuple[int, ...]:
    """Return the possible changes of the balance by a message, the likeliest first, signed, in minor units.

    decisions.md section 4: the balance before a receipt is balance - amount + fee. A debit also takes its fee, and the tax
    if one is named. For a message that only reports a sum (interest) the direction is unknown.
    """
    if isinstance(reading, readings.Unreadable) or reading.amount is None:
        return (0,) if isinstance(reading, readings.NotPayment) and not _leaves(reading) else ()
    amount = reading.amount.minor
    fee = 0 if reading.fee is None else reading.fee.minor
    effects: tuple[int, ...] = (0,)
    if isinstance(reading, readings.Payment):
        effects = (amount - fee,)
    elif isinstance(reading, readings.Reversal):
        effects = (-amount - fee, -amount)
    elif _leaves(reading):
        tax = read_money(reading.extra.get("tax", ""), currency=reading.amount.currency)
        taxed = 0 if tax is None else tax.minor
        effects = (-amount - fee - taxed, -amount - fee, -amount)
    elif reading.kind is readings.Kind.REVERSAL:
        effects = (amount, amount + fee, 0)
    elif reading.kind is readings.Kind.OTHER and reading.balance is not None:
        effects = (amount, 0, -amount)
    return tuple(dict.fromkeys(effects))


def _leaves(reading: readings.NotPayment) -> bool:
    return reading.kind in _LEAVES


@lru_cache(maxsize=1_024)
def id_number(telco_id: str | None) -> int | None:
    """Return the ID as a number that rises with time; None for a form without an order.

    Cached: it is called about 40 times for each receipt, mostly for the same neighbours.
    """
    if telco_id is None:
        return None
    text = telco_id.strip().upper()
    if _DIGITS.fullmatch(text):
        return int(text)
    match = _COMVIVA.fullmatch(text)
    if match is None:
        return None
    return int(f"{match[1]}{match[2]}{ord(match[3]):02d}{match[4]:0>6}")


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return the messages of a line in the order in which the network booked them.

    Messages with an ID are sorted by it. Each of the others comes after the last one that is not younger.
    """
    by_id: list[tuple[int, bool, int, Entry]] = []
    by_time: list[Entry] = []
    for entry in entries:
        number = id_number(entry.telco_id) if entry.place is None else entry.place
        if number is None:
            by_time.append(entry)
        else:
            by_id.append((number, entry.place is not None, entry.seq, entry))
    by_id.sort(key=lambda row: row[:3])
    line = [row[3] for row in by_id]
    for entry in sorted(by_time, key=lambda entry: (entry.at, entry.seq)):
        place = len(line)
        while place and (line[place - 1].at, line[place - 1].seq) > (entry.at, entry.seq):
            place -= 1
        line.insert(place, entry)
    return line


def known_before(line: Sequence[Entry], index: int) -> int | None:
    """Return the index of the last known balance before a message; None when there is none."""
    return next((i for i in range(index - 1, -1, -1) if line[i].is_known), None)


def known_after(line: Sequence[Entry], index: int) -> int | None:
    """Return the index of the next known balance after a message; None when there is none."""
    return next((i for i in range(index + 1, len(line)) if line[i].is_known), None)


def possible_balances(line: Sequence[Entry], start: int, end: int) -> set[int]:
    """Return the possible balances before message `end`, starting from message `start`.

    They are the balance of `start`, with and without the change by each message between the two that names no balance.
    """
    after = line[start].after
    assert after is not None, "only a message with a balance can be a start"
    found = {after}
    for entry in line[start + 1 : end]:
        if entry.after is None and entry.standing in _MAY_HAVE_CHANGED and not entry.doubted:
            found |= {balance + effect for balance in found for effect in entry.effects}
            if len(found) > POSSIBLE_BALANCES_MAX:
                return {after}
    return found


def joins(line: Sequence[Entry], start: int, end: int) -> bool:
    """Return whether message `end` follows the balance of message `start`."""
    return not possible_balances(line, start, end).isdisjoint(line[end].balances_before)


def expected(line: Sequence[Entry], start: int, end: int) -> int:
    """Return the likeliest balance before message `end`: that of `start` plus the changes by the messages between them."""
    after = line[start].after
    assert after is not None, "only a message with a balance can be a start"
    reported = (
        entry.effects[0]
        for entry in line[start + 1 : end]
        if entry.effects and entry.standing in _REPORTED
    )
    return after + sum(reported)


def gap_between(line: Sequence[Entry], start: int, end: int) -> int | None:
    """Return the amount between two messages that no message accounts for, signed; 0 when they join."""
    if joins(line, start, end):
        return 0
    balances_before = line[end].balances_before
    return balances_before[0] - expected(line, start, end) if balances_before else None


@dataclass(frozen=True, slots=True)
class _Path:
    """The longest path to a message; `sole` when there is no other of that length."""

    steps: tuple[int, ...]
    sole: bool


def alternative_path(
    line: Sequence[Entry], start: int | None, end: int | None, through: int
) -> tuple[int, ...]:
    """Return the alternative path between two known balances that join each other.

    Args:
        line: The messages of a line, in order.
        start: The known balance before the judged message.
        end: The known balance after it.
        through: The judged message.

    Returns:
        The indexes of the longest complete path from `start` over `through` to `end`: suspect receipts, and messages that
        are evidence for them. Empty when there is none, and when another is as long.
    """
    if start is None or end is None or line[through].after is None:
        return ()
    return _longest(line, start, end, through) if joins(line, start, end) else ()


def unsettled_between(line: Sequence[Entry], start: int | None, end: int | None) -> Iterator[int]:
    """Yield the messages between two, both excluded, that are held or unproven."""
    for i in range(0 if start is None else start + 1, len(line) if end is None else end):
        if line[i].standing in UNSETTLED and line[i].after is not None:
            yield i


def is_evidence(line: Sequence[Entry], index: int) -> bool:
    """Return whether a message is evidence for a suspect one: it came by a known route and was sent in time.

    A forger who sees that the forgery was found out can send an explanation only from then on. A genuine message that comes
    late was sent in time, by the service centre's clock.
    """
    entry = line[index]
    explained = min((known.at for known in line[index + 1 :] if known.is_known), default=entry.at)
    return entry.at <= explained + REORDERED_US_MAX and not entry.doubted


def joins_suspect(line: Sequence[Entry], index: int) -> bool:
    """Return whether a message joins a suspect receipt. If that one is proved genuine later, so is this one."""
    before, behind = known_before(line, index), known_after(line, index)
    first = 0 if before is None else before + 1
    return any(
        joins(line, min(i, index), max(i, index))
        for i in range(first, len(line) if behind is None else behind)
        if line[i].standing is Standing.SUSPECT
    )


def _longest(line: Sequence[Entry], start: int, end: int, through: int) -> tuple[int, ...]:
    """Return the longest complete path if it is the only one of that length."""
    suspect = [i for i in range(start + 1, end) if line[i].standing is Standing.SUSPECT]
    others = [i for i in (through, *unsettled_between(line, start, end)) if is_evidence(line, i)]
    paths = {start: _Path((start,), sole=True)}
    for i in (*sorted({*suspect, *others}), end):
        found = [
            _Path((*path.steps, i), path.sole)
            for step, path in paths.items()
            if not step < through < i and joins(line, step, i)
        ]
        length = max((len(path.steps) for path in found), default=0)
        best = [path for path in found if len(path.steps) == length]
        if best:
            paths[i] = _Path(best[0].steps, best[0].sole and len(best) == 1)
    complete = paths.get(end)
    return complete.steps if complete is not None and complete.sole else ()
