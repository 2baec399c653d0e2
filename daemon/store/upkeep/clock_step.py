"""Correct the stored times after the clock was set."""

from typing import Final

from daemon.store.engine import Tx

_SCHEDULED: Final = (
    ("deliveries", "next_attempt_at"),
    ("flushes", "next_at"),
    ("sms_outbox", "next_try_at"),
    ("notice_sends", "due_at"),
)
"""The tables and columns with the time of a next try."""


def shift_times(tx: Tx, transaction_id: str, by: int) -> int:
    """Correct the times of a transaction that was made by a wrong clock; return 1 if it is still unpaid.

    Its payment code, the names in it and its SMS stay valid for as long as intended.

    Args:
        tx: The database transaction.
        transaction_id: The transaction.
        by: Microseconds from the wrong clock to the right one.
    """
    values = {"id": transaction_id, "by": by}
    # `created_at` is corrected too, because money that is older than a transaction does not pay it.
    moved = tx.run(
        "UPDATE transactions SET expires_at = expires_at + :by, created_at = created_at + :by "
        "WHERE id = :id AND status IN ('PENDING', 'MANUAL_REVIEW') AND expires_at IS NOT NULL",
        values,
    )
    tx.run(
        "UPDATE svc_codes SET free_at = free_at + :by WHERE transaction_seq = (SELECT seq FROM transactions WHERE id = :id) "
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


def shorten_waits(tx: Tx, by: int, now: int) -> int:
    """Shorten waits that became longer because the clock was set back; return how many.

    Args:
        tx: The database transaction.
        by: Microseconds by which the clock was set; below zero.
        now: By the clock as it is now.
    """
    values = {"by": by, "now": now}
    later = "CASE WHEN {0} + :by > :now THEN {0} + :by ELSE :now END"
    return sum(
        tx.run(f"UPDATE {table} SET {at} = {later.format(at)} WHERE {at} > :now", values)
        for table, at in _SCHEDULED
    )
