"""What a message turned out to be: a payment, a reversal, something else, or nothing that can be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from parsers.money import Money, render


class Kind(StrEnum):
    """What a message is about, in the words of the corpus."""

    PAYMENT_RECEIVED = "payment_received"
    MERCHANT_PAYMENT = "merchant_payment_received"
    CASH_IN = "cash_in"
    REVERSAL = "reversal"
    SENT = "sent"
    BILL = "bill"
    CASH_OUT = "cash_out"
    AIRTIME = "airtime"
    FAILED = "failed"
    BALANCE = "balance"
    OTP = "otp"
    PROMO = "promo"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What any message of a network may say.

    Attributes:
        network: Short name of the network whose wording it is (`mtn`).
        wording: Name of the wording that read it.
        amount: The money that the message is about.
        telco_id: The network's transaction ID as printed; None on old wordings that print none.
        payer_name: As printed, trimmed.
        payer_phone: E.164; None when the receipt names no number, or none that is valid.
        payer_phone_printed: The payer's number as the receipt has it.
        balance: The wallet's balance afterwards.
        fee: What the receiver was charged.
        printed_at: The time the receipt prints, aware, UTC.
        extra: What else it says, by the corpus's words (`via_network`, `agent`, `available_balance`, `tax`).
        shown: Field words whose printed form says more or less than the value can: a time without seconds or of another
            zone, a balance with more decimals than the currency has.
    """

    network: str
    wording: str
    amount: Money | None = None
    telco_id: str | None = None
    payer_name: str | None = None
    payer_phone: str | None = None
    payer_phone_printed: str | None = None
    balance: Money | None = None
    fee: Money | None = None
    printed_at: datetime | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment(_Said):
    """Money that came in, as its receipt says.

    Attributes:
        kind: `PAYMENT_RECEIVED`, `MERCHANT_PAYMENT` or `CASH_IN`.
        amount: What was paid; a payment always says it.
        payer_account: A masked bank account or a till code, where the payer is no phone.
        reference: What the payer typed; None when nothing.
        reference_raw: The reference field whole, where the network wraps the typed text; else None.
        payer_phone_typed: The payer's number stands in a field that a payer of our own network could have typed, so it
            proves nothing about who paid.
        unverified: No genuine message of this wording has been seen, or the wording does not prove that it is whole:
            it is read and shown, and never matched without a person.
    """

    kind: Kind
    amount: Money
    payer_account: str | None = None
    reference: str | None = None
    reference_raw: str | None = None
    payer_phone_typed: bool = False
    unverified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal(_Said):
    """Money that had come in and was taken back out.

    Attributes:
        telco_id: The ID of the reversal itself.
        original_telco_id: The ID of the payment that is undone; None when the message does not name it.
        amount: What was taken; None where the message names the payment and not the money.
        unverified: As of a `Payment`.
    """

    original_telco_id: str | None = None
    unverified: bool = False

    @property
    def kind(self) -> Kind:
        """Always `REVERSAL`."""
        return Kind.REVERSAL

    @property
    def reference(self) -> None:
        """A reversal carries no reference."""
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPayment(_Said):
    """A message of the network that is no customer's payment; `reference` and `reference_raw` are those of `Payment`.

    A refund to the wallet is one of these with kind `REVERSAL`: no payment of ours is undone by it.
    """

    kind: Kind
    reference: str | None = None
    reference_raw: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """No wording reads it; `why` is one sentence part for a person.

    `seen` holds, by field word, what a message that was cut off still shows; nothing of it may be believed.
    """

    why: str
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """What cannot be read is shown as `other`."""
        return Kind.OTHER


Reading = Payment | Reversal | NotPayment | Unreadable

FIELD_WORDS = (
    "amount",
    "currency",
    "payer_name",
    "payer_phone",
    "reference",
    "transaction_id",
    "balance",
    "fee",
    "timestamp",
)


def fields(reading: Reading) -> dict[str, str | None]:
    """Return a reading by the corpus's field words; every word is there, None when the message does not say it.

    Amounts are decimal strings, names, phones and references as printed, `timestamp` the printed local time without a
    zone, as exact as it was printed.
    """
    if isinstance(reading, Unreadable):
        return {word: reading.seen.get(word) for word in FIELD_WORDS}
    # What failed moved no money, so the balance it prints names no currency of the message.
    of = reading.balance if reading.kind is not Kind.FAILED else None
    money = reading.amount or of
    at = reading.printed_at
    return {
        "amount": _render(reading.amount),
        "currency": None if money is None else money.currency,
        "payer_name": reading.payer_name,
        "payer_phone": reading.payer_phone_printed,
        "reference": reading.reference,
        "transaction_id": reading.telco_id,
        "balance": _render(reading.balance),
        "fee": _render(reading.fee),
        "timestamp": None if at is None else at.replace(tzinfo=None).isoformat(timespec="seconds"),
        **reading.shown,
    }


def _render(money: Money | None) -> str | None:
    return None if money is None else render(money.minor, money.currency)
