"""Data that is too old to keep: count it and remove it in batches.

Rows that others refer to are emptied, not deleted: of the columns that the schema marks `erased`. Pending rows and rows in review are never touched. A clock that was
behind must not make data look old: a row written after one that is kept is not older than it, and no row is older than
the database.

Stored times are corrected here too, after the clock was set.
"""

from typing import Final

from msgspec import Struct

from daemon.store.engine import Reader, Tx
from daemon.store.migrate import emptied
from daemon.store.rows import json_rows

_NEVER: Final = 2**63 - 1
_BEGAN: Final = "SELECT MIN(applied_at) FROM schema_migrations"


class PrunedKind(Struct, frozen=True):
    """One kind of data that is pruned.

    Attributes:
        name: As in settings and output.
        table: The table of the rows.
        age: The column with the row's time.
        old: The condition of the rows `r` older than `:before` that may be pruned.
        deletes: The tables whose rows are deleted, in this order, each with the condition that names those of a batch.
        empties: The tables whose columns marked `erased` in the schema are emptied, each with the column that names the batch.
        join: A table that `old` needs too.
        among: The condition of all rows of this kind, if not the whole table is.
    """

    name: str
    table: str
    age: str
    old: str
    deletes: tuple[tuple[str, str], ...] = ()
    empties: tuple[tuple[str, str], ...] = ()
    join: str = ""
    among: str = "TRUE"

    @property
    def prunable(self) -> str:
        """FROM and WHERE of the rows to prune: old, but not older than the shop, and before the oldest row that is kept."""
        age = self.age
        first_kept = f"SELECT seq FROM {self.table} WHERE {self.among} AND {age} >= :before ORDER BY {age}, seq LIMIT 1"
        return (
            f"{self.table} r {self.join} WHERE r.{age} < :before AND {self.old} "
            f"AND r.seq < COALESCE(({first_kept}), {_NEVER}) AND r.{age} >= ({_BEGAN})"
        )


_BATCH: Final = "(SELECT CAST(value AS BIGINT) FROM json_each(:batch))"
ATTEMPTS: Final = PrunedKind(
    "attempts",
    "attempts",
    "started_at",
    # The next attempt of an open delivery is numbered after its earlier ones.
    "r.finished_at IS NOT NULL AND d.next_attempt_at IS NULL",
    deletes=(("attempts", f"seq IN {_BATCH}"),),
    join="JOIN deliveries d ON d.seq = r.delivery_seq",
)
_DELIVERY_OVER: Final = (
    # A delivery that was sent again may have been answered yesterday.
    "r.next_attempt_at IS NULL AND COALESCE(r.failed_at, r.delivered_at) < :before AND NOT EXISTS "
    "(SELECT 1 FROM attempts a WHERE a.delivery_seq = r.seq AND a.started_at >= :before)"
)
RESPONSES: Final = PrunedKind(
    "responses",
    "deliveries",
    "created_at",
    f"r.response_body IS NOT NULL AND {_DELIVERY_OVER}",
    empties=(("deliveries", "seq"),),
)
DEAD_LETTER_RESPONSES: Final = PrunedKind(
    "dead_letter_responses",
    "dead_letters",
    "failed_at",
    "r.last_response_body IS NOT NULL",
    empties=(("dead_letters", "seq"),),
)
DELIVERIES: Final = PrunedKind(
    "deliveries",
    "deliveries",
    "created_at",
    _DELIVERY_OVER,
    # Rows that refer to a delivery are deleted before it.
    deletes=(
        ("attempts", f"delivery_seq IN {_BATCH}"),
        ("dead_letters", f"delivery_id IN (SELECT id FROM deliveries WHERE seq IN {_BATCH})"),
        ("delivery_bodies", f"delivery_seq IN {_BATCH}"),
        ("deliveries", f"seq IN {_BATCH}"),
    ),
)
MESSAGES: Final = PrunedKind(
    "messages",
    "messages",
    "created_at",
    "(r.body IS NULL OR r.body <> '') AND COALESCE(r.sent_at, 0) < :before AND r.state <> 'held' "
    "AND NOT EXISTS (SELECT 1 FROM reviews o WHERE o.message_id = r.id AND o.state = 'open')",
    # The payment's own row keeps the data read from the message.
    empties=(("sms_parts", "message_seq"), ("messages", "seq")),
    among="(body IS NULL OR body <> '')",
)
SENT_MESSAGES: Final = PrunedKind(
    "sent_messages",
    "sms_outbox",
    "ended_at",
    "r.body <> ''",
    deletes=(("sms_outbox_parts", f"sms_id IN (SELECT id FROM sms_outbox WHERE seq IN {_BATCH})"),),
    # The row stays, because it prevents the same SMS from being sent twice.
    empties=(("sms_outbox", "seq"),),
    among="body <> ''",
)
CLAIMS: Final = PrunedKind(
    "payer_claims", "payer_claims", "said_at", "TRUE", deletes=(("payer_claims", f"seq IN {_BATCH}"),)
)
NOTICES: Final = PrunedKind(
    "notice_sends", "notice_sends", "queued_at", "r.due_at IS NULL", deletes=(("notice_sends", f"seq IN {_BATCH}"),),
    among="due_at IS NULL",
)  # fmt: skip


