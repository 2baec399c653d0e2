"""Register merchant numbers, put them on SIMs, take them away (interface.md, Payment methods; decisions.md section 3)."""

from dataclasses import dataclass
from typing import Any

from daemon.core import line_shapes, shapes
from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.model import PaymentMethod, Sim
from daemon.core.provider_names import NETWORK_NAMES, network_of
from daemon.core.requests import Answer, Idempotency
from daemon.core.texting import local, network_of_number
from daemon.env import Env
from daemon.store import devices, events, idempotency, payment_methods
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Mode


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a SIM."""

    device_id: str
    slot_index: int


@dataclass(frozen=True, slots=True)
class NewMethod:
    """A valid `POST /v1/payment-methods`: the provider is canonical, the number E.164."""

    provider: str
    phone_number: str
    account_name: str
    merchant_code: str | None = None
    slot: Slot | None = None


async def create(
    env: Env,
    caller: Caller,
    new: NewMethod,
    *,
    claim: Idempotency | None,
    warnings: list[str],
) -> Answer:
    """Register a number, on a SIM or on none, and return the 201 answer.

    Raises:
        Refusal: PAYMENT_METHOD_EXISTS, SIM_NOT_FOUND, NETWORK_MISMATCH, SIM_ALREADY_ASSIGNED,
            IDEMPOTENCY_KEY_REUSED.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return idempotency.once(tx, claim, now, lambda: add(tx))

    def add(tx: Tx) -> Answer:
        existing = payment_methods.with_number(tx, new.provider, new.phone_number)
        if existing is not None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_EXISTS, payment_method_id=existing.id)
        sim = None if new.slot is None else _free_sim(tx, new.slot, new.provider, None)
        method = payment_methods.add(
            tx,
            {
                "id": env.new_id(),
                "provider": new.provider,
                "phone_number": new.phone_number,
                "account_name": new.account_name,
                "merchant_code": new.merchant_code,
                "sim_seq": None if sim is None else sim.seq,
                "is_active": True,
                "line_created_at": None if sim is None else now,
                "last_payment_at": None,
                "created_at": now,
                "updated_at": now,
                "deleted_at": None,
            },
        )
        assert method is not None, "nobody else writes between our look and our insert"
        _tell(tx, "payment_method.created", method, sim, caller, now)
        told = shapes.warned([*warnings, *_elsewhere(new)])
        return Answer(201, shapes.success(_record(tx, method), told))

    return await env.store.write(job)


def _elsewhere(new: NewMethod) -> list[str]:
    """Warn of a number that another network gave out. It may have moved: people keep their numbers when they change."""
    theirs, ours = network_of_number(new.phone_number), network_of(new.provider)
    if theirs is None or theirs == ours:
        return []
    said = f"{local(new.phone_number)} is in {NETWORK_NAMES[theirs]}'s number range, not in {NETWORK_NAMES[ours]}'s"
    return [f"{said}: unless it was ported, look at the provider again."]


async def move(env: Env, caller: Caller, method_id: str, slot: Slot | None) -> dict[str, Any]:
    """Put a number on the SIM that is in a slot now, or with None off its SIM; returns its record.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, SIM_NOT_FOUND, NETWORK_MISMATCH, SIM_ALREADY_ASSIGNED.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> dict[str, Any]:
        method = payment_methods.get(tx, method_id)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        sim = None if slot is None else _free_sim(tx, slot, method.provider, method.id)
        sim_seq = None if sim is None else sim.seq
        if sim_seq != method.sim_seq:
            method = payment_methods.place(tx, method.id, sim_seq, now)
            _tell(tx, "payment_method.moved", method, sim, caller, now)
        return _record(tx, method)

    return await env.store.write(job)


async def delete(env: Env, caller: Caller, method_id: str) -> dict[str, Any]:
    """Take a number away; returns its last record. Payments to it keep their attribution.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, also the second time.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> dict[str, Any]:
        if payment_methods.get(tx, method_id) is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        method = payment_methods.delete(tx, method_id, now)
        _tell(tx, "payment_method.deleted", method, None, caller, now)
        return _record(tx, method)

    return await env.store.write(job)


def _free_sim(reader: Reader, slot: Slot, provider: str, method_id: str | None) -> Sim:
    """Return the SIM in a slot, if a number of this provider may come onto it."""
    sim = devices.sim_in_slot(reader, slot.device_id, slot.slot_index)
    if sim is None:
        raise Refusal(ErrorCode.SIM_NOT_FOUND)
    if sim.network is not None and sim.network != network_of(provider):
        raise Refusal(ErrorCode.NETWORK_MISMATCH, sim_network=sim.network, provider=provider)
    holder = payment_methods.on_sim(reader, sim.seq)
    if holder is not None and holder.id != method_id:
        raise Refusal(
            ErrorCode.SIM_ALREADY_ASSIGNED,
            payment_method_id=holder.id,
            phone_number=holder.phone_number,
        )
    return sim


def _record(reader: Reader, method: PaymentMethod) -> dict[str, Any]:
    sim, device = payment_methods.where(reader, method)
    return line_shapes.payment_method(method, sim, device)


def _tell(
    tx: Tx, what: str, method: PaymentMethod, sim: Sim | None, caller: Caller, now: int
) -> None:
    place = None if sim is None else {"device_id": sim.device_id, "slot_index": sim.slot_index}
    events.add(
        tx,
        type=what,
        mode=Mode.LIVE,
        at=now,
        actor=caller.name,
        data={"payment_method_id": method.id, "provider": method.provider, "sim": place},
    )
