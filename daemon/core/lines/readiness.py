"""Which phones read payments, and which of their SIMs have no merchant number."""

from collections.abc import Iterable
from typing import Any, Final

from daemon.core.limits import DAY_US
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import network_name

UNPLACED_WINDOW_US: Final = 30 * DAY_US
"""Unplaced payments are counted, and can be claimed, for this long."""
UNACCOUNTED_WINDOW_US: Final = UNPLACED_WINDOW_US
"""Unaccounted money (a balance change without a message) is shown for the same time."""


def sims_without_number(
    devices: Iterable[Device], sims: Iterable[Sim], methods: Iterable[PaymentMethod]
) -> list[dict[str, Any]]:
    """Return the SIMs without a number that are in a connected phone now, but for ignored ones.

    While there is one, no endpoint is created. `ready` is another question: it asks only about
    phones that have read a payment.
    """
    sims = [sim for sim in sims if sim.ignored_at is None]
    lines = by_sim(methods)
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


def by_sim(methods: Iterable[PaymentMethod]) -> dict[int, PaymentMethod]:
    """Return the numbers that are on a SIM, by the SIM's number."""
    return {method.sim_seq: method for method in methods if method.sim_seq is not None and method.deleted_at is None}
