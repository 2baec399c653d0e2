"""A person decides about a doubtful payment (decisions.md section 4, Reviews)."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from daemon.core import ids, review_shapes, shapes, transaction_shapes
from daemon.core.access import Caller
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.matching import VERIFIED
from daemon.core.model import Message, Payment, Review, Transaction
from daemon.core.requests import Answer, CallMeta, Source
from daemon.core.reviews import NEEDS_PASSWORD
from daemon.env import Env
from daemon.intake import claimed, vouched
from daemon.intake.again import judge_again
from daemon.intake.desk import Desk
from daemon.intake.follow import let_go, take_reversal
from daemon.intake.person import Yes, learn
from daemon.intake.weigh import take_word
from daemon.store import (
    events,
    evidence,
    messages,
    payments,
    reviews,
    settle,
    transactions,
)
from daemon.store import idempotency as answers
from daemon.store.confirmed import Confirmed
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode, Mode, ReviewReason
from parsers.reading import Kind


@dataclass(frozen=True, slots=True)
class Approval:
    """What a person says who approves.

    Attributes:
        reference: The order that the payment is for; None leaves it to the review.
        notes: For the audit.
        confirmed: The account password was given and is right.
    """

    reference: str | None = None
    notes: str | None = None
    confirmed: bool = False


async def needs_password(env: Env, caller: Caller, review_id: str, meta: CallMeta) -> bool:
    """Say whether approving this asks for the account password; not when it was decided or answered before."""

    def look(reader: Reader) -> bool:
        review = reviews.get(reader, review_id, caller.mode)
        claim = meta.idempotency
        answered = claim is not None and answers.find(reader, claim)
        return (
            review is not None
            and review.state == reviews.OPEN
            and review.reason in NEEDS_PASSWORD
            and not answered
        )

    return await env.store.read(look)


async def approve(
    env: Env, caller: Caller, review_id: str, said: Approval, *, meta: CallMeta
) -> Answer:
    """Let the payment pay: the order that is named, else the one it was held for, else none.

    A payment without an order gets a holder and is forwarded. A message that had made no payment makes one now.

    Raises:
        Refusal: REVIEW_NOT_FOUND, REVIEW_ALREADY_DECIDED, INVALID_PASSWORD, NETWORK_MISMATCH, PAYMENT_REVERSED, and
            what reconcile refuses: TRANSACTION_NOT_FOUND, ALREADY_VERIFIED, NO_MATCHING_TRANSACTION,
            TRANSACTION_ID_ALREADY_USED.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    now = env.clock.now_us()
    proven: list[Confirmed] = []

    def job(tx: Tx) -> Answer:
        return answers.once(tx, meta.idempotency, now, lambda: decide(tx))

    def decide(tx: Tx) -> Answer:
        review = _open(tx, env, caller, review_id)
        if review.reason in NEEDS_PASSWORD and not said.confirmed:
            raise Refusal(ErrorCode.INVALID_PASSWORD, "The account password is needed for this.")
        held = _held(tx, env, review, now)
        if held is not None and held.is_reversal:
            return take_back(tx, review, held)
        order = _order(tx, review, said.reference)
        payment = claimed.payment_of(tx, env, review, order, now)
        reviews.close(tx, review.id, "approved", by=caller.name, now=now, notes=said.notes)
        proven.extend(_proven_wording(tx, env, review, held, caller.name, now))
        if held is not None and (order is None or order.id != review.transaction_id):
            let_go(held.desk, review, actor=caller.name)
        if order is None:
            outcome = _keep(tx, env, payment, rejected=False, now=now)
        else:
            reconciliation_id = ids.reconciliation_id(env.entropy.bytes(16))
            word = settle.Word(reconciliation_id, caller.name, "review", notes=said.notes)
            learn(tx, env, Yes(review, order, payment, caller.name, now))
            outcome, _verdict = settle.vouch(tx, env.outbox, order, payment, word, now)
        if held is not None:
            take_word(held.desk, review.message_id, genuine=True)
        _tell(tx, review.id, outcome, payment)
        return _answer(tx, review, outcome, payment, meta, now)

    def take_back(tx: Tx, review: Review, held: _Held) -> Answer:
        """Believe a reversal: the payment that it names is reversed."""
        if said.reference is not None:
            raise invalid(
                [FieldError("reference", "invalid", "a reversal belongs to the payment it names")]
            )
        reviews.close(tx, review.id, "approved", by=caller.name, now=now, notes=said.notes)
        payment = take_reversal(held.desk, held.message)
        take_word(held.desk, review.message_id, genuine=True)
        outcome = None if payment is None else transactions.paid_by(tx, payment.id)
        _tell(tx, review.id, outcome, payment)
        return _answer(tx, review, outcome, payment, meta, now)

    answer = await env.store.write(job)
    await _judge_again(env, proven, now)
    return answer


async def _judge_again(env: Env, proven: Iterable[Confirmed], now: int) -> None:
    """Judge what is held for the same wordings, now that they are proven."""
    for wording in proven:
        after: int | None = 0
        while after is not None:
            after = await env.store.write(
                partial(judge_again, env=env, row=wording, now=now, after=after)
            )


