"""Record a modem and its SIM, rename it, journal its problems, and queue a test SMS; unlock a SIM, and set it aside.

A try of a PIN is stored before the PIN is used, so that a crash in between loses a try but never repeats one: three wrong
PINs block a SIM. A PIN that has unlocked the SIM is used again after each power-on.
"""

import asyncio
import re
from typing import Final

from msgspec import Struct

from daemon.core import ids
from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.inputs import PhoneIdentity, Source
from daemon.core.limits import HOUR_US, SECOND_US
from daemon.core.lines.readiness import UNACCOUNTED_WINDOW_US
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.messages.trust import SmscSource
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import currency_of
from daemon.core.text import Text
from daemon.env import Env
from daemon.store import journal, shop
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices, payment_methods, sim_pins
from daemon.store.lines.sim_pins import Pin, PinnedSim
from daemon.store.messages import balances
from daemon.store.payments import texts
from daemon.store.payments.texts import PayerText
from daemon.wire import ErrorCode

NAME_CHARACTERS_MAX: Final = 40
_NOT_IN_NAMES: Final = ":/"
"""Reserved: `NAME:SLOT` names a SIM, and a path names a port."""
_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


async def identify(env: Env, phone: PhoneIdentity) -> Source:
    """Store phone and SIM and return the source of its messages.

    The SIM is known by its ICCID, else its IMSI, else its slot until the next unplug. The number
    moves with the SIM. If a phone does not report the ICCID, its SIM is the one that had this IMSI before; and a SIM known
    only by its IMSI keeps that key when its ICCID is reported for the first time.
    """
    now = env.clock.now_us()
    slot_index = phone.slot_index

    def job(tx: Tx) -> Source:
        known = devices.known_sim_key(tx, phone.iccid, phone.imsi)
        device_id = _device_id(tx, phone, known or phone.iccid)
        place = f"slot:{device_id}:{slot_index}"
        sim_key = known or phone.iccid or (f"imsi:{phone.imsi}" if phone.imsi else place)
        devices.record_device(tx, phone, device_id, now)
        sim, before = devices.record_sim(tx, phone, sim_key, device_id, now)
        if phone.smsc is not None:
            balances.learn_smsc(tx, sim_key, phone.smsc, SmscSource.SIM, None, now)
        if phone.imei is not None:
            # Before its SIM was unlocked it may not have reported its IMEI, and was known by its port.
            devices.forget_placeholder(tx, ids.device_id_of(f"port:{phone.port}"), now)
        sim_pins.unlock(tx, device_id)
        _record_place(tx, sim, before, now)
        return Source(sim_key, device_id, slot_index, network=sim.network, since=sim.first_seen_at)

    source = await env.store.write(job)
    env.clock_check.note_opened(source.sim_key, env.clock.boottime())
    return source


def _device_id(tx: Tx, phone: PhoneIdentity, sim_key: str | None) -> str:
    """Return the id of a phone by its IMEI; some batches of modems share one, and their ports tell them apart.

    A phone at another port with the same IMEI is the same one that was plugged in again, unless it has another SIM.
    """
    usual = ids.device_id_of(phone.imei or f"port:{phone.port}")
    if phone.imei is None or sim_key is None:
        return usual
    own = devices.sim_by_key(tx, sim_key)
    if own is not None and own.present:
        before = devices.get(tx, own.device_id)
        if before is not None and before.imei == phone.imei:
            return before.device_id
    other = devices.get(tx, usual)
    if other is None or not other.present or other.port in (None, phone.port):
        return usual
    sims = [sim for sim in devices.sims_in_phones(tx) if sim.device_id == usual]
    return ids.device_id_of(f"{phone.imei}@{phone.port}") if sims else usual


def _record_place(tx: Tx, sim: Sim, before: Sim | None, now: int) -> None:
    """Record in the journal a new SIM, or one that moved to another phone or slot."""
    if before is not None and (before.device_id, before.slot_index) == (sim.device_id, sim.slot_index):
        return
    data = {
        "device_id": sim.device_id,
        "slot_index": sim.slot_index,
        "network": sim.network,
        "from_device_id": None if before is None else before.device_id,
    }
    journal.add(tx, "sim.found" if before is None else "sim.moved", now, data=data)


