"""Put a payment without a code before a person, when it may have been meant for a request (decisions.md section 2).

The payment is a sale of its own already, with its holder, and is forwarded: nothing waits for the person.
"""

from daemon.core.model import Payment, Transaction
from daemon.intake.desk import Desk
from daemon.store import events, near_miss, reviews
from daemon.wire import ReviewReason


def suggest(desk: Desk, payment: Payment, holder: Transaction) -> None:
    """Open a review `near_miss` if any request comes near; what is suggested then is worked out at each reading."""
    found = near_miss.suggestions(desk.tx, payment)
    if not found:
        return
    suggested = [
        {"reference": one.request.reference, "reasons": list(one.reasons)} for one in found
    ]
    reviews.open_review(
        desk.tx,
        review_id=desk.env.new_id(),
        mode=payment.mode,
        reason=ReviewReason.NEAR_MISS,
        message_id=payment.message_id,
        payment_id=payment.id,
        details={"suggested": suggested},
        now=desk.now,
    )
    events.add(
        desk.tx,
        type="review.opened",
        mode=payment.mode,
        at=desk.now,
        transaction_id=holder.id,
        payment_id=payment.id,
        message_id=payment.message_id,
        data={"reason": ReviewReason.NEAR_MISS, "suggested": suggested},
    )
