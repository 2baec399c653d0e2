"""Register, move and delete merchant numbers, and assign unplaced payments to them.

Unplaced payments are those that came to a SIM before it had a number.
"""

from typing import Final

from msgspec import UNSET, Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import Keep
from daemon.core.lines.line_json import MethodChanges, NewMethod, PaymentMethodAnswer, Slot
from daemon.core.lines.readiness import UNPLACED_WINDOW_US
from daemon.core.model import Device, Payment, PaymentMethod, Sim
from daemon.core.names import national_format, network_of
from daemon.core.webhooks import routing
from daemon.env import Env
from daemon.steps.settle import refuse_copy
from daemon.store import idempotency, journal
from daemon.store.engine import Tx
from daemon.store.lines import devices, payment_methods
from daemon.store.payments import payments, transactions
from daemon.store.webhooks import endpoints
from daemon.wire import ErrorCode, EventKind, Mode, Scope
from parsers.phone import NETWORK_NAMES, network_of_number

CLAIMABLE_SHOWN_MAX: Final = 100
"""Payments that a dry run of claim-unplaced lists; all of them are counted and added up."""


class Registered(Struct, frozen=True):
    """A new number, where it is, and what is odd about it."""

    method: PaymentMethod
    sim: Sim | None
    device: Device | None
    warnings: list[str]


async def create(env: Env, caller: Caller, new: NewMethod, *, keep: Keep[Registered] | None = None) -> Registered:
    """Register a number, on a SIM or on none.

    Raises:
        Refusal: PAYMENT_METHOD_EXISTS, SIM_NOT_FOUND, NETWORK_MISMATCH, SIM_ALREADY_ASSIGNED,
            IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.MANAGE_LINES)
    now, mode = env.clock.now_us(), caller.lines_mode

    def job(tx: Tx) -> Registered:
        return idempotency.kept(tx, keep, now, lambda: add(tx))

    def add(tx: Tx) -> Registered:
        existing = payment_methods.with_number(tx, mode, new.provider, new.phone_number)
        if existing is not None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_EXISTS, payment_method_id=existing.id)
        sim = None if new.sim is None else _free_sim(tx, new.sim, new.provider, None, mode)
        method = payment_methods.add(
            tx,
            {
                "id": env.new_id(),
                "mode": mode,
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
        assert method is not None, "no other writer comes between our read and our insert"
        _add_event(tx, "payment_method.created", method, sim, caller, now)
        doubts = _other_network(new.phone_number, new.provider)
        return Registered(method, *payment_methods.where(tx, method), doubts)

    return await env.store.write(job)


def _other_network(number: str, provider: str) -> list[str]:
    """Return a warning if another network issued the number. It may have been ported, so this is no error."""
    theirs, ours = network_of_number(number), network_of(provider)
    if theirs is None or theirs == ours:
        return []
    fact = f"{national_format(number)} is in {NETWORK_NAMES[theirs]}'s number range, not in {NETWORK_NAMES[ours]}'s"
    return [f"{fact}: unless it was ported, check the provider."]


async def change(
    env: Env, caller: Caller, method_id: str, changes: MethodChanges
) -> tuple[PaymentMethodAnswer, list[str]]:
    """Correct a number or its account's name, or move the number; return its record and the warnings about it.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, BELONGS_TO_BRANCH, PAYMENT_METHOD_EXISTS, SIM_NOT_FOUND, NETWORK_MISMATCH, SIM_ALREADY_ASSIGNED.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[PaymentMethodAnswer, list[str]]:
        method = _own(tx, method_id, caller)
        if changes.sim is not UNSET:
            method = _move(tx, method, changes.sim, caller, now)
        name, number, doubts = changes.account_name, changes.phone_number, list[str]()
        if name is not None and name != method.account_name:
            method = payment_methods.rename(tx, method.id, name, now)
            sim, _device = payment_methods.where(tx, method)
            _add_event(tx, "payment_method.renamed", method, sim, caller, now)
        if number is not None and number != method.phone_number:
            existing = payment_methods.with_number(tx, method.mode, method.provider, number)
            if existing is not None:
                raise Refusal(ErrorCode.PAYMENT_METHOD_EXISTS, payment_method_id=existing.id)
            method = payment_methods.renumber(tx, method.id, number, now)
            sim, _device = payment_methods.where(tx, method)
            _add_event(tx, "payment_method.renumbered", method, sim, caller, now)
            doubts = _other_network(number, method.provider)
        return PaymentMethodAnswer.of(method, *payment_methods.where(tx, method)), doubts

    return await env.store.write(job)


