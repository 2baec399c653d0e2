"""Receipts of MTN Ghana and Telecel Ghana with the wordings of real ones, as text and as PDUs.

Names, numbers and IDs are invented; IDs have the length and size of late 2026.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from daemon.modem.codec.pdu_encode import encode_deliver

MTN_SENDER = "MobileMoney"
TELECEL_SENDER = "T-CASH"
MTN_SMSC = "+233240000099"
TELECEL_SMSC = "+233200000099"
SINGLE_SMS_SEPTETS = 160
FIRST_MTN_ID = 93_214_500_000
FIRST_TELECEL_ID = 15_214_500_000
STARTED = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)

_GIVEN = (
    "ABENA", "ADWOA", "AKOSUA", "AMA", "COMFORT", "EDEM", "ESI", "GIDEON",
    "ISHMAEL", "KINGSLEY", "KOJO", "KWABENA", "NAANA", "SELASI", "YAA", "YAW",
)  # fmt: skip
_MIDDLE = ("AFRIYIE", "DUFIE", "FOSUA", "K.", "KONADU", "NII", "OFOSUA", "SERWAA")
_FAMILY = (
    "ABBEY", "AGBEKO", "ANSAH", "BEKOE", "DANKWA-EBO", "DONKOR", "GADZE", "LAMPTEY",
    "MENSAH", "NARH", "OKYERE", "OWUSU", "QUANSAH", "TAGOE", "TETTEH", "TWUM",
)  # fmt: skip


class Receipt(Struct, frozen=True):
    """One receipt: its text, and the parts that the network delivers."""

    sender: str
    text: str
    pdus: tuple[str, ...]
    telco_id: str
    amount_minor: int
    balance_minor: int
    name: str
    reference: str
    payer_phone: str | None
    sent_at: datetime


def mtn_receipt(amount_minor: int, name: str, balance_minor: int, reference: str, telco_id: str) -> str:
    """Return an MTN-to-MTN receipt, as of 2026.

    Every real one is longer than one SMS, so a shorter text is refused: use a longer name.
    """
    text = (
        f"Payment received for GHS {_amount(amount_minor)} from {name}  "
        f"Current Balance: GHS {_amount(balance_minor)} . "
        f"Available Balance: GHS {_amount(balance_minor)}. "
        f"Reference: {reference}. Transaction ID: {telco_id}. TRANSACTION FEE: 0.00"
    )
    if len(text) <= SINGLE_SMS_SEPTETS:
        raise ValueError(f"no MTN receipt is as short as {len(text)} characters: {text!r}")
    return text


def mtn_receipt_from_telecel(
    amount_minor: int, name: str, balance_minor: int, reference: str, telco_id: str, payer_phone: str = "233201000456"
) -> str:
    """Return the receipt of a payment from a Telecel customer to MTN."""
    typed = f"{name} ,{payer_phone},{reference} from VODAFONE"
    return mtn_receipt(amount_minor, name, balance_minor, typed, telco_id)


def telecel_receipt(
    amount_minor: int,
    name: str,
    balance_minor: int,
    reference: str,
    telco_id: str,
    *,
    payer_phone: str = "233209000543",
    sent_at: datetime = STARTED,
) -> str:
    """Return a Telecel-to-Telecel receipt, as of 2026."""
    return (
        f"{telco_id} Confirmed. You have received GHS{_amount(amount_minor)} from "
        f"{payer_phone} - {name} on {sent_at:%Y-%m-%d} at {sent_at:%H:%M:%S}. "
        f"Your Telecel Cash balance is GHS{_amount(balance_minor)}.\n"
        f"Reference: {reference}.\n"
        "Stay alert. Never share your PIN or OTP with anyone or click unknown links. "
        "Protect your personal information."
    )


def mtn(  # the parts of one MTN receipt, ready to deliver
    amount_minor: int,
    name: str,
    balance_minor: int,
    reference: str,
    telco_id: str,
    *,
    sent_at: datetime = STARTED,
    concatenation: int = 0,
    width: int = 8,
) -> Receipt:
    """Return an MTN receipt with its PDUs."""
    text = mtn_receipt(amount_minor, name, balance_minor, reference, telco_id)
    pdus = encode_deliver(MTN_SENDER, text, sent_at, smsc=MTN_SMSC, reference=concatenation, width=width)
    return Receipt(MTN_SENDER, text, pdus, telco_id, amount_minor, balance_minor, name, reference, None, sent_at)


def telecel(
    amount_minor: int,
    name: str,
    balance_minor: int,
    reference: str,
    telco_id: str,
    *,
    payer_phone: str = "233209000543",
    sent_at: datetime = STARTED,
    concatenation: int = 0,
    width: int = 8,
) -> Receipt:
    """Return a Telecel receipt with its PDUs."""
    text = telecel_receipt(
        amount_minor, name, balance_minor, reference, telco_id, payer_phone=payer_phone, sent_at=sent_at
    )
    pdus = encode_deliver(TELECEL_SENDER, text, sent_at, smsc=TELECEL_SMSC, reference=concatenation, width=width)
    return Receipt(
        TELECEL_SENDER, text, pdus, telco_id, amount_minor, balance_minor, name, reference, payer_phone, sent_at
    )


def mtn_receipts(
    count: int,
    seed: int = 1,
    *,
    started: datetime = STARTED,
    references: Sequence[str] = (),
    balance_minor: int = 50_000,
    width: int = 8,
    first_id: int = FIRST_MTN_ID,
) -> Iterator[Receipt]:
    """Yield distinct MTN receipts of one wallet; the same ones for the same arguments.

    IDs, times and balances rise, and each balance is the one before plus the amount, as on a real line. The parts'
    reference counts up and wraps as the network's does. Payment references are taken in turn from `references`, which
    may grow meanwhile, then from typical texts.
    """
    rng = random.Random(seed)
    wallet = _Wallet(balance_minor, first_id, started)
    for number in range(count):
        amount_minor = wallet.receives(rng, 2_000)
        typed = rng.choice(("1", "1243", "food", "payment", "maize. and rubber bags"))
        reference = references[number] if number < len(references) else typed
        yield mtn(
            amount_minor, _name(rng), wallet.balance_minor, reference, str(wallet.telco_id),
            sent_at=wallet.sent_at, concatenation=(number + 1) % (1 << width), width=width,
        )  # fmt: skip


def telecel_receipts(
    count: int,
    seed: int = 1,
    *,
    started: datetime = STARTED,
    references: Sequence[str] = (),
    balance_minor: int = 50_000,
    width: int = 8,
) -> Iterator[Receipt]:
    """Yield distinct Telecel receipts of one wallet, by the rules of `mtn_receipts`."""
    rng = random.Random(seed)
    wallet = _Wallet(balance_minor, FIRST_TELECEL_ID, started)
    for number in range(count):
        amount_minor = wallet.receives(rng, 300)
        reference = references[number] if number < len(references) else rng.choice(("1", "food"))
        yield telecel(
            amount_minor, _name(rng), wallet.balance_minor, reference, f"{wallet.telco_id:016d}",
            payer_phone=f"23320{rng.randrange(1_000_000, 9_999_999)}",
            sent_at=wallet.sent_at, concatenation=(number + 1) % (1 << width), width=width,
        )  # fmt: skip


class _Wallet(Struct):
    """A wallet, the last ID of its network and the time of its last receipt; all of them rise."""

    balance_minor: int
    telco_id: int
    sent_at: datetime

    def receives(self, rng: random.Random, apart: int) -> int:
        """Add a random payment, with an ID up to `apart` after the last one; return the amount."""
        amount_minor = rng.randrange(100, 50_000)
        self.balance_minor += amount_minor
        self.telco_id += rng.randrange(1, apart)
        self.sent_at += timedelta(seconds=rng.randrange(1, 30))
        return amount_minor


def _name(rng: random.Random) -> str:
    return f"{rng.choice(_GIVEN)} {rng.choice(_MIDDLE)} {rng.choice(_FAMILY)}"


def _amount(minor: int) -> str:
    return f"{minor // 100}.{minor % 100:02d}"
