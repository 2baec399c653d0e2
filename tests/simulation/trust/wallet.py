"""The true changes of the shop's wallet, and the network's messages about them.

Times are microseconds since 1970, amounts are minor units. This module does not depend on momo.
"""

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.receipts import MTN_SENDER, mtn_receipt

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
START: Final = 1_795_219_200_000_000
"""2026-11-21T00:00:00Z: midnight of the first day."""
OPENS, CLOSES = 7 * HOUR + 30 * MINUTE, 20 * HOUR + 30 * MINUTE
"""The shop's hours."""

HOME: Final = "+233240000099"
"""The SIM's own service centre, which `AT+CSCA?` names."""
NEIGHBOUR: Final = "+233240000097"
FAR: Final = ("+233209990011", "+233501110044", "+233277770021")
"""Centres of the network that momo does not know yet."""
ABROAD: Final = "+447700900123"
"""The bulk-SMS service of an adversary."""

TEST_PAYMENT: Final = 107
"""The odd amount that the owner sends in `momo setup`."""
IDS_PER_DAY: Final = 67_000_000
FIRST_ID: Final = 93_214_500_000
NAMES: Final = (
    "KOFI ANTWI BADU BOATENG", "ESI NAANA QUANSAH DADZIE", "ABENA SERWAA OWUSU-ANSAH",
    "FTR - MM DescAcctTrsfSenderKWABENA KONADU DANKWA EBO - 09FG0615135034",
)  # fmt: skip
"""Payers; the last one is a bank with a narration that moves the payment code into the second part."""


class Kind(StrEnum):
    """Kinds of changes of the balance. The network sends no message about an untold change."""

    RECEIPT = "receipt"
    DEBIT = "debit"
    REVERSAL = "reversal"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of the wallet.

    Attributes:
        number: Position in the order of the balances.
        at: When it happened.
        effect: The added amount; below zero for money that left.
        after: The balance after it.
        telco_id: The network's ID.
        name: The payer.
        reference: The text that the payer typed.
        code: The payment code in it; None if the payer typed no code.
        reverses: The ID of the receipt that it takes back.
    """

    number: int
    at: int
    kind: Kind
    effect: int
    after: int
    telco_id: str
    name: str = NAMES[0]
    reference: str = ""
    code: str | None = None
    reverses: str | None = None

    @property
    def before(self) -> int:
        """The balance before it."""
        return self.after - self.effect

    def text(self) -> str:
        """Return the network's message about it."""
        assert self.kind is not Kind.UNTOLD, "nobody tells of it"
        if self.kind is Kind.RECEIPT:
            return receipt_text(self.effect, self.after, self.telco_id, self.reference, name=self.name)
        if self.kind is Kind.DEBIT:
            return debit_text(-self.effect, self.after, self.telco_id)
        assert self.reverses is not None
        return reversal_text(-self.effect, self.reverses, self.name, balance=self.after)


def money(minor: int) -> str:
    """Return an amount as the network prints it."""
    return f"{minor // 100}.{minor % 100:02d}"


def receipt_text(amount: int, balance: int, telco_id: str, reference: str, *, name: str = NAMES[0]) -> str:
    """Return MTN's receipt."""
    return mtn_receipt(amount, name, balance, reference, telco_id)


def short_receipt_text(amount: int, balance: int, telco_id: str, reference: str) -> str:
    """Return a receipt that fits one SMS, which is half the price of a real one."""
    return (
        f"Payment received for GHS {money(amount)} from KOFI BADU Current Balance: GHS {money(balance)}. "
        f"Reference: {reference}. Transaction ID: {telco_id}. TRANSACTION FEE: 0.00"
    )


def debit_text(amount: int, balance: int, telco_id: str) -> str:
    """Return MTN's message about money that left, without a fee."""
    return (
        f"Payment made for GHS {money(amount)} to AKUA FREMA Current Balance: GHS {money(balance)} . Available "
        f"Balance: GHS {money(balance)}. Reference: stock. Transaction ID: {telco_id}. "
        "Fee charged: GHS 0.00 TAX charged: GHS 0.00."
    )


def reversal_text(amount: int, reversed_id: str, name: str, *, balance: int | None = None) -> str:
    """Return MTN's message about a payment that it took back; without a balance if none is given."""
    end = "" if balance is None else f" Current Balance: GHS {money(balance)}."
    return f"Transaction {reversed_id} of GHS {money(amount)} from {name} has been reversed.{end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One PDU, and when it reaches the modem."""

    arrives: int
    pdu: str


@dataclass(frozen=True, slots=True)
class Route:
    """How a message travels.

    Attributes:
        smscs: The centre of each part; the last one also brings the further parts.
        stamped: SMSC time of the first part.
        apart: How much later each further part was stamped, microseconds.
        arrives: When the first part reaches the modem; each further one comes two seconds later.
        reference: Of the parts.
        swapped: The first part comes last.
    """

    smscs: tuple[str, ...]
    stamped: int
    arrives: int
    apart: int = 0
    reference: int = 0
    swapped: bool = False

    def parts(self, text: str, sender: str = MTN_SENDER) -> list[Part]:
        """Return the PDUs of a text, in the order in which they arrive."""
        whole = self._encode(text, sender, 0)
        plain = len(self.smscs) == 1 and not self.apart
        pdus = [whole[at] if plain else self._encode(text, sender, at)[at] for at in range(len(whole))]
        if self.swapped:
            pdus.reverse()
        return [Part(arrives=self.arrives + late * 2 * SECOND, pdu=pdu) for late, pdu in enumerate(pdus)]

    def _encode(self, text: str, sender: str, at: int) -> tuple[str, ...]:
        smsc = self.smscs[min(at, len(self.smscs) - 1)]
        stamped = date_of(self.stamped + at * self.apart)
        return encode_deliver(sender, text, stamped, smsc=smsc, reference=self.reference)


def date_of(at: int) -> datetime:
    """Return a time in whole seconds, as an SMSC stamps it."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at // SECOND)


def day_of(at: int) -> int:
    """Return the number of the day, from 0."""
    return (at - START) // DAY


def telco_id_at(at: int, rng: random.Random) -> str:
    """Return an ID that the network could give at this time."""
    per_second = IDS_PER_DAY // 86_400
    return str(FIRST_ID + (at - START) // SECOND * per_second + rng.randrange(per_second))


def with_reference(change: Change, reference: str, code: str | None) -> Change:
    """Return the receipt with another reference typed by the payer."""
    return replace(change, reference=reference, code=code)
