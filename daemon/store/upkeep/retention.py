"""Data that is too old to keep: count it and remove it in batches (decisions.md section 10).

Rows that others refer to are emptied, not deleted. Pending rows and rows in review are never touched. A clock that was
behind must not make data look old: a row written after one that is kept is not older than it, and no row is older than
the database.
"""

from dataclasses import dataclass
from typing import Final

from daemon.store.engine import Reader, Tx


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of data that is pruned.

    Attributes:
        name: As in settings and output.
        old: FROM and WHERE of the rows older than `:before`.
        seq: The column that numbers the rows.
        age: The column with the row's time.
        among: FROM and WHERE of all rows of this kind.
        statements: The statements for a batch, in this order; `{batch}` stands for its numbers.
    """

    name: str
    old: str
    seq: str
    age: str
    among: str
    statements: tuple[str, ...]

    @property
    def prunable(self) -> str:
        """FROM and WHERE of the rows to prune: old, but not older than the shop, and before the oldest row that is kept."""
        seq, age = self.seq.split(".")[1], self.age.split(".")[1]
        first_kept = (
            f"SELECT {seq} FROM {self.among} AND {age} >= :before ORDER BY {age}, {seq} LIMIT 1"
        )
        return f"{self.old} AND {self.seq} < COALESCE(({first_kept}), {_NEVER}) AND {self.age} >= ({_BEGAN})"


_NEVER: Final = 2**63 - 1
_BEGAN: Final = "SELECT MIN(applied_at) FROM schema_migrations"
_ENDED: Final = "d.next_attempt_at IS NULL"
ATTEMPTS: Final = Kind(
    "attempts",
    # The next attempt of an open delivery is numbered after its earlier ones.
    "attempts a JOIN deliveries d ON d.id = a.delivery_id "
    f"WHERE a.started_at < :before AND a.finished_at IS NOT NULL AND {_ENDED}",
    "a.seq",
    "a.started_at",
    "attempts WHERE 1",
    ("DELETE FROM attempts WHERE seq IN ({batch})",),
)
RESPONSES: Final = Kind(
    "responses",
    "deliveries d "
    f"WHERE d.response_body IS NOT NULL AND d.created_at < :before AND {_ENDED} "
    # A delivery that was sent again may have been answered yesterday.
    "AND COALESCE(d.failed_at, d.delivered_at) < :before AND NOT EXISTS "
    "(SELECT 1 FROM attempts a WHERE a.delivery_id = d.id AND a.started_at >= :before)",
    "d.seq",
    "d.created_at",
    "deliveries WHERE 1",
    ("UPDATE deliveries SET response_body = NULL WHERE seq IN ({batch})",),
)
DEAD_LETTER_RESPONSES: Final = Kind(
    "dead_letter_responses",
    "dead_letters l WHERE l.last_response_body IS NOT NULL AND l.failed_at < :before",
    "l.seq",
    "l.failed_at",
    "dead_letters WHERE 1",
    ("UPDATE dead_letters SET last_response_body = NULL WHERE seq IN ({batch})",),
)
DELIVERIES: Final = Kind(
    "deliveries",
    f"deliveries d WHERE d.created_at < :before AND {_ENDED} "
    "AND COALESCE(d.failed_at, d.delivered_at) < :before AND NOT EXISTS "
    "(SELECT 1 FROM attempts a WHERE a.delivery_id = d.id AND a.started_at >= :before)",
    "d.seq",
    "d.created_at",
    "deliveries WHERE 1",
    # Rows that refer to a delivery are deleted before it.
    (
        "DELETE FROM attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE seq IN ({batch}))",
        "DELETE FROM dead_letters WHERE delivery_id IN (SELECT id FROM deliveries WHERE seq IN ({batch}))",
        "DELETE FROM deliveries WHERE seq IN ({batch})",
    ),
)
MESSAGES: Final = Kind(
    "messages",
    "messages m WHERE (m.body IS NULL OR m.body <> '') AND m.created_at < :before "
    "AND COALESCE(m.sent_at, 0) < :before "
    "AND m.state <> 'held' AND NOT EXISTS "
    "(SELECT 1 FROM reviews r WHERE r.message_id = m.id AND r.state = 'open')",
    "m.seq",
    "m.created_at",
    "messages WHERE (body IS NULL OR body <> '')",
    (
        "UPDATE sms_parts SET pdu = '' WHERE message_id IN (SELECT id FROM messages WHERE seq IN ({batch}))",
        # The payment's own row keeps the data read from the message.
        "UPDATE messages SET body = '', fields = '{{}}' WHERE seq IN ({batch})",
    ),
)
SENT_MESSAGES: Final = Kind(
    "sent_messages",
    "sms_outbox o WHERE o.body <> '' AND o.ended_at < :before",
    "o.seq",
    "o.ended_at",
    "sms_outbox WHERE body <> ''",
    (
        "DELETE FROM sms_outbox_parts WHERE sms_id IN (SELECT id FROM sms_outbox WHERE seq IN ({batch}))",
        # The row stays, because it prevents the same SMS from being sent twice.
        "UPDATE sms_outbox SET body = '' WHERE seq IN ({batch})",
    ),
)
CLAIMS: Final = Kind(
    "payer_claims",
    "payer_claims c WHERE c.said_at < :before",
    "c.seq",
    "c.said_at",
    "payer_claims WHERE 1",
    ("DELETE FROM payer_claims WHERE seq IN ({batch})",),
)
NOTICES: Final = Kind(
    "notice_sends",
    "notice_sends n WHERE n.due_at IS NULL AND n.queued_at < :before",
    "n.seq",
    "n.queued_at",
    "notice_sends WHERE due_at IS NULL",
    ("DELETE FROM notice_sends WHERE seq IN ({batch})",),
)


def count(reader: Reader, kind: Kind, before: int) -> int:
    """Return the number of rows to prune."""
    return int(reader.value(f"SELECT COUNT(*) FROM {kind.prunable}", {"before": before}))


def prune(tx: Tx, kind: Kind, before: int, limit: int) -> int:
    """Prune the oldest rows, at most `limit`; return how many."""
    rows = tx.all(
        f"SELECT {kind.seq} FROM {kind.prunable} ORDER BY {kind.age}, {kind.seq} LIMIT :limit",
        {"before": before, "limit": limit},
    )
    if not rows:
        return 0
    batch = ", ".join(str(int(row[0])) for row in rows)
    for statement in kind.statements:
        tx.run(statement.format(batch=batch))
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
