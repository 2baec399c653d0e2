"""Ask no more about money that nearly named an order, when no order is left that it may be for and none can come."""

from functools import partial
from typing import Final

from daemon.core.limits import LATE_WINDOW_US
from daemon.core.model import Review
from daemon.core.near_miss import REQUEST_AFTER_US
from daemon.env import Env
from daemon.store import events, near_miss, payments, reviews, transactions
from daemon.store.engine import Reader, Tx
from daemon.wire import ReviewReason

BATCH: Final = 100
"""Reviews looked at in one reading."""


async def drop_suggestions(env: Env) -> int:
    """Close such reviews; the payment stays the sale that it is. Returns how many.

    An order is suggested for a payment that came up to `REQUEST_AFTER_US` before it, so until then one may still come.

    Raises:
        Unavailable: Nothing could be written.
    """
    if env.clock_doubt() is not None:
        return 0
    now, sure = env.clock.now_us(), env.sure_us()
    dropped, after = 0, 0
    while True:
        found, idle = await env.store.read(partial(_look, now=sure, after=after))
        if idle:
            dropped += await env.store.write(partial(_close, idle=idle, now=now))
        if len(found) < BATCH:
            return dropped
        after = found[-1].seq


def _look(reader: Reader, now: int, after: int) -> tuple[list[Review], list[Review]]:
    """Return the next reviews that no new order can answer, and those of them that no known one can either."""
    found = reviews.open_of_reason(
        reader,
        ReviewReason.NEAR_MISS,
        created_before=now - REQUEST_AFTER_US,
        after=after,
        limit=BATCH,
    )
    return found, [review for review in found if _is_idle(reader, review, now)]


def _is_idle(reader: Reader, review: Review, now: int) -> bool:
    """Say whether every order that is suggested is paid, given up, or expired for longer than one may be paid late."""
    assert review.payment_id is not None, "only a payment comes near to an order"
    payment = payments.get(reader, review.payment_id)
    assert payment is not None, "a review's payment is a payment"
    found = near_miss.suggestions(reader, payment)
    return all((one.request.expires_at or 0) <= now - LATE_WINDOW_US for one in found)


def _close(tx: Tx, idle: list[Review], now: int) -> int:
    closed = 0
    for review in idle:
        # An order, or a person, may have come between.
        if _is_idle(tx, review, now) and reviews.close(
            tx, review.id, "superseded", by="momo", now=now
        ):
            closed += 1
            holder = transactions.paid_by(tx, review.payment_id or "")
            events.add(
                tx,
                type="review.superseded",
                mode=review.mode,
                at=now,
                transaction_id=None if holder is None else holder.id,
                payment_id=review.payment_id,
                message_id=review.message_id,
                data={"review_id": review.id, "reason": review.reason},
            )
    return closed
