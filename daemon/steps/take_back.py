"""Take back the decision of a person on a review (docs/shop/concepts.md).

An approval: the transaction returns to where it was, the payment is free, the review is open again, and every target that
was sent the verification gets `transaction.reversed`. A rejection: the message or payment is judged again as if it came
now, by all rules. Each function runs inside the caller's write transaction and has checked that it may.
"""

import json
from typing import Final

from msgspec.structs import asdict

from daemon.core.errors import Refusal
from daemon.core.limits import CODE_REST_US, HOUR_US, LATE_WINDOW_US
from daemon.core.model import Message, Payment, Review, Transaction
from daemon.core.payments.matching import MOVING
from daemon.core.payments.reviews import OF_MESSAGE
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import settle
from daemon.steps.context import Context
from daemon.steps.pay import settle_released
from daemon.steps.process_message import process_message, reload_joined
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.messages import balances, messages
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import ErrorCode, ReviewReason, TransactionStatus

DECISION_TAKEN_BACK_US: Final = 72 * HOUR_US
"""A person's decision on a review can be taken back for so long."""
_WHY_NOT: Final = {
    "open": "This review is open: there is no decision to take back.",
    "taken_back": "Nobody's decision stands here: the review closed by itself, or the decision was taken back before.",
    "too_late": "The decision is older than 72 hours, and later it is not taken back.",
    "reconciled": "The payment was reconciled since, and a reconcile is not taken back.",
    "used_elsewhere": "The payment has been used otherwise since this decision.",
    "settled": "A settlement rests on this decision. Take the settlement back first: momo tx settle CODE --undo.",
    "reversed": "The network took this payment back after the decision.",
    "reversal": "The approved message took a payment back, which is not undone. If the money is in the wallet after all, approve "
    "or reconcile another message of it, or settle the transaction by hand.",
}


def refuse(reason: str, used_by: Transaction | None = None) -> Refusal:
    """Return the refusal to take a decision back."""
    return Refusal(
        ErrorCode.DECISION_NOT_UNDOABLE,
        _WHY_NOT[reason],
        reason=reason,
        used_by_reference=None if used_by is None else used_by.reference,
    )


def check(review: Review, now: int) -> None:
    """Refuse a review without a decision that can be taken back now."""
    if review.state == reviews.OPEN:
        raise refuse("open")
    if review.state == "used_elsewhere":
        raise refuse("reconciled")
    if review.state not in {"approved", "rejected"} or review.decided_by == "momo":
        raise refuse("taken_back")
    assert review.decided_at is not None, "it was decided"
    if now - review.decided_at > DECISION_TAKEN_BACK_US:
        raise refuse("too_late")


def take_back_approval(tx: Tx, env: Env, review: Review, times: Times, *, actor: str) -> tuple[Transaction, Payment]:
    """Undo an approval; return the transaction as it is then, or the retired holder, and the payment."""
    now = times.wall_us
    payment = None if review.payment_id is None else payments.get(tx, review.payment_id)
    if payment is None:
        raise refuse("reversal")
    if payment.reversed_at is not None:
        raise refuse("reversed")
    before = _paid_by(tx, payment)
    near = review.reason == ReviewReason.NEAR_MISS
    if before is None:
        raise refuse("used_elsewhere")
    by_this = before.completed_at == review.decided_at
    if not by_this and not (before.origin == "open" and near):
        reason = "used_elsewhere" if before.origin == "open" else "reconciled"
        raise refuse(reason, before)
    after = before
    if before.origin == "request":
        after = _free_request(tx, before, payment, now)
        if before.supersedes is not None:
            transactions.revive_holder(tx, before.supersedes, payment.id)
    elif by_this:
        after = transactions.retire_holder(tx, before.id)
    _free_payment(tx, review, payment)
    hold_again(tx, review)
    after = transactions.get(tx, after.id) or after
    if by_this:
        env.outbox.take_back(tx, after, payment, now, before=before)
        if payment.branch_id is not None:
            settle.tell_branch(tx, env.outbox, payment, None, now)
    _unlearn(tx, review, actor, now)
    _restore_displaced(tx, env, review, times)
    _record(tx, review, actor, now, transaction_id=before.id, payment_id=payment.id)
    return after, payment


