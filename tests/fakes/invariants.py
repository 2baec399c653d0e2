"""What always holds in a shop's database (docs/architecture.md), asked of the rows themselves.

They are the product's own questions (`daemon/store/ledger.py`), and some that only tests may ask. `check_invariants(path)` may be called at any moment, of a running shop or of one that was killed: each question is one
SELECT that finds only what must not be, all of them in one snapshot. Constraints of the schema are asked again, because
a migration can lose an index. Invariant 1 (an SMS leaves the SIM only when it is stored) is the phone's to tell.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.store import ledger

OWN: Final[Mapping[str, str]] = {
    # Deliveries are pruned, and an endpoint may have been made a catch-all, or been given its address, only later.
    "only what is verified is told as completed": (
        "SELECT d.id FROM deliveries d JOIN transactions t ON t.id = d.transaction_id "
        f"WHERE d.event = 'transaction.completed' AND (t.status NOT IN {ledger.VERIFIED} "
        "OR d.subject <> t.payment_id OR d.created_at <> t.completed_at)"
    ),
    "what is verified is owed to somebody, where anybody takes it": (
        "SELECT t.id, e.id FROM transactions t JOIN endpoints e ON e.mode = t.mode AND e.kind = 'endpoint' "
        "AND e.catch_all = 1 AND e.created_at < t.completed_at AND e.deleted_at IS NULL "
        "WHERE t.origin = 'request' AND t.payment_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d "
        "WHERE d.event = 'transaction.forwarded' AND d.subject = t.payment_id)"
    ),
    "one webhook id is one address": (
        "SELECT d.webhook_id FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id GROUP BY d.webhook_id "
        "HAVING COUNT(DISTINCT e.mode || ' ' || e.url_normalised) > 1"
    ),
    "one address, kind and payment is one webhook id": (
        "SELECT d.subject FROM deliveries d JOIN endpoints e ON e.id = d.endpoint_id "
        "GROUP BY e.mode, e.url_normalised, d.event, d.subject, d.revision HAVING COUNT(DISTINCT d.webhook_id) > 1"
    ),
    # A clock that was set back lets codes go before their time.
    "the code of an open request is its own": (
        "SELECT t.id FROM transactions t LEFT JOIN svc_codes c ON c.mode = t.mode AND c.code = t.svc_code "
        "WHERE t.status = 'PENDING' AND t.expires_at > (SELECT MAX(at) FROM events) AND c.transaction_id IS NOT t.id"
    ),
    # These go through the whole journal, which is for ever; a backup has no time for that.
    "a request is verified once, and the journal says when": (
        "SELECT t.id FROM transactions t LEFT JOIN events e ON e.transaction_id = t.id "
        "AND e.type = 'transaction.verified' AND e.payment_id = t.payment_id AND e.at = t.completed_at "
        "WHERE t.origin = 'request' AND t.payment_id IS NOT NULL GROUP BY t.id HAVING COUNT(e.seq) <> 1"
    ),
    "nothing follows verification but a reversal": (
        "SELECT e.seq, e.type FROM events v JOIN events e ON e.transaction_id = v.transaction_id AND e.seq > v.seq "
        "WHERE v.type = 'transaction.verified' AND e.type IN ('transaction.created', 'transaction.cancelled', "
        "'transaction.expired', 'transaction.released', 'transaction.verified')"
    ),
    "a request is cancelled once": (
        "SELECT transaction_id FROM events WHERE type = 'transaction.cancelled' "
        "GROUP BY transaction_id HAVING COUNT(*) > 1"
    ),
    "one key of a caller has one answer": (
        "SELECT scope, key FROM idempotency_keys GROUP BY scope, key HAVING COUNT(*) > 1"
    ),
    # A backup asks these by itself.
    "nothing names a row that is not there": "SELECT * FROM pragma_foreign_key_check",
    "the file is sound": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
}
"""What the product does not ask, because it holds only in a young shop, or is asked otherwise."""
QUESTIONS: Final[Mapping[str, str]] = {**dict(ledger.BREAKING.values()), **OWN}
"""What always holds, and a SELECT of the rows that break it."""


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
