"""A SIM asks for its PIN: note it, hand over the stored PIN once, and write down what became of it.

The try is durable before the PIN is handed over, so that a crash in between loses a try and never repeats one: three
wrong PINs block a SIM. A PIN with which the SIM has opened is right, and is used again after each power-on.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from daemon.core import ids
from daemon.core.requests import PhoneIdentity
from daemon.env import Env
from daemon.store import devices, events, presence, sim_pins
from daemon.store.engine import Tx
from daemon.store.sim_pins import Locked, Pin
from daemon.wire import Mode

SLOT: Final = 0
"""One session reads one slot: that of the SIM in use."""


@dataclass(frozen=True, slots=True)
class LockedSim:
    """A locked SIM as people know it.

    Attributes:
        owner: Whose PIN would open it; None when the phone names neither SIM nor itself.
        device_id: The phone it is in.
        name: `NAME:SLOT`, as `momo sims pin` takes it.
    """

    owner: str | None
    device_id: str
    name: str


async def note_locked(env: Env, phone: PhoneIdentity, wants: str) -> LockedSim:
    """Make the phone and its locked SIM known, so that a person can name it."""
    now = env.clock.now_us()
    device_id = ids.device_id_of(phone.imei or f"port:{phone.port}")
    owner = phone.iccid or phone.imei

    def job(tx: Tx) -> LockedSim:
        presence.saw_device(
            tx,
            device_id=device_id,
            imei=phone.imei,
            name=presence.first_name(phone.manufacturer, phone.model, device_id),
            manufacturer=phone.manufacturer,
            model=phone.model,
            port=phone.port,
            now=now,
        )
        before = sim_pins.locked(tx, device_id, SLOT)
        sim = Locked(device_id, SLOT, owner, wants)
        if before != sim:
            sim_pins.lock(tx, sim, now)
            data = {"device_id": device_id, "slot_index": SLOT, "wants": wants}
            events.add(tx, type="sim.locked", mode=Mode.LIVE, at=now, data=data)
        device = devices.get(tx, device_id)
        assert device is not None, "it was noted a moment ago"
        return LockedSim(owner, device_id, f"{device.name}:{SLOT}")

    return await env.store.write(job)


async def state_of(env: Env, owner: str) -> Pin | None:
    """Return what is known of the PIN of a SIM, None when none is stored."""
    return await env.store.read(lambda reader: sim_pins.get(reader, owner))


async def take_pin(env: Env, owner: str) -> str | None:
    """Return the PIN to type into this SIM now; None when none is stored or it may not be tried.

    When it returns, the try is on the disk.

    Raises:
        SecretsLocked: The PIN cannot be unsealed now; no try was written down.
        Unavailable: The try could not be written down, so it must not be made.
    """
    pin = await state_of(env, owner)
    if pin is None or not pin.may_be_tried:
        return None
    plain = await asyncio.to_thread(env.vault.unseal, pin.sealed, sim_pins.PURPOSE + owner)
    now = env.clock.now_us()
    taken = await env.store.write(lambda tx: sim_pins.take(tx, pin, now))
    return plain.decode() if taken else None


async def opened(env: Env, owner: str) -> None:
    """Note that the SIM has opened with its PIN."""
    await env.store.write(lambda tx: sim_pins.ended(tx, owner, "opened"))


async def refused(env: Env, device_id: str, owner: str) -> None:
    """Note that the SIM has refused its PIN."""
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        sim_pins.ended(tx, owner, "wrong")
        data = {"device_id": device_id, "slot_index": SLOT}
        events.add(tx, type="sim.pin_wrong", mode=Mode.LIVE, at=now, data=data)

    await env.store.write(job)
