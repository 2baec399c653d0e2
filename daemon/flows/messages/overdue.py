"""Report long messages with missing parts and receipts that have been held for too long.

Each is journaled once. Parts are kept, and a late part still completes its message.
"""

from daemon.core.limits import EXPIRE_BATCH, PARTS_MISSING_US
from daemon.core.messages.balance import HELD_US_MAX
from daemon.env import Env
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.journal import Notice, add_notice
from daemon.store.messages import balances, messages
from daemon.store.payments import reviews
from daemon.wire import Mode


async def report_missing_parts(env: Env) -> int:
    """Journal `message.incomplete` for messages that have been missing parts for a day; return their number.

    Raises:
        Unavailable: Nothing was written; the next call does it.
    """
    now = env.clock.now_us()
    before = now - PARTS_MISSING_US
    if not await env.store.read(
        lambda reader: messages.incomplete_without_notice(reader, before, 1)
    ):
        return 0  # the usual case, without a write transaction

    def job(tx: Tx) -> int:
        found = messages.incomplete_without_notice(tx, before, EXPIRE_BATCH)
        for message in found:
            messages.mark_noticed(tx, message.id)
            journal.add(
                tx,
                type="message.incomplete",
                mode=message.mode,
                at=now,
                message_id=message.id,
                data={
                    "device_id": message.device_id,
                    "slot_index": message.slot_index,
                    "parts_seen": message.parts_seen,
                    "parts_total": message.parts_total,
                },
            )
        return len(found)

    return await env.store.write(job)


async def notify_overdue(env: Env) -> int:
    """Create one notice for each receipt that has been held for over 30 minutes; return their number."""
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        held = balances.held_without_notice(tx, now - HELD_US_MAX, EXPIRE_BATCH)
        for entry in held:
            review = reviews.open_for_message(tx, entry.key)
            add_notice(
                tx,
                Notice.RECEIPT_HELD,
                mode=Mode.LIVE,
                now=now,
                message_id=entry.key,
                payment_id=messages.payment_of(tx, entry.key),
                transaction_id=None if review is None else review.transaction_id,
                data={"review_id": None if review is None else review.id},
            )
            balances.mark_noticed(tx, entry.key, now)
        return len(held)

    return await env.store.write(job)
