"""The step of the schema that keeps with each dead letter what it failed of."""

import sqlite3
from pathlib import Path

from daemon.store import migrate
from daemon.store.migrate import migrations

DELIVERY = """INSERT INTO deliveries (id, webhook_id, endpoint_id, event, subject, revision, transaction_id, test, body,
    status, attempt_count, run, response_status_code, response_body, error_code, error_message, created_at, failed_at)
    VALUES ('d1', 'ocl_1', 'e1', 'transaction.forwarded', 'p1', 0, 't1', 0, '{}', 'failed', 3, 1, 410, 'gone', 'http_error',
    'it answered 410', 5, 9)"""
EARLIER = (
    DELIVERY,
    "INSERT INTO attempts (delivery_id, run, number, started_at) VALUES ('d1', 1, 1, 6), ('d1', 1, 2, 7)",
    "INSERT INTO dead_letters (id, delivery_id, reason, created_at, replay_count) VALUES ('l1', 'd1', 'permanent_4xx', 9, 0)",
)


def test_the_letters_of_the_schema_before_know_what_they_failed_of(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    steps = migrations()
    migrate.migrate(connection, 1, steps[:8])
    for statement in EARLIER:
        connection.execute(statement)
    migrate.migrate(connection, 2, steps)
    kept = connection.execute(
        "SELECT failed_at, failing_since, error_code, error_message, last_status_code, last_response_body, "
        "attempt_count FROM dead_letters"
    ).fetchall()
    connection.close()
    assert kept == [(9, 6, "http_error", "it answered 410", 410, "gone", 3)]
