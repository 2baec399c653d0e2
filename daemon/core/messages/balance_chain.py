"""The messages of one line as entries of a balance chain: the amount that each moved, and the network's numbering.

A message that names the wallet's balance gives two values: the balance after it and, by its amount, the balance before it.
Two messages join when the *after* of one is the *before* of the other. `daemon.core.messages.line_trust` has the rules.
"""

import re
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from parsers import reading as readings
from parsers.money import read_money
from parsers.reading import COMVIVA_ID

_DIGITS: Final = re.compile(r"\d{1,40}", re.ASCII)
_LEAVES: Final = frozenset({readings.Kind.SENT, readings.Kind.BILL, readings.Kind.CASH_OUT, readings.Kind.AIRTIME})


class Standing(StrEnum):
    """The position of one message in the chain of its line."""

    ACCEPTED = "accepted"
    """It is in the chain: its balance is believed. Its money pays, or waits above a limit."""
    CANDIDATE = "candidate"
    """It may be genuine, and it does not join the believed balance: it is in a row beside the chain."""
    DOUBTFUL = "doubtful"
    """It is no candidate, or it was contradicted or rejected. It changes nothing for another message."""


class Why(StrEnum):
    """The deciding reason of a standing."""

    JOINS = "joins"
    """Its balance before is the believed balance, or one side of a gap in the chain."""
    PROVED = "proved"
    """What the wallet showed leads through it."""
    SILENCE = "silence"
    """Its row went on while everything else was silent."""
    PERSON = "person"
    """An operator approved or rejected it, or it is the owner's test payment."""
    BREAKS = "breaks"
    """Its balance joins nothing that is believed."""
    FOREIGN = "foreign"
    """It came through a service centre that is not home."""
    DOUBTED = "doubted"
    """Its ID, its time, its fee, its text or its missing balance speaks against it."""
    CONTRADICTED = "contradicted"
    """The chain runs without a gap over its time in another way."""


class Counts(IntEnum):
    """How the payment of a receipt counts while nothing has confirmed it."""

    FREE = 0
    LIMIT = 1
    """To the limit of its day and to the bound between two proofs."""
    SPENT = 2
    """To the limit of its day: a proof refuted it, or did not confirm it."""
    BOUND = 3
    """To the bound between two proofs."""
    PHONE = 4
    """To the daily limit of a source without service centres."""


class ChainEntry(Struct, frozen=True):
    """One message of a line from the network's own sender, as an entry of the chain. Times are microseconds.

    Attributes:
        key: The message's ID.
        seq: The order in which messages were stored.
        at: SMSC time, or time stored if that is unknown.
        stored_at: Time stored.
        telco_id: The network's transaction ID; None if the message has none.
        pays: It is a receipt.
        amount: The money received, in minor units; None unless it pays.
        effect: Its change of the balance, in minor units and signed; None when it names none.
        after: The balance it names; None when it names none.
        smsc: The SMSC that forwarded it; None when the PDU names none.
        home: That SMSC is a home SMSC of the SIM.
        doubts: Reasons against it besides its SMSC and its balance; it does not pay by itself while it has one.
        standing: Its position.
        why: The reason for its standing.
        row: Of a candidate: the number of its row.
        opens: It opened a row.
        position: Its place in the chain, or in its row; None beside them, as for a late message that fills a gap.
        gap_left: The balance before the gap in front of it, in minor units; None without a gap.
        gap_left_at: The time of that balance.
        gap_minor: The amount of the gap that no message accounts for: positive for money that came in, negative for money
            that left. 0 without a gap; None when there was nothing to compare with.
        counts: How its payment counts.
        counts_day: The day (since 1970) to which its payment counts; None when it counts to none.
    """

    key: str
    seq: int
    at: int
    stored_at: int
    telco_id: str | None
    pays: bool
    amount: int | None
    effect: int | None
    after: int | None
    smsc: str | None = None
    home: bool = True
    doubts: tuple[str, ...] = ()
    standing: Standing = Standing.DOUBTFUL
    why: Why = Why.DOUBTED
    row: int | None = None
    opens: bool = False
    position: int | None = None
    gap_left: int | None = None
    gap_left_at: int | None = None
    gap_minor: int | None = None
    counts: Counts = Counts.FREE
    counts_day: int | None = None

    @property
    def time(self) -> int:
        """The SMSC time, but not later than the time stored: a sender can set the SMSC time ahead."""
        return min(self.at, self.stored_at)

    @property
    def before(self) -> int | None:
        """The balance before it; None when the message does not give it."""
        return None if self.after is None or self.effect is None else self.after - self.effect

    @property
    def has_gap(self) -> bool:
        """Whether an amount before it is not accounted for."""
        return bool(self.gap_minor) and self.gap_left is not None


class Absence(Struct, frozen=True):
    """A time without a modem, microseconds; `until` is None while it lasts."""

    since: int
    until: int | None


def is_in_chain(reading: readings.Reading) -> bool:
    """Return whether a trusted message is part of the chain: a receipt, a reversal, or what names the wallet's balance."""
    return isinstance(reading, readings.Payment | readings.Reversal) or (
        isinstance(reading, readings.NotPayment) and reading.balance is not None
    )


def effect_of(reading: readings.Reading) -> int | None:
    """Return the change of the balance by a message, signed, in minor units; None when it cannot be read.

    It is one number: several that are tried until one fits would give a forger as many guesses. Money that leaves takes the
    fee and the tax that the message prints. A message that only reports a sum (interest) reports money that came in.
    """
    if isinstance(reading, readings.Unreadable) or reading.amount is None:
        reports = isinstance(reading, readings.NotPayment) and not _leaves(reading)
        return 0 if reports else None
    amount = reading.amount.minor
    fee = 0 if reading.fee is None else reading.fee.minor
    if isinstance(reading, readings.Payment):
        return amount - fee
    if isinstance(reading, readings.Reversal):
        return -amount - fee
    if _leaves(reading):
        tax = read_money(reading.extra.get("tax", ""), currency=reading.amount.currency)
        return -amount - fee - (0 if tax is None else tax.minor)
    comes_in = reading.kind in {readings.Kind.REVERSAL, readings.Kind.OTHER}
    return amount if comes_in else 0


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
