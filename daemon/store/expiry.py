"""A request has expired: the journal tells it, and so do the endpoints' webhooks where they asked for it."""

from daemon.core.model import Transaction
from daemon.store import events
from daemon.store.engine import Tx
from daemon.store.outbox import Outbox


def tell(tx: Tx, outbox: Outbox, transaction: Transaction, now: int) -> None:
    """Tell it in the transaction that marks the request EXPIRED."""
    events.add(
        tx,
        type="transaction.expired",
        mode=transaction.mode,
        at=now,
        transaction_id=transaction.id,
    )
    outbox.expire(tx, transaction, now)


def move(tx: Tx, made_from: int, made_until: int, by: int) -> int:
    """Give the waiting requests that were made by a wrong clock the end they would have had by the right one.

    Args:
        tx: The transaction.
        made_from: By the wrong clock, the first that is meant.
        made_until: The last.
        by: Microseconds from the wrong clock to the right one.
    """
    return tx.run(
        "UPDATE transactions SET expires_at = expires_at + :by WHERE status = 'PENDING' AND expires_at IS NOT NULL "
        "AND created_at BETWEEN :made_from AND :made_until",
        {"by": by, "made_from": made_from, "made_until": made_until},
    )
