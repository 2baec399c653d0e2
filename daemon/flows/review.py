"""A person decides about a doubtful payment (decisions.md section 4, Reviews)."""

from dataclasses import dataclass

from daemon.core import ids, review_shapes, shapes, transaction_shapes
from daemon.core.access import Caller
from daemon.core.approval import payment_row
from daemon.core.errors import Refusal
from daemon.core.limits import IDEMPOTENCY_US
from daemon.core.matching import VERIFIED
from daemon.core.model import Payment, Review, Transaction
from daemon.core.requests import Answer, CallMeta
from daemon.core.reviews import NEEDS_PASSWORD
from daemon.env import Env
from daemon.store import (
    events,
    evidence,
    messages,
    payment_methods,
    payments,
    reviews,
    settle,
    transactions,
)
from daemon.store import idempotency as answers
from daemon.store.engine import Reader, Tx
from daemon.wire import ErrorCode
from parsers.money import render


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
    now = env.clock.now_us()

    def look(reader: Reader) -> bool:
        review = reviews.get(reader, review_id, caller.mode)
        claim = meta.idempotency
        answered = claim is not None and answers.find(reader, claim, now - IDEMPOTENCY_US)
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
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return answers.once(tx, meta.idempotency, now, lambda: decide(tx))

    def decide(tx: Tx) -> Answer:
        review = _open(tx, caller, review_id)
        if review.reason in NEEDS_PASSWORD and not said.confirmed:
            raise Refusal(ErrorCode.INVALID_PASSWORD, "The account password is needed for this.")
        order = _order(tx, review, said.reference)
        payment = _payment(tx, env, review, order, now)
        reviews.close(tx, review.id, "approved", by=caller.name, now=now, notes=said.notes)
        if order is None:
            outcome = _keep(tx, env, payment, rejected=False, now=now)
        else:
            reconciliation_id = ids.reconciliation_id(env.entropy.bytes(16))
            word = settle.Word(reconciliation_id, caller.name, "review", notes=said.notes)
            outcome, _verdict = settle.vouch(tx, env.outbox, order, payment, word, now)
        _tell(tx, review.id, outcome, payment)
        return _answer(tx, review, outcome, payment, meta, now)

    return await env.store.write(job)


async def reject(env: Env, caller: Caller, review_id: str, notes: str, *, meta: CallMeta) -> Answer:
    """Let the payment pay nothing: kept without an order and not forwarded; a message that made none stays a message.

    The order that it was held for waits for its money again. Reconcile can still use the payment.

    Raises:
        Refusal: REVIEW_NOT_FOUND, REVIEW_ALREADY_DECIDED.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> Answer:
        return answers.once(tx, meta.idempotency, now, lambda: decide(tx))

    def decide(tx: Tx) -> Answer:
        review = _open(tx, caller, review_id)
        reviews.close(tx, review.id, "rejected", by=caller.name, now=now, notes=notes)
        payment = None if review.payment_id is None else payments.get(tx, review.payment_id)
        outcome = None
        if payment is None:
            messages.dismiss(tx, review.message_id)
        else:
            held = transactions.holding(tx, payment.id)
            if held is not None:
                settle.release(tx, held, payment.message_id, payment.id, actor=caller.name, now=now)
            outcome = _keep(tx, env, payment, rejected=True, now=now)
        _tell(tx, review.id, outcome, payment)
        return _answer(tx, review, outcome, payment, meta, now)

    return await env.store.write(job)


def _open(tx: Tx, caller: Caller, review_id: str) -> Review:
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


def _payment(tx: Tx, env: Env, review: Review, order: Transaction | None, now: int) -> Payment:
    """Return the payment that is approved; a message that had made none makes it now."""
    payment = None
    if review.payment_id is not None:
        payment = payments.get(tx, review.payment_id)
        assert payment is not None, "a review's payment is a payment"
    else:
        payment = _claimed(tx, env, review, order, now)
    if payment.reversed_at is not None:
        raise Refusal(ErrorCode.PAYMENT_REVERSED, reversed_at=shapes.timestamp(payment.reversed_at))
    if payment.standing == "used":
        raise _used(tx, payment, order)
    if order is not None and order.currency != payment.currency:
        raise Refusal(
            ErrorCode.NO_MATCHING_TRANSACTION,
            f"The order is in {order.currency} and the payment in {payment.currency}.",
        )
    return payment


def _claimed(tx: Tx, env: Env, review: Review, order: Transaction | None, now: int) -> Payment:
    """Make the payment that a message claims to be; the UNIQUE transaction ID has the last word."""
    message = messages.get(tx, review.message_id)
    assert message is not None, "a review belongs to a message"
    provider = message.provider
    if provider is None and message.payment_method_id is not None:
        line = payment_methods.get(tx, message.payment_method_id)
        provider = None if line is None else line.provider
    if provider is None:
        raise Refusal(
            ErrorCode.NETWORK_MISMATCH,
            "The network of the SIM that got this message is not known, so the money has no wallet.",
        )
    row = payment_row(message, payment_id=env.new_id(), provider=provider)
    payment = payments.add(tx, row)
    if payment is None:
        others = payments.with_telco_id(tx, message.mode, row["telco_transaction_id"])
        raise _used(tx, next(one for one in others if one.provider == provider), order)
    payments.touch_line(tx, message.payment_method_id, message.sim_key, now)
    messages.became(tx, message.id, payment.id)
    reviews.set_payment(tx, review.id, payment.id)
    return payment


def _used(tx: Tx, payment: Payment, order: Transaction | None) -> Refusal:
    """Make the refusal of a transaction ID that another payment has."""
    user = transactions.paid_by(tx, payment.id)
    expected = None
    if order is not None and order.expected_minor is not None:
        expected = render(order.expected_minor, order.currency)
    return Refusal(
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
        f"A payment of {payment.currency} {render(payment.amount_minor, payment.currency)} already has the "
        f"transaction ID {payment.telco_id_as_read}; an ID is booked once.",
        expected_amount=expected,
        used_by_reference=None if user is None else user.reference,
        payment_id=payment.id,
    )


def _keep(tx: Tx, env: Env, payment: Payment, *, rejected: bool, now: int) -> Transaction:
    """Keep a payment without an order; it is forwarded unless it was rejected."""
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
