"""Find or create the payment that an operator approves, and learn from the approval.

An approval confirms a payer's name for a number, or that a suggestion was right.
"""

from typing import Any

from msgspec import Struct

from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.ids import payment_id
from daemon.core.model import Payment, Review, Transaction
from daemon.core.payments.reviews import payment_row
from daemon.env import Env
from daemon.steps import take_back
from daemon.steps.pay import make_live
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.lines import payment_methods
from daemon.store.messages import messages
from daemon.store.payments import payments, reviews, suggestions, transactions
from daemon.wire import ErrorCode, ReviewReason
from parsers.money import render


def payment_to_approve(
    tx: Tx, env: Env, review: Review, transaction: Transaction | None, now: int, *, by: str
) -> Payment:
    """Return the approved payment; create it if the message had not made one."""
    payment = None
    if review.payment_id is not None:
        payment = payments.get(tx, review.payment_id)
        assert payment is not None, "a review's payment is a payment"
    else:
        payment = _claim_payment(tx, env, review, transaction, now, by)
    if payment.reversed_at is not None:
        raise Refusal(ErrorCode.PAYMENT_REVERSED, reversed_at=json_values.timestamp(payment.reversed_at))
    if payment.standing == "used":
        raise _id_already_used(tx, payment, transaction)
    if transaction is not None and transaction.currency != payment.currency:
        raise Refusal(
            ErrorCode.NO_MATCHING_TRANSACTION,
            f"The transaction is in {transaction.currency} and the payment in {payment.currency}.",
        )
    return payment


def _claim_payment(tx: Tx, env: Env, review: Review, transaction: Transaction | None, now: int, by: str) -> Payment:
    """Create the payment that a message claims. The unique transaction ID prevents a second one.

    A person who approves the message of a conflict decides against the payment that has the ID, which is withdrawn.
    """
    message = messages.get(tx, review.message_id)
    assert message is not None, "a review belongs to a message"
    provider = message.provider
    if provider is None and message.payment_method_id is not None:
        line = payment_methods.get(tx, message.payment_method_id, message.mode)
        provider = None if line is None else line.provider
    if provider is None:
        raise Refusal(
            ErrorCode.NETWORK_MISMATCH,
            "The network of the SIM that received this message is not known, so no wallet can be named for the money.",
        )
    row = payment_row(message, payment_id=payment_id(env.account_key, message.id), provider=provider)
    payment = payments.add(tx, row, again=True)
    if payment is None:
        others = payments.with_telco_id(tx, message.mode, row["telco_transaction_id"])
        first = next(one for one in others if one.provider == provider)
        payment = make_live(tx, first, row)
        conflict = payment is None and review.reason == ReviewReason.ID_CONFLICT
        if conflict and take_back.displace(tx, env, first, review, actor=by, now=now):
            payment = payments.add(tx, row, again=True)
        if payment is None:
            raise _id_already_used(tx, first, transaction)
    payments.record_line_activity(tx, message.payment_method_id, message.sim_key, now)
    messages.mark_approved(tx, message.id, payment.id)
    reviews.set_payment(tx, review.id, payment.id)
    return payment


def _id_already_used(tx: Tx, payment: Payment, transaction: Transaction | None) -> Refusal:
    """Return the refusal for a transaction ID that another payment has."""
    user = transactions.paid_by(tx, payment.id)
    expected = None
    if transaction is not None and transaction.expected_minor is not None:
        expected = render(transaction.expected_minor, transaction.currency)
    return Refusal(
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
        f"A payment of {payment.currency} {render(payment.amount_minor, payment.currency)} already has the "
        f"transaction ID {payment.telco_id_as_read}; an ID is booked once.",
        expected_amount=expected,
        used_by_reference=None if user is None else user.reference,
        payment_id=payment.id,
    )


class ApprovedPayment(Struct, frozen=True):
    """An operator's approval of a payment for a transaction.

    Attributes:
        review: The approved review.
        by: The operator's name for the journal.
        at: Time of the approval, microseconds.
    """

    review: Review
    transaction: Transaction
    payment: Payment
    by: str
    at: int


def learn_from_approval(tx: Tx, env: Env, approval: ApprovedPayment) -> None:
    """Store the facts learned from an approval; call it before the payment pays the transaction."""
    if approval.review.reason == ReviewReason.NEAR_MISS:
        _note_suggestion(tx, approval)
    elif (
        approval.review.reason == ReviewReason.PAYER_UNKNOWN
        and approval.review.transaction_id == approval.transaction.id
    ):
        _approve_name(tx, env, approval)


def _approve_name(tx: Tx, env: Env, approval: ApprovedPayment) -> None:
    """Approve the name on the receipt for the number that the transaction expected."""
    phone_number, name = approval.transaction.expected_payer_phone, approval.payment.payer_name
    if phone_number is None or name is None:
        return
    approved = payments.approve_payer(
        tx,
        payer_id=env.new_id(),
        mode=approval.review.mode,
        phone_number=phone_number,
        name=name,
        review_id=approval.review.id,
        by=approval.by,
        now=approval.at,
    )
    if approved is not None:
        _log(tx, approval, "payer.approved", {"approved_payer_id": approved.id})


def _note_suggestion(tx: Tx, approval: ApprovedPayment) -> None:
    """Record that the transaction was one of the suggested ones, with its rank and reasons."""
    for rank, found in enumerate(suggestions.suggestions(tx, approval.payment), 1):
        if found.request.id == approval.transaction.id:
            data = {"review_id": approval.review.id, "rank": rank, "reasons": list(found.reasons)}
            _log(tx, approval, "suggestion.accepted", data)


def _log(tx: Tx, approval: ApprovedPayment, kind: str, data: dict[str, Any]) -> None:
    journal.add(
        tx,
        kind,
        approval.at,
        approval.transaction,
        actor=approval.by,
        payment_id=approval.payment.id,
        message_id=approval.review.message_id,
        mode=approval.review.mode,
        data=data,
    )
