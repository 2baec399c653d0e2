"""Tell the owner of receipts that are held for long: nothing has settled them by itself (decisions.md section 4)."""

from daemon.core.balance import HELD_US_MAX, overdue
from daemon.core.limits import EXPIRE_BATCH
from daemon.env import Env
from daemon.store import balances, messages, reviews
from daemon.store.engine import Tx
from daemon.store.notices import Notice, tell
from daemon.wire import Mode


async def tell_overdue(env: Env) -> int:
    """Tell once of each receipt that is held for over 30 minutes; returns how many."""
    now = env.clock.now_us()

    def job(tx: Tx) -> int:
        held = overdue(balances.untold(tx, now - HELD_US_MAX, EXPIRE_BATCH), now)
        for entry in held:
            review = reviews.open_for_message(tx, entry.key)
            tell(
                tx,
                Notice.RECEIPT_HELD,
                mode=Mode.LIVE,
                now=now,
                message_id=entry.key,
                payment_id=messages.payment_of(tx, entry.key),
                transaction_id=None if review is None else review.transaction_id,
                data={"review_id": None if review is None else review.id},
            )
            balances.told(tx, entry.key, now)
        return len(held)

    return await env.store.write(job)
