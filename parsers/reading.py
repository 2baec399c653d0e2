"""Results of reading a message: a payment, a reversal, another kind of message, or unreadable; the form of transaction IDs.

A transaction ID is always text, because leading zeros and dots are significant.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from parsers.money import Money, render
from parsers.pasted import plain_id


class Kind(StrEnum):
    """The kinds of message, named as in the corpus (tests/corpus)."""

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
class _Fields:
    """The fields that any message of a network may have.

    Attributes:
        network: Short name of the wording's network (`mtn`).
        wording: Name of the wording that read it.
        amount: The amount of the transaction.
        telco_id: The network's transaction ID as printed; None on old wordings that print none.
        payer_name: As printed, trimmed.
        payer_phone: E.164; None if the receipt names no number, or an invalid one.
        payer_phone_printed: The payer's number as printed.
        balance: The wallet's balance afterwards.
        fee: The receiver's fee.
        printed_at: The printed time, aware, UTC.
        extra: Other fields, by the corpus's names (`via_network`, `agent`, `available_balance`, `tax`).
        shown: Fields with a printed form that differs from the value, by name: a time without seconds.
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
class Payment(_Fields):
    """Money received, as its receipt says.

    Attributes:
        kind: `PAYMENT_RECEIVED`, `MERCHANT_PAYMENT` or `CASH_IN`.
        amount: The amount paid; always present.
        payer_account: A masked bank account or a till code, if the payer has no phone number.
        reference: The text typed by the payer; None if there is none.
        reference_raw: The whole reference field, if the network wraps the typed text; else None.
        payer_phone_typed: The payer's number is in a field that a payer of the same network could have typed, so it
            does not prove the payer.
        unverified: No genuine message of this wording has been seen, or the wording does not prove that the message is
            complete: it is read and shown, and matched only after an operator's decision.
        perhaps_own: The payer's name is that of an account from which the wallet's owner may have fetched money of their own.
            An operator decides about each such payment.
    """

    kind: Kind
    amount: Money
    payer_account: str | None = None
    reference: str | None = None
    reference_raw: str | None = None
    payer_phone_typed: bool = False
    unverified: bool = False
    perhaps_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal(_Fields):
    """A received payment that the network took back.

    Attributes:
        telco_id: The ID of the reversal itself.
        original_telco_id: The ID of the reversed payment; None if the message does not name it.
        amount: The amount taken back; None if the message names only the payment.
        unverified: As for `Payment`.
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
class NotPayment(_Fields):
    """A message of the network that is not a customer's payment; `reference` and `reference_raw` as for `Payment`.

    A refund to the wallet is a `NotPayment` of kind `REVERSAL`: it takes back no payment to this shop.
    """

    kind: Kind
    reference: str | None = None
    reference_raw: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that no wording reads; `why` is the reason, as part of a sentence.

    `seen` holds the visible fields of a message that was cut off, by name; none of them may be believed. `perhaps` holds what
    a whole receipt says if the payer typed words of a receipt into it: one of them is true, and only the wallet's balance,
    which a payer does not know, tells which.
    """

    why: str
    seen: Mapping[str, str] = field(default_factory=dict)
    perhaps: tuple["Payment | Reversal | NotPayment", ...] = ()

    @property
    def kind(self) -> Kind:
        """Always `OTHER`."""
        return Kind.OTHER


Reading = Payment | Reversal | NotPayment | Unreadable

FIELD_WORDS = (
    "amount", "currency", "payer_name", "payer_phone", "reference", "transaction_id", "balance", "fee", "timestamp",
)  # fmt: skip


def fields(reading: Reading) -> dict[str, str | None]:
    """Return the fields of a reading by the corpus's names; all names are present, None if the message lacks the field.

    Amounts are decimal strings; names, phones and references are as printed; `timestamp` is the printed local time
    without a zone, as exact as printed.
    """
    if isinstance(reading, Unreadable):
        return {word: reading.seen.get(word) for word in FIELD_WORDS}
    # A failed transaction moved no money, so its printed balance does not give the message a currency.
    of = reading.balance if reading.kind is not Kind.FAILED else None
    money = reading.amount or of
    at = reading.printed_at
    return {
        "amount": _render(reading.amount), "currency": None if money is None else money.currency,
        "payer_name": reading.payer_name, "payer_phone": reading.payer_phone_printed, "reference": reading.reference,
        "transaction_id": reading.telco_id, "balance": _render(reading.balance), "fee": _render(reading.fee),
        "timestamp": None if at is None else at.replace(tzinfo=None).isoformat(timespec="seconds"), **reading.shown,
    }  # fmt: skip


def _render(money: Money | None) -> str | None:
    return None if money is None else render(money.minor, money.currency)


_DIGITS_MTN: Final = re.compile(r"\d{9,15}", re.ASCII)
_DIGITS_TELECEL: Final = re.compile(r"\d{10,18}", re.ASCII)
COMVIVA: Final = r"([A-Z]{2})(\d{6})\.(\d{4})\.([A-Z])(\d{4,6})"
"""Pattern of the IDs of the Comviva platform (AT Money): kind, day `yymmdd`, minute `HHMM`, letter, number."""
COMVIVA_ID: Final = re.compile(COMVIVA, re.ASCII)


def normalize_telco_id(text: str) -> str:
    """Return the ID in the form that is compared: upper case, without what pasting adds (`parsers.pasted`)."""
    return plain_id(text)


def is_valid_telco_id(text: str, provider: str) -> bool:
    """Return whether `text` has the form of a provider's IDs; False for an unknown provider.

    MTN: 9 to 15 digits (11 in 2026, 12 from about February 2027). Telecel: 16 digits with leading zeros; 10 to 18
    are accepted. AT: the Comviva form `PPyymmdd.HHMM.Lnnnnn` with a real date and time.
    """
    check = _FORMS.get(provider)
    return check is not None and check(text.strip().upper())


def valid_for_any(text: str) -> bool:
    """Return whether `text` has the form of the IDs of at least one provider."""
    normal = normalize_telco_id(text)
    return any(check(normal) for check in _FORMS.values())


def has_real_date(text: str) -> bool:
    """Return False for an ID of the Comviva form with an impossible date or time, and True for every other text."""
    return COMVIVA_ID.fullmatch(text) is None or time_in_id(text) is not None


def time_in_id(text: str) -> datetime | None:
    """Return the minute in an ID of the Comviva form, UTC (Ghana's clock); None if there is none or it does not exist."""
    match = COMVIVA_ID.fullmatch(text.strip().upper())
    if match is None:
        return None
    try:
        return datetime.strptime(f"20{match[2]}{match[3]}+0000", "%Y%m%d%H%M%z")
    except ValueError:
        return None


def _is_mtn(text: str) -> bool:
    return _DIGITS_MTN.fullmatch(text) is not None


def _is_telecel(text: str) -> bool:
    return _DIGITS_TELECEL.fullmatch(text) is not None


def _is_comviva(text: str) -> bool:
    return time_in_id(text) is not None


_FORMS: Final = {"momo_mtn": _is_mtn, "momo_telecel": _is_telecel, "momo_at": _is_comviva}
