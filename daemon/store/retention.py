"""What is too old to keep: how much of each kind there is, and its removal a batch at a time (decisions.md section 10).

Rows that something points at are emptied, not deleted. What is still owed, or waits for a person, is never touched. Nor is
what only a clock that was behind has made old: what was written after something that is to be kept is not older than it, and
nothing is older than the database.
"""

from dataclasses import dataclass
from typing import Final

from daemon.store.engine import Reader, Tx


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing that is pruned.

    Attributes:
        name: As people and programs see it.
        old: FROM and WHERE of those older than `:before`.
        key: Its column that names one.
        age: Its column that tells how old it is.
        among: FROM and WHERE of all of its kind.
        statements: What is done with a batch, in this order; `{batch}` stands for its keys.
    """

    name: str
    old: str
    key: str
    age: str
    among: str
    statements: tuple[str, ...]

    @property
    def goes(self) -> str:
        """FROM and WHERE of those that are older, not older than the shop, and written before the oldest that is kept."""
        seq, age = self.key.split(".")[1], self.age.split(".")[1]
        first_kept = f"SELECT {seq} FROM {self.among} AND {age} >= :before ORDER BY {age} LIMIT 1"
        return f"{self.old} AND {self.key} < COALESCE(({first_kept}), {_NEVER}) AND {self.age} >= ({_BEGAN})"


_NEVER: Final = 2**63 - 1
_BEGAN: Final = "SELECT MIN(applied_at) FROM schema_migrations"
_ENDED: Final = "d.next_attempt_at IS NULL"
ATTEMPTS: Final = Kind(
    "attempts",
    # The number of an open delivery's next attempt is counted from those that it had.
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
    # A redelivery may have been answered yesterday.
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
    # What points at a delivery goes before it.
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
        # What a message said of a payment stays with the payment.
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
        # The row stays: it is what keeps the same SMS from going out twice.
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
    """Return how many there are that are older."""
    return int(reader.value(f"SELECT COUNT(*) FROM {kind.goes}", {"before": before}))


def prune(tx: Tx, kind: Kind, before: int, limit: int) -> int:
    """Prune the oldest of them, at most `limit`; returns how many."""
    rows = tx.all(
        f"SELECT {kind.key} FROM {kind.goes} ORDER BY {kind.age} LIMIT :limit",
        {"before": before, "limit": limit},
    )
    if not rows:
        return 0
    batch = ", ".join(str(int(row[0])) for row in rows)
    for statement in kind.statements:
        tx.run(statement.format(batch=batch))
    return len(rows)


def newest_event_at(reader: Reader) -> int | None:
    """Return the time of the newest entry of the journal."""
    at: int | None = reader.value("SELECT at FROM events ORDER BY seq DESC LIMIT 1")
    return at


def newest_network_time(reader: Reader, among: int) -> int | None:
    """Return the latest time that a network's own clock gave to one of the newest real messages."""
    at: int | None = reader.value(
        "SELECT MAX(sent_at) FROM (SELECT sent_at FROM messages WHERE mode = 'live' AND sent_at IS NOT NULL "
        "ORDER BY seq DESC LIMIT :among) newest",
        {"among": among},
    )
    return at
