"""Put a payment without a code before a person, when it may have been meant for a request (decisions.md section 2).

The payment is a sale of its own already, with its holder, and is forwarded: nothing waits for the person.
"""

from daemon.core import near_miss as core
from daemon.core.model import Payment, Transaction
from daemon.env import Env
from daemon.intake.desk import Desk
from daemon.store import near_miss, reviews, transactions
from daemon.store.engine import Tx
from daemon.wire import ReviewReason


def suggest(desk: Desk, payment: Payment, holder: Transaction) -> None:
    """Open a review `near_miss` if any request comes near; what is suggested then is worked out at each reading."""
    open_if_near(desk.tx, desk.env, payment, holder, desk.now)


def look_back(tx: Tx, env: Env, request: Transaction, now: int) -> None:
    """Let a new request be suggested for money that was here before it: its customer's, exactly its amount."""
    for payment in near_miss.payments_before(tx, request):
        # A code that did not exist yet cannot have been mistyped, so only the number and the name can bring it near.
        if not core.suggest(payment, [request], {}) or reviews.was_asked(tx, payment.id):
            continue
        holder = transactions.paid_by(tx, payment.id)
        if holder is not None and holder.origin == "open" and not holder.rejected:
            open_if_near(tx, env, payment, holder, now)


def open_if_near(tx: Tx, env: Env, payment: Payment, holder: Transaction, now: int) -> None:
    """The same, where there is no message on the table: when a customer's word brings a request near."""
    found = near_miss.suggestions(tx, payment)
    if not found:
        return
    suggested = [
        {"reference": one.request.reference, "reasons": list(one.reasons)} for one in found
    ]
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
