"""Change a transaction's state: a payment verifies it, is held for review or gets a holder; or it expires or is cancelled.

Each function runs inside the caller's write transaction, so that the state, the payment's use, the journal and the outbox
rows are one commit. A hub has copies of the rows of its branches; only the branch changes them.
"""

from collections.abc import Sequence

from msgspec import Struct

from daemon.core import ids
from daemon.core.access.callers import Caller
from daemon.core.errors import Refusal, needed
from daemon.core.limits import CODE_REST_US
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.payments.matching import VERIFIED, Hold, Verdict, compare_amounts, is_late
from daemon.store import journal
from daemon.store.branches import branches
from daemon.store.branches.scope import seen_by
from daemon.store.engine import Reader, Tx
from daemon.store.messages import messages
from daemon.store.payments import payments, reviews, texts, transactions
from daemon.store.webhooks import deliveries, routing
from daemon.store.webhooks.outbox import Outbox
from daemon.wire import ErrorCode, Mode, ReviewReason, TransactionStatus
from parsers.money import render


def refuse_copy(reader: Reader, branch_id: str | None) -> None:
    """Refuse to change a row that has this branch.

    Raises:
        Refusal: BELONGS_TO_BRANCH, with the branch's name.
    """
    if branch_id is not None:
        raise belongs_to_branch(reader, branch_id)


def belongs_to_branch(reader: Reader, branch_id: str, message: str | None = None) -> Refusal:
    """Return BELONGS_TO_BRANCH with the branch's name."""
    branch = branches.get(reader, branch_id)
    assert branch is not None, "a copy belongs to a branch"
    return Refusal(ErrorCode.BELONGS_TO_BRANCH, message, branch=branch.name)


def own_transaction(tx: Tx, caller: Caller, reference: str) -> Transaction:
    """Return the transaction with this reference in the caller's mode.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND.
    """
    found = needed(
        transactions.by_reference(seen_by(tx, caller), reference, caller.mode), ErrorCode.TRANSACTION_NOT_FOUND
    )
    refuse_copy(tx, found.branch_id)
    return found


def cancel_transaction(
    tx: Tx, request: Transaction, actor: str, reason: str | None, now: int
) -> tuple[Transaction, bool]:
    """Cancel a transaction that is PENDING or EXPIRED; return it, and whether it was not cancelled before.

    Raises:
        Refusal: TRANSACTION_NOT_CANCELLABLE.
    """
    cancelled = transactions.cancel(tx, request.id, now)
    if cancelled is None:
        if request.status is not TransactionStatus.CANCELLED:
            raise Refusal(ErrorCode.TRANSACTION_NOT_CANCELLABLE, transaction_status=request.status)
        return request, False
    transactions.reserve_code_until(tx, cancelled, now + CODE_REST_US)
    transactions.unindex_names(tx, cancelled.id)
    journal.add(tx, "transaction.cancelled", now, cancelled, actor=actor)
    if reason is not None:
        journal.add_reason(tx, cancelled.id, reason)
    return cancelled, True


class Settlement(Struct, frozen=True):
    """How a transaction was verified.

    Attributes:
        reconciliation_id: Set if an operator reconciled it.
        payer_known_by: How the expected payer was recognised, from `daemon.core.payments.matching.Verify`.
        fresh: The payment was stored by this job: its message is recorded afterwards.
        referred: Another row may refer to the payment.
        method: The number that received the payment, if it was read already.
    """

    verdict: Verdict
    matched_by: str
    late: bool
    actor: str = "momo"
    reconciliation_id: str | None = None
    payer_known_by: str | None = None
    fresh: bool = False
    referred: bool = True
    method: PaymentMethod | None = None