async def disconnect(env: Env, device_id: str) -> None:
    """Record that a phone was disconnected."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: devices.mark_device_absent(tx, device_id, now))


def name_problem(name: str) -> str | None:
    """Return the fault of a name for a modem: `missing`, `long`, `characters` or `id`; None if it is valid."""
    if not name:
        return "missing"
    if len(name) > NAME_CHARACTERS_MAX:
        return "long"
    if not name.isprintable() or any(character in name for character in _NOT_IN_NAMES):
        return "characters"
    return "id" if _ID.fullmatch(name) is not None else None


async def name_modem(env: Env, caller: Caller, device_id: str, name: str) -> None:
    """Rename a phone; its present name changes nothing.

    Raises:
        Refusal: DEVICE_NOT_FOUND; VALIDATION_ERROR if another phone has this name.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        device = devices.get(tx, device_id)
        if device is None or device.forgotten_at is not None:
            raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
        if device.name == name:
            return
        other = devices.named(tx, name)
        if other is not None and other.device_id != device_id:
            raise invalid([FieldError("name", "taken", Text("field.phone.name"))])
        devices.rename(tx, device_id, name)
        data = {"device_id": device_id, "from": device.name, "to": name}
        journal.add(tx, "modem.named", now, actor=caller.name, data=data)

    await env.store.write(job)


async def note_modem(env: Env, kind: str, device_id: str | None, facts: dict[str, str | int | None]) -> None:
    """Append `modem.<kind>` to the journal."""
    now = env.clock.now_us()
    data = {"device_id": device_id, **facts}
    await env.store.write(lambda tx: journal.add(tx, f"modem.{kind}", now, data=data))


async def queue_test_sms(env: Env, caller: Caller, device_id: str, number: str) -> PayerText:
    """Queue a test SMS on the SIM in a phone, with or without one of the shop's numbers on it.

    Raises:
        Refusal: SIM_NOT_FOUND; RATE_LIMITED if the number or the SIM has reached the limit of the settings.
    """
    require(caller, Operation.MANAGE_LINES)
    now, text_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> PayerText:
        here = [sim for sim in devices.sims_in_phones(tx) if sim.device_id == device_id]
        if not here:
            raise Refusal(ErrorCode.SIM_NOT_FOUND, "There is no readable SIM in that phone.")
        owner = shop.get(tx)
        queued = texts.queue_test(
            tx, env.texting, text_id, sim_seq=here[0].seq, number=number,
            body=Text("sms.test.body", shop="momo" if owner is None else owner.name).render(env.texting.words),
            actor=caller.name, now=now,
        )  # fmt: skip
        if not queued:
            wait_s = HOUR_US // SECOND_US
            raise Refusal(
                ErrorCode.RATE_LIMITED,
                "This number or this SIM has reached the shop's limit of SMS.",
                headers={"Retry-After": str(wait_s)},
                retry_after=wait_s,
            )
        return texts.get(tx, text_id)

    return await env.store.write(job)


SLOT: Final = 0
"""A session reads only the slot of the active SIM."""


class LockedSim(Struct, frozen=True):
    """A locked SIM.

    Attributes:
        owner: Key of its stored PIN (ICCID or IMEI); None if the phone reports neither.
        device_id: The phone with the SIM.
        name: `NAME:SLOT`, the argument of `momo lines pin`.
    """

    owner: str | None
    device_id: str
    name: str


async def record_locked(env: Env, phone: PhoneIdentity, wants: str) -> LockedSim:
    """Store the phone and its locked SIM, so that the operator can name them in a command."""
    now = env.clock.now_us()
    owner = phone.iccid or phone.imei

    def job(tx: Tx) -> LockedSim:
        device_id = ids.device_id_of(phone.imei or f"port:{phone.port}")
        if phone.imei is None and phone.iccid is not None:
            # Some modems report their IMEI only when the SIM is unlocked: the SIM's last phone is most likely this one.
            sim = devices.sim_by_key(tx, phone.iccid)
            last = None if sim is None else devices.get(tx, sim.device_id)
            if last is not None and (not last.present or last.port == phone.port):
                device_id = last.device_id
        devices.record_device(tx, phone, device_id, now)
        before = sim_pins.locked(tx, device_id, SLOT)
        locked = PinnedSim(device_id, SLOT, owner, wants)
        if before != locked:
            sim_pins.lock(tx, locked, now)
            data = {"device_id": device_id, "slot_index": SLOT, "wants": wants}
            journal.add(tx, "sim.locked", now, data=data)
        device = devices.get(tx, device_id)
        assert device is not None, "it was stored above"
        return LockedSim(owner, device_id, f"{device.name}:{SLOT}")

    return await env.store.write(job)


async def pin_state(env: Env, owner: str) -> Pin | None:
    """Return the stored PIN of a SIM with its state, None if none is stored."""
    return await env.store.look(lambda reader: sim_pins.get(reader, owner))


async def take_pin(env: Env, owner: str) -> str | None:
    """Return the PIN to enter into this SIM now; None if none is stored or it may not be tried.

    The try is durable when this returns.

    Raises:
        SecretsLocked: The PIN cannot be unsealed now; no try was stored.
        Unavailable: The try could not be stored, so it must not be made.
    """
    pin = await pin_state(env, owner)
    if pin is None or not pin.may_be_tried:
        return None
    plain = await asyncio.to_thread(env.vault.unseal, pin.sealed, sim_pins.PURPOSE + owner)
    now = env.clock.now_us()
    taken = await env.store.write(lambda tx: sim_pins.begin_try(tx, pin, now))
    return plain.decode() if taken else None


