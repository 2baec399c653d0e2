"""A request has expired: the journal tells it, and so do the endpoints' webhooks where they asked for it."""

from typing import Final

from daemon.core.model import Transaction
from daemon.store import events
from daemon.store.engine import Tx
from daemon.store.outbox import Outbox

_WAITS: Final = (
    ("deliveries", "next_attempt_at"),
    ("flushes", "next_at"),
    ("sms_outbox", "next_try_at"),
    ("notice_sends", "due_at"),
)
"""What is tried again at a time."""


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


def move(tx: Tx, transaction_id: str, by: int) -> int:
    """Give a request that was made by a wrong clock the end it would have had by the right one; returns 1 if it waits.

    Its code is in use, the names in it are kept, and its SMS waits for a line, for as long as they would have been. When
    it was made is put right too: money that is older than a request does not pay it.

    Args:
        tx: The transaction.
        transaction_id: The request.
        by: Microseconds from the wrong clock to the right one.
    """
    values = {"id": transaction_id, "by": by}
    moved = tx.run(
        "UPDATE transactions SET expires_at = expires_at + :by, created_at = created_at + :by "
        "WHERE id = :id AND status IN ('PENDING', 'MANUAL_REVIEW') AND expires_at IS NOT NULL",
        values,
    )
    tx.run(
        "UPDATE svc_codes SET free_at = free_at + :by WHERE transaction_id = :id "
        "AND (mode, code) = (SELECT mode, svc_code FROM transactions WHERE id = :id)",
        values,
    )
    tx.run(
        "UPDATE request_names SET expires_at = expires_at + :by WHERE transaction_id = :id", values
    )
    tx.run(
        "UPDATE sms_outbox SET expires_at = expires_at + :by WHERE transaction_id = :id AND status = 'queued'",
        values,
    )
    return moved


def bring_forward(tx: Tx, by: int, now: int) -> int:
    """Let what waits for its time wait no longer than it would have, after the clock was set back; returns how much.

    Args:
        tx: The transaction.
        by: Microseconds by which the clock was set; below zero.
        now: By the clock as it is now.
    """
    values = {"by": by, "now": now}
    later = "CASE WHEN {0} + :by > :now THEN {0} + :by ELSE :now END"
    return sum(
        tx.run(f"UPDATE {table} SET {at} = {later.format(at)} WHERE {at} > :now", values)
        for table, at in _WAITS
    )
