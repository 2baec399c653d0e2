"""What several flows record in the same way: a payment pays a request, waits for a person, or has no request.

Each function runs inside the caller's write transaction, so that verification, the payment's use and the outbox rows
are one commit (decisions.md section 2). A few lines over 300, because they are what one transaction may consist of.
"""

from dataclasses import dataclass
from typing import Any

from daemon.core import ids, limits
from daemon.core.errors import Refusal
from daemon.core.matching import VERIFIED, Hold, is_late
from daemon.core.model import Payment, Transaction
from daemon.core.verdict import Verdict, judge
from daemon.store import (
    events,
    messages,
    near_miss,
    payments,
    reviews,
    routings,
    texts,
    transactions,
)
from daemon.store.engine import Tx
from daemon.store.outbox import Outbox
from daemon.wire import ErrorCode, Mode, ReviewReason


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a request was verified.

    Attributes:
        reconciliation_id: Set when a person vouched through reconcile.
        payer_known_by: How the expected payer was recognised, of `daemon.core.matching.Verify`.
    """

    verdict: Verdict
    matched_by: str
    late: bool
    actor: str = "momo"
    reconciliation_id: str | None = None
    payer_known_by: str | None = None


def verify(
    tx: Tx, outbox: Outbox, request: Transaction, payment: Payment, how: Settlement, now: int
) -> Transaction:
    """Let a payment pay a request, with everything that follows from it, and return the verified request.

    A holder loses the payment; a request that was held for it goes back; a payment that held this request becomes an
    extra one; the webhooks are owed; the journal tells.
    """
    holder = _take_from_others(tx, request, payment, actor=how.actor, now=now)
    verified = transactions.verify(
        tx,
        request.id,
        payment_id=payment.id,
        status=how.verdict.status,
        matched_by=how.matched_by,
        late=how.late,
        processing_at=payment.stored_at,
        now=now,
        supersedes=None if holder is None else holder.id,
    )
    assert verified is not None, "the caller has just read the request inside this transaction"
    transactions.keep_code_until(tx, request, now + limits.CODE_REST_US)
    near_miss.forget_names(tx, request.id)
    payments.set_standing(tx, payment.id, "used")
    messages.paid(tx, payment.message_id)
    if holder is not None:
        outbox.update(tx, verified, payment, now, before=(holder, payment))
    # What went out under the holder's reference is not sent again: UNIQUE (target, kind, payment) sees to it.
    claiming = outbox.forward(tx, verified, payment, now)
    outbox.complete(
        tx,
        verified,
        payment,
        now,
        claiming=claiming,
        reconciliation_id=how.reconciliation_id,
        supersedes_reference=None if holder is None else holder.reference,
    )
    texts.owe_receipt(
        tx, outbox.texting, outbox.new_id(), verified, payment, verdict=how.verdict, now=now
    )
    events.add(
        tx,
        type="transaction.verified",
        mode=verified.mode,
        at=now,
        actor=how.actor,
        transaction_id=verified.id,
        payment_id=payment.id,
        message_id=payment.message_id,
        data={
            "status": verified.status,
            "matched_by": how.matched_by,
            "late": how.late,
            "difference_minor": how.verdict.difference_minor,
            **({"payer_known_by": how.payer_known_by} if how.payer_known_by else {}),
        },
    )
    return verified


def _take_from_others(
    tx: Tx, request: Transaction, payment: Payment, *, actor: str, now: int
) -> Transaction | None:
    """Free a payment of its holder, of a request held for it and of its reviews; return the holder, if it had one."""
    holder = transactions.paid_by(tx, payment.id)
    if holder is not None:
        transactions.merge_holder(tx, holder.id, request.id)
    elsewhere = transactions.holding(tx, payment.id)
    if elsewhere is not None and elsewhere.id != request.id:
        release(tx, elsewhere, payment.message_id, payment.id, actor=actor, now=now)
    if request.held_payment_id is not None and request.held_payment_id != payment.id:
        reviews.change_reason(tx, request.held_payment_id, ReviewReason.EXTRA_PAYMENT)
    for review in reviews.open_for_payment(tx, payment.id):
        state = "approved" if review.transaction_id == request.id else "used_elsewhere"
        reviews.close(tx, review.id, state, by=actor, now=now)
    return holder


@dataclass(frozen=True, slots=True)
class Word:
    """A person's word that a payment belongs to a request.

    Attributes:
        reconciliation_id: `rec_...`.
        actor: Who said so.
        matched_by: `reconcile` or `review`.
        claimed_minor: The amount that the person named, if any.
        notes: For the audit.
    """

    reconciliation_id: str
    actor: str
    matched_by: str
    claimed_minor: int | None = None
    notes: str | None = None


def request_to_pay(tx: Tx, reference: str, mode: Mode | None) -> Transaction:
    """Return the request that a person may let a payment pay.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND or ALREADY_VERIFIED.
    """
    transaction_id = ids.split_reference(reference)
    transaction = None if transaction_id is None else transactions.get(tx, transaction_id, mode)
    if transaction is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    if transaction.origin == "open" or transaction.status in VERIFIED:
        payment = None
        if transaction.payment_id is not None:
            payment = payments.get(tx, transaction.payment_id)
        raise Refusal(
            ErrorCode.ALREADY_VERIFIED,
            transaction_status=transaction.status,
            verified_by_transaction_id=None if payment is None else payment.telco_id_as_read,
        )
    return transaction


def vouch(
    tx: Tx, outbox: Outbox, request: Transaction, payment: Payment, word: Word, now: int
) -> tuple[Transaction, Verdict]:
    """Let a payment pay a request because a person says so, keep the person's word, and return the verified request."""
    assert request.expected_minor is not None
    verdict = judge(payment.amount_minor, request.expected_minor)
    how = Settlement(
        verdict,
        word.matched_by,
        late=is_late(payment, request),
        actor=word.actor,
        reconciliation_id=word.reconciliation_id,
    )
    verified = verify(tx, outbox, request, payment, how, now)
    transactions.add_reconciliation(
        tx,
        {
            "id": word.reconciliation_id,
            "transaction_id": request.id,
            "payment_id": payment.id,
            "claimed_minor": word.claimed_minor,
            "notes": word.notes,
            "actor": word.actor,
            "created_at": now,
        },
    )
    events.add(
        tx,
        type="transaction.reconciled",
        mode=request.mode,
        at=now,
        actor=word.actor,
        transaction_id=request.id,
        payment_id=payment.id,
        data={"reconciliation_id": word.reconciliation_id},
    )
    return verified, verdict


