"""Take the facts of a branch at its hub, decide its handed-up payments, and answer with the hub's commands.

One request is one job of the writer: facts, decisions, webhooks, acknowledgement and commands are one commit. A request that
comes twice, as a proxy repeats it, changes nothing and gets the same answer.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.branches.facts import EPOCH, TABLES, Fact, SyncRequest
from daemon.core.errors import FieldError, Refusal, Unavailable, invalid
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.model import Payment, Reversal
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import hand_up
from daemon.store import journal
from daemon.store.access import users
from daemon.store.branches import branches, copies
from daemon.store.branches.branches import Branch
from daemon.store.engine import Tx
from daemon.store.payments import payments, transactions
from daemon.wire import VERSION, ErrorCode, ShopRole
from parsers.masking import describe_error

COMMANDS_MAX: Final = 100
EPOCHS_AHEAD_MAX: Final = 1_000
"""Restores of a branch that its hub may have missed."""
_AT_ONCE: Final = 500
"""Kept facts that are read in one go."""


class SyncAnswer(Struct, frozen=True):
    """The answer to a branch.

    Attributes:
        acked: Everything up to this number is stored.
        want: The hub lost acknowledged facts after this number; None if it did not.
        left: The branch was leaving, and nothing is left to do.
    """

    acked: int
    commands: Sequence[dict[str, Any]]
    want: int | None = None
    left: bool = False


async def sync(env: Env, key_id: str | None, request: SyncRequest, sha256: str) -> SyncAnswer:
    """Take one request; `sha256` is that of its body, by which one that comes again is recognised.

    Raises:
        Refusal: BRANCH_NOT_FOUND, BRANCH_STALE, BRANCH_DISPUTED; VALIDATION_ERROR.
        Unavailable: Nothing could be stored; the branch repeats it.
    """
    times = env.times()

    def job(tx: Tx) -> SyncAnswer | Refusal:
        env.refuse_if_damaged()
        checked = _check(tx, env, key_id, request, sha256, times)
        if not isinstance(checked, Branch):
            return checked
        _record_outcomes(tx, env, checked, request, times.wall_us)
        _take(tx, env, checked, _new(checked, request), times)
        return _finish(tx, env, checked, request, times)

    try:
        result = await env.store.write(job)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001 -- one fact that trips a fault of ours, or is refused, must not stop the feed
        # A refusal of the request itself is raised again.
        result = await _one_by_one(env, key_id, request, sha256, times)
    if isinstance(result, Refusal):
        raise result
    return result


def _check(
    tx: Tx, env: Env, key_id: str | None, request: SyncRequest, sha256: str, times: Times
) -> Branch | SyncAnswer | Refusal:
    """Return the branch if its request is the next one; its rows are committed with a refusal too.

    The last request again gets its answer again, or goes on if it was not finished.
    """
    branch = None if key_id is None else branches.with_key(tx, key_id)
    if env.place.role is not ShopRole.HUB or branch is None:
        raise Refusal(ErrorCode.BRANCH_NOT_FOUND)
    # A request that is only late was made before the last one that was taken; a machine that goes on makes new ones.
    heard_at = (branch.last_heard_at or 0) + (branch.clock_off_us or 0)
    goes_on = request.stale or (branch.last_heard_at is not None and request.now > heard_at)
    if branch.status == "disputed" and request.epoch <= branch.epoch:
        return _two_machines(tx, branch, "branch_disputed", Refusal(ErrorCode.BRANCH_DISPUTED), times.wall_us)
    if request.epoch < branch.epoch:
        refusal = Refusal(ErrorCode.BRANCH_STALE, "Another machine was restored as this branch.")
        return _two_machines(tx, branch, "branch_stale", refusal, times.wall_us) if goes_on else refusal
    if request.epoch > branch.epoch + EPOCHS_AHEAD_MAX:
        # The last epoch of all would leave none for a machine that joins again.
        raise invalid([FieldError("epoch", "invalid", "is too far ahead")])
    if request.epoch > branch.epoch:
        # A request from behind the begin of its feed means that the hub was restored, if it is not the first one.
        acked = request.after if request.turn == 1 else request.begin or 0
        branches.set_epoch(tx, branch.id, request.epoch, acked)
        branch = replace(branch, epoch=request.epoch, turn=0, acked_seq=acked)
    if (request.turn, sha256) == (branch.turn, branch.turn_sha256):
        kept = branch.turn_answer
        return branch if kept is None else msgspec.json.decode(kept, type=SyncAnswer)
    # In a new epoch it speaks of a request before a restore, or before the branch joined again.
    if branch.turn and (request.stale or (goes_on and request.turn <= branch.turn)):
        branches.set_status(tx, branch.id, "disputed")
        refusal = Refusal(ErrorCode.BRANCH_DISPUTED)
        return _two_machines(tx, replace(branch, told_at=None), "branch_disputed", refusal, times.wall_us)
    if request.turn <= branch.turn:
        raise Refusal(ErrorCode.BRANCH_STALE, turn=branch.turn)
    off = request.now - times.wall_us
    branches.mark(tx, branch, times.wall_us)
    branches.heard(
        tx, branch.id, turn=request.turn, sha256=sha256, version=request.version, now=times.wall_us, clock_off_us=off
    )
    if request.after > branch.acked_seq:
        _notify(tx, "hub_restored", branch, times.wall_us)
        return _kept(tx, branch, SyncAnswer(branch.acked_seq, (), want=branch.acked_seq))
    return branch


def _two_machines(tx: Tx, branch: Branch, kind: str, refusal: Refusal, now: int) -> Refusal:
    """Tell the people at the hub that two machines send as a branch, again each day that one of them is refused."""
    if branch.told_at is None or now - branch.told_at >= DAY_US:
        branches.set_told(tx, branch.id, now)
        _notify(tx, kind, branch, now)
    return refusal


def _new(branch: Branch, request: SyncRequest) -> Sequence[Fact]:
    """Return the newest fact of each row, without the facts that are stored already: an older one must not replace a newer."""
    return [*{(fact.kind, fact.id): fact for fact in request.facts if fact.seq > branch.acked_seq}.values()]


def _take(tx: Tx, env: Env, branch: Branch, facts: Sequence[Fact], times: Times, *, limited: bool = True) -> None:
    """Store facts, and decide the payments that were handed up with them."""
    doubles = copies.store(tx, branch.id, branch.epoch, facts, times.wall_us, limited=limited)
    rows = [(fact.id, fact.row) for fact in facts if fact.kind == "payment" and fact.row]
    handed = [own for own, row in rows if row.get("decider") == "hub"]
    for payment, referred in copies.handed_up(tx, branch.id, handed):
        if referred and _is_used(tx, payment):
            raise copies.UnreadableRowError("the payment pays an order of the branch, so it cannot be handed up")
        hand_up.decide(tx, env, branch, payment, times, referred=referred)
    for own, is_new in doubles.items():
        if (second := payments.get(tx, own)) and (first := payments.get(tx, str(second.double_of))):
            told = is_new and hand_up.settle_identity(tx, env, second, times)
            _compare(tx, branch, second, first, times.wall_us, told=told)
    for own, row in rows:
        if row.get("reversed_at"):
            _reverse(tx, env, own, times.wall_us)


def _reverse(tx: Tx, env: Env, payment_id: str, now: int) -> None:
    """Reverse the hub's own transaction that a payment paid which the network took back."""
    payment = payments.get(tx, payment_id)
    paid = transactions.paid_by(tx, payment_id)
    if payment is None or paid is None or paid.branch_id is not None or paid.reversed_at is not None:
        return
    assert payment.reversed_at is not None, "the fact says so"
    changed = transactions.reverse(tx, payment_id, payment.reversed_at)
    assert changed is not None, "it was not reversed"
    known = payments.reversal_of(tx, payment)
    reversal = known or Reversal(
        0, payment.message_id, payment.mode, payment.provider,
        payment.telco_transaction_id, None, payment.reversed_at, now,
    )  # fmt: skip
    env.outbox.reverse(tx, changed, payment, reversal, now)
    payments.record_reversal(tx, payment, transaction_id=changed.id, message_id=payment.message_id, now=now)