def count(reader: Reader, kind: PrunedKind, before: int) -> int:
    """Return the number of rows to prune."""
    return reader.count(f"SELECT COUNT(*) FROM {kind.prunable}", {"before": before})


def prune(tx: Tx, kind: PrunedKind, before: int, limit: int) -> int:
    """Prune the oldest rows, at most `limit`; return how many."""
    rows = tx.all(
        f"SELECT r.seq FROM {kind.prunable} ORDER BY r.{kind.age}, r.seq LIMIT :limit",
        {"before": before, "limit": limit},
    )
    if rows:
        batch = {"batch": json_rows([row[0] for row in rows])}
        for table, where in kind.deletes:
            tx.run(f"DELETE FROM {table} WHERE {where}", batch)
        for table, key in kind.empties:
            tx.run(f"UPDATE {table} SET {emptied(table, 'erased')} WHERE {key} IN {_BATCH}", batch)
    return len(rows)


def newest_event_at(reader: Reader) -> int | None:
    """Return the time of the newest journal entry."""
    at: int | None = reader.value("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
    return at


def newest_network_time(reader: Reader, among: int) -> int | None:
    """Return the latest network time (SMSC clock) among the newest live messages."""
    at: int | None = reader.value(
        "SELECT MAX(sent_at) FROM (SELECT sent_at FROM messages WHERE mode = 'live' AND sent_at IS NOT NULL "
        "ORDER BY seq DESC LIMIT :among) newest",
        {"among": among},
    )
    return at


_SCHEDULED: Final = (
    ("deliveries", "next_attempt_at"),
    ("flushes", "next_at"),
    ("sms_outbox", "next_try_at"),
    ("notice_sends", "due_at"),
)
"""The tables and columns with the time of a next try."""


def shift_times(tx: Tx, transaction_id: str, by: int) -> int:
    """Move the times of a transaction that was made by a wrong clock by so many microseconds; return 1 if it is unpaid.

    Its payment code, the names in it and its SMS stay valid for as long as intended.
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
    tx.run("UPDATE request_names SET expires_at = expires_at + :by WHERE transaction_id = :id", values)
    tx.run(
        "UPDATE sms_outbox SET expires_at = expires_at + :by WHERE transaction_id = :id AND status = 'queued'", values
    )
    return moved


def shorten_waits(tx: Tx, by: int, now: int) -> int:
    """Shorten waits that became longer because the clock was set by `by` microseconds, below zero; return how many."""
    values = {"by": by, "now": now}
    later = "CASE WHEN {0} + :by > :now THEN {0} + :by ELSE :now END"
    return sum(
        tx.run(f"UPDATE {table} SET {at} = {later.format(at)} WHERE {at} > :now", values) for table, at in _SCHEDULED
    )