def verify(
    tx: Tx, outbox: Outbox, transaction: Transaction, payment: Payment, how: Settlement, now: int
) -> Transaction:
    """Verify a transaction with a payment, with all consequences, and return the verified transaction.

    A holder loses the payment; another transaction that was held for the payment is released; another payment for which
    this transaction was held becomes an extra one; the webhooks are queued and the journal is written.
    """
    assert payment.decided_here, "the caller has checked that this shop may match it"
    holder = _detach(tx, transaction, payment, how, now)
    verified = transactions.verify(
        tx, transaction.id, payment_id=payment.id, status=how.verdict.status, matched_by=how.matched_by,
        late=how.late, processing_at=payment.stored_at, now=now, supersedes=None if holder is None else holder.id,
    )  # fmt: skip
    assert verified is not None, "the caller has just read the transaction inside this transaction"
    transactions.reserve_code_until(tx, transaction, now + CODE_REST_US)
    if transaction.customer_name is not None or transaction.expected_payer_name is not None:
        transactions.unindex_names(tx, transaction.id)
    if not how.fresh:
        payments.set_standing(tx, payment.id, "used")
        messages.mark_paid(tx, payment.message_id)
    if holder is not None:
        outbox.update(tx, verified, payment, now, before=(holder, payment))
    # Webhooks sent under the holder's reference are not sent again: UNIQUE (target, kind, payment) prevents it.
    outbox.verified(
        tx, verified, payment, now, method=how.method, reconciliation_id=how.reconciliation_id,
        supersedes_reference=None if holder is None else holder.reference,
        revision=0 if how.fresh else deliveries.times_taken_back(tx, payment.id),
    )  # fmt: skip
    texts.queue_receipt(tx, outbox.texting, outbox.new_id(), verified, payment, verdict=how.verdict, now=now)
    _journal_verified(tx, verified, payment, how, now)
    if payment.branch_id is not None:
        tell_branch(tx, outbox, payment, verified, now)
    return verified


def _journal_verified(tx: Tx, verified: Transaction, payment: Payment, how: Settlement, now: int) -> None:
    data = {
        "status": verified.status, "matched_by": how.matched_by, "late": how.late,
        "difference_minor": how.verdict.difference_minor,
        **({"payer_known_by": how.payer_known_by} if how.payer_known_by else {}),
    }  # fmt: skip
    journal.add(tx, "transaction.verified", now, payment, verified, actor=how.actor, data=data)


def tell_branch(
    tx: Tx, outbox: Outbox, payment: Payment, transaction: Transaction | None, now: int, *, same_as: str | None = None
) -> None:
    """Tell the branch that handed a payment up the decision; without a transaction, a person at the hub must decide.

    `same_as` is the id of the same payment, which came from another branch first and counts there.
    """
    assert payment.branch_id is not None, "a branch handed it up"
    body = {
        "status": "REVIEW" if transaction is None else transaction.status,
        "reference": None if transaction is None else transaction.reference,
        "origin": None if transaction is None else transaction.origin,
        **({} if same_as is None else {"same_as": same_as}),
    }
    branches.ask(tx, outbox.new_id(), payment.branch_id, "decided", payment.id, body, by="momo", now=now, again=True)


def _detach(tx: Tx, transaction: Transaction, payment: Payment, how: Settlement, now: int) -> Transaction | None:
    """Free a payment from its holder, a transaction held for it and its reviews; return the holder, if any."""
    if transaction.held_payment_id is not None and transaction.held_payment_id != payment.id:
        reviews.change_reason(tx, transaction.held_payment_id, ReviewReason.EXTRA_PAYMENT)
    if not how.referred:
        return None
    return detach_payment(tx, payment, transaction.id, actor=how.actor, now=now)


def detach_payment(tx: Tx, payment: Payment, into: str, *, actor: str, now: int) -> Transaction | None:
    """Free a payment for a transaction, which may be at another shop, and return its former holder, if any.

    The holder is merged into the transaction `into`; another transaction that was held for the payment is released; the
    payment's reviews are closed.
    """
    holder = transactions.paid_by(tx, payment.id)
    if holder is not None:
        transactions.merge_holder(tx, holder.id, into)
    elsewhere = transactions.holding(tx, payment.id)
    if elsewhere is not None and elsewhere.id != into:
        release(tx, elsewhere, payment.message_id, payment.id, actor=actor, now=now)
    for review in reviews.open_for_payment(tx, payment.id):
        state = "approved" if review.transaction_id == into else "used_elsewhere"
        reviews.close(tx, review.id, state, by=actor, now=now)
    return holder