async def reject(env: Env, caller: Caller, review_id: str, notes: str, *, meta: CallMeta) -> Answer:
    """Let the payment pay nothing: kept without an order and not forwarded; a message that made none stays a message.

    The order that it was held for waits for its money again. Reconcile can still use the payment.

    Raises:
        Refusal: REVIEW_NOT_FOUND, REVIEW_ALREADY_DECIDED.
        Unavailable: Nothing could be written, or the database is damaged.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return answers.once(tx, meta.idempotency, now, lambda: decide(tx))

    def decide(tx: Tx) -> Answer:
        review = _open(tx, env, caller, review_id)
        reviews.close(tx, review.id, "rejected", by=caller.name, now=now, notes=notes)
        payment = None if review.payment_id is None else payments.get(tx, review.payment_id)
        outcome = None
        if payment is None:
            messages.dismiss(tx, review.message_id)
            held_message = _held(tx, env, review, now)
            assert held_message is not None, "a review without a payment is about its message"
            let_go(held_message.desk, review, actor=caller.name)
            take_word(held_message.desk, review.message_id, genuine=False)
        else:
            held = transactions.holding(tx, payment.id)
            if held is not None:
                settle.release(tx, held, payment.message_id, payment.id, actor=caller.name, now=now)
            outcome = _keep(tx, env, payment, rejected=True, now=now)
        _tell(tx, review.id, outcome, payment)
        return _answer(tx, review, outcome, payment, meta, now)

    return await env.store.write(job)


@dataclass(frozen=True, slots=True)
class _Held:
    """A message that was put before a person before it made a payment, and the desk of its SIM."""

    message: Message
    desk: Desk

    @property
    def is_reversal(self) -> bool:
        """Approving it makes no money of it: it takes some back."""
        return self.message.kind == Kind.REVERSAL


def _held(tx: Tx, env: Env, review: Review, now: int) -> _Held | None:
    """Return what a review is about that has made no payment, else None."""
    if review.payment_id is not None:
        return None
    message = messages.get(tx, review.message_id)
    assert message is not None, "a review belongs to a message"
    test = message.mode is Mode.TEST
    source = Source(message.sim_key, message.device_id, message.slot_index, test=test)
    return _Held(message, Desk.lay(env, tx, source, now))


def _proven_wording(
    tx: Tx, env: Env, review: Review, held: _Held | None, by: str, now: int
) -> Iterable[Confirmed]:
    """Let an approved message be the proof of its wording, if it has one to prove: the password was given for it."""
    if held is not None and review.reason == ReviewReason.UNTRUSTED_SENDER:
        proven = vouched.confirm(tx, env, held.message, by=by, now=now)
        if isinstance(proven, Confirmed):
            yield proven


def _open(tx: Tx, env: Env, caller: Caller, review_id: str) -> Review:
    env.self_check.refuse_if_damaged()
    review = reviews.get(tx, review_id, caller.mode)
    if review is None:
        raise Refusal(ErrorCode.REVIEW_NOT_FOUND)
    if review.state != reviews.OPEN:
        raise Refusal(
            ErrorCode.REVIEW_ALREADY_DECIDED,
            review_state=review.state,
            decided_at=shapes.timestamp_or_none(review.decided_at),
            decided_by=review.decided_by,
        )
    return review


def _order(tx: Tx, review: Review, reference: str | None) -> Transaction | None:
    """Return the request that is to be paid: the one that is named, else the one it is about if that is unpaid."""
    if reference is not None:
        return settle.request_to_pay(tx, reference, review.mode)
    if review.transaction_id is None:
        return None
    about = transactions.get(tx, review.transaction_id)
    return None if about is None or about.status in VERIFIED else about


def _keep(tx: Tx, env: Env, payment: Payment, *, rejected: bool, now: int) -> Transaction:
    """Keep a payment without an order; it is forwarded unless it was rejected."""
    if payment.historical and not rejected:
        payment = payments.set_history(tx, payment, historical=False)
    payments.set_standing(tx, payment.id, "open")
    messages.paid(tx, payment.message_id)
    return settle.give_holder(
        tx,
        env.outbox,
        payment,
        rejected=rejected,
        matched_by="none" if rejected else "review",
        now=now,
    )


def _tell(tx: Tx, review_id: str, outcome: Transaction | None, payment: Payment | None) -> None:
    """Write the decision into the journal: of the order that was paid, or of the one it was rejected for."""
    decided = reviews.get(tx, review_id, None)
    assert decided is not None
    assert decided.decided_at is not None
    about = decided.transaction_id
    if outcome is not None and (about is None or decided.state == "approved"):
        about = outcome.id
    data = {"review_id": decided.id, "reason": decided.reason}
    if decided.notes:
        data["notes"] = decided.notes
    events.add(
        tx,
        type=f"review.{decided.state}",
        mode=decided.mode,
        at=decided.decided_at,
        actor=decided.decided_by or "",
        transaction_id=about,
        payment_id=None if payment is None else payment.id,
        message_id=decided.message_id,
        data=data,
    )


def _answer(
    tx: Tx,
    review: Review,
    outcome: Transaction | None,
    payment: Payment | None,
    meta: CallMeta,
    now: int,
) -> Answer:
    """Answer with the review as it is now, and what has become of the money."""
    seen = evidence.of_review(tx, review.id, None, now)
    assert seen is not None, "it was read in this transaction"
    transaction = None if outcome is None else transaction_shapes.single(outcome, payment, now)
    body = shapes.success(review_shapes.review(seen, now), meta.as_json(), transaction=transaction)
    return Answer(200, body)
