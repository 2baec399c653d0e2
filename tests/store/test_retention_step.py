"""The step of the schema that numbers what customers said, so that it can be pruned."""

import sqlite3
from pathlib import Path

import pytest

from daemon.store import migrate
from daemon.store.migrate import migrations

BEFORE = 20
EARLIER = (
    "INSERT INTO payer_claims (transaction_id, telco_transaction_id, mode, said_at) "
    "VALUES ('t2', '0012', 'live', 9), ('t1', '0012', 'live', 5)"
)


def test_what_was_said_before_is_kept_and_is_still_said_once(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    steps = migrations()
    migrate.migrate(connection, 1, steps[:BEFORE])
    connection.execute(EARLIER)
    migrate.migrate(connection, 2, steps)
    kept = connection.execute("SELECT * FROM payer_claims ORDER BY seq").fetchall()
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        connection.execute(EARLIER)
    connection.close()
    assert kept == [(1, "t1", "0012", "live", 5), (2, "t2", "0012", "live", 9)]
