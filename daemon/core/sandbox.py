"""What the sandbox's made-up networks send: receipts in the words of the real ones. Pure.

They pass through the same codec, wordings and rules as a message from a phone, in test mode (decisions.md section 8).
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from daemon.core.ids import device_id_of
from parsers.money import render
from parsers.read import PROVIDERS as NETWORKS
from parsers.when import from_us

SIM_PREFIX: Final = "sandbox:"
"""Of the sim keys of made-up phones; what follows is the provider."""
DEVICE_ID: Final = device_id_of("sandbox")
PROVIDERS: Final = ("momo_mtn", "momo_telecel")
"""Those whose receipts a genuine message has confirmed."""
PAYER: Final = "KWEKU ANANSE"
SMSC: Final = "+233240000000"
WALLET_HELD_MINOR: Final = 10_000
TELCO_IDS: Final = 10**8


@dataclass(frozen=True, slots=True)
class SandboxPayment:
    """One made-up payment.

    Attributes:
        telco_id: The network's ID, see `telco_id`.
        reference_text: What the payer typed.
        payer_phone: E.164; MTN's own receipts name no number, so it shows only when it is another network's.
        at_us: When the network says it was.
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
    """Return the sim key of a network's made-up phone."""
    return SIM_PREFIX + provider


def device_id(provider: str) -> str:
    """Return the id of a network's simulated phone, while one is attached."""
    return device_id_of(f"sandbox:{provider}")


def provider_of(key: str) -> str | None:
    """Return the provider of a made-up phone's sim key, None for the key of a real SIM."""
    return key.removeprefix(SIM_PREFIX) if key.startswith(SIM_PREFIX) else None


def telco_id(provider: str, number: int) -> str:
    """Return an ID in the network's form.

    Args:
        provider: Canonical.
        number: A random number below `TELCO_IDS`.
    """
    leading = "932" if provider == "momo_mtn" else "152"
    return f"{leading}{number:08d}"


def sender(provider: str) -> str:
    """Return the address that the network's receipts come from."""
    return NETWORKS[provider].senders[0]


def text(payment: SandboxPayment) -> str:
    """Return the receipt of a payment, as the network words it in 2026."""
    return (_mtn if payment.provider == "momo_mtn" else _telecel)(payment)


def sent_at(at_us: int) -> datetime:
    """Return the time of the SMS centre: whole seconds, in Ghana's zone, which is UTC."""
    return from_us(at_us).astimezone(UTC).replace(microsecond=0)


def _mtn(payment: SandboxPayment) -> str:
    amount, balance = _amount(payment), _balance(payment)
    # A real one is always longer than one SMS.
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
    return render(WALLET_HELD_MINOR + payment.amount_minor, payment.currency)
