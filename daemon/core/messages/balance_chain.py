"""The messages of one line as entries of a balance chain: the amount that each moved, and the network's numbering.

A message that names the wallet's balance gives two values: the balance after it and, by its amount, the balance before it.
Two messages join when the *after* of one is the *before* of the other. `daemon.core.messages.balance` has the rules.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from parsers import reading as readings
from parsers.money import read_money
from parsers.reading import COMVIVA_ID

_DIGITS: Final = re.compile(r"\d{1,40}", re.ASCII)
_LEAVES: Final = frozenset(
    {readings.Kind.SENT, readings.Kind.BILL, readings.Kind.CASH_OUT, readings.Kind.AIRTIME}
)


class Standing(StrEnum):
    """The position of one message in the chain of its line."""

    NEW = "new"
    """Not judged yet."""
    ACCEPTED = "accepted"
    """It is in the chain: its money is believed."""
    UNCONFIRMED = "unconfirmed"
    """It came by a home SMSC and is in an open row beside the chain, after a break."""
    HELD = "held"
    """It waits, and is in no row: a foreign SMSC, a doubt, or no balance."""
    REFUTED = "refuted"
    """The chain continued without it, or an operator rejected it."""
    NOTED = "noted"
    """It names no balance and pays nothing; it may account for a change of the balance."""


class Why(StrEnum):
    """The deciding reason of a standing."""

    JOINS = "joins"
    FILLS_GAP = "fills_gap"
    BETWEEN = "between"
    CONFIRMED = "confirmed"
    TEST_PAYMENT = "test_payment"
    PERSON = "person"
    FIRST = "first"
    BREAKS = "breaks"
    FOREIGN = "foreign"
    DOUBTED = "doubted"
    NO_SMSC = "no_smsc"
    """Its source does not report the SMSC, and it does not join the end of the chain."""
    NO_BALANCE = "no_balance"
    IMPOSSIBLE = "impossible"
    CONTRADICTED = "contradicted"


class ChainEntry(Struct, frozen=True, kw_only=True):
    """One message of a line from the network's own sender, as an entry of the chain. Times are microseconds.

    Attributes:
        key: The message's ID.
        seq: The order in which messages were stored.
        at: SMSC time, or time stored if that is unknown.
        stored_at: Time stored.
        telco_id: The network's transaction ID; None if the message has none.
        pays: It is a receipt.
        effects: Its possible changes of the balance, the likeliest first, in minor units and signed; empty when the
            message cannot be read.
        after: The balance it names; None when it names none.
        smsc: The SMSC that forwarded it; None when the PDU names none.
        home: That SMSC is a home SMSC of the SIM.
        doubts: Reasons against it besides its SMSC and its balance; it does not pay by itself while it has one.
        standing: Its position.
        why: The reason for its standing.
        row: Of a message in an open row: the key of the row's first message.
        position: Its place in the chain, or in its row; None beside them, as for a late message that fills a gap.
        gap_left: The balance before the gap in front of it, in minor units; None without a gap.
        gap_left_at: The time of that balance.
        gap_minor: The amount of the gap that no message accounts for: positive for money that came in, negative for money
            that left. 0 without a gap; None when there was nothing to compare with.
        unconfirmed_day: The day (since 1970) on which it paid before its row was confirmed.
    """

    key: str
    seq: int
    at: int
    stored_at: int
    telco_id: str | None
    pays: bool
    effects: tuple[int, ...]
    after: int | None
    smsc: str | None = None
    home: bool = True
    doubts: tuple[str, ...] = ()
    standing: Standing = Standing.NEW
    why: Why = Why.JOINS
    row: str | None = None
    position: int | None = None
    gap_left: int | None = None
    gap_left_at: int | None = None
    gap_minor: int | None = None
    unconfirmed_day: int | None = None

    @property
    def time(self) -> int:
        """The SMSC time, but not later than the time stored: a sender can set the SMSC time ahead."""
        return min(self.at, self.stored_at)

    @property
    def balances_before(self) -> tuple[int, ...]:
        """The possible balances before it, the likeliest first; empty when the message does not give them."""
        after = self.after
        return () if after is None else tuple(after - effect for effect in self.effects)

    @property
    def has_gap(self) -> bool:
        """Whether an amount before it is not accounted for."""
        return bool(self.gap_minor) and self.gap_left is not None

    def gives_up_place(self, now: "ChainEntry") -> bool:
        """Return whether it has a place in the chain that it has no longer when it is judged as `now`."""
        return (
            self.standing is Standing.ACCEPTED
            and self.position is not None
            and (now.standing is not Standing.ACCEPTED or now.position != self.position)
        )


class Absence(Struct, frozen=True):
    """A time without a modem, microseconds; `until` is None while it lasts."""

    since: int
    until: int | None


def is_in_chain(reading: readings.Reading) -> bool:
    """Return whether a trusted message is part of the chain: promotions and one-time passwords are not."""
    if isinstance(reading, readings.NotPayment):
        return reading.balance is not None or any(effects_of(reading))
    return True


def effects_of(reading: readings.Reading) -> tuple[int, ...]:
    """Return the possible changes of the balance by a message, the likeliest first, signed, in minor units.

    The balance before a receipt is balance - amount + fee. A debit also takes its fee, and the tax
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
    match = COMVIVA_ID.fullmatch(text)
    if match is None:
        return None
    return int(f"{match[2]}{match[3]}{ord(match[4]):02d}{match[5]:0>6}")


def in_order(entries: Iterable[ChainEntry]) -> list[ChainEntry]:
    """Return the messages of a line by time and, within one second, by the network's transaction IDs."""
    return sorted(entries, key=lambda entry: (entry.at, id_number(entry.telco_id) or 0, entry.seq))