def _compare(tx: Tx, branch: Branch, second: Payment, first: Payment, now: int, *, told: bool) -> None:
    """Tell people about a payment that two branches have, if one of them must choose, or if it paid two orders.

    The thief of a branch's key could name the ID of a payment before the branch that reads it.
    """
    used = [_is_used(tx, each) for each in (first, second)]
    if not (told or all(used)):
        return
    kind = "paid_twice" if all(used) else "id_conflict"
    data = {
        "first_payment_id": first.id,
        "second_payment_id": second.id,
        "telco_transaction_id": second.telco_id_as_read,
    }
    if journal.has(tx, f"notice.{kind}", second.id):
        return
    _notify(tx, kind, branch, now, payment=second, **data)
    if kind != "paid_twice":
        return
    for each in (first, second):
        if each.branch_id is not None:
            branches.ask(
                tx, f"paid_twice:{second.id}:{each.id}", each.branch_id, "paid_twice", each.id, data, by="momo", now=now
            )


def _is_used(tx: Tx, payment: Payment) -> bool:
    paid = transactions.paid_by(tx, payment.id)
    return paid is not None and paid.origin == "request"


def _notify(tx: Tx, kind: str, branch: Branch, now: int, payment: Payment | None = None, **data: Any) -> None:
    """Add a notice."""
    mode, about = (None, None) if payment is None else (payment.mode, payment.id)
    data = {"branch": branch.name, **data}
    journal.add(tx, f"notice.{kind}", now, mode=mode, payment_id=about, data=data, immediately=True)


