"""The invariants of a shop's database (docs/contributing/architecture.md), checked on the rows themselves.

They are the product's own checks (`daemon/store/upkeep/ledger_check.py`) and some for tests only.
`check_invariants(path)` may be called at any moment, on a running or a killed shop: each check is one SELECT for the
rows that violate it, and all run in one snapshot. Constraints of the schema are checked again, because a migration can
lose an index. Invariant 1 (an SMS leaves the SIM only after it is stored) is checked at the phone.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.store.postgresql.connection import Connection
from daemon.store.upkeep import ledger_check
from tests.fakes import kept_files, new_database

OWN: Final[Mapping[str, str]] = {
    # Deliveries are pruned. An endpoint may have become a catch-all, or got its URL, after a payment.
    "only a verified transaction is announced as completed": (
        "SELECT d.id FROM deliveries d JOIN transactions t ON t.seq = d.transaction_seq "
        "WHERE d.event = 'transaction.completed' AND (t.status NOT IN ('SUCCESS', 'PARTIAL', 'OVERPAID') "
        "OR d.subject <> t.payment_seq OR d.created_at <> t.completed_at) "
        # Unless that was taken back, which the same receiver is told.
        "AND NOT EXISTS (SELECT 1 FROM deliveries r WHERE r.event = 'transaction.reversed' AND r.seq > d.seq "
        "AND r.endpoint_seq = d.endpoint_seq AND r.transaction_seq = d.transaction_seq)"
    ),
    "what is verified is owed to somebody, where anybody takes it": (
        "SELECT t.id, e.id FROM transactions t JOIN endpoints e ON e.mode = t.mode AND e.kind = 'endpoint' "
        "AND e.catch_all = 1 AND e.created_at < t.completed_at AND e.deleted_at IS NULL "
        "WHERE t.origin = 'request' AND t.branch_id IS NULL AND t.payment_seq IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM deliveries d "
        "WHERE d.event = 'transaction.forwarded' AND d.subject = t.payment_seq)"
    ),
    "one webhook id is one address": (
        "SELECT d.webhook_id FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq GROUP BY d.webhook_id "
        "HAVING COUNT(DISTINCT e.mode || ' ' || e.url_normalised) > 1"
    ),
    "one address, kind and payment is one webhook id": (
        "SELECT d.subject FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq "
        "GROUP BY e.mode, e.url_normalised, d.event, d.subject, d.revision HAVING COUNT(DISTINCT d.webhook_id) > 1"
    ),
    # A clock that was set back releases codes too early.
    "the code of an open request is its own": (
        "SELECT t.id FROM transactions t LEFT JOIN svc_codes c ON c.mode = t.mode AND c.code = t.svc_code "
        "WHERE t.status = 'PENDING' AND t.branch_id IS NULL AND t.expires_at > (SELECT MAX(at) FROM events) AND c.transaction_seq IS DISTINCT FROM t.seq"
    ),
    # These scan the whole journal, which is never pruned; too slow for a backup.
    "a request is verified once, and the journal says when": (
        "SELECT t.id FROM transactions t LEFT JOIN events e ON e.transaction_seq = t.seq "
        "AND e.type = 'transaction.verified' AND e.at = t.completed_at "
        "AND e.payment_seq = t.payment_seq "
        "WHERE t.origin = 'request' AND t.branch_id IS NULL AND t.payment_seq IS NOT NULL GROUP BY t.id HAVING COUNT(e.seq) <> 1"
    ),
    "nothing follows verification but a reversal": (
        "SELECT e.seq, e.type FROM events v JOIN events e ON e.transaction_seq = v.transaction_seq AND e.seq > v.seq "
        "WHERE v.type = 'transaction.verified' AND e.type IN ('transaction.created', 'transaction.cancelled', "
        "'transaction.expired', 'transaction.released', 'transaction.verified') AND NOT EXISTS (SELECT 1 FROM events b "
        "WHERE b.transaction_seq = v.transaction_seq AND b.type IN ('review.taken_back', 'payment.withdrawn') AND b.seq > v.seq AND b.seq < e.seq)"
    ),
    "a request is cancelled once": (
        "SELECT transaction_seq FROM events WHERE type = 'transaction.cancelled' "
        "GROUP BY transaction_seq HAVING COUNT(*) > 1"
    ),
    "one key of a caller has one answer": (
        "SELECT scope, key FROM idempotency_keys GROUP BY scope, key HAVING COUNT(*) > 1"
    ),
    # A backup runs these checks separately.
    "nothing names a row that is not there": "SELECT * FROM pragma_foreign_key_check",
    "the file is sound": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
}
"""Checks that the product does not run: they hold only in a young shop, or the product checks them in another way."""
QUESTIONS: Final[Mapping[str, str]] = {**dict(ledger_check.VIOLATIONS.values()), **OWN}
"""Invariant -> a SELECT of the rows that violate it."""


def broken_invariants(database: Path | str) -> dict[str, list[tuple[object, ...]]]:
    """Return the violated invariants, each with its rows; empty if all hold.

    Opening the database recovers its log. Do not call this on files of a killed daemon that a test still examines.
    """
    if new_database.on_postgresql():
        return _broken_on_server(Path(database))
    if (kept := kept_files.at(database)) is not None:
        return _broken_in(kept.checker)
    with closing(sqlite3.connect(database, timeout=10)) as connection:
        connection.execute("PRAGMA query_only = ON")
        return _broken_in(connection)


def _broken_in(connection: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    connection.execute("BEGIN")
    try:
        found = {name: connection.execute(sql).fetchall() for name, sql in QUESTIONS.items()}
    finally:
        connection.execute("ROLLBACK")
    return {name: rows for name, rows in found.items() if rows}


def _broken_on_server(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the same for a shop on the tests' server, without the checks that only a file can violate."""
    from tests.fakes import postgresql

    with closing(postgresql.reading(str(database))) as connection:
        return _broken_on(connection)


def _broken_on(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    found = {name: connection.execute(sql).fetchall() for name, sql in QUESTIONS.items() if "pragma_" not in sql}
    return {name: rows for name, rows in found.items() if rows}


def check_invariants(database: Path | str) -> None:
    """Fail the test if an invariant is violated.

    Raises:
        AssertionError: It names each violated invariant with the first rows.
    """
    _none_is(broken_invariants(database))


def check_server_invariants(url: str) -> None:
    """Do the same for a shop of a real daemon in a database on a server.

    Raises:
        AssertionError: It names each violated invariant with the first rows.
    """
    with closing(Connection(url, read_only=True)) as connection:
        _none_is(_broken_on(connection))


def _none_is(broken: Mapping[str, Sequence[tuple[object, ...]]]) -> None:
    lines = [f"{name}: {rows[:5]} ({len(rows)})" for name, rows in broken.items()]
    assert not broken, "\n".join(lines)
