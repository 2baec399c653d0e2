"""Modems on the Unix socket: list, test, rename, the SIM's PIN and its message centres, SMS sent for a test."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from daemon.api.http.auth import needs_owner
from daemon.api.http.service import Call, Reply, ok
from daemon.core import json_values
from daemon.core.errors import Refusal, Unavailable
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.lines import modem_health
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.silence import Rhythm
from daemon.core.messages.trust import SmscSource
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import network_name
from daemon.core.payments.payer_texts import TextKind
from daemon.core.reading import Wrong
from daemon.core.shape import UuidRead, marked
from daemon.flows.access import users
from daemon.flows.lines import modems, smscs, sources
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods, sms_rhythms
from daemon.store.payments import texts
from daemon.store.payments.texts import PayerText
from daemon.wire import ErrorCode
from parsers.money import render

PASSWORD_CHARACTERS_MAX: Final = 128
_NAME_PROBLEMS: Final = {"characters": "may not hold `:`, `/` or control characters", "id": "may not look like an id"}
_DEVICE_CHARACTERS_MAX: Final = 200
_NOTES_CHARACTERS_MAX: Final = 500
_PIN: Final = re.compile(r"[0-9]{4,8}", re.ASCII)
"""3GPP TS 31.101 clause 9.5.1."""
_AWAY: Final = "away"
_DETAILS: Final = frozenset({"manufacturer", "model", "imei", "last_seen_at", "sims"})


class KnownModems(NamedTuple):
    """The database rows about modems and SIMs."""

    devices: Sequence[Device]
    sims: Sequence[Sim]
    methods: Sequence[PaymentMethod]
    rhythms: dict[str, Rhythm]


NOTHING_KNOWN: Final = KnownModems((), (), (), {})
"""While the database cannot be read."""


async def list_modems(call: Call) -> Reply:
    """List the known modems, and ports with an unidentified modem."""
    return ok(await all_modems(call))


async def get_modem(call: Call) -> Reply:
    """Return one modem, with its signal over the last 24 hours: an hour without a measured signal is left out."""
    device_id = call.uuid(ErrorCode.DEVICE_NOT_FOUND)
    found = await one(call, device_id)
    hours = [
        {
            "at": timestamp(hour.at),
            "lowest_dbm": modem_health.dbm(hour.lowest),
            "highest_dbm": modem_health.dbm(hour.highest),
        }
        for hour in call.env.signals.hours(device_id, call.env.clock.now_us())
        if hour.lowest is not None
    ]
    return ok({**found, "signal_hours": hours})


def _name(text: str) -> str | Wrong:
    problem = modems.name_problem(text)
    return Wrong("invalid", _NAME_PROBLEMS[problem]) if problem in _NAME_PROBLEMS else text


class ModemName(Struct, frozen=True, forbid_unknown_fields=True):
    """The new name of a modem."""

    name: Annotated[str, Meta(min_length=1, max_length=modems.NAME_CHARACTERS_MAX), marked(then=_name)]


async def rename(call: Call) -> Reply:
    """PATCH `{name}`: rename the modem."""
    name = (await call.body(ModemName)).name
    device_id = call.uuid(ErrorCode.DEVICE_NOT_FOUND)
    await modems.name_modem(call.env, call.caller, device_id, name)
    return ok(await one(call, device_id))


async def test_modem(call: Call) -> Reply:
    """POST: query the modem now, through the session that reads its messages, and return it.

    `answered` is whether the modem answered, `took_ms` the duration.
    """
    device_id = call.uuid(ErrorCode.DEVICE_NOT_FOUND)
    await one(call, device_id)  # raises DEVICE_NOT_FOUND before the modem is queried
    clock = call.env.clock
    started = clock.monotonic()
    answered = await call.service.hooks.inspect(device_id)
    took_ms = round((clock.monotonic() - started) * 1000)
    found = await one(call, device_id)
    return ok({**found, "answered": answered, "took_ms": took_ms})


class TestTextBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom a test SMS goes to."""

    number: Annotated[str, marked(read="phone")]


async def send_test_text(call: Call) -> Reply:
    """Queue a test SMS to `{number}`. `status` is `queued`; poll `get_test_text` for the result."""
    number = (await call.body(TestTextBody)).number
    device_id = call.uuid(ErrorCode.DEVICE_NOT_FOUND)
    await one(call, device_id)
    queued = await modems.queue_test_sms(call.env, call.caller, device_id, number)
    return Reply(201, json_values.success(_text_json(queued)))


async def get_test_text(call: Call) -> Reply:
    """Return the SMS: `status` is `queued`, `sending`, or finally `sent`, `failed`, `unknown` or `expired`."""
    device_id = call.uuid(ErrorCode.DEVICE_NOT_FOUND)
    await one(call, device_id)
    found = await call.env.store.look(lambda reader: texts.find(reader, call.path("text_id")))
    if found is None or found.kind is not TextKind.TEST:
        raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
    return ok(_text_json(found))


