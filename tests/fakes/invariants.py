"""What always holds in a shop's database (docs/architecture.md), asked of the rows themselves.

`check_invariants(path)` may be called at any moment, of a running shop or of one that was killed: each question is one
SELECT that finds only what must not be, all of them in one snapshot. Constraints of the schema are asked again, because
a migration can lose an index. Invariant 1 (an SMS leaves the SIM only when it is stored) is the phone's to tell.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

VERIFIED: Final = "('SUCCESS', 'PARTIAL', 'OVERPAID')"

QUESTIONS: Final[Mapping[str, str]] = {
    "2: one SMS is stored once": (
        "SELECT sim_key, sha256 FROM sms_parts GROUP BY sim_key, sha256 HAVING COUNT(*) > 1"
    ),
    "2: one SMS is one whole message": (
        "SELECT m.id FROM messages m JOIN sms_parts p ON p.message_id = m.id "
        "GROUP BY m.id HAVING COUNT(*) <> MAX(m.parts_seen)"
    ),
    "2: one ID of a network is one payment": (
        "SELECT mode, provider, telco_transaction_id FROM payments "
        "GROUP BY mode, provider, telco_transaction_id HAVING COUNT(*) > 1"
    ),
    "3: a payment verifies at most one transaction": (
        "SELECT payment_id FROM transactions WHERE payment_id IS NOT NULL GROUP BY payment_id HAVING COUNT(*) > 1"
    ),
    "3: a payment that verified a request is held by none": (
        "SELECT t.id FROM transactions t JOIN transactions h ON h.held_payment_id = t.payment_id AND t.origin = 'request'"
    ),
    "3: a verified transaction has its payment, and no other has one": (
        f"SELECT id FROM transactions WHERE merged_into IS NULL AND (status IN {VERIFIED}) <> (payment_id IS NOT NULL)"
    ),
    "3: a merged holder's payment is its request's": (
        "SELECT h.id FROM transactions h LEFT JOIN transactions t ON t.id = h.merged_into AND t.supersedes = h.id "
        "WHERE h.merged_into IS NOT NULL AND (h.payment_id IS NOT NULL OR t.payment_id IS NULL)"
    ),
    "3: the status says what was paid": (
        "SELECT t.id FROM transactions t JOIN payments p ON p.id = t.payment_id WHERE t.origin = 'request' AND "
        "(t.currency <> p.currency OR t.status <> CASE WHEN p.amount_minor = t.expected_minor THEN 'SUCCESS' "
        "WHEN p.amount_minor < t.expected_minor THEN 'PARTIAL' ELSE 'OVERPAID' END)"
    ),
    "4: a request is verified once, and the journal says when": (
        "SELECT t.id FROM transactions t LEFT JOIN events e ON e.transaction_id = t.id "
        "AND e.type = 'transaction.verified' AND e.payment_id = t.payment_id AND e.at = t.completed_at "
        "WHERE t.origin = 'request' AND t.payment_id IS NOT NULL GROUP BY t.id HAVING COUNT(e.seq) <> 1"
    ),
    "4: only what is verified is told as completed": (
        "SELECT d.id FROM deliveries d JOIN transactions t ON t.id = d.transaction_id "
        f"WHERE d.event = 'transaction.completed' AND (t.status NOT IN {VERIFIED} "
        "OR d.subject <> t.payment_id OR d.created_at <> t.completed_at)"
    ),
    "4: what is verified is owed to somebody, where anybody takes it": (
        "SELECT t.id, e.id FROM transactions t JOIN endpoints e ON e.mode = t.mode AND e.kind = 'endpoint' "
        "AND e.catch_all = 1 AND e.created_at < t.completed_at AND e.deleted_at IS NULL "
        "WHERE t.origin = 'request' AND t.payment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d "
        "WHERE d.event = 'transaction.forwarded' AND d.subject = t.payment_id)"
    ),
    "5: one webhook id is one address, kind and payment": (
        "SELECT d.webhook_id FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id GROUP BY d.webhook_id "
        "HAVING COUNT(DISTINCT e.mode || ' ' || e.url_normalised || ' ' || d.event || ' ' || d.subject || ' ' || d.revision)"
        " > 1"
    ),
    "5: one address, kind and payment is one webhook id": (
        "SELECT d.subject FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id "
        "GROUP BY e.mode, e.url_normalised, d.event, d.subject, d.revision HAVING COUNT(DISTINCT d.webhook_id) > 1"
    ),
    "6: nothing follows verification but a reversal": (
        "SELECT e.seq, e.type FROM events v JOIN events e ON e.transaction_id = v.transaction_id AND e.seq > v.seq "
        "WHERE v.type = 'transaction.verified' AND e.type IN ('transaction.created', 'transaction.cancelled', "
        "'transaction.expired', 'transaction.released', 'transaction.verified')"
    ),
    "6: a request is cancelled once": (
        "SELECT transaction_id FROM events WHERE type = 'transaction.cancelled' "
        "GROUP BY transaction_id HAVING COUNT(*) > 1"
    ),
    "6: what is cancelled says when, and what waits or expired never was": (
        "SELECT id FROM transactions WHERE (status = 'CANCELLED' AND cancelled_at IS NULL) "
        "OR (status IN ('PENDING', 'EXPIRED', 'MANUAL_REVIEW') AND cancelled_at IS NOT NULL)"
    ),
    "6: a request waits for a person while a review of it is open": (
        "SELECT id FROM transactions t WHERE (t.held_payment_id IS NOT NULL AND t.status <> 'MANUAL_REVIEW') "
        "OR (t.status = 'MANUAL_REVIEW' AND NOT EXISTS "
        "(SELECT 1 FROM reviews r WHERE r.transaction_id = t.id AND r.state = 'open'))"
    ),
    "7: one key of a caller has one answer": (
        "SELECT scope, key FROM idempotency_keys GROUP BY scope, key HAVING COUNT(*) > 1"
    ),
    "7: money is counted once: used, with a holder, or before a person": (
        "SELECT p.id, p.standing FROM payments p WHERE p.standing <> CASE "
        "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_id = p.id AND t.origin = 'request') THEN 'used' "
        "WHEN EXISTS (SELECT 1 FROM transactions t WHERE t.payment_id = p.id AND t.origin = 'open') THEN 'open' "
        "WHEN EXISTS (SELECT 1 FROM reviews r WHERE r.payment_id = p.id AND r.state = 'open') THEN 'review' "
        "ELSE 'lost' END"
    ),
    "8: a transaction and its payment are of one mode": (
        "SELECT t.id FROM transactions t JOIN payments p ON p.id IN (t.payment_id, t.held_payment_id) WHERE p.mode <> t.mode"
    ),
    "8: a payment and its message are of one mode": (
        "SELECT p.id FROM payments p JOIN messages m ON m.id = p.message_id WHERE p.mode <> m.mode"
    ),
    "8: a delivery, its endpoint and its transaction are of one mode": (
        "SELECT d.id FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id JOIN transactions t "
        "ON t.id = d.transaction_id WHERE e.mode <> t.mode OR d.test <> (t.mode = 'test')"
    ),
    "8: a review is of its payment's mode": (
        "SELECT r.id FROM reviews r JOIN payments p ON p.id = r.payment_id WHERE r.mode <> p.mode"
    ),
    "the code of an open request is its own": (
        "SELECT t.id FROM transactions t LEFT JOIN svc_codes c ON c.mode = t.mode AND c.code = t.svc_code "
        "WHERE t.status = 'PENDING' AND t.expires_at > (SELECT MAX(at) FROM events) AND c.transaction_id IS NOT t.id"
    ),
    "totals are what is there": (
        "SELECT mode, origin, status FROM (SELECT mode, origin, status, count FROM transaction_counts WHERE count > 0 "
        "UNION ALL SELECT mode, origin, status, COUNT(*) FROM transactions WHERE merged_into IS NULL "
        "GROUP BY mode, origin, status) GROUP BY mode, origin, status, count HAVING COUNT(*) <> 2"
    ),
    "nothing names a row that is not there": "SELECT * FROM pragma_foreign_key_check",
    "the file is sound": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
}


def broken_invariants(database: Path | str) -> dict[str, list[tuple[object, ...]]]:
    """Return what does not hold, each with the rows that show it; empty when all is well.

    The database is opened for reading, so its files must not be a killed daemon's that are still to be examined as they
    are: opening them recovers the log.
    """
    with closing(sqlite3.connect(database, timeout=10)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        found = {name: connection.execute(sql).fetchall() for name, sql in QUESTIONS.items()}
    return {name: rows for name, rows in found.items() if rows}


def check_invariants(database: Path | str) -> None:
    """Fail the test when anything that always holds does not.

    Raises:
        AssertionError: It names each, with the first rows.
    """
    broken = broken_invariants(database)
    lines = [f"{name}: {rows[:5]} ({len(rows)})" for name, rows in broken.items()]
    assert not broken, "\n".join(lines)
