"""Let what is overdue expire, and forget answers nobody may repeat any more. A few hundred rows at a time.

Nothing of it is done while our clock is in doubt: a machine that wakes up in the wrong year must end nobody's order. While
nothing speaks for the clock either, an order ends when its time has surely passed (`core.clock_watch`).
"""

from daemon.core.limits import EXPIRE_BATCH, IDEMPOTENCY_US, PRUNE_BATCH
from daemon.env import Env
from daemon.store import expiry, idempotency, near_miss, transactions
from daemon.store.engine import Tx


async def expire(env: Env) -> int:
    """Mark overdue requests EXPIRED; returns how many. Reads show them as EXPIRED before this runs."""
    if env.clock_doubt() is not None:
        return 0
    now, sure = env.clock.now_us(), env.sure_us()
    outbox = env.outbox

    def job(tx: Tx) -> int:
        overdue = transactions.expire_due(tx, sure, EXPIRE_BATCH)
        for transaction in overdue:
            expiry.tell(tx, outbox, transaction, now)
        return len(overdue)

    total = 0
    while (expired := await env.store.write(job)) > 0:
        total += expired
        if expired < EXPIRE_BATCH:
            break
    await env.store.write(lambda tx: idempotency.prune(tx, sure - IDEMPOTENCY_US, PRUNE_BATCH))
    await env.store.write(lambda tx: near_miss.forget_old_names(tx, sure))
    return total
