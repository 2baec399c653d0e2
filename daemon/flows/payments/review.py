"""Approve and reject reviews."""

import json
from collections.abc import Iterable
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core import ids, json_values
from daemon.core.access.callers import Caller, CallerKind, Operation, of_role, require
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.inputs import Idempotency, Keep, Source
from daemon.core.model import Message, Payment, Review, Transaction, User, WaitingApproval
from daemon.core.payments.matching import VERIFIED
from daemon.core.payments.review_json import ReviewEvidence
from daemon.core.payments.reviews import REASONS
from daemon.core.text import ENGLISH, Text
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import confirmed_wordings, hand_up, settle, take_back
from daemon.steps.approve import ApprovedPayment, learn_from_approval, payment_to_approve
from daemon.steps.context import Context
from daemon.steps.judge import accept_reversal, apply_decision, release_waiting
from daemon.steps.process_message import process_message
from daemon.steps.rejudge import rejudge_held
from daemon.steps.settle import belongs_to_branch
from daemon.steps.store_parts import pair_again
from daemon.store import idempotency, journal
from daemon.store.branches import branches
from daemon.store.branches.branches import BranchCommand
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.messages.messages import Confirmed
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import ErrorCode, MessageState, Mode, ReviewReason
from parsers.read import PROVIDERS
from parsers.reading import Kind

DECIDE: Final = "decide_review"
"""The kind of a command to a branch."""
_OF_WORDING: Final = frozenset({ReviewReason.UNKNOWN_SENDER, ReviewReason.DOUBTFUL_MESSAGE})
"""Approving these may confirm the wording of the message."""


class Approval(Struct, frozen=True):
    """Inputs of an approval.

    Attributes:
        reference: The transaction to pay; None means the one of the review.
        notes: Notes for the journal.
        confirmed: The account password was checked.
    """

    reference: str | None = None
    notes: str | None = None
    confirmed: bool = False


async def needs_password(env: Env, caller: Caller, review_id: str, claim: Idempotency | None) -> bool:
    """Return whether approving needs the account password; not if the review was decided or the call answered before."""

    def look(reader: Reader) -> bool:
        review = reviews.get(reader, review_id, caller.mode)
        answered = claim is not None and idempotency.find(reader, claim)
        return (
            review is not None
            and review.state == reviews.OPEN
            and REASONS[review.reason].needs_password
            and not answered
        )

    return await env.store.read(look)


def _needs_confirmed(caller: Caller, reason: str, approval: Approval) -> None:
    """Reject a caller who may not decide reviews of this reason, or who did not give the password that it asks for."""
    require(caller, REASONS[reason].decider)
    if REASONS[reason].needs_password and not approval.confirmed:
        raise Refusal(ErrorCode.INVALID_PASSWORD, "The account password is needed for this.")