async def record_unlocked(env: Env, owner: str) -> None:
    """Record that the PIN has unlocked the SIM."""
    await env.store.write(lambda tx: sim_pins.record_outcome(tx, owner, "opened"))


async def record_pin_refused(env: Env, device_id: str, owner: str) -> None:
    """Record that the SIM has refused its PIN."""
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        sim_pins.record_outcome(tx, owner, "wrong")
        data = {"device_id": device_id, "slot_index": SLOT}
        journal.add(tx, "sim.pin_wrong", now, data=data)

    await env.store.write(job)


class StoredPin(Struct, frozen=True):
    """The slot of a stored PIN; `wants` is the code that the SIM asks for now, None if it is unlocked."""

    device: Device
    slot_index: int
    wants: str | None


async def store_pin(env: Env, caller: Caller, device: str, slot_index: int, pin: str) -> StoredPin:
    """Store the PIN of the SIM in a slot, replacing an earlier one.

    `device` is the phone's id or its name.

    Raises:
        Refusal: DEVICE_NOT_FOUND, SIM_NOT_FOUND; VALIDATION_ERROR for a PIN that the SIM has refused before.
        Unavailable: It cannot be sealed now.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()
    found, owner, wants = await env.store.read(lambda reader: _find(reader, device, slot_index))
    before = await env.store.look(lambda reader: sim_pins.get(reader, owner))
    if before is not None and before.outcome == "wrong":
        known = await env.unseal(before.sealed, sim_pins.PURPOSE + owner, "the PIN")
        if known.decode() == pin:
            raise invalid([FieldError("pin", "refused", Text("field.pin.refused"))])
    sealed = await env.seal(pin.encode(), sim_pins.PURPOSE + owner, "the PIN")

    def job(tx: Tx) -> None:
        sim_pins.put(tx, owner, sealed, now)
        data = {"device_id": found.device_id, "slot_index": slot_index}
        journal.add(tx, "sim.pin_stored", now, actor=caller.name, data=data)

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


async def ignore(
    env: Env, caller: Caller, device_id: str, slot_index: int, *, ignored: bool | None
) -> tuple[Device, Sim, PaymentMethod | None]:
    """Set whether a SIM is ignored, None for no change; return its phone, the SIM and its number.

    Raises:
        Refusal: DEVICE_NOT_FOUND, SIM_NOT_FOUND; SIM_ALREADY_ASSIGNED if it is to be ignored and has a number.
    """
    require(caller, Operation.MANAGE_LINES)
    now, mode = env.clock.now_us(), caller.lines_mode

    def job(tx: Tx) -> tuple[Device, Sim, PaymentMethod | None]:
        device = devices.get(tx, device_id, mode)
        if device is None or device.forgotten_at is not None:
            raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
        sim = needed(devices.sim_in_slot(tx, device_id, slot_index, mode), ErrorCode.SIM_NOT_FOUND)
        method = payment_methods.on_sim(tx, sim.seq)
        if ignored and method is not None:
            raise Refusal(ErrorCode.SIM_ALREADY_ASSIGNED, payment_method_id=method.id, phone_number=method.phone_number)
        if ignored is not None and ignored != (sim.ignored_at is not None):
            sim = devices.set_ignored(tx, sim, now if ignored else None)
            kind = "sim.ignored" if ignored else "sim.used"
            data = {"device_id": device_id, "slot_index": slot_index}
            journal.add(tx, kind, now, actor=caller.name, mode=mode, data=data)
        return device, sim, method

    return await env.store.write(job)


async def acknowledge_unaccounted(
    env: Env, caller: Caller, device_id: str, slot_index: int, notes: str | None
) -> tuple[list[ChainEntry], str | None]:
    """Mark all present unaccounted amounts of a SIM as explained; later ones give new notices.

    Return the messages before which the amounts are missing, oldest first and possibly none, and the currency.

    Raises:
        Refusal: SIM_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[list[ChainEntry], str | None]:
        sim = needed(devices.sim_in_slot(tx, device_id, slot_index), ErrorCode.SIM_NOT_FOUND)
        currency = None if sim.network is None else currency_of(sim.network)
        gaps = balances.gaps_since(tx, now - UNACCOUNTED_WINDOW_US).get(sim.sim_key, [])
        for entry in gaps:
            balances.acknowledge_gap(tx, entry, notes=notes, by=caller.name, now=now)
            data = {"gap_minor": entry.gap_minor, "currency": currency}
            journal.add(
                tx,
                "balance.gap_known",
                now,
                actor=caller.name,
                message_id=entry.key,
                data={**data, "notes": notes} if notes else data,
            )
        return gaps, currency

    return await env.store.write(job)