def _pin(value: object) -> object:
    good = isinstance(value, str) and _PIN.fullmatch(value)
    return value if good else Wrong("invalid", "must be a text of 4 to 8 digits")


_SlotIndex = Annotated[int, Meta(ge=0, le=1 << 31)]


class PinBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A SIM and its PIN; `device` is an id or a name."""

    device: Annotated[str, Meta(min_length=1, max_length=_DEVICE_CHARACTERS_MAX)]
    pin: Annotated[str, marked(read="any", then=_pin)]
    slot_index: _SlotIndex = 0


async def store_pin(call: Call) -> Reply:
    """Store a PIN. It is tried once, when the SIM asks for it."""
    needs_owner(call.caller)
    asked = await call.body(PinBody)
    kept = await modems.store_pin(call.env, call.caller, asked.device, asked.slot_index, asked.pin)
    return ok(
        {
            "device_id": kept.device.device_id,
            "device_name": kept.device.name,
            "slot_index": kept.slot_index,
            "wants": kept.wants,
        }
    )


class SimBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A SIM."""

    device_id: Annotated[str, UuidRead]
    slot_index: _SlotIndex


class AcknowledgeBody(SimBody, frozen=True, forbid_unknown_fields=True):
    """A SIM whose balance changes are acknowledged, and why."""

    notes: Annotated[str, Meta(max_length=_NOTES_CHARACTERS_MAX)] | None = None


async def acknowledge_unreported(call: Call) -> Reply:
    """Acknowledge balance changes of a SIM that no message reported."""
    asked = await call.body(AcknowledgeBody)
    gaps, currency = await modems.acknowledge_unaccounted(
        call.env, call.caller, asked.device_id, asked.slot_index, asked.notes
    )
    return ok(
        [
            {
                "message_id": gap.key,
                "at": timestamp(gap.at),
                "amount": render(gap.gap_minor or 0, currency or ""),
                "currency": currency,
            }
            for gap in gaps
        ]
    )


async def one(call: Call, device_id: str) -> Json:
    """Build the JSON of one modem; DEVICE_NOT_FOUND if there is none with this id."""
    found = [phone for phone in await all_modems(call) if phone["device_id"] == device_id]
    if not found:
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    return found[0]


async def all_modems(call: Call) -> list[Json]:
    """Build the list of modems; those on a port now while the database cannot be read."""
    try:
        known = await call.env.store.read(read)
    except Unavailable:
        known = NOTHING_KNOWN
    return listed(known, call.service.hooks.phone_states(), call.env.clock.now_us())


def read(reader: Reader) -> KnownModems:
    """Read the rows about modems and SIMs."""
    return KnownModems(
        devices.known(reader),
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
        sms_rhythms.all_rhythms(reader),
    )


def on_ports(known: KnownModems, states: Sequence[ModemHealth], now: int) -> list[Json]:
    """Build the list for the status: modems on a port now, without the details of `phones show`."""
    rows = [row for row in listed(known, states, now) if row["state"] != _AWAY]
    return [{name: value for name, value in row.items() if name not in _DETAILS} for row in rows]


def listed(known: KnownModems, states: Sequence[ModemHealth], now: int) -> list[Json]:
    """Join the current state of the ports with the known modems."""
    named = [_with_device(known, state) for state in states]
    by_device = {state.device_id: state for state in named if state.device_id is not None}
    shapes = [_known_json(known, device, by_device.get(device.device_id), now) for device in known.devices]
    ids = {device.device_id for device in known.devices}
    return shapes + [_unknown_json(state, now) for state in named if state.device_id not in ids]


def _with_device(known: KnownModems, state: ModemHealth) -> ModemHealth:
    """Add the known device id of the modem on this port, if the port's state has none."""
    if state.device_id is not None:
        return state
    # The modem identified itself, but its session has not started, for example because its SIM is locked.
    found = next((each for each in known.devices if each.port == state.port), None)
    return state if found is None else replace(state, device_id=found.device_id)