def displace(tx: Tx, env: Env, first: Payment, review: Review, *, actor: str, now: int) -> bool:
    """Withdraw the payment that has the ID of a conflict's message, because a person decided for the message.

    What the payment had paid is as it was before, and who was told is told. Return False if another shop decides about it, or a
    settlement rests on it.
    """
    before = transactions.paid_by(tx, first.id)
    settling = before is not None and before.in_settlement
    if not first.decided_here or first.standing == "handed" or settling:
        return False
    if before is not None and before.origin == "request":
        after = _free_request(tx, before, first, now)
        env.outbox.take_back(tx, after, first, now, before=before)
    elif before is not None:
        env.outbox.take_back(tx, transactions.retire_holder(tx, before.id), first, now, before=before)
    held = transactions.holding(tx, first.id)
    if held is not None:
        settle.release(tx, held, first.message_id, first.id, actor=actor, now=now)
    for other in reviews.open_for_payment(tx, first.id):
        reviews.close(tx, other.id, "superseded", by=actor, now=now)
    payments.withdraw(tx, first.id)
    journal.add(tx, "payment.withdrawn", now, first, before, actor=actor, data={"review_id": review.id})
    return True


def _restore_displaced(tx: Tx, env: Env, review: Review, times: Times) -> None:
    """Let the payment count again that an approval of another message with its ID had withdrawn."""
    if review.reason != ReviewReason.ID_CONFLICT:
        return
    first = payments.get(tx, json.loads(review.details).get("payment_id") or "")
    if first is None or first.standing != "withdrawn":
        return
    again = payments.add(tx, {**asdict(first), "standing": "open"}, again=True)
    if again is not None:
        settle_released(env, tx, again, times)


def _free_request(tx: Tx, before: Transaction, payment: Payment, now: int) -> Transaction:
    """Take the payment from a request; a payment for which it was held before holds it again."""
    after = transactions.unverify(tx, before.id)
    free_at = (after.expires_at or now) + LATE_WINDOW_US + CODE_REST_US
    transactions.reserve_code_until(tx, after, free_at)
    if after.status is not TransactionStatus.CANCELLED:
        transactions.index_names(tx, after)
    for rival in reviews.open_for_transaction(tx, after.id):
        if rival.reason != ReviewReason.EXTRA_PAYMENT or rival.payment_id in {None, payment.id}:
            continue
        opened = journal.reason_when_opened(tx, after.id, rival.payment_id or "")
        if opened in MOVING:
            reviews.set_reason(tx, rival.id, ReviewReason(opened))
            transactions.hold(tx, after.id, rival.payment_id)
    return after


def _free_payment(tx: Tx, review: Review, payment: Payment) -> None:
    """Let a payment wait for its review again; one that the approval made is withdrawn, and its message is held."""
    made = review.reason in OF_MESSAGE
    holder = transactions.paid_by(tx, payment.id)
    if made and payment.message_id == review.message_id:
        if holder is not None:
            transactions.retire_holder(tx, holder.id)
        payments.withdraw(tx, payment.id)
    else:
        payments.set_standing(tx, payment.id, "review" if holder is None else "open")
    if review.reason != ReviewReason.NEAR_MISS:
        messages.mark_held(tx, review.message_id, None if made else payment.id)
    reviews.reopen(tx, review.id, None if made else payment.id)


def hold_again(tx: Tx, review: Review) -> None:
    """Let the transaction of a review wait for it again, if it did before the decision."""
    about = None if review.transaction_id is None else transactions.get(tx, review.transaction_id)
    if about is None or about.status is not TransactionStatus.PENDING:
        return
    is_over = about.expires_at is not None and review.created_at >= about.expires_at
    if review.reason in MOVING and not is_over:
        transactions.hold(tx, about.id, review.payment_id)
    elif review.reason == ReviewReason.BALANCE_BREAK:
        transactions.hold(tx, about.id, None)


