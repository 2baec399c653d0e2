"""The JSON shapes of merchant numbers, and of the phones and SIMs they are on."""

from collections.abc import Iterable

from daemon.core.limits import MILLISECOND_US
from daemon.core.model import Device, Payment, PaymentMethod, Sim
from daemon.core.provider_names import network_name, provider_name
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from parsers.money import render


def payment_method(row: PaymentMethod, sim: Sim | None, device: Device | None) -> Json:
    """Make the payment-method record; `sim` is the one it is on and `device` the phone that holds it."""
    place = None
    if sim is not None:
        place = {
            "device_id": sim.device_id,
            "slot_index": sim.slot_index,
            "device_name": None if device is None else device.name,
            "network": network_name(sim.network),
        }
    return {
        "id": row.id,
        "provider": row.provider,
        "provider_name": provider_name(row.provider),
        "phone_number": row.phone_number,
        "account_name": row.account_name,
        "merchant_code": row.merchant_code,
        "sim": place,
        "is_active": row.is_active,
        "last_payment_at": timestamp_or_none(row.last_payment_at),
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def claimed(count: int, first: int | None, last: int | None, *, dry_run: bool) -> Json:
    """Make the answer of claim-unplaced; `first` and `last` are when the payments at its ends were stored.

    `[from, to)` is the window to replay, null when there is none.
    """
    return {
        "success": True,
        "claimed": count,
        "dry_run": dry_run,
        "from": timestamp_or_none(first),
        # A window ends before its end, and times leave in milliseconds.
        "to": timestamp_or_none(None if last is None else last + MILLISECOND_US),
    }


def claimable(amounts: Iterable[tuple[str, int]], rows: Iterable[Payment]) -> Json:
    """Make what a dry run says besides: what the payments come to, and the first of them."""
    return {
        "amounts": [
            {"currency": currency, "amount": render(minor, currency)} for currency, minor in amounts
        ],
        "payments": [
            {
                "telco_transaction_id": row.telco_transaction_id,
                "amount": render(row.amount_minor, row.currency),
                "currency": row.currency,
                "payer": {"phone_number": row.payer_phone, "name": row.payer_name},
                "received_at": timestamp(row.stored_at),
            }
            for row in rows
        ],
    }


def sims(
    devices: Iterable[Device], rows: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[Json]:
    """Make the list of phones and slots to choose from."""
    rows = list(rows)
    by_sim = {method.sim_seq: method for method in methods if method.sim_seq is not None}
    phones = []
    for device in devices:
        slots = sorted(
            (sim for sim in rows if sim.device_id == device.device_id and sim.present),
            key=lambda sim: sim.slot_index,
        )
        phones.append(
            {
                "device_id": device.device_id,
                "name": device.name,
                "reads_payments": any(sim.read_payment_at is not None for sim in slots),
                "sims": [_slot(sim, by_sim.get(sim.seq)) for sim in slots],
            }
        )
    return phones


def _slot(sim: Sim, method: PaymentMethod | None) -> Json:
    return {
        "slot_index": sim.slot_index,
        "network": network_name(sim.network),
        "iccid_last4": None if sim.iccid is None else sim.iccid[-4:],
        "payment_method_id": None if method is None else method.id,
        "phone_number": None if method is None else method.phone_number,
        "available": method is None,
    }
