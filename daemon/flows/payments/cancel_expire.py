"""Cancel an unpaid transaction; expire overdue transactions and old idempotent answers; close suggestions that lapsed.

Nothing expires while our clock is in doubt: a machine that starts in the wrong year must not end transactions. While the
clock is unconfirmed, the lower bound of the time is used (`Times`).
"""

from functools import partial
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.access.sessions import BROWSER_LIFE_US
from daemon.core.inputs import Keep
from daemon.core.limits import DAY_US, EXPIRE_BATCH, HOUR_US, LATE_WINDOW_US, PRUNE_BATCH
from daemon.core.model import Review, Transaction
from daemon.core.payments.suggestions import TRANSACTION_AFTER_US
from daemon.env import Env
from daemon.steps import settle
from daemon.steps.settle import cancel_transaction, own_transaction
from daemon.store import idempotency, journal
from daemon.store.engine import Reader, Tx
from daemon.store.payments import payments, reviews, suggestions, transactions
from daemon.wire import ReviewReason

IDEMPOTENCY_US: Final = 24 * HOUR_US
BATCH: Final = 100
"""Reviews read at once."""
ANSWER_BATCHES_MAX: Final = 60
"""Batches of idempotent answers deleted in one call: 30,000 a minute, five times as many as a hub may make."""


class Cancelled(Struct, frozen=True):
    """A cancelled transaction: whether this call cancelled it, and its time in microseconds."""

    transaction: Transaction
    changed: bool
    at: int


async def cancel(
    env: Env, caller: Caller, reference: str, *, reason: str | None = None, keep: Keep[Cancelled] | None = None
) -> Cancelled:
    """Cancel a transaction that is PENDING or EXPIRED; one that is already cancelled is left unchanged.

    Its code is not reused for 30 days. A payment that still comes with it is held for review (`cancelled_request`).

    Raises:
        Refusal: TRANSACTION_NOT_FOUND; TRANSACTION_NOT_CANCELLABLE if it is paid, under review, or the holder of a
            payment without a request.
    """
    require(caller, Operation.CANCEL_TRANSACTION)
    now = env.clock.now_us()

    def job(tx: Tx) -> Cancelled:
        return idempotency.kept(tx, keep, now, lambda: give_up(tx))

    def give_up(tx: Tx) -> Cancelled:
        request = own_transaction(tx, caller, reference)
        cancelled, changed = cancel_transaction(tx, request, caller.name, reason, now)
        return Cancelled(cancelled, changed, now)

    return await env.store.write(job)


async def expire(env: Env) -> int:
    """Mark overdue transactions EXPIRED; return their number. Reads show them as EXPIRED before this runs."""
    times = env.times()
    if times.doubt is not None:
        return 0
    now, sure = times.wall_us, times.lower_bound_us
    outbox = env.outbox

    def job(tx: Tx) -> int:
        overdue = transactions.expire_due(tx, sure, EXPIRE_BATCH)
        for transaction in overdue:
            settle.record_expiry(tx, outbox, transaction, now)
        return len(overdue)

    total = 0
    while (expired := await env.store.write(job)) > 0:
        total += expired
        if expired < EXPIRE_BATCH:
            break
    # Each batch has a commit of its own: calls may make more answers in a minute than one batch.
    before, forms_before = sure - IDEMPOTENCY_US, sure - BROWSER_LIFE_US - DAY_US

    def prune(tx: Tx) -> int:
        return idempotency.prune(tx, before, forms_before, PRUNE_BATCH)

    for _ in range(ANSWER_BATCHES_MAX):
        if await env.store.write(prune) < PRUNE_BATCH:
            break
    await env.store.write(lambda tx: transactions.prune_names(tx, sure))
    return total


async def drop_suggestions(env: Env) -> int:
    """Close such reviews and return their number; each payment stays with its holder.

    A transaction created up to `REQUEST_AFTER_US` after a payment can be suggested, so reviews stay open for that time.
    """
    times = env.times()
    if times.doubt is not None:
        return 0
    now, sure = times.wall_us, times.lower_bound_us
    dropped, after = 0, 0
    while True:
        found, idle = await env.store.read(partial(_lapsed, now=sure, after=after))
        if idle:
            dropped += await env.store.write(partial(_close, idle=idle, now=now))
        if len(found) < BATCH:
            return dropped
        after = found[-1].seq


def _lapsed(reader: Reader, now: int, after: int) -> tuple[list[Review], list[Review]]:
    """Return the next reviews that no new transaction can answer, and those of them that no existing one can answer."""
    found = reviews.open_of_reason(
        reader, ReviewReason.NEAR_MISS, created_before=now - TRANSACTION_AFTER_US, after=after, limit=BATCH
    )
    return found, [review for review in found if _is_idle(reader, review, now)]


def _is_idle(reader: Reader, review: Review, now: int) -> bool:
    """Return whether every suggested transaction is paid, cancelled, or expired for longer than the late window."""
    assert review.payment_id is not None, "only a payment nearly names a transaction"
    payment = payments.get(reader, review.payment_id)
    assert payment is not None, "a review's payment is a payment"
    found = suggestions.suggestions(reader, payment)
    return all((one.request.expires_at or 0) <= now - LATE_WINDOW_US for one in found)


def _close(tx: Tx, idle: list[Review], now: int) -> int:
    closed = 0
    for review in idle:
        # A new transaction or an operator's decision may have come since it was read.
        if _is_idle(tx, review, now) and reviews.close(tx, review.id, "superseded", by="momo", now=now):
            closed += 1
            holder = transactions.paid_by(tx, review.payment_id or "")
            data = {"review_id": review.id, "reason": review.reason}
            journal.add(
                tx,
                "review.superseded",
                now,
                holder,
                payment_id=review.payment_id,
                message_id=review.message_id,
                mode=review.mode,
                data=data,
            )
    return closed