async def approve(
    env: Env, caller: Caller, review_id: str, approval: Approval, *, keep: Keep["Decided"] | None = None
) -> "Decided":
    """Approve a review: the payment pays the named transaction, else the one it was held for, else none.

    A payment without a transaction gets a holder and is forwarded. A held message becomes a payment now.

    Raises:
        Refusal: REVIEW_NOT_FOUND, REVIEW_ALREADY_DECIDED, INVALID_PASSWORD, NETWORK_MISMATCH, PAYMENT_REVERSED, and as
            for reconcile: TRANSACTION_NOT_FOUND, ALREADY_VERIFIED, NO_MATCHING_TRANSACTION,
            TRANSACTION_ID_ALREADY_USED.
    """
    require(caller, Operation.DECIDE_REVIEW)
    times = env.times()
    now = times.wall_us
    confirmed: list[Confirmed] = []

    def job(tx: Tx) -> Decided | Refusal:
        copy = _copy(tx, caller, review_id)
        if copy is None:
            return idempotency.kept(tx, keep, now, lambda: decide(tx))
        body = _what_to_ask(tx, caller, copy, approval)
        return _by_branch(tx, env, caller, copy, body)

    def decide(tx: Tx) -> Decided:
        review = _open(tx, env, caller, review_id)
        _needs_confirmed(caller, review.reason, approval)
        held = _held(tx, env, review, times)
        if held is not None and held.is_reversal:
            taken_back = _approve_reversal(tx, caller, approval, review, held)
            return _decided(tx, review.id, *taken_back, now=now)
        transaction = _transaction(tx, review, approval.reference)
        payment = payment_to_approve(tx, env, review, transaction, now, by=caller.name)
        reviews.close(tx, review.id, "approved", by=caller.name, now=now, notes=approval.notes)
        confirmed.extend(_confirmed_wording(tx, env, review, held, caller.name, now))
        if held is not None and (transaction is None or transaction.id != review.transaction_id):
            release_waiting(held.context, review, actor=caller.name)
        if transaction is None:
            outcome = _keep(tx, env, payment, rejected=False, now=now)
        else:
            approved = ApprovedPayment(review, transaction, payment, caller.name, now)
            learn_from_approval(tx, env, approved)
            reconciliation_id = ids.reconciliation_id(env.entropy.bytes(16))
            decision = settle.OperatorDecision(reconciliation_id, approved.by, "review", notes=approval.notes)
            outcome = settle.verify_by_operator(
                tx, env.outbox, approved.transaction, approved.payment, decision, approved.at
            )[0]
        settled = 0 if held is None else _settle_others(held, review, caller, genuine=True)
        _journal(tx, review.id, outcome, payment)
        return _decided(tx, review.id, outcome, payment, settled, now=now)

    answer = _raised(await env.store.write(job))
    for wording in confirmed:
        after: int | None = 0
        while after is not None:
            after = await env.store.write(partial(rejudge_held, env=env, row=wording, times=times, after=after))
    return answer


def _approve_reversal(
    tx: Tx, caller: Caller, approval: Approval, review: Review, held: "_Held"
) -> tuple[Transaction | None, Payment | None, int]:
    """Reverse the payment that the reversal names."""
    if approval.reference is not None:
        raise invalid([FieldError("reference", "invalid", Text("field.reversal.reference"))])
    now, notes = held.context.now, approval.notes
    reviews.close(tx, review.id, "approved", by=caller.name, now=now, notes=notes)
    payment = accept_reversal(held.context, held.message)
    settled = _settle_others(held, review, caller, genuine=True)
    paid = None if payment is None else transactions.paid_by(tx, payment.id)
    _journal(tx, review.id, paid, payment)
    return paid, payment, settled


def _raised(found: "Decided | Refusal") -> "Decided":
    if isinstance(found, Refusal):
        raise found
    return found


def _copy(tx: Tx, caller: Caller, review_id: str) -> Review | None:
    """Return the review if a branch decides it."""
    review = reviews.get(tx, review_id, caller.mode)
    return None if review is None or review.branch_id is None else review


def _what_to_ask(tx: Tx, caller: Caller, review: Review, approval: Approval) -> dict[str, str]:
    """Return the body of a command to approve; refuse what the branch could not do."""
    if review.state == reviews.OPEN:
        _needs_confirmed(caller, review.reason, approval)
    if approval.reference is not None:
        assert review.branch_id is not None, "it is a copy"
        named = needed(transactions.by_reference(tx, approval.reference, review.mode), ErrorCode.TRANSACTION_NOT_FOUND)
        if named.branch_id != review.branch_id:
            raise belongs_to_branch(
                tx,
                review.branch_id,
                "The payment is at a branch, and this is not an order of that branch. To pay an order of head office with it, "
                "reconcile the order with the payment's transaction ID.",
            )
    given = {"reference": approval.reference, "notes": approval.notes}
    return {"action": "approve"} | {name: text for name, text in given.items() if text}


def _by_branch(tx: Tx, env: Env, caller: Caller, review: Review, body: dict[str, str]) -> "Decided | Refusal":
    """Ask the branch to decide its review, and return its decision once it has; the question is committed with a refusal."""
    assert review.branch_id is not None, "it is a copy"
    now = env.clock.now_us()
    last = branches.last_command(tx, DECIDE, review.id)
    before = {} if last is None else json.loads(last.body)
    same, is_open = before == body, last is not None and last.done_at is None
    done, why = _outcome_of(last)
    if review.state != reviews.OPEN:
        if not (same and done):
            raise _decided_before(review)
        payment = None if review.payment_id is None else payments.get(tx, review.payment_id)
        paid = None if payment is None else transactions.paid_by(tx, payment.id)
        return _decided(tx, review.id, paid, payment, 0, now=now)
    how = f"refused it before ({why}), and was asked again" if why else hand_up.ASKED
    if last is not None and is_open and not same:
        if last.sent_at is None:
            branches.change_command(tx, last.id, body, caller.name, now)
        else:
            how = f"was asked before to {before['action']} this"
    elif not is_open and not (same and done):  # else its answer, or its row, follows
        branches.ask(tx, env.new_id(), review.branch_id, DECIDE, review.id, body, by=caller.name, now=now)
    return hand_up.branch_asked(tx, review.branch_id, how)


