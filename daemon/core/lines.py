"""Are the lines ready? Phones, their SIMs, and the merchant number on each (interface.md, Line status)."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from daemon.core.balance import Unaccounted
from daemon.core.limits import DAY_US
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.phones import Condition
from daemon.core.provider_names import currency_of, network_name, provider_name
from daemon.core.shapes import timestamp_or_none
from parsers.money import render

UNSEEN_US_MAX: Final = 7 * DAY_US
"""A phone that was not seen for so long does not hold the lines up (decisions.md section 3)."""
UNPLACED_WINDOW_US: Final = 30 * DAY_US
"""interface.md, Limits: unplaced payments are counted, and can be claimed, for this long."""
BLIND: Final = frozenset({"hilink", "pin_needed", "pin_wrong", "puk_needed"})
"""States of a phone that is there, works, and shows us no message: somebody has to do something first."""
UNACCOUNTED_WINDOW_US: Final = UNPLACED_WINDOW_US
"""Money that no message told of is shown for as long."""


def line_status(
    devices: Iterable[Device],
    sims: Iterable[Sim],
    methods: Iterable[PaymentMethod],
    unplaced: Mapping[str, int],
    now_us: int,
    unaccounted: Mapping[str, Unaccounted] | None = None,
) -> dict[str, Any]:
    """Make the line status object.

    Args:
        devices: The phones that were not forgotten.
        sims: The SIMs that are in a slot.
        methods: The merchant numbers in use.
        unplaced: Payments of the last 30 days that matched none of them, by SIM key.
        now_us: Our time.
        unaccounted: How much of a line's money no message told of in the last 30 days, by SIM key.

    Returns:
        `ready`, `unplaced_payments` (of all SIMs, also those that are in no phone now) and `phones`.
    """
    devices, sims, methods = list(devices), list(sims), list(methods)
    lines = _lines(methods)
    untold = unaccounted or {}
    return {
        "ready": not sims_without_number(devices, sims, methods, now_us),
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
                        "unaccounted": _unaccounted(untold.get(sim.sim_key), sim.network),
                    }
                    for sim in _of(device, sims)
                ],
            }
            for device in devices
        ],
    }


def with_troubles(status: dict[str, Any], phones: Iterable[Condition]) -> dict[str, Any]:
    """Return a line status that a phone of `BLIND` holds up; such a one has a `trouble` and what to do `next`."""
    blind = {phone.device_id: phone for phone in phones if phone.state in BLIND}
    if not blind:
        return status
    return {
        **status,
        "ready": False,
        "phones": [
            {**entry, **_trouble(blind.get(entry["device_id"]))} for entry in status["phones"]
        ],
    }


def _trouble(phone: Condition | None) -> dict[str, Any]:
    if phone is None:
        return {}
    return {"trouble": {"state": phone.state, "text": phone.detail, "next": phone.next_step}}


def sims_without_number(
    devices: Iterable[Device],
    sims: Iterable[Sim],
    methods: Iterable[PaymentMethod],
    now_us: int,
) -> list[dict[str, Any]]:
    """Return the SIMs that hold the lines up: without a number, in a phone that reads payments and is about.

    No phone at all leaves the list empty: the lines are then ready, vacuously.
    """
    sims = list(sims)
    lines = _lines(methods)
    return [
        {
            "device_id": device.device_id,
            "name": device.name,
            "slot_index": sim.slot_index,
            "network": network_name(sim.network),
        }
        for device in devices
        if _is_about(device, now_us) and reads_payments(device, sims)
        for sim in _of(device, sims)
        if sim.seq not in lines
    ]


def reads_payments(device: Device, sims: Iterable[Sim]) -> bool:
    """Say whether a payment message was ever read from one of the SIMs in this phone."""
    return any(sim.read_payment_at is not None for sim in _of(device, sims))


def _is_about(device: Device, now_us: int) -> bool:
    return device.forgotten_at is None and (
        device.present or now_us - device.last_seen_at < UNSEEN_US_MAX
    )


def _of(device: Device, sims: Iterable[Sim]) -> list[Sim]:
    mine = [sim for sim in sims if sim.device_id == device.device_id and sim.present]
    return sorted(mine, key=lambda sim: sim.slot_index)


def _lines(methods: Iterable[PaymentMethod]) -> dict[int, PaymentMethod]:
    return {
        method.sim_seq: method
        for method in methods
        if method.sim_seq is not None and method.deleted_at is None
    }


def _unaccounted(found: Unaccounted | None, network: str | None) -> dict[str, Any] | None:
    """Make `unaccounted`: what came in and what left untold, and since when; null when everything is accounted for."""
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
