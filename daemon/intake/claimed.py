"""The payment that a person approves: the one that is held, or the one that a message claims to be."""

from daemon.core import shapes
from daemon.core.approval import payment_row
from daemon.core.errors import Refusal
from daemon.core.model import Payment, Review, Transaction
from daemon.env import Env
from daemon.intake.from_file import take_over
from daemon.store import messages, payment_methods, payments, reviews, transactions
from daemon.store.engine import Tx
from daemon.wire import ErrorCode
from parsers.money import render


def payment_of(tx: Tx, env: Env, review: Review, order: Transaction | None, now: int) -> Payment:
    """Return the payment that is approved; a message that had made none makes it now.

    Raises:
        Refusal: NETWORK_MISMATCH, PAYMENT_REVERSED, TRANSACTION_ID_ALREADY_USED, NO_MATCHING_TRANSACTION.
    """
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
        first = next(one for one in others if one.provider == provider)
        payment = take_over(tx, first, row)
        if payment is None:
            raise _used(tx, first, order)
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