class OperatorDecision(Struct, frozen=True):
    """An operator's decision that a payment pays a transaction.

    Attributes:
        reconciliation_id: `rec_...`.
        actor: The operator.
        matched_by: `reconcile` or `review`.
        claimed_minor: The amount that the operator entered, if any.
        notes: For the audit.
    """

    reconciliation_id: str
    actor: str
    matched_by: str
    claimed_minor: int | None = None
    notes: str | None = None


def verify_by_operator(
    tx: Tx, outbox: Outbox, transaction: Transaction, payment: Payment, decision: OperatorDecision, now: int
) -> tuple[Transaction, Verdict]:
    """Verify a transaction by an operator's decision, store the decision, and return the verified transaction."""
    assert transaction.expected_minor is not None
    verdict = compare_amounts(payment.amount_minor, transaction.expected_minor)
    how = Settlement(
        verdict,
        decision.matched_by,
        late=is_late(payment, transaction),
        actor=decision.actor,
        reconciliation_id=decision.reconciliation_id,
    )
    verified = verify(tx, outbox, transaction, payment, how, now)
    transactions.add_reconciliation(
        tx,
        {
            "id": decision.reconciliation_id,
            "transaction_id": transaction.id,
            "payment_id": payment.id,
            "claimed_minor": decision.claimed_minor,
            "notes": decision.notes,
            "actor": decision.actor,
            "created_at": now,
        },
    )
    data = {"reconciliation_id": decision.reconciliation_id}
    journal.add(tx, "transaction.reconciled", now, transaction, actor=decision.actor, payment_id=payment.id, data=data)
    return verified, verdict


def only_unused(reader: Reader, usable: Sequence[Payment], transaction: Transaction) -> Payment:
    """Return the only payment of these that nothing has used; there is at least one payment.

    Raises:
        Refusal: TRANSACTION_ID_ALREADY_USED or AMBIGUOUS_TRANSACTION_ID.
    """
    unused = [payment for payment in usable if payment.standing != "used"]
    if not unused:
        user = transactions.paid_by(reader, usable[0].id)
        raise Refusal(
            ErrorCode.TRANSACTION_ID_ALREADY_USED,
            expected_amount=render(transaction.expected_minor or 0),
            used_by_reference=None if user is None else user.reference,
        )
    if len(unused) > 1:
        providers = sorted(payment.provider for payment in unused)
        raise Refusal(ErrorCode.AMBIGUOUS_TRANSACTION_ID, providers=providers)
    return unused[0]


def paying(reader: Reader, transaction: Transaction) -> Payment:
    """Return the payment of a verified transaction or a holder."""
    paid = payments.get(reader, transaction.payment_id or "")
    assert paid is not None, "a verified transaction has a payment"
    return paid


def unsettle(tx: Tx, outbox: Outbox, order: Transaction, *, actor: str, now: int) -> tuple[Transaction, Payment]:
    """Take the settlement of a transaction back: it is short or overpaid again, and its second payment is free.

    Return the transaction and the payment that verified it.
    """
    holder = transactions.settling(tx, order.id)
    if holder is not None:
        rest = paying(tx, holder)
        payments.set_standing(tx, rest.id, "open")
        free = transactions.set_settles(tx, holder.id, None)
        outbox.update(tx, free, rest, now, before=(holder, rest))
    after, paid = transactions.unsettle(tx, order.id), paying(tx, order)
    rest_id, data = None if holder is None else holder.payment_id, {"reversed": actor == "momo"}
    journal.add(tx, "transaction.settlement_taken_back", now, order, actor=actor, payment_id=rest_id, data=data)
    outbox.update(tx, after, paid, now, before=(order, paid))
    return after, paid


def payable_transaction(tx: Tx, reference: str, mode: Mode | None) -> Transaction:
    """Return the transaction that an operator may match to a payment.

    Raises:
        Refusal: TRANSACTION_NOT_FOUND, BELONGS_TO_BRANCH or ALREADY_VERIFIED.
    """
    transaction = needed(transactions.by_reference(tx, reference, mode), ErrorCode.TRANSACTION_NOT_FOUND)
    refuse_copy(tx, transaction.branch_id)
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


