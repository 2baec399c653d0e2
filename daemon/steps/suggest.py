"""Open a review for a payment without a code that may be meant for a transaction.

The payment already has its holder and is forwarded; it does not wait for the operator.
"""

from daemon.core.model import Payment, Transaction
from daemon.core.payments import suggestions as core_suggestions
from daemon.env import Env
from daemon.steps.context import Context
from daemon.store.engine import Tx
from daemon.store.payments import reviews, suggestions, transactions
from daemon.wire import ReviewReason


def suggest(context: Context, payment: Payment, holder: Transaction) -> None:
    """Open a `near_miss` review if a transaction is similar. The suggestions are computed again at each reading."""
    open_near_miss_review(context.tx, context.env, payment, holder, context.now)


def suggest_earlier_payments(tx: Tx, env: Env, transaction: Transaction, now: int) -> None:
    """Suggest a new transaction for earlier payments by its customer of exactly its amount."""
    for payment in suggestions.earlier_payments(tx, transaction):
        # The code did not exist when the payment was made, so only the number and the name can match.
        if not core_suggestions.suggest(payment, [transaction], {}) or reviews.had_review(tx, payment.id):
            continue
        holder = transactions.paid_by(tx, payment.id)
        if holder is not None and holder.origin == "open" and not holder.rejected:
            open_near_miss_review(tx, env, payment, holder, now)


def open_near_miss_review(tx: Tx, env: Env, payment: Payment, holder: Transaction, now: int) -> None:
    """Open a `near_miss` review if a transaction is similar. Called when a message or a customer's claim brings one near."""
    found = suggestions.suggestions(tx, payment)
    if not found:
        return
    suggested = [{"reference": one.request.reference, "reasons": list(one.reasons)} for one in found]
    reviews.open_review(
        tx,
        review_id=env.new_id(),
        mode=payment.mode,
        reason=ReviewReason.NEAR_MISS,
        message_id=payment.message_id,
        payment_id=payment.id,
        details={"suggested": suggested},
        shown_with=holder.id,
        told={"suggested": suggested},
        now=now,
    )