def _outcome_of(command: BranchCommand | None) -> tuple[bool, str]:
    """Return whether the branch did what it was asked, and why not."""
    if command is None or command.outcome is None:
        return False, ""
    outcome = json.loads(command.outcome)
    done = outcome.get("done") is True
    return done, "" if done else str(outcome.get("message") or outcome.get("why"))[:200]


async def approve_later(env: Env, caller: Caller, review_id: str, approval: Approval, user: User, wait_us: int) -> None:
    """Let an approval of a user of the dashboard wait, so that it can be undone; nothing changes until it is carried out.

    Raises:
        Refusal: As `approve`, as far as it is known now; REVIEW_ALREADY_DECIDED if an approval of it waits already.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    require(caller, Operation.DECIDE_REVIEW)
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        review = _open(tx, env, caller, review_id)
        settle.refuse_copy(tx, review.branch_id)
        _needs_confirmed(caller, review.reason, approval)
        _transaction(tx, review, approval.reference)
        known = reviews.waiting(tx, review_id)
        if known is not None:
            raise Refusal(
                ErrorCode.REVIEW_ALREADY_DECIDED,
                review_state="approving",
                decided_at=None,
                decided_by=f"user:{known.user_name}",
            )
        waiting = WaitingApproval(
            review_id, approval.reference, user.name, user.role, approval.confirmed, now + wait_us
        )
        reviews.put_waiting(tx, waiting)

    await env.store.write(job)


async def undo_waiting(env: Env, caller: Caller, review_id: str) -> bool:
    """Undo an approval that waits; return False if none does (any more)."""
    require(caller, Operation.DECIDE_REVIEW)
    return await env.store.write(lambda tx: reviews.drop_waiting(tx, review_id))


async def carry_out_waiting(env: Env) -> float | None:
    """Carry out the approvals that are due; return the seconds until the next one, None if none waits.

    One that is refused now, because its transaction was paid meanwhile, is dropped with a notice: its review is as it was.
    """
    while True:
        found = await env.store.read(reviews.next_waiting)
        now = env.clock.now_us()
        if found is None or found.due_at > now:
            return None if found is None else (found.due_at - now) / 1_000_000
        caller = of_role(found.user_name, found.role)
        try:
            approval = Approval(found.reference, None, found.confirmed)
            await approve(env, caller, found.review_id, approval)
        except Refusal as refusal:
            key = f"approval.refused.{refusal.code.lower()}"
            why = Text("approval.refused", why=Text(key if key in ENGLISH else "approval.refused.other"))
            await env.store.write(partial(reviews.drop_approval, approval=found, why=why, now=now))


async def reject(
    env: Env,
    caller: Caller,
    review_id: str,
    notes: str,
    *,
    confirmed: bool = False,
    keep: Keep["Decided"] | None = None,
) -> "Decided":
    """Reject a payment: keep it without a transaction and do not forward it; a held message becomes no payment.

    The transaction that it was held for waits for its payment again. Reconcile can still use the payment. `confirmed` says
    that the account password was checked: a decision that rejects further messages needs it.

    Raises:
        Refusal: REVIEW_NOT_FOUND, REVIEW_ALREADY_DECIDED, ROLE_REQUIRED, SESSION_REQUIRED, INVALID_PASSWORD.
    """
    require(caller, Operation.DECIDE_REVIEW)
    times = env.times()
    now = times.wall_us

    def job(tx: Tx) -> Decided | Refusal:
        copy = _copy(tx, caller, review_id)
        if copy is None:
            return idempotency.kept(tx, keep, now, lambda: decide(tx))
        require(caller, REASONS[copy.reason].decider)
        return _by_branch(tx, env, caller, copy, {"action": "reject", "notes": notes})

    def decide(tx: Tx) -> Decided:
        review = _open(tx, env, caller, review_id)
        require(caller, REASONS[review.reason].decider)
        reviews.close(tx, review.id, "rejected", by=caller.name, now=now, notes=notes)
        payment = None if review.payment_id is None else payments.get(tx, review.payment_id)
        outcome, settled = None, 0
        if payment is None:
            messages.mark_rejected(tx, review.message_id)
            held_message = _held(tx, env, review, times)
            assert held_message is not None, "a review without a payment is about its message"
            release_waiting(held_message.context, review, actor=caller.name)
            settled = _settle_others(held_message, review, caller, genuine=False)
            _pair_again(held_message, caller)
            if settled > 0 and not confirmed:
                require(caller, Operation.DECIDE_FORGERY)
                raise Refusal(
                    ErrorCode.INVALID_PASSWORD,
                    f"This also rejects {settled} further message{'' if settled == 1 else 's'}, so the account password is "
                    "needed.",
                    settled=settled,
                )
        else:
            held = transactions.holding(tx, payment.id)
            if held is not None:
                settle.release(tx, held, payment.message_id, payment.id, actor=caller.name, now=now)
            outcome = _keep(tx, env, payment, rejected=True, now=now)
        _journal(tx, review.id, outcome, payment)
        return _decided(tx, review.id, outcome, payment, settled, now=now)

    return _raised(await env.store.write(job))


async def undo(env: Env, caller: Caller, review_id: str, *, keep: Keep["Decided"] | None = None) -> "Decided":
    """Take back the decision on a review, at most 72 hours old (`daemon.steps.take_back`).

    Raises:
        Refusal: REVIEW_NOT_FOUND, DECISION_NOT_UNDOABLE, BELONGS_TO_BRANCH, ROLE_REQUIRED, SESSION_REQUIRED.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    require(caller, Operation.DECIDE_REVIEW)
    times = env.times()
    now = times.wall_us

    def decide(tx: Tx) -> Decided:
        env.refuse_if_damaged()
        review = needed(reviews.get(tx, review_id, caller.mode), ErrorCode.REVIEW_NOT_FOUND)
        settle.refuse_copy(tx, review.branch_id)
        require(caller, REASONS[review.reason].decider)
        if REASONS[review.reason].needs_password and caller.kind is CallerKind.KEY:
            raise Refusal(ErrorCode.SESSION_REQUIRED)
        take_back.check(review, now)
        if review.state == "approved":
            after, free = take_back.take_back_approval(tx, env, review, times, actor=caller.name)
            return _decided(tx, review.id, after, free, 0, now=now)
        paid, payment, settled = take_back.take_back_rejection(tx, env, review, times, actor=caller.name)
        return _decided(tx, review.id, paid, payment, settled, now=now)

    return await env.store.write(lambda tx: idempotency.kept(tx, keep, now, lambda: decide(tx)))


