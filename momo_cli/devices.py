"""Phones and SIM slots as they are typed: `DEVICE:SLOT`, where DEVICE is an id or a name."""

from collections.abc import Sequence
from typing import Any

from daemon.wire import ErrorCode, Path
from momo_cli.answer import Row
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.text import clean


def split_sim(text: str, flag: str) -> tuple[str, int]:
    """Split `DEVICE:SLOT`.

    Raises:
        Failure: USAGE, when it is not of that form.
    """
    device, colon, slot = text.rpartition(":")
    if not colon or not device or not slot.isascii() or not slot.isdigit():
        raise usage(
            f"{flag}: {text!r} is not DEVICE:SLOT, such as zte-front:0",
            "momo sims list",
        )
    return device, int(slot)


def sim_object(client: Client, device: str, slot: int) -> dict[str, Any]:
    """Return the `sim` member of a payment method; a name is looked up among the phones.

    Raises:
        Failure: DEVICE_NOT_FOUND, or USAGE when two phones have that name.
    """
    phones: Sequence[Row] = client.get(Path.SIMS).data or ()
    found = [p for p in phones if p.get("device_id") == device.lower()] or [
        p for p in phones if p.get("name") == device
    ]
    if not found:
        names = ", ".join(clean(p.get("name")) for p in phones) or "none"
        raise Failure(
            ErrorCode.DEVICE_NOT_FOUND,
            f"no phone is called {device!r}; connected: {names}",
        )
    if len(found) > 1:
        ids = ", ".join(clean(p.get("device_id")) for p in found)
        raise usage(f"two phones are called {device!r}; give one of {ids}", "momo sims list")
    return {"device_id": found[0]["device_id"], "slot_index": slot}


def sim_name(sim: object) -> str:
    """Return `zte-front:0` for the `sim` member of a payment method; empty when there is none."""
    if not isinstance(sim, dict):
        return ""
    return f"{clean(sim.get('device_name') or sim.get('device_id'))}:{sim.get('slot_index')}"
