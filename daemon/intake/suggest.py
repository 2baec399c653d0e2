"""Put a payment without a code before a person, when it may have been meant for a request (decisions.md section 2).

The payment is a sale of its own already, with its holder, and is forwarded: nothing waits for the person.
"""

from daemon.core.model import Payment, Transaction
from daemon.env import Env
from daemon.intake.desk import Desk
from daemon.store import events, near_miss, reviews
from daemon.store.engine import Tx
from daemon.wire import ReviewReason


def suggest(desk: Desk, payment: Payment, holder: Transaction) -> None:
    """Open a review `near_miss` if any request comes near; what is suggested then is worked out at each reading."""
    open_if_near(desk.tx, desk.env, payment, holder, desk.now)


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
        now=now,
    )
    events.add(
        tx,
        type="review.opened",
        mode=payment.mode,
        at=now,
        transaction_id=holder.id,
        payment_id=payment.id,
        message_id=payment.message_id,
        data={"reason": ReviewReason.NEAR_MISS, "suggested": suggested},
    )