def _unlearn(tx: Tx, review: Review, actor: str, now: int) -> None:
    """Forget what the approval taught: a payer's name for a number, and a wording."""
    for payer_id in payments.approved_by_review(tx, review.id):
        payments.revoke_payer(tx, payer_id, by=actor, now=now)
    for row in messages.all_confirmed(tx):
        if row.message_id == review.message_id and row.confirmed_at == review.decided_at:
            messages.remove_wording(tx, row.network, row.wording)


def take_back_rejection(
    tx: Tx, env: Env, review: Review, times: Times, *, actor: str
) -> tuple[Transaction | None, Payment | None, int]:
    """Undo a rejection.

    Return the transaction or holder that the payment pays now, the payment, and how many messages rejected with it were
    judged again too.
    """
    now = times.wall_us
    if review.payment_id is not None:
        payment = payments.get(tx, review.payment_id)
        assert payment is not None, "a review's payment is a payment"
        _match_again(tx, env, review, payment, times)
        _record(tx, review, actor, now, payment_id=payment.id)
        reviews.supersede(tx, review.id, by=actor, now=now)
        return transactions.paid_by(tx, payment.id), payments.get(tx, payment.id), 0
    together = reviews.rejected_with(tx, review)
    for one in together:
        message = messages.get(tx, one.message_id)
        assert message is not None, "a review belongs to a message"
        _record(tx, one, actor, now)
        _judge_again(tx, env, one, message, times, actor)
    made = messages.payment_of(tx, review.message_id)
    payment = None if made is None else payments.get(tx, made)
    paid = None if payment is None else transactions.paid_by(tx, payment.id)
    return paid, payment, len(together) - 1


def _paid_by(tx: Tx, payment: Payment) -> Transaction | None:
    """Return the transaction or holder of a payment; refuse one on which a settlement rests."""
    found = transactions.paid_by(tx, payment.id)
    if found is not None and found.in_settlement:
        raise refuse("settled", found)
    return found


def _match_again(tx: Tx, env: Env, review: Review, payment: Payment, times: Times) -> None:
    if payment.reversed_at is not None:
        raise refuse("reversed")
    holder = _paid_by(tx, payment)
    if holder is None or holder.origin != "open" or not holder.rejected:
        raise refuse("used_elsewhere" if holder is None else "reconciled", holder)
    transactions.retire_holder(tx, holder.id)
    settle_released(env, tx, payment, times)
    if reviews.open_for_payment(tx, payment.id) and review.reason != ReviewReason.NEAR_MISS:
        messages.mark_held(tx, review.message_id, payment.id)


def _judge_again(tx: Tx, env: Env, review: Review, message: Message, times: Times, actor: str) -> None:
    """Process a rejected message again; one that has a place in the chain of balances waits for its review again."""
    context = Context.for_message(env, tx, message, times)
    whole = reload_joined(context, message)
    if whole is None or not balances.forget_rejected(tx, message.id):
        messages.mark_held(tx, message.id, None)
        reviews.reopen(tx, review.id, None)
        hold_again(tx, review)
        return
    reviews.supersede(tx, review.id, by=actor, now=context.now)
    process_message(context, whole)
    messages.keep_received_at(tx, message.id, message.received_at)


def _record(
    tx: Tx, review: Review, actor: str, now: int, *, transaction_id: str | None = None, payment_id: str | None = None
) -> None:
    """Journal who took back whose decision."""
    data = {
        "review_id": review.id,
        "reason": review.reason,
        "decision": review.state,
        "decided_by": review.decided_by,
        "decided_at": review.decided_at,
    }
    journal.add(
        tx,
        "review.taken_back",
        now,
        actor=actor,
        transaction_id=transaction_id or review.transaction_id,
        payment_id=payment_id,
        message_id=review.message_id,
        mode=review.mode,
        data=data,
    )
