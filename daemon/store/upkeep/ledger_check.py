"""Invariants (docs/contributing/architecture.md), checked in the rows by backups and `momo doctor ledger`.

Each question is one SELECT of the rows that violate it. An invariant must hold in every shop, after any pruning
with any addresses of endpoints, and at any moment between two transactions.
Checks that only hold in a young shop, or would scan the whole journal, are in the tests (`tests/fakes/invariants.py`).
"""

import sqlite3
from collections.abc import Mapping
from typing import Final, NamedTuple

from daemon.store.migrate import Query


class Invariant(NamedTuple):
    """An invariant, and a SELECT about the rows that violate it."""

    sentence: str
    sql: str


VIOLATIONS: Final[Mapping[str, Invariant]] = {
    "message.stored_once": Invariant(
        "one SMS is stored once",
        "SELECT p.sim, MIN(m.id) FROM sms_parts p JOIN messages m ON m.seq = p.message_seq "
        "GROUP BY p.sim, p.sha256 HAVING COUNT(*) > 1",
    ),
    "message.whole": Invariant(
        "a message has as many parts as it counts",
        "SELECT m.id FROM messages m JOIN sms_parts p ON p.message_seq = m.seq "
        "GROUP BY m.id HAVING COUNT(*) <> MAX(m.parts_seen)",
    ),
    "payment.one_message": Invariant(
        "a payment belongs to a stored message",
        "SELECT p.id FROM payments p LEFT JOIN messages m ON m.seq = p.message_seq WHERE m.id IS NULL",
    ),
    "payment.one_id": Invariant(
        "one network ID is one payment",
        "SELECT mode, provider, telco_transaction_id FROM payments WHERE double_of IS NULL "
        "GROUP BY mode, provider, telco_transaction_id HAVING COUNT(*) > 1",
    ),
    "payment.used_once": Invariant(
        "a payment verifies at most one transaction",
        "SELECT payment_seq FROM transactions WHERE payment_seq IS NOT NULL GROUP BY payment_seq HAVING COUNT(*) > 1",
    ),
    "payment.used_in_one_shop": Invariant(
        "a payment that paid an order of head office pays none here",
        "SELECT p.id FROM hub_commands c JOIN payments p ON p.id = c.subject JOIN transactions t ON t.payment_seq = p.seq "
        "WHERE c.kind = 'decided' AND c.body LIKE '%\"origin\": \"request\"%' AND t.origin = 'request' AND p.branch_id IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM hub_commands n WHERE n.subject = c.subject AND n.kind = 'decided' AND n.seq > c.seq)",
    ),
    "payment.held_by_none": Invariant(
        "no transaction is held for a payment that verified one",
        "SELECT t.id FROM transactions t JOIN transactions h ON h.held_payment_seq = t.payment_seq "
        "WHERE t.origin = 'request'",
    ),
    "payment.standing": Invariant(
        "a payment is counted once: used, with a holder, in review, or handed to the hub",
        "SELECT p.id, p.standing FROM payments p "
        # At a hub, rows that a branch decides are copies, which may be behind each other.
        "WHERE (p.branch_id IS NULL OR p.decider = 'hub') AND p.double_of IS NULL AND p.standing <> CASE "
        "WHEN p.decider = 'hub' AND p.branch_id IS NULL THEN 'handed' "
        "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = p.seq AND (t.origin = 'request' OR t.settles IS NOT NULL)) THEN 'used' "
        "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_seq = p.seq AND t.origin = 'open') THEN 'open' "
        "WHEN EXISTS (SELECT 1 FROM reviews r WHERE r.payment_id = p.id AND r.state = 'open') THEN 'review' "
        "WHEN p.decider = 'hub' AND p.standing = 'handed' THEN 'handed' ELSE 'lost' END",
    ),
    "payment.modes": Invariant(
        "a payment and its message are of one mode",
        "SELECT p.id FROM payments p JOIN messages m ON m.seq = p.message_seq WHERE p.mode <> m.mode",
    ),
    "transaction.verified_is_paid": Invariant(
        "a verified transaction has its payment, and no other has one",
        "SELECT id FROM transactions WHERE merged_into IS NULL "
        "AND (status IN ('SUCCESS', 'PARTIAL', 'OVERPAID')) <> (payment_seq IS NOT NULL)",
    ),
    "transaction.status": Invariant(
        "the status agrees with the amount paid",
        "SELECT t.id FROM transactions t JOIN payments p ON p.seq = t.payment_seq WHERE t.origin = 'request' "
        "AND t.branch_id IS NULL AND t.status <> CASE WHEN p.amount_minor = t.expected_minor THEN 'SUCCESS' "
        "WHEN p.amount_minor < t.expected_minor THEN 'PARTIAL' ELSE 'OVERPAID' END",
    ),
    "transaction.currency": Invariant(
        "a transaction is paid in its own currency",
        "SELECT t.id FROM transactions t JOIN payments p ON p.seq = t.payment_seq WHERE t.currency <> p.currency",
    ),
    "transaction.modes": Invariant(
        "a transaction and its payment are of one mode",
        "SELECT t.id FROM transactions t JOIN payments p ON p.seq = t.payment_seq OR p.seq = t.held_payment_seq "
        "WHERE p.mode <> t.mode",
    ),
    "transaction.merged": Invariant(
        "a merged holder's payment belongs to the transaction that replaced it",
        "SELECT h.id FROM transactions h LEFT JOIN transactions t ON t.id = h.merged_into "
        # One that names itself waits for its payment, whose decision was taken back.
        "WHERE h.merged_into <> h.id AND h.branch_id IS NULL AND (h.payment_seq IS NOT NULL "
        # It moved to a transaction of the hub, or back to the branch, which are not here.
        "OR (t.branch_id IS NULL AND t.id IS NOT NULL AND (t.payment_seq IS NULL OR COALESCE(t.supersedes, '') <> h.id)))",
    ),
    "transaction.cancelled": Invariant(
        "a cancelled transaction has a time of cancelling, an open or expired one has none",
        "SELECT id FROM transactions WHERE (status = 'CANCELLED' AND cancelled_at IS NULL) "
        "OR (status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW') AND cancelled_at IS NOT NULL)",
    ),
    "transaction.review": Invariant(
        "a transaction in MANUAL_REVIEW has an open review",
        "SELECT id FROM transactions t WHERE t.branch_id IS NULL "
        "AND ((t.held_payment_seq IS NOT NULL AND t.status <> 'MANUAL_REVIEW') OR (t.status = 'MANUAL_REVIEW' AND NOT EXISTS "
        "(SELECT 1 FROM reviews r WHERE r.transaction_id = t.id AND r.state = 'open')))",
    ),
    "review.modes": Invariant(
        "a review is of its payment's mode",
        "SELECT r.id FROM reviews r JOIN payments p ON p.id = r.payment_id WHERE r.mode <> p.mode",
    ),
    "delivery.modes": Invariant(
        "a delivery, its endpoint and its transaction are of one mode",
        "SELECT d.id FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq "
        "JOIN transactions t ON t.seq = d.transaction_seq "
        "WHERE e.mode <> t.mode OR (d.test = 1) <> (t.mode = 'test')",
    ),
    "delivery.body": Invariant(
        "a delivery has its body",
        "SELECT d.id FROM deliveries d LEFT JOIN delivery_bodies b ON b.delivery_seq = d.seq WHERE b.delivery_seq IS NULL",
    ),
    "delivery.one_subject": Invariant(
        "one webhook id is one kind of event about one payment",
        # With the expression of the index.
        "SELECT d.webhook_id FROM deliveries d JOIN deliveries o "
        "ON SUBSTR(o.webhook_id, 5, 10) = SUBSTR(d.webhook_id, 5, 10) AND o.webhook_id = d.webhook_id "
        "AND (o.event <> d.event OR o.subject <> d.subject OR o.revision <> d.revision)",
    ),
    "delivery.delivered_once": Invariant(
        "a delivered webhook has a time of delivery, a failed one a time of failure",
        "SELECT id FROM deliveries WHERE (status = 'delivered' AND delivered_at IS NULL) "
        "OR (status = 'failed') <> (failed_at IS NOT NULL)",
    ),
    "counts.kept": Invariant(
        "the stored totals agree with the rows",
        "SELECT mode, origin, status FROM (SELECT mode, origin, status, count FROM transaction_counts WHERE count > 0 "
        "UNION ALL SELECT mode, origin, status, COUNT(*) FROM transactions WHERE merged_into IS NULL "
        "GROUP BY mode, origin, status) kept GROUP BY mode, origin, status, count HAVING COUNT(*) <> 2",
    ),
    "counts.messages": Invariant(
        "the stored totals of messages agree with the rows",
        "SELECT mode, line, state FROM (SELECT mode, line, state, count FROM message_counts WHERE count > 0 "
        "UNION ALL SELECT mode, COALESCE(payment_method_seq, 0), state, COUNT(*) FROM messages WHERE state <> 'incomplete' "
        "GROUP BY mode, COALESCE(payment_method_seq, 0), state) kept GROUP BY mode, line, state, count HAVING COUNT(*) <> 2",
    ),
    "counts.deliveries": Invariant(
        "the stored totals of deliveries agree with the rows",
        "SELECT mode, endpoint, event, status FROM "
        "(SELECT mode, endpoint, event, status, count FROM delivery_counts WHERE count > 0 UNION ALL "
        "SELECT e.mode, CASE e.kind WHEN 'endpoint' THEN e.id ELSE 'implicit' END AS owner, d.event, d.status, COUNT(*) "
        "FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq GROUP BY e.mode, owner, d.event, d.status) kept "
        "GROUP BY mode, endpoint, event, status, count HAVING COUNT(*) <> 2",
    ),
}
"""By a stable id: the invariant, and a SELECT of the rows that violate it."""

SCHEMA_ENFORCED: Final = frozenset(
    {
        "message.stored_once",
        "payment.one_message",
        "payment.one_id",
        "payment.used_once",
        "transaction.verified_is_paid",
    }
)
"""Invariants that the schema enforces (UNIQUE, REFERENCES, CHECK): only a damaged file can violate them."""


def findings(query: Query) -> list[tuple[str, str, int]]:
    """Return (id, sentence, number of violating rows) for each violated invariant."""
    found = [(name, sentence, len(query(sql))) for name, (sentence, sql) in VIOLATIONS.items()]
    return [one for one in found if one[2]]


def violations(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each violated invariant, with the number of rows; empty if there are none."""
    return [
        f"{name}: does not hold: {sentence} ({count})"
        for name, sentence, count in findings(lambda sql: connection.execute(sql).fetchall())
    ]