def _record_outcomes(tx: Tx, env: Env, branch: Branch, request: SyncRequest, now: int) -> None:
    """Record the outcomes of commands before the rows, which are as they became by these commands."""
    for command_id, outcome in request.outcomes.items():
        answered = branches.answer(tx, branch.id, command_id, outcome, now)
        if answered is None or answered.kind in ("decided", "paid_twice"):
            continue
        if answered.kind == "release" and outcome.get("why") == hand_up.DECIDED:
            lost = hand_up.keep_decided(tx, env, answered.subject, now)
            reference = str(outcome.get("reference"))[:200]
            _notify(tx, "order_lost", branch, now, payment=lost, reference=reference)
        data = (
            {"branch": branch.name, "kind": answered.kind, "subject": answered.subject}
            | {"done": outcome.get("done") is True}
            | ({"why": str(outcome["why"])[:200]} if outcome.get("why") else {})
        )
        journal.add(tx, "branch.answered", now, data=data)


def _finish(tx: Tx, env: Env, branch: Branch, request: SyncRequest, times: Times) -> SyncAnswer:
    """Acknowledge the feed, and return the next commands."""
    now = times.wall_us
    if request.brings:
        branches.set_brings(tx, branch.id, msgspec.json.encode(request.brings).decode(), now)
        # Told after a join or a restore, and after more than a day without the hub; an hour without it is usual.
        if branch.turn == 0 or min(one["day"] for one in request.brings) < now // DAY_US - 1:
            sums = hand_up.sums_of((one["currency"], one["amount_minor"]) for one in request.brings)
            data = {
                "branch": branch.name, "payments": sum(one["count"] for one in request.brings),
                "what": [f"{one['currency']} {one['amount']}" for one in sums],
            }  # fmt: skip
            journal.add(tx, "branch.brings", now, data=data)
    _leave(tx, env, branch, times)
    commands = _commands(tx, branch, now)
    done = not commands and not request.facts and branch.status in ("leaving", "left")
    if done and branch.status != "left":
        branches.set_status(tx, branch.id, "left")
        ended = ", ".join(users.end_of_branch(tx, branch.id, now)) or "—"
        _notify(tx, "branch_left", branch, now, why=ended)
    return _kept(tx, branch, SyncAnswer(max(branch.acked_seq, request.upto), commands, left=done))


def _kept(tx: Tx, branch: Branch, answer: SyncAnswer) -> SyncAnswer:
    text = msgspec.json.encode(answer).decode()
    branches.acknowledge(tx, branch.id, answer.acked, text)
    return answer


def _commands(tx: Tx, branch: Branch, now: int) -> Sequence[dict[str, Any]]:
    """Return the commands for a branch, recorded as sent."""
    wanted = branches.commands_for(tx, branch.id, COMMANDS_MAX)
    branches.note_sent(tx, wanted, now)
    return [
        {"id": one.id, "kind": one.kind, "subject": one.subject, "body": json.loads(one.body), "by": one.made_by}
        for one in wanted
    ]


def _leave(tx: Tx, env: Env, branch: Branch, times: Times) -> None:
    """Give back the handed-up payments of a leaving branch that no transaction of the hub used."""
    # A branch that has left still sends the payments that came while the last answer was under way.
    if branch.status not in ("leaving", "left"):
        return
    for payment_id in branches.handed_and_unused(tx, branch.id):
        payment = payments.get(tx, payment_id)
        assert payment is not None, "it was just read"
        hand_up.let_go(tx, env, payment, times.wall_us)


async def _one_by_one(
    env: Env, key_id: str | None, request: SyncRequest, sha256: str, times: Times
) -> SyncAnswer | Refusal:
    """Take the facts of a request one at a time; one that cannot be stored is kept aside."""

    def begin(tx: Tx) -> Branch | SyncAnswer | Refusal:
        found = _check(tx, env, key_id, request, sha256, times)
        if isinstance(found, Branch):
            _record_outcomes(tx, env, found, request, times.wall_us)
        return found

    checked = await env.store.write(begin)
    if not isinstance(checked, Branch):
        return checked
    for fact in copies.in_order(_new(checked, request)):
        try:
            await env.store.write(lambda tx, one=fact: _take(tx, env, checked, [one], times))  # type: ignore[misc]
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 -- the reason is kept with the fact
            await _refuse(env, checked, fact, describe_error(error), times.wall_us)
    return await env.store.write(lambda tx: _finish(tx, env, checked, request, times))