def release(
    tx: Tx,
    request: Transaction,
    message_id: str,
    payment_id: str | None,
    *,
    actor: str,
    now: int,
) -> None:
    """Put a request that was held back to PENDING: it waits for its money again, until the next sweep if it is overdue.

    `payment_id` is None when it was held for a receipt that has made no payment.
    """
    transactions.release(tx, request.id)
    events.add(
        tx,
        type="transaction.released",
        mode=request.mode,
        at=now,
        actor=actor,
        transaction_id=request.id,
        payment_id=payment_id,
        message_id=message_id,
    )


def ask_person(tx: Tx, outbox: Outbox, payment: Payment, hold: Hold, now: int) -> None:
    """Put a trusted payment before a person; a hold that `moves` puts its request into MANUAL_REVIEW too."""
    request_id = None if hold.transaction is None else hold.transaction.id
    if hold.moves:
        assert request_id is not None
        moved = transactions.hold(tx, request_id, payment.id)
        assert moved, "the caller has just read the request as PENDING"
    review_id = outbox.new_id()
    reviews.open_review(
        tx,
        review_id=review_id,
        mode=payment.mode,
        reason=hold.reason,
        message_id=payment.message_id,
        payment_id=payment.id,
        transaction_id=request_id,
        now=now,
    )
    if request_id is not None:
        about = transactions.get(tx, request_id)
        assert about is not None, "the caller has just read it"
        outbox.review(tx, about, payment, review_id=review_id, reason=hold.reason, now=now)


def give_holder(
    tx: Tx,
    outbox: Outbox,
    payment: Payment,
    *,
    rejected: bool,
    now: int,
    matched_by: str = "none",
) -> Transaction:
    """Give a payment without a request a holder, and forward it unless it is history or rejected.

    `matched_by` is `review` when a person let it count. One that has a holder already keeps it, and is forwarded now if
    it never was because it was history.
    """
    known = transactions.paid_by(tx, payment.id)
    if known is not None and rejected:
        return transactions.reject_holder(tx, known)
    if known is not None:
        if not payment.historical and not known.rejected and not routings.kept(tx, payment):
            outbox.forward(tx, known, payment, now)
        return known
    row = _holder(ids.time_ordered(outbox.new_id(), now), payment, rejected=rejected, now=now)
    holder = transactions.add(tx, {**row, "matched_by": matched_by})
    if not rejected and not payment.historical:
        outbox.forward(tx, holder, payment, now)
    events.add(
        tx,
        type="payment.walk_in",
        mode=payment.mode,
        at=now,
        transaction_id=holder.id,
        payment_id=payment.id,
        message_id=payment.message_id,
        data={"historical": payment.historical, "rejected": rejected},
    )
    return holder


def _holder(holder_id: str, payment: Payment, *, rejected: bool, now: int) -> dict[str, Any]:
    """Return the row of a holder (decisions.md section 1: `origin: "open"`, status SUCCESS)."""
    return {
        "id": holder_id,
        "mode": payment.mode,
        "origin": "open",
        "status": "SUCCESS",
        "currency": payment.currency,
        "meta": "{}",
        "send_sms_to_payer": False,
        "created_with": "sms",
        "created_at": now,
        "payment_id": payment.id,
        "processing_at": payment.stored_at,
        "completed_at": now,
        "late": False,
        "rejected": rejected,
        "reversed_at": payment.reversed_at,
    }
