"""A person gives the PIN of a SIM: it is sealed, and the phone's loop tries it once."""

import asyncio
from dataclasses import dataclass

from daemon.core.access import Caller
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.model import Device
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import devices, events, sim_pins
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Mode


@dataclass(frozen=True, slots=True)
class StoredPin:
    """Where a PIN was stored for; `wants` is what the SIM asks for now, None when it is open."""

    device: Device
    slot_index: int
    wants: str | None


async def store_pin(env: Env, caller: Caller, device: str, slot_index: int, pin: str) -> StoredPin:
    """Keep the PIN of the SIM in a slot, in place of one that was kept before.

    Args:
        env: The shop's doors.
        caller: For the journal.
        device: The phone's id, or its name.
        slot_index: Which of its slots.
        pin: 4 to 8 digits.

    Raises:
        Refusal: DEVICE_NOT_FOUND, SIM_NOT_FOUND; VALIDATION_ERROR for a PIN that the SIM has refused already.
        Unavailable: It cannot be sealed now.
    """
    now = env.clock.now_us()
    found, owner, wants = await env.store.read(lambda reader: _find(reader, device, slot_index))
    before = await env.store.read(lambda reader: sim_pins.get(reader, owner))
    try:
        if before is not None and before.outcome == "wrong":
            known = await asyncio.to_thread(
                env.vault.unseal, before.sealed, sim_pins.PURPOSE + owner
            )
            if known.decode() == pin:
                raise invalid(
                    [FieldError("pin", "refused", "the SIM has refused this very PIN already")]
                )
        sealed = await asyncio.to_thread(env.vault.seal, pin.encode(), sim_pins.PURPOSE + owner)
    except SecretsLocked as error:
        raise Unavailable(f"the PIN cannot be sealed: {error}") from error

    def job(tx: Tx) -> None:
        sim_pins.put(tx, owner, sealed, now)
        data = {"device_id": found.device_id, "slot_index": slot_index}
        events.add(tx, type="sim.pin_stored", mode=Mode.LIVE, at=now, actor=caller.name, data=data)

    await env.store.write(job)
    return StoredPin(found, slot_index, wants)


def _find(reader: Reader, name: str, slot_index: int) -> tuple[Device, str, str | None]:
    device = devices.get(reader, name.lower()) or devices.named(reader, name)
    if device is None or device.forgotten_at is not None:
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    locked = sim_pins.locked(reader, device.device_id, slot_index)
    if locked is not None and locked.owner is not None:
        return device, locked.owner, locked.wants
    sim = devices.sim_in_slot(reader, device.device_id, slot_index)
    if sim is None or sim.iccid is None:
        raise Refusal(ErrorCode.SIM_NOT_FOUND)
    return device, sim.iccid, None
