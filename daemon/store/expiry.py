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
