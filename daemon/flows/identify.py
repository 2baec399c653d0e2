"""A phone has said who it is: note the phone, the SIM, and where the SIM moved from."""

from daemon.core import ids
from daemon.core.requests import PhoneIdentity, Source
from daemon.env import Env
from daemon.store import events, presence, sim_pins
from daemon.store.engine import Tx
from daemon.wire import Mode
from parsers.read import network_of_imsi


async def identify(env: Env, phone: PhoneIdentity) -> Source:
    """Store phone and SIM and return where its messages come from.

    The SIM is known by its ICCID, else its IMSI, else its place until the next unplug (decisions.md section 1). The
    number follows the SIM. A phone that fails to tell the ICCID this time has the SIM that had this IMSI before; and a SIM
    that was known by its IMSI alone goes on under that key when its ICCID is heard for the first time.
    """
    now = env.clock.now_us()
    device_id = ids.device_id_of(phone.imei or f"port:{phone.port}")
    slot_index = phone.slot_index
    place = f"slot:{device_id}:{slot_index}"

    def job(tx: Tx) -> Source:
        known = presence.known_sim_key(tx, phone.iccid, phone.imsi)
        sim_key = known or phone.iccid or (f"imsi:{phone.imsi}" if phone.imsi else place)
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
        sim, before = presence.saw_sim(
            tx,
            sim_key=sim_key,
            iccid=phone.iccid,
            imsi=phone.imsi,
            network=network_of_imsi(phone.imsi or ""),
            device_id=device_id,
            slot_index=slot_index,
            now=now,
        )
        sim_pins.unlock(tx, device_id)
        moved = before is not None and (before.device_id, before.slot_index) != (
            sim.device_id,
            sim.slot_index,
        )
        if before is None or moved:
            events.add(
                tx,
                type="sim.moved" if moved else "sim.found",
                mode=Mode.LIVE,
                at=now,
                data={
                    "device_id": device_id,
                    "slot_index": slot_index,
                    "network": sim.network,
                    "from_device_id": None if before is None else before.device_id,
                },
            )
        return Source(sim_key, device_id, slot_index)

    source = await env.store.write(job)
    env.clock_watch.opened(source.sim_key, env.clock.boottime())
    return source


async def leave(env: Env, device_id: str) -> None:
    """Note that a phone is gone."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: presence.device_left(tx, device_id, now))