class _Held(Struct, frozen=True):
    """A held message that has not become a payment, and the context of its SIM."""

    message: Message
    context: Context

    @property
    def is_reversal(self) -> bool:
        """Whether it is a reversal: approving it creates no payment but takes one back."""
        return self.message.kind == Kind.REVERSAL


def _held(tx: Tx, env: Env, review: Review, times: Times) -> _Held | None:
    """Return the held message of a review, or None if the review is about a payment."""
    if review.payment_id is not None:
        return None
    message = messages.get(tx, review.message_id)
    assert message is not None, "a review belongs to a message"
    test = message.mode is Mode.TEST
    source = Source(message.sim_key, message.device_id, message.slot_index, test=test)
    return _Held(message, Context.open(env, tx, source, times, stored=True))


def _settle_others(held: _Held, review: Review, caller: Caller, *, genuine: bool) -> int:
    """Apply the decision to the row of a message; return how many other messages it settled."""
    return apply_decision(held.context, review.message_id, genuine=genuine, actor=caller.name)


def _pair_again(held: _Held, caller: Caller) -> None:
    """Judge what the parts of a rejected message form with parts that lay beside it."""
    tx = held.context.tx
    for whole in pair_again(held.context, held.message):
        beside = messages.get(tx, whole.message_id)
        asked = reviews.open_for_message(tx, whole.message_id)
        if beside is None or (beside.state is not MessageState.INCOMPLETE and asked is None):
            continue
        if asked is not None:
            reviews.close(tx, asked.id, "superseded", by=caller.name, now=held.context.now)
        process_message(held.context, replace(whole, ambiguous=False))
        messages.keep_received_at(tx, beside.id, beside.received_at)