def open_payment_review(tx: Tx, outbox: Outbox, payment: Payment, hold: Hold, now: int) -> None:
    """Open a review of a trusted payment; a hold that `moves` also puts its transaction into MANUAL_REVIEW."""
    transaction_id = None if hold.transaction is None else hold.transaction.id
    if hold.moves:
        assert transaction_id is not None
        moved = transactions.hold(tx, transaction_id, payment.id)
        assert moved, "the caller has just read the transaction as PENDING"
    review_id = outbox.new_id()
    reviews.open_review(
        tx, review_id=review_id, mode=payment.mode, reason=hold.reason, message_id=payment.message_id,
        payment_id=payment.id, transaction_id=transaction_id, now=now,
    )  # fmt: skip
    if transaction_id is not None:
        about = transactions.get(tx, transaction_id)
        assert about is not None, "the caller has just read it"
        outbox.review(tx, about, payment, review_id=review_id, reason=hold.reason, now=now)


def release(tx: Tx, transaction: Transaction, message_id: str, payment_id: str | None, *, actor: str, now: int) -> None:
    """Return a held transaction to PENDING; the next sweep expires it if it is overdue.

    `payment_id` is None if it was held for a receipt that has made no payment.
    """
    transactions.release(tx, transaction.id)
    journal.add(tx, "transaction.released", now, transaction, actor=actor, payment_id=payment_id, message_id=message_id)


class Holding(Struct, frozen=True):
    """How an unmatched payment gets its holder.

    Attributes:
        matched_by: `review` if an operator approved the payment.
        fresh, method: As in `Settlement`.
        settles: The id of the transaction that the payment settles.
    """

    rejected: bool = False
    matched_by: str = "none"
    fresh: bool = False
    referred: bool = True
    method: PaymentMethod | None = None
    settles: str | None = None


def add_holder(tx: Tx, outbox: Outbox, payment: Payment, how: Holding, now: int) -> Transaction:
    """Give an unmatched payment a holder, and forward it unless it is history or rejected.

    An existing holder is kept, and is forwarded now if it never was because it was history.
    """
    known = None
    if not how.fresh:
        transactions.revive_holder(tx, ids.holder_id(outbox.account_key, payment.id), payment.id)
        known = transactions.paid_by(tx, payment.id)
    if known is not None and how.rejected:
        return transactions.reject_holder(tx, known)
    if known is not None:
        again = deliveries.times_taken_back(tx, payment.id)
        told = routing.stored_decisions(tx, payment)
        if again > 0:
            told = told if deliveries.was_forwarded(tx, payment.seq, again) else []
        if not payment.historical and not known.rejected and not told:
            outbox.forward(tx, known, payment, now, revision=again)
        return known
    row = {
        "id": ids.holder_id(outbox.account_key, payment.id),
        "mode": payment.mode,
        "origin": "open",
        "status": "SUCCESS",
        "currency": payment.currency,
        "meta": "{}",
        "send_sms_to_payer": False,
        "created_with": "sms",
        "created_at": now,
        "payment_id": payment.id,
        "matched_by": how.matched_by,
        "processing_at": payment.stored_at,
        "completed_at": now,
        "late": False,
        "rejected": how.rejected,
        "reversed_at": payment.reversed_at,
        "settles": how.settles,
    }
    holder = transactions.add(tx, row)
    if not how.rejected and not payment.historical:
        again = 0 if how.fresh else deliveries.times_taken_back(tx, payment.id)
        outbox.forward(tx, holder, payment, now, method=how.method, revision=again)
    data = {"historical": payment.historical, "rejected": how.rejected}
    journal.add(tx, "payment.walk_in", now, payment, holder, data=data)
    return holder


def record_expiry(tx: Tx, outbox: Outbox, transaction: Transaction, now: int) -> None:
    """Record an expiry, in the database transaction that marks the transaction EXPIRED."""
    journal.add(tx, "transaction.expired", now, transaction)
    outbox.expire(tx, transaction, now)