async def _refuse(env: Env, branch: Branch, fact: Fact, why: str, now: int) -> None:
    def job(tx: Tx) -> None:
        told = branches.was_told(tx, branch.id, why, now - HOUR_US)
        version = fact.version(branch.epoch)
        if branches.refuse(tx, branch.id, fact, version, why=why, now=now, program=VERSION) and not told:
            _notify(tx, "fact_refused", branch, now, fact=fact.kind, id=fact.id, why=why)

    await env.store.write(job)


async def try_again(env: Env, version: str, *, limited: bool = True) -> int:
    """Store the facts that another version of the program refused or did not know, if this one can; return their number.

    Each version tries once.

    Raises:
        Unavailable: Nothing can be written. The rest is tried at the next start.
    """
    stored, now = 0, env.times().wall_us
    while shown := await env.store.read(lambda reader: branches.of_kinds(reader, tuple(TABLES), _AT_ONCE)):
        await env.store.write(partial(branches.refuse_unknown, facts=shown, now=now))
    while kept := await env.store.read(lambda reader: branches.refused_by_others(reader, version, _AT_ONCE)):
        places = {id(fact): (branch_id, epoch) for branch_id, epoch, fact in kept}
        for fact in copies.in_order([fact for _branch_id, _epoch, fact in kept]):
            stored += await _try(env, *places[id(fact)], fact, version, limited=limited)
    return stored


async def take_aside(env: Env, caller: Caller, name: str) -> dict[str, Any]:
    """Take what waits of a branch for a person.

    These are rows kept aside, also if its days then have far more payments than usual, and payments on a new SIM or number,
    which is the branch's own from now on.

    Raises:
        Refusal: BRANCH_NOT_FOUND.
    """
    require(caller, Operation.MANAGE_KEYS)
    times = env.times()
    now = times.wall_us

    def begin(tx: Tx) -> str:
        found = branches.named(tx, name)
        if found is None:
            raise Refusal(ErrorCode.BRANCH_NOT_FOUND)
        branches.refused_by_none(tx, found.id)
        journal.add(tx, "branch.accepted", now, actor=caller.name, data={"branch": name})
        return found.id

    branch_id = await env.store.write(begin)
    stored = await try_again(env, VERSION, limited=False)

    def confirm(tx: Tx) -> dict[str, Any]:
        branch, waiting = branches.get(tx, branch_id), copies.unconfirmed(tx, branch_id)
        assert branch is not None, "it was just there"
        branches.confirm_sims(tx, branch_id)
        for one, referred in copies.handed_up(tx, branch_id, [each.id for each in waiting]):
            hand_up.decide(tx, env, branch, one, times, referred=referred, vouched=True)
        counted = hand_up.sums_of((one.currency, one.amount_minor) for one in waiting)
        return {"counted": counted, "refused": branches.counts(tx, branch_id)["refused"]}

    return {"branch": name, "payment_id": None, "stored": stored, **await env.store.write(confirm)}


async def _try(env: Env, branch_id: str, epoch: int, fact: Fact, version: str, *, limited: bool) -> bool:
    times = env.times()
    number = epoch * EPOCH + fact.seq

    def job(tx: Tx) -> bool:
        branch = branches.get(tx, branch_id)
        assert branch is not None, "a refused fact belongs to a branch"
        late = copies.is_superseded(tx, branch_id, fact, number)
        if not late:
            _take(tx, env, replace(branch, epoch=epoch), [fact], times, limited=limited)
        branches.forget_refused(tx, branch_id, number)
        return not late

    try:
        return await env.store.write(job)
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 -- the reason is kept with the fact
        why = describe_error(error)
        await env.store.write(lambda tx: branches.refuse_again(tx, branch_id, number, why, version))
        return False


async def look_for_commands(env: Env, key_id: str | None, request: SyncRequest, answer: SyncAnswer) -> SyncAnswer:
    """Return the answer with the commands that came meanwhile; unchanged if none did, or a later request came."""

    def job(tx: Tx) -> Sequence[dict[str, Any]]:
        branch = None if key_id is None else branches.with_key(tx, key_id)
        if branch is None or (branch.epoch, branch.turn) != (request.epoch, request.turn):
            return ()
        return _commands(tx, branch, env.clock.now_us())

    waiting = await env.store.read(lambda reader: branches.has_open_commands(reader, key_id or ""))
    return replace(answer, commands=await env.store.write(job)) if waiting else answer