def _confirmed_wording(tx: Tx, env: Env, review: Review, held: _Held | None, by: str, now: int) -> Iterable[Confirmed]:
    """Confirm the unverified wording of an approved message, if it has one; its approval needed the password.

    A first sender is not confirmed: whoever sent the approved message would be the network's sender from then on.
    """
    provider = None if held is None else PROVIDERS.get(held.message.provider or "")
    sender_known = provider is not None and bool(provider.senders)
    if held is not None and sender_known and review.reason in _OF_WORDING:
        confirmed = confirmed_wordings.confirm(tx, env, held.message, by=by, now=now)
        if isinstance(confirmed, Confirmed):
            yield confirmed


def _open(tx: Tx, env: Env, caller: Caller, review_id: str) -> Review:
    env.refuse_if_damaged()
    review = needed(reviews.get(tx, review_id, caller.mode), ErrorCode.REVIEW_NOT_FOUND)
    if review.state != reviews.OPEN:
        raise _decided_before(review)
    return review


def _decided_before(review: Review) -> Refusal:
    return Refusal(
        ErrorCode.REVIEW_ALREADY_DECIDED,
        review_state=review.state,
        decided_at=json_values.timestamp_or_none(review.decided_at),
        decided_by=review.decided_by,
    )


def _transaction(tx: Tx, review: Review, reference: str | None) -> Transaction | None:
    """Return the transaction to pay: the named one, else the unpaid one of the review, else None."""
    if reference is not None:
        return settle.payable_transaction(tx, reference, review.mode)
    if review.transaction_id is None:
        return None
    about = transactions.get(tx, review.transaction_id)
    return None if about is None or about.status in VERIFIED else about


def _keep(tx: Tx, env: Env, payment: Payment, *, rejected: bool, now: int) -> Transaction:
    """Keep a payment without a transaction; it is forwarded unless it was rejected."""
    if payment.historical and not rejected:
        payment = payments.set_historical(tx, payment, historical=False)
    payments.set_standing(tx, payment.id, "open")
    messages.mark_paid(tx, payment.message_id)
    return settle.add_holder(
        tx, env.outbox, payment, settle.Holding(rejected=rejected, matched_by="none" if rejected else "review"), now
    )


def _journal(tx: Tx, review_id: str, outcome: Transaction | None, payment: Payment | None) -> None:
    """Journal the decision, for the transaction that was paid or the one that the payment was rejected for."""
    decided = reviews.get(tx, review_id, None)
    assert decided is not None
    assert decided.decided_at is not None
    about = decided.transaction_id
    if outcome is not None and (about is None or decided.state == "approved"):
        about = outcome.id
    data = {"review_id": decided.id, "reason": decided.reason}
    journal.add(
        tx,
        f"review.{decided.state}",
        decided.decided_at,
        payment,
        actor=decided.decided_by or "",
        transaction_id=about,
        message_id=decided.message_id,
        mode=decided.mode,
        data=data,
    )


class Decided(Struct, frozen=True):
    """A decision.

    Attributes:
        review: The review after it, with its evidence.
        transaction: The transaction or holder that the payment pays now, and the payment.
        settled: How many other messages it settled.
        at: Its time, microseconds.
    """

    review: ReviewEvidence
    transaction: Transaction | None
    payment: Payment | None
    settled: int
    at: int


def _decided(
    tx: Tx, review_id: str, transaction: Transaction | None, payment: Payment | None, settled: int, *, now: int
) -> Decided:
    """Return the review and the transaction after the decision."""
    seen = reviews.evidence_of(tx, review_id, None, now)
    assert seen is not None, "it was read in this transaction"
    return Decided(seen, transaction, payment, settled, now)
