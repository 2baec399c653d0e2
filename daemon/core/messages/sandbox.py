"""Receipts of the sandbox's simulated networks, in the wording of the real ones. Pure.

They go through the same codec, wordings and rules as a message from a phone, in test mode.
"""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct, field

from daemon.core.ids import device_id_of
from parsers.money import render
from parsers.read import PROVIDERS as ALL_PROVIDERS
from parsers.times import from_us

PROVIDERS: Final = ("momo_mtn", "momo_telecel")
"""The providers with receipt wordings that a genuine message has confirmed."""
NUMBERS: Final = {"momo_mtn": "+233240000001", "momo_telecel": "+233200000001"}
"""The merchant number of each simulated phone."""
PAYER: Final = "KWEKU ANANSE"
SMSC: Final = "+233240000000"
WALLET_BALANCE_MINOR: Final = 10_000
TELCO_IDS: Final = 10**8
REFERENCES: Final = 1 << 16
"""Number of concatenation references of a long SMS (3GPP TS 23.040, 9.2.3.24.8)."""


class Cycle:
    """Counter below a limit that starts at a random number and repeats only after a whole cycle.

    Receipts with the same beginning differ only in their second and in the reference of their parts. With random references,
    two of 300 in one second are equal in half of all cases, and the later one counts as the network's repeat of the earlier.
    That is right for real messages, but made-up ones must never look like repeats.
    """

    def __init__(self, limit: int) -> None:
        """Count below the limit."""
        self._limit = limit
        self._first: int | None = None
        self._turned = itertools.count()

    def next(self, below: Callable[[int], int]) -> int:
        """Return the next number; `below` draws the first one at random."""
        if self._first is None:
            self._first = below(self._limit)
        return (self._first + next(self._turned)) % self._limit


class Cycles(Struct, frozen=True):
    """The counters that make each made-up receipt unique."""

    telco_ids: Cycle = field(default_factory=lambda: Cycle(TELCO_IDS))
    references: Cycle = field(default_factory=lambda: Cycle(REFERENCES))


class SandboxPayment(Struct, frozen=True):
    """One made-up payment.

    Attributes:
        telco_id: The network's ID, see `telco_id`.
        reference_text: The text that the payer typed.
        payer_phone: E.164; MTN's receipts contain no number, so it is shown only in receipts of other networks.
        at_us: The network's time of the payment.
    """

    provider: str
    amount_minor: int
    currency: str
    telco_id: str
    reference_text: str
    payer_name: str
    payer_phone: str | None
    at_us: int


def sim_key(provider: str) -> str:
    """Return the SIM key of a network's simulated phone."""
    return f"sandbox:{provider}"


def device_id(provider: str) -> str:
    """Return the id of a network's simulated phone; the schema has a row for it."""
    return device_id_of(f"sandbox:{provider}")


def telco_id(provider: str, number: int) -> str:
    """Return an ID in the form of a provider (canonical) for an unused number below `TELCO_IDS`."""
    leading = "932" if provider == "momo_mtn" else "152"
    return f"{leading}{number:08d}"


def sender(provider: str) -> str:
    """Return the sender of the network's receipts."""
    return ALL_PROVIDERS[provider].senders[0]


def text(payment: SandboxPayment) -> str:
    """Return the receipt of a payment in the network's wording of 2026."""
    return (_mtn if payment.provider == "momo_mtn" else _telecel)(payment)


def sent_at(at_us: int) -> datetime:
    """Return the time of the SMS centre: whole seconds, in Ghana's zone, which is UTC."""
    return from_us(at_us).astimezone(UTC).replace(microsecond=0)


def _mtn(payment: SandboxPayment) -> str:
    amount, balance = _amount(payment), _balance(payment)
    # The padding makes it longer than one SMS, as real receipts always are.
    name = payment.payer_name.ljust(16)
    return (
        f"Payment received for GHS {amount} from {name}  Current Balance: GHS {balance} . "
        f"Available Balance: GHS {balance}. Reference: {payment.reference_text}. "
        f"Transaction ID: {payment.telco_id}. TRANSACTION FEE: 0.00"
    )


def _telecel(payment: SandboxPayment) -> str:
    at = sent_at(payment.at_us) - timedelta(seconds=2)
    phone = (payment.payer_phone or "+233209000543").removeprefix("+")
    return (
        f"{payment.telco_id} Confirmed. You have received GHS{_amount(payment)} from "
        f"{phone} - {payment.payer_name} on {at:%Y-%m-%d} at {at:%H:%M:%S}. "
        f"Your Telecel Cash balance is GHS{_balance(payment)}.\n"
        f"Reference: {payment.reference_text}.\n"
        "Stay alert. Never share your PIN or OTP with anyone."
    )


def _amount(payment: SandboxPayment) -> str:
    return render(payment.amount_minor, payment.currency)


def _balance(payment: SandboxPayment) -> str:
    return render(WALLET_BALANCE_MINOR + payment.amount_minor, payment.currency)