def _own(tx: Tx, method_id: str, caller: Caller) -> PaymentMethod:
    """Return a number of this shop.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND; BELONGS_TO_BRANCH.
    """
    method = needed(payment_methods.get(tx, method_id, caller.lines_mode), ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    refuse_copy(tx, method.branch_id)
    return method


def _move(tx: Tx, method: PaymentMethod, slot: Slot | None, caller: Caller, now: int) -> PaymentMethod:
    sim = None if slot is None else _free_sim(tx, slot, method.provider, method.id, method.mode)
    sim_seq = None if sim is None else sim.seq
    if sim_seq == method.sim_seq:
        return method
    method = payment_methods.place(tx, method.id, sim_seq, now)
    _add_event(tx, "payment_method.moved", method, sim, caller, now)
    return method


async def delete(env: Env, caller: Caller, method_id: str) -> PaymentMethodAnswer:
    """Delete a number and return its last record. Its payments keep the number.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, also if it was deleted before; BELONGS_TO_BRANCH.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()

    def job(tx: Tx) -> PaymentMethodAnswer:
        method = payment_methods.delete(tx, _own(tx, method_id, caller).id, now)
        _add_event(tx, "payment_method.deleted", method, None, caller, now)
        return PaymentMethodAnswer.of(method, *payment_methods.where(tx, method))

    return await env.store.write(job)


def _free_sim(tx: Tx, slot: Slot, provider: str, method_id: str | None, mode: Mode) -> Sim:
    """Return the SIM in a slot, or refuse if a number of this provider may not be assigned to it.

    A SIM that was ignored is not ignored any more.
    """
    sim = needed(devices.sim_in_slot(tx, slot.device_id, slot.slot_index, mode), ErrorCode.SIM_NOT_FOUND)
    if sim.network is not None and sim.network != network_of(provider):
        raise Refusal(ErrorCode.NETWORK_MISMATCH, sim_network=sim.network, provider=provider)
    holder = payment_methods.on_sim(tx, sim.seq)
    if holder is not None and holder.id != method_id:
        raise Refusal(ErrorCode.SIM_ALREADY_ASSIGNED, payment_method_id=holder.id, phone_number=holder.phone_number)
    return devices.set_ignored(tx, sim, None)


def _add_event(tx: Tx, kind: str, method: PaymentMethod, sim: Sim | None, caller: Caller, now: int) -> None:
    place = None if sim is None else {"device_id": sim.device_id, "slot_index": sim.slot_index}
    data = {"payment_method_id": method.id, "provider": method.provider, "sim": place}
    journal.add(tx, kind, now, actor=caller.name, mode=method.mode, data=data)


class Claimed(Struct, frozen=True):
    """Payments that were set to a number, or would be.

    Attributes:
        count: Their number.
        first: The storage time of the first one, microseconds; None if there is none.
        last: That of the last one.
        details: Their totals by currency and the first of them, for callers that may read transactions; else None.
    """

    count: int
    first: int | None
    last: int | None
    details: tuple[list[tuple[str, int]], list[Payment]] | None


async def claim_unplaced(
    env: Env, caller: Caller, method_id: str, *, dry_run: bool, keep: Keep[Claimed] | None = None
) -> Claimed:
    """Set the number of the unplaced payments of the last 30 days on the number's own SIM and network.

    Nothing is forwarded: the merchant replays the window. Payments that have a number are not changed. Endpoints that
    got one as unplaced and subscribe to `transaction.updated` get that event.

    With `dry_run` only count; list the payments to callers that may read transactions.

    Raises:
        Refusal: PAYMENT_METHOD_NOT_FOUND, BELONGS_TO_BRANCH, METHOD_HAS_NO_SIM, IDEMPOTENCY_KEY_REUSED.
    """
    require(caller, Operation.MANAGE_LINES)
    now = env.clock.now_us()

    def job(tx: Tx) -> Claimed:
        return idempotency.kept(tx, keep, now, lambda: place(tx))

    def place(tx: Tx) -> Claimed:
        method = _own(tx, method_id, caller)
        sim, _device = payment_methods.where(tx, method)
        if sim is None:
            raise Refusal(ErrorCode.METHOD_HAS_NO_SIM)
        since = now - UNPLACED_WINDOW_US
        found = payments.unplaced_by_currency(tx, sim.sim_key, method.provider, since)
        count = sum(row[1] for row in found)
        if count and not dry_run:
            claimed = payments.claim(tx, sim.sim_key, method.provider, since, method.id)
            if routing.subscribed(endpoints.in_use(tx, method.mode), EventKind.UPDATED):
                for before, after in claimed:
                    transaction = transactions.paid_by(tx, after.id)
                    if transaction is not None:
                        env.outbox.update(tx, transaction, after, now, before=(transaction, before))
            data = {"payment_method_id": method.id, "payments": count}
            journal.add(tx, "payment_method.claimed", now, actor=caller.name, mode=method.mode, data=data)
        details = None
        if dry_run and caller.may(Scope.TRANSACTIONS_READ):
            shown = payments.unplaced_first(tx, sim.sim_key, method.provider, since, CLAIMABLE_SHOWN_MAX)
            details = [(currency, int(minor)) for currency, _, minor, *_ in found], shown
        first = min((row[3] for row in found), default=None)
        last = max((row[4] for row in found), default=None)
        return Claimed(count, first, last, details)

    return await env.store.write(job)
