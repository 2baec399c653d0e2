"""Payment methods, and the phones and SIMs that hold them: answers, and the bodies that create and change a number."""

from collections.abc import Iterable
from typing import Annotated, Final, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from daemon.core.json_values import Json, payer_members, timestamp, timestamp_or_none
from daemon.core.limits import (
    ACCOUNT_NAME_CHARACTERS_MAX,
    MERCHANT_CODE_CHARACTERS_MAX,
    MILLISECOND_US,
)
from daemon.core.lines import readiness
from daemon.core.model import Device, Payment, PaymentMethod, Sim
from daemon.core.names import canonical_names, network_name, provider_name
from daemon.core.reading import Wrong
from daemon.core.shape import (
    Count,
    Flag,
    Id,
    On,
    Phone,
    Time,
    UuidRead,
    about,
    marked,
    sample,
    shown,
)
from parsers.money import render

SLOT_MAX: Final = 15
"""More slots than any modem has; rejects nonsense values."""
_GHANA: Final = "+233"
_MODEM: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
Network = Annotated[str, sample("MTN")]
DeviceName = Annotated[str, sample("till phone")]


class Place(Struct, frozen=True):
    """The SIM with a number; `device_name` is unknown if its phone is."""

    device_id: Id | None
    slot_index: Count | None
    device_name: DeviceName | None
    network: Network


class PaymentMethodAnswer(Struct, frozen=True):
    """The payment-method record."""

    id: Id
    provider: Annotated[str, sample("momo_mtn"), marked(words=canonical_names())]
    provider_name: Annotated[str, sample("MTN Mobile Money")]
    phone_number: Phone
    account_name: Annotated[str, sample("Ama Provisions")]
    merchant_code: Annotated[str | None, Meta(examples=[None])]
    sim: Annotated[Place | None, about("the SIM with this number")]
    is_active: On
    last_payment_at: Time | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, row: PaymentMethod, sim: Sim | None, device: Device | None) -> Self:
        """Return the answer of a number; `sim` holds it and `device` is the phone with that SIM."""
        name = None if device is None else device.name
        place = sim and Place(sim.device_id, sim.slot_index, name, network_name(sim.network))
        return shown(cls, row, provider_name=provider_name(row.provider), sim=place)


def _ghanaian(number: str) -> str | Wrong:
    return (
        number
        if number.startswith(_GHANA)
        else Wrong("invalid", "must be a Ghanaian number (+233)")
    )


class Slot(Struct, frozen=True, forbid_unknown_fields=True):
    """A SIM: the slot of a modem."""

    device_id: Annotated[str, sample(_MODEM, "the modem"), UuidRead]
    slot_index: Annotated[int, sample(0, "the SIM's slot, from 0", ge=0, le=SLOT_MAX)]


_SIM: Final = {"device_id": _MODEM, "slot_index": 0}
_Number = Annotated[str, marked(read="phone", then=_ghanaian)]
_AccountName = Annotated[
    str,
    sample("Ama Provisions", "the account name, as the network shows it"),
    Meta(min_length=1, max_length=ACCOUNT_NAME_CHARACTERS_MAX),
]


class NewMethod(Struct, frozen=True):
    """A merchant number."""

    provider: Annotated[
        str, sample("momo_mtn", "the mobile-money service"), marked(read="provider")
    ]
    phone_number: Annotated[_Number, sample("0241234567", "the merchant's number, local or E.164")]
    account_name: _AccountName
    merchant_code: (
        Annotated[
            str,
            sample("123456", "the code of a merchant account"),
            Meta(max_length=MERCHANT_CODE_CHARACTERS_MAX),
        ]
        | None
    ) = None
    sim: Annotated[Slot, sample(_SIM, "the SIM of the number")] | None = None


class MethodChanges(Struct, frozen=True):
    """A change of a merchant number; `sim` null removes it from its SIM."""

    sim: (
        Annotated[
            Slot,
            sample(
                _SIM,
                "absent: no change; null: remove the number from its SIM; an object: move the number to this SIM",
            ),
            marked(null=True),
        ]
        | UnsetType
        | None
    ) = UNSET
    account_name: _AccountName | None = None
    phone_number: (
        Annotated[_Number, sample("0241234567", "the customer's phone number, local or E.164")]
        | None
    ) = None


def claim_result(count: int, first: int | None, last: int | None, *, dry_run: bool) -> Json:
    """Return the answer of claim-unplaced; `first` and `last` are the storage times of the first and last payment.

    `[from, to)` is the window to replay; both are null when there is none.
    """
    return {
        "success": True,
        "claimed": count,
        "dry_run": dry_run,
        "from": timestamp_or_none(first),
        # The end of the window is exclusive, and times are rendered in milliseconds.
        "to": timestamp_or_none(None if last is None else last + MILLISECOND_US),
    }


def claimable_details(amounts: Iterable[tuple[str, int]], rows: Iterable[Payment]) -> Json:
    """Return the extra members of a dry run: totals by currency and the first payments."""
    return {
        "amounts": [
            {"currency": currency, "amount": render(minor, currency)} for currency, minor in amounts
        ],
        "payments": [
            {
                "telco_transaction_id": row.telco_transaction_id,
                "amount": render(row.amount_minor, row.currency),
                "currency": row.currency,
                **payer_members(None, row),
                "received_at": timestamp(row.stored_at),
            }
            for row in rows
        ],
    }


class SimAnswer(Struct, frozen=True):
    """A SIM, with the number on it."""

    slot_index: Count
    network: Network
    iccid_last4: Annotated[str, sample("0421")] | None
    payment_method_id: Annotated[Id | None, Meta(examples=[None])]
    phone_number: Annotated[Phone | None, Meta(examples=[None])]
    available: Annotated[On, about("no number is assigned to it")]
    ignored: Annotated[Flag, about("it is not for payments")]

    @classmethod
    def of(cls, sim: Sim, method: PaymentMethod | None) -> Self:
        """Return the answer of a SIM."""
        return cls(
            sim.slot_index,
            network_name(sim.network),
            sim.iccid and sim.iccid[-4:],
            None if method is None else method.id,
            None if method is None else method.phone_number,
            method is None,
            sim.ignored_at is not None,
        )


class PhoneAnswer(Struct, frozen=True):
    """A phone and its SIM slots."""

    device_id: Id
    name: DeviceName
    reads_payments: On
    sims: list[SimAnswer]


def phones_with_sims(
    devices: Iterable[Device], rows: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[PhoneAnswer]:
    """Return the phones and their SIM slots."""
    rows = list(rows)
    by_sim = {method.sim_seq: method for method in methods if method.sim_seq is not None}
    return [
        PhoneAnswer(
            device.device_id,
            device.name,
            readiness.reads_payments(device, rows),
            [SimAnswer.of(sim, by_sim.get(sim.seq)) for sim in readiness.in_phone(device, rows)],
        )
        for device in devices
    ]
