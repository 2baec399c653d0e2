"""JSON objects of payment methods and of the phones and SIMs that hold them."""

from collections.abc import Iterable

from daemon.core.json_values import Json, payer_members, timestamp, timestamp_or_none
from daemon.core.limits import MILLISECOND_US
from daemon.core.model import Device, Payment, PaymentMethod, Sim
from daemon.core.names import network_name, provider_name
from parsers.money import render


def payment_method(row: PaymentMethod, sim: Sim | None, device: Device | None) -> Json:
    """Return the payment-method record; `sim` holds the number and `device` is the phone with that SIM."""
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


def phones_with_sims(
    devices: Iterable[Device], rows: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[Json]:
    """Return the phones and their SIM slots."""
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
                "sims": [slot(sim, by_sim.get(sim.seq)) for sim in slots],
            }
        )
    return phones


def slot(sim: Sim, method: PaymentMethod | None) -> Json:
    """Return a SIM, with the number on it."""
    return {
        "slot_index": sim.slot_index,
        "network": network_name(sim.network),
        "iccid_last4": None if sim.iccid is None else sim.iccid[-4:],
        "payment_method_id": None if method is None else method.id,
        "phone_number": None if method is None else method.phone_number,
        "available": method is None,
        "ignored": sim.ignored_at is not None,
    }
