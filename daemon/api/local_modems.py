"""/local/v1/modems: each phone, how it fares and what is wrong with it; on the Unix socket only."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from daemon.api.fields import Fields, read_uuid
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core import phones
from daemon.core.errors import Refusal
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.phones import Condition
from daemon.core.provider_names import network_name
from daemon.core.shapes import Json, timestamp, timestamp_or_none
from daemon.core.silence import Rhythm
from daemon.flows.name_modem import name_modem
from daemon.store import devices, payment_methods, rhythms
from daemon.store.engine import Reader
from daemon.wire import ErrorCode

NAME_CHARACTERS_MAX: Final = 40
_NOT_IN_NAMES: Final = ":/"
"""`NAME:SLOT` names a SIM, and a path names a port."""
_AWAY: Final = "away"
_DETAILS: Final = frozenset({"manufacturer", "model", "imei", "last_seen_at", "sims"})


class Known(NamedTuple):
    """What the database knows of the phones."""

    devices: Sequence[Device]
    sims: Sequence[Sim]
    methods: Sequence[PaymentMethod]
    rhythms: dict[str, Rhythm]


async def get_list(call: Call) -> Reply:
    """List the phones: those that are known, and ports on which none has said who it is."""
    return ok(await modems(call))


async def get_one(call: Call) -> Reply:
    """Return one phone."""
    return ok(await one(call, id_of(call)))


async def rename(call: Call) -> Reply:
    """PATCH `{name}`: call the phone so."""
    fields = Fields(await read_object(call.scope, call.receive))
    name = fields.text("name", required=True, most=NAME_CHARACTERS_MAX)
    if name is not None and any(c in name for c in _NOT_IN_NAMES):
        fields.fail("name", "invalid", "may not hold `:` or `/`")
    if name is not None and read_uuid(name) is not None:
        fields.fail("name", "invalid", "may not look like an id")
    fields.refuse_unknown(("name",))
    fields.done()
    assert name is not None
    device_id = id_of(call)
    await name_modem(call.env, call.caller, device_id, name)
    return ok(await one(call, device_id))


async def test(call: Call) -> Reply:
    """POST: ask the phone now, through the session that reads its messages; then return it.

    `answered` says whether it did; `took_ms` how long that was.
    """
    device_id = id_of(call)
    await one(call, device_id)  # 404 before anything is asked
    clock = call.env.clock
    started = clock.monotonic()
    answered = await call.service.hooks.inspect(device_id)
    took_ms = round((clock.monotonic() - started) * 1000)
    found = await one(call, device_id)
    return ok({**found, "answered": answered, "took_ms": took_ms})


async def modems(call: Call) -> list[Json]:
    """Make the list of phones."""
    known = await call.env.store.read(read)
    return listed(known, call.service.hooks.phone_states(), call.env.clock.now_us())


def read(reader: Reader) -> Known:
    """Read what the database knows."""
    return Known(
        devices.known(reader),
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
        rhythms.all_of(reader),
    )


def listed(known: Known, states: Sequence[Condition], now: int) -> list[Json]:
    """Join what phones say now with what is known of them."""
    named = [_with_device(known, state) for state in states]
    by_device = {state.device_id: state for state in named if state.device_id is not None}
    shapes = [
        _known(known, device, by_device.get(device.device_id), now) for device in known.devices
    ]
    ids = {device.device_id for device in known.devices}
    return shapes + [_unknown(state, now) for state in named if state.device_id not in ids]


def _with_device(known: Known, state: Condition) -> Condition:
    """Name the phone on a port that has said who it is and has not got further: its SIM is locked, perhaps."""
    if state.device_id is not None:
        return state
    found = next((each for each in known.devices if each.port == state.port), None)
    return state if found is None else replace(state, device_id=found.device_id)


def on_ports(known: Known, states: Sequence[Condition], now: int) -> list[Json]:
    """Make the status's list: what is on a port now, without what only `modems show` tells."""
    rows = [row for row in listed(known, states, now) if row["state"] != _AWAY]
    return [{name: value for name, value in row.items() if name not in _DETAILS} for row in rows]


def _known(known: Known, device: Device, state: Condition | None, now: int) -> Json:
    sims = [sim for sim in known.sims if sim.device_id == device.device_id]
    away = Condition(device.port or "", _AWAY, "it is not plugged in", device_id=device.device_id)
    condition = state or away
    found = [] if state is None else phones.troubles(state, now)
    for sim in sims if state is not None else ():
        rhythm = known.rhythms.get(sim.sim_key)
        if rhythm is not None and rhythm.silent_since is not None:
            found.append(phones.silent(rhythm.silent_since, now, network_name(sim.network)))
    last = [rhythm.last_at for sim in sims if (rhythm := known.rhythms.get(sim.sim_key))]
    times = [at for at in (condition.last_sms_at, *last) if at is not None]
    by_sim = {method.sim_seq: method for method in known.methods if method.sim_seq is not None}
    return {
        **phones.shape(condition, found),
        "name": device.name,
        "manufacturer": device.manufacturer,
        "model": device.model,
        "imei": device.imei,
        "last_sms_at": timestamp_or_none(max(times, default=None)),
        "last_seen_at": timestamp(device.last_seen_at),
        "sims": [_sim(sim, by_sim.get(sim.seq), known.rhythms.get(sim.sim_key)) for sim in sims],
    }


def _unknown(state: Condition, now: int) -> Json:
    more: dict[str, Any] = dict.fromkeys(("name", "manufacturer", "model", "imei", "last_seen_at"))
    if state.simulated:
        more["name"] = PurePath(state.port).name
    return {**phones.shape(state, phones.troubles(state, now)), **more, "sims": []}


def _sim(sim: Sim, method: PaymentMethod | None, rhythm: Rhythm | None) -> Json:
    return {
        "slot_index": sim.slot_index,
        "network": network_name(sim.network),
        "iccid_last4": None if sim.iccid is None else sim.iccid[-4:],
        "phone_number": None if method is None else method.phone_number,
        "last_sms_at": None if rhythm is None else timestamp_or_none(rhythm.last_at),
        "silent_since": None if rhythm is None else timestamp_or_none(rhythm.silent_since),
    }


def id_of(call: Call) -> str:
    """Return the id in the path; DEVICE_NOT_FOUND where that is none."""
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    return found


async def one(call: Call, device_id: str) -> Json:
    """Make the shape of one phone; DEVICE_NOT_FOUND where there is no such one."""
    found = [phone for phone in await modems(call) if phone["device_id"] == device_id]
    if not found:
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    return found[0]
