"""Line status: phones, their SIMs, the merchant number on each, and whether all are ready."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from daemon.core.json_values import timestamp_or_none
from daemon.core.limits import DAY_US
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.receiving import counts
from daemon.core.messages.line_history import Unaccounted
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import currency_of, network_name, provider_name
from parsers.money import render

UNPLACED_WINDOW_US: Final = 30 * DAY_US
"""Unplaced payments are counted, and can be claimed, for this long."""
STATES_WITHOUT_MESSAGES: Final = frozenset({"hilink", "pin_needed", "pin_wrong", "puk_needed"})
"""States of a phone that answers and yet shows no message: an operator has to act first."""
UNACCOUNTED_WINDOW_US: Final = UNPLACED_WINDOW_US
"""Unaccounted money (a balance change without a message) is shown for the same time."""


def line_status(
    devices: Iterable[Device],
    sims: Iterable[Sim],
    methods: Iterable[PaymentMethod],
    unplaced: Mapping[str, int],
    now_us: int,
    unaccounted: Mapping[str, Unaccounted] | None = None,
) -> dict[str, Any]:
    """Return the line status object.

    Args:
        devices: The phones that were not forgotten.
        sims: The SIMs that are in a slot; those that are ignored are left out.
        methods: The merchant numbers in use.
        unplaced: Number of payments of the last 30 days that matched none of them, by SIM key.
        now_us: Our time.
        unaccounted: Money of the last 30 days that no message reported, by SIM key.

    Returns:
        `ready`, `unplaced_payments` (of all SIMs, including those that are in no phone now) and `phones`.
    """
    devices, methods = list(devices), list(methods)
    sims = [sim for sim in sims if sim.ignored_at is None]
    lines = _lines(methods)
    gaps = unaccounted or {}
    return {
        "ready": all(
            sim.seq in lines
            for device in devices
            if counts(device, now_us) and reads_payments(device, sims)
            for sim in in_phone(device, sims)
        ),
        "unplaced_payments": sum(unplaced.values()),
        "phones": [
            {
                "device_id": device.device_id,
                "name": device.name,
                "reads_payments": reads_payments(device, sims),
                "sims": [
                    {
                        "slot_index": sim.slot_index,
                        "network": network_name(sim.network),
                        "unplaced_payments": unplaced.get(sim.sim_key, 0),
                        "line": _line(lines.get(sim.seq)),
                        "unaccounted": _unaccounted(gaps.get(sim.sim_key), sim.network),
                    }
                    for sim in in_phone(device, sims)
                ],
            }
            for device in devices
        ],
    }


def with_problems(status: dict[str, Any], phones: Iterable[ModemHealth]) -> dict[str, Any]:
    """Return the status as not ready if a phone is in a state of `BLIND`; that phone gets a `trouble` with the step `next`."""
    blind = {phone.device_id: phone for phone in phones if phone.state in STATES_WITHOUT_MESSAGES}
    if not blind:
        return status
    return {
        **status,
        "ready": False,
        "phones": [
            {**entry, **_trouble(blind.get(entry["device_id"]))} for entry in status["phones"]
        ],
    }


def _trouble(phone: ModemHealth | None) -> dict[str, Any]:
    if phone is None:
        return {}
    return {"trouble": {"state": phone.state, "text": phone.detail, "next": phone.next_step}}


def sims_without_number(
    devices: Iterable[Device], sims: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[dict[str, Any]]:
    """Return the SIMs without a number that are in a connected phone now, but for ignored ones.

    While there is one, no endpoint is created. `ready` is another question: it asks only about
    phones that have read a payment.
    """
    sims = [sim for sim in sims if sim.ignored_at is None]
    lines = _lines(methods)
    return [
        {
            "device_id": device.device_id,
            "name": device.name,
            "slot_index": sim.slot_index,
            "network": network_name(sim.network),
        }
        for device in devices
        if device.present and device.forgotten_at is None
        for sim in in_phone(device, sims)
        if sim.seq not in lines
    ]


def reads_payments(device: Device, sims: Iterable[Sim]) -> bool:
    """Return whether a payment message was ever read from one of the SIMs in this phone."""
    return any(sim.read_payment_at is not None for sim in in_phone(device, sims))


def in_phone(device: Device, sims: Iterable[Sim]) -> list[Sim]:
    """Return the SIMs that are in a phone, by their slots."""
    mine = [sim for sim in sims if sim.device_id == device.device_id and sim.present]
    return sorted(mine, key=lambda sim: sim.slot_index)


def _lines(methods: Iterable[PaymentMethod]) -> dict[int, PaymentMethod]:
    return {
        method.sim_seq: method
        for method in methods
        if method.sim_seq is not None and method.deleted_at is None
    }


def _unaccounted(found: Unaccounted | None, network: str | None) -> dict[str, Any] | None:
    """Return `unaccounted`: the sums that came in and went out without a message, and since when; None if there are none."""
    currency = None if network is None else currency_of(network)
    if found is None or found.since is None or currency is None:
        return None
    return {
        "came_in": render(found.came_in_minor, currency),
        "went_out": render(found.went_out_minor, currency),
        "currency": currency,
        "since": timestamp_or_none(found.since),
    }


def _line(method: PaymentMethod | None) -> dict[str, Any] | None:
    if method is None:
        return None
    return {
        "payment_method_id": method.id,
        "phone_number": method.phone_number,
        "provider": provider_name(method.provider),
        "account_name": method.account_name,
        "merchant_code": method.merchant_code or "",
    }