def _known_json(known: KnownModems, device: Device, state: ModemHealth | None, now: int) -> Json:
    sims = [sim for sim in known.sims if sim.device_id == device.device_id]
    away = ModemHealth(device.port or "", _AWAY, "it is not plugged in", device_id=device.device_id)
    condition = state or away
    found = [] if state is None else modem_health.find_problems(state, now)
    for sim in sims if state is not None else ():
        rhythm = known.rhythms.get(sim.sim_key)
        if sim.ignored_at is None and rhythm is not None and rhythm.silent_since is not None:
            found.append(modem_health.silent_sim_problem(rhythm.silent_since, now, network_name(sim.network)))
    last = [rhythm.last_at for sim in sims if (rhythm := known.rhythms.get(sim.sim_key))]
    times = [at for at in (condition.last_sms_at, *last) if at is not None]
    by_sim = {method.sim_seq: method for method in known.methods if method.sim_seq is not None}
    return {
        **modem_health.health_json(condition, found), "name": device.name, "manufacturer": device.manufacturer,
        "model": device.model, "imei": device.imei, "last_sms_at": timestamp_or_none(max(times, default=None)),
        "last_seen_at": timestamp(device.last_seen_at),
        "sims": [_sim_json(sim, by_sim.get(sim.seq), known.rhythms.get(sim.sim_key)) for sim in sims],
    }  # fmt: skip


def _unknown_json(state: ModemHealth, now: int) -> Json:
    more: dict[str, Any] = dict.fromkeys(("name", "manufacturer", "model", "imei", "last_seen_at"))
    if state.simulated:
        more["name"] = PurePath(state.port).name
    return {**modem_health.health_json(state, modem_health.find_problems(state, now)), **more, "sims": []}


def _sim_json(sim: Sim, method: PaymentMethod | None, rhythm: Rhythm | None) -> Json:
    return {
        "slot_index": sim.slot_index,
        "network": network_name(sim.network),
        "iccid_last4": None if sim.iccid is None else sim.iccid[-4:],
        "phone_number": None if method is None else method.phone_number,
        "ignored": sim.ignored_at is not None,
        "last_sms_at": None if rhythm is None else timestamp_or_none(rhythm.last_at),
        "silent_since": None if rhythm is None else timestamp_or_none(rhythm.silent_since),
    }


def _text_json(text: PayerText) -> Json:
    return {
        "id": text.id, "number": text.number, "status": text.status, "why": text.why, "parts_sent": text.parts_sent,
        "created_at": timestamp(text.created_at), "ended_at": timestamp_or_none(text.ended_at),
    }  # fmt: skip


def _source_password(text: str) -> str | Wrong:
    good = 0 < len(text) <= PASSWORD_CHARACTERS_MAX
    return text if good else Wrong("invalid", "must be text of 1 to 128 characters, or null")


class SourcePassword(Struct, frozen=True):
    """The password of a source's own web page."""

    name: Annotated[str, marked(read="secret")]
    password: Annotated[str, marked(read="secret", then=_source_password)] | None = None


async def set_password(call: Call) -> Reply:
    """Store the password of a source's own web page; null deletes it."""
    needs_owner(call.caller)
    new = await call.body(SourcePassword)
    await sources.store_source_password(call.env, call.caller, new.name, new.password)
    return ok({"name": new.name, "set": new.password is not None})


async def show_smscs(call: Call) -> Reply:
    """Return the SMSCs of a SIM, and the test payment that is expected."""
    sim = await call.body(SimBody)
    found = await smscs.smscs_of(call.env, sim.device_id, sim.slot_index)
    return ok(
        {
            "device_id": sim.device_id,
            "slot_index": sim.slot_index,
            "network": found.sim.network,
            "has_chain": found.has_chain,
            "smscs": [
                {
                    "smsc": one.smsc,
                    "home": one.source is not SmscSource.NOTICED,
                    "source": one.source,
                    "message_id": one.message_id,
                    "since": timestamp(one.since),
                }
                for one in found.smscs
            ],
            "test_payment": None if found.test_payment is None else _payment(found.test_payment),
        }
    )


class TrustBody(SimBody, frozen=True, forbid_unknown_fields=True):
    """The held message of a SIM that is accepted, and the account password."""

    message_id: Annotated[str, UuidRead]
    password: Annotated[str, marked(read="secret")] | None = None


async def trust_smsc(call: Call) -> Reply:
    """Accept a held message of a SIM."""
    needs_owner(call.caller)
    asked = await call.body(TrustBody)
    await users.confirm(call.env, call.caller, asked.password)
    settled = await smscs.trust_message(call.env, call.caller, asked.device_id, asked.slot_index, asked.message_id)
    return ok({"message_id": asked.message_id, "settled": settled})


async def expect_test_payment(call: Call) -> Reply:
    """Expect the owner's test payment on a SIM."""
    needs_owner(call.caller)
    sim = await call.body(SimBody)
    asked = await smscs.expect_test_payment(call.env, call.caller, sim.device_id, sim.slot_index)
    return ok(_payment(asked))


def _payment(asked: smscs.TestPayment) -> Json:
    return {
        "amount": render(asked.amount_minor, asked.currency),
        "currency": asked.currency,
        "expires_at": timestamp(asked.expires_at),
    }
