"""The messages of one line as a chain of balances: their order, and what joins what.

Every message that names the wallet's balance says two things: what the wallet held after it and, by its amount, what it
held before. Two messages join when the one's *after* is the other's *before*; a message between them that names no
balance may change it by what it says it moved. The order is that of the network's transaction IDs, which rise with
time; a message without an ID stands where its time puts it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from parsers import reading as readings
from parsers.money import read_money

REACH_MAX: Final = 64
"""Balances that are thought possible behind a row of messages without one; more would join anything."""

_DIGITS: Final = re.compile(r"\d{1,40}", re.ASCII)
_COMVIVA: Final = re.compile(r"[A-Z]{2}(\d{6})\.(\d{4})\.([A-Z])(\d{4,6})", re.ASCII)
_LEAVES: Final = frozenset(
    {readings.Kind.SENT, readings.Kind.BILL, readings.Kind.CASH_OUT, readings.Kind.AIRTIME}
)


class Standing(StrEnum):
    """What the chain thinks of one message."""

    NEW = "new"
    """Not judged yet."""
    ACCEPTED = "accepted"
    """Its balance is one of the wallet's: it joins a neighbour, or its break is explained."""
    HELD = "held"
    """A receipt that breaks the chain; the next message may settle it."""
    FORGED = "forged"
    """A held receipt that the chain went past."""
    SUSPECT = "suspect"
    """It was accepted, and later messages say that its money is not there."""
    UNPROVEN = "unproven"
    """It pays nothing and its balance joins nothing: it explains a break, and is no known balance."""
    NOTED = "noted"
    """It names no balance: it can only explain a break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One message of a line whose sender is the network's own, as the chain sees it.

    Attributes:
        key: The message's ID.
        seq: The order in which messages were stored.
        at: SMSC time, or when it was stored where that is unknown; microseconds.
        stored_at: When it was stored; microseconds.
        telco_id: The network's transaction ID; None where the message has none.
        pays: It is a receipt: only these are held.
        effects: What it may have done to the balance, the likeliest first, in minor units and signed; empty when the
            message cannot be read.
        after: The balance it names; None when it names none.
        doubted: Another doubt stands against it (a new SMSC): no explanation excuses its break, and it settles nothing.
        standing: What the chain thinks of it.
        gap_minor: What no message accounts for between it and the known balance before it: above zero is money that
            came in untold, below zero money that left. None when there was nothing to compare with.
        place: The ID behind which it stands, where the network booked two of the same moment against their IDs' order.
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
        """Say whether its balance is one of the wallet's."""
        return self.standing is Standing.ACCEPTED and self.after is not None

    @property
    def befores(self) -> tuple[int, ...]:
        """What the wallet may have held before it, the likeliest first; empty when it does not say."""
        after = self.after
        return () if after is None else tuple(after - effect for effect in self.effects)

    @property
    def explains(self) -> bool:
        """Say whether it explains that the balance is another: a debit, or a message that cannot be read."""
        return (
            not self.pays
            and not self.doubted
            and (not self.effects or min(self.effects) < 0)
            and self.standing in _EXPLAINING
        )


class Why(StrEnum):
    """What decided."""

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
class Away:
    """A time in which the modem was not there to receive, microseconds; `until` None: it is still away."""

    since: int
    until: int | None


@dataclass(frozen=True, slots=True)
class Gap:
    """An amount that no message accounts for.

    Attributes:
        since: Key of the message whose balance it is counted from.
        minor: Above zero came in, below zero went out.
    """

    since: str
    minor: int


_UNSEEN: Final = frozenset({Standing.NOTED, Standing.ACCEPTED})
"""Messages without a balance that may have changed it."""
_TOLD: Final = frozenset({Standing.NOTED, Standing.ACCEPTED, Standing.UNPROVEN})
_EXPLAINING: Final = frozenset({Standing.NEW, Standing.NOTED, Standing.UNPROVEN})


def matters(reading: readings.Reading) -> bool:
    """Say whether a trusted message belongs into the chain: promotions and one-time passwords do not."""
    if isinstance(reading, readings.NotPayment):
        return reading.balance is not None or any(effects_of(reading))
    return True


def effects_of(reading: readings.Reading) -> tuple[int, ...]:
    """Return what a message may have done to the balance, the likeliest first, signed, in minor units.

    decisions.md section 4: the before-balance of a receipt is balance - amount + fee. A debit takes its fee as well,
    and the tax if one is named; of what merely reports a sum (interest) the direction is not known.
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
    """Return the ID as a number that rises with time, None for a form without an order.

    Asked some 40 times for each receipt, mostly about the same neighbours: so it remembers.
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

    Those with an ID by their IDs; each of the others behind the last of those that is not younger than it.
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
    """Return where the last known balance before a message stands; None when there is none."""
    return next((i for i in range(index - 1, -1, -1) if line[i].is_known), None)


def known_behind(line: Sequence[Entry], index: int) -> int | None:
    """Return where the next known balance behind a message stands; None when there is none."""
    return next((i for i in range(index + 1, len(line)) if line[i].is_known), None)


def reach(line: Sequence[Entry], start: int, end: int) -> set[int]:
    """Return the balances that message `end` may find, coming from message `start`.

    They are the balance of `start`, changed or not by each message between the two that names none.
    """
    after = line[start].after
    assert after is not None, "only a message with a balance can be a start"
    found = {after}
    for entry in line[start + 1 : end]:
        if entry.after is None and entry.standing in _UNSEEN and not entry.doubted:
            found |= {balance + effect for balance in found for effect in entry.effects}
            if len(found) > REACH_MAX:
                return {after}
    return found


def joins(line: Sequence[Entry], start: int, end: int) -> bool:
    """Say whether message `end` found the balance that message `start` left."""
    return not reach(line, start, end).isdisjoint(line[end].befores)


def expected(line: Sequence[Entry], start: int, end: int) -> int:
    """Return the likeliest balance in front of message `end`: that of `start` and all that was told between them."""
    after = line[start].after
    assert after is not None, "only a message with a balance can be a start"
    told = (
        entry.effects[0]
        for entry in line[start + 1 : end]
        if entry.effects and entry.standing in _TOLD
    )
    return after + sum(told)


def gap_between(line: Sequence[Entry], start: int, end: int) -> int | None:
    """Return what no message accounts for between two messages, signed; 0 when they join."""
    if joins(line, start, end):
        return 0
    befores = line[end].befores
    return befores[0] - expected(line, start, end) if befores else None
