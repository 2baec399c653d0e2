"""Shifts: who stood at a till from when to when, and what was made, paid and settled in that time.

A shift belongs to a caller, such as `user:ama`, and a caller has one open shift at most.
"""

from msgspec import Struct

from daemon.store.engine import Reader, Tx
from daemon.wire import Mode


class Shift(Struct, frozen=True):
    """One shift; `closed_at` and `closed_by` are None while it is open."""

    seq: int
    actor: str
    opened_at: int
    closed_at: int | None
    closed_by: str | None


def add(tx: Tx, actor: str, now: int) -> Shift | None:
    """Open a shift; return None if the caller has an open one."""
    return tx.first(
        Shift,
        "INSERT INTO shifts (actor, opened_at) VALUES (:actor, :now) ON CONFLICT DO NOTHING RETURNING *",
        {"actor": actor, "now": now},
    )


def close(tx: Tx, seq: int, by: str, now: int) -> Shift | None:
    """Close a shift; return None if it is closed."""
    return tx.first(
        Shift,
        "UPDATE shifts SET closed_at = :now, closed_by = :by WHERE seq = :seq AND closed_at IS NULL RETURNING *",
        {"seq": seq, "by": by, "now": now},
    )


def get(reader: Reader, seq: int) -> Shift | None:
    """Return one shift."""
    return reader.first(Shift, "SELECT * FROM shifts WHERE seq = :seq", {"seq": seq})


def open_of(reader: Reader, actor: str) -> Shift | None:
    """Return the open shift of a caller."""
    return reader.first(Shift, "SELECT * FROM shifts WHERE actor = :actor AND closed_at IS NULL", {"actor": actor})


def latest(reader: Reader, actor: str | None, *, before: int | None, limit: int) -> list[Shift]:
    """Return the newest shifts of a caller, or with None of all, that are older than the shift `before`."""
    return reader.every(
        Shift,
        "SELECT * FROM shifts WHERE (CAST(:actor AS TEXT) IS NULL OR actor = :actor) "
        "AND (CAST(:before AS INTEGER) IS NULL OR seq < :before) ORDER BY seq DESC LIMIT :limit",
        {"actor": actor, "before": before, "limit": limit},
    )


def made(reader: Reader, shift: Shift, until: int, mode: Mode) -> list[tuple[str, int, int]]:
    """Return by currency how many orders were made in a shift, and what was asked for in them."""
    rows = reader.all(
        "SELECT t.currency, COUNT(*), SUM(t.expected_minor) FROM transactions t "
        "WHERE t.mode = :mode AND t.origin = 'request' AND t.merged_into IS NULL "
        "AND t.created_at >= :since AND t.created_at < :until AND EXISTS (SELECT 1 FROM events e "
        "WHERE e.transaction_seq = t.seq AND e.type = 'transaction.created' AND e.actor = :actor) "
        "GROUP BY t.currency ORDER BY t.currency",
        {"since": shift.opened_at, "until": until, "actor": shift.actor, "mode": mode},
    )
    return [(str(currency), int(count), int(minor)) for currency, count, minor in rows]


def paid(reader: Reader, shift: Shift, until: int, mode: Mode) -> list[tuple[str, int, int]]:
    """Return by currency how many orders of the caller were paid in a shift, and what was received for them."""
    rows = reader.all(
        "SELECT p.currency, COUNT(*), SUM(p.amount_minor) FROM transactions t CROSS JOIN payments p "
        "WHERE p.seq = t.payment_seq AND t.mode = :mode AND t.origin = 'request' AND p.reversed_at IS NULL "
        "AND t.completed_at >= :since AND t.completed_at < :until AND EXISTS (SELECT 1 FROM events e "
        "WHERE e.transaction_seq = t.seq AND e.type = 'transaction.created' AND e.actor = :actor) "
        "GROUP BY p.currency ORDER BY p.currency",
        {"since": shift.opened_at, "until": until, "actor": shift.actor, "mode": mode},
    )
    return [(str(currency), int(count), int(minor)) for currency, count, minor in rows]


def settled(reader: Reader, shift: Shift, until: int, mode: Mode) -> list[tuple[str, str]]:
    """Return how the caller settled each transaction in a shift (JSON), and its currency."""
    rows = reader.all(
        "SELECT settlement, currency FROM transactions WHERE mode = :mode AND settled_at >= :since "
        "AND settled_at < :until AND settled_by = :actor",
        {"since": shift.opened_at, "until": until, "actor": shift.actor, "mode": mode},
    )
    return [(str(text), str(currency)) for text, currency in rows]
