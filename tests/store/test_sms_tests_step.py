"""The step of the schema that lets an SMS be a modem's test: what went out before stays written down."""

import sqlite3
from pathlib import Path

from daemon.store import migrate
from daemon.store.migrate import migrations

BEFORE = 21
SMS = (
    "INSERT INTO sms_outbox (seq, id, kind, sim_seq, number, body, status, tries, parts_sent, next_try_at, expires_at, "
    "created_at, ended_at, why) VALUES ({seq}, 'sms{seq}', '{kind}', 1, '+233244124567', 'text', 'sent', 1, 1, 5, 9, 5, 6, '')"
)


def test_what_was_sent_before_and_its_parts_are_kept_and_every_index_is_there(
    tmp_path: Path,
) -> None:
    connection = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    steps = migrations()
    migrate.migrate(connection, 1, steps[:BEFORE])
    connection.execute(
        "INSERT INTO devices (device_id, name, present, first_seen_at, last_seen_at) VALUES ('d', 'front', 1, 1, 1)"
    )
    connection.execute(
        "INSERT INTO sims (seq, sim_key, device_id, slot_index, present, first_seen_at, last_seen_at) "
        "VALUES (1, 'k', 'd', 0, 1, 1, 1)"
    )
    connection.execute(SMS.format(seq=7, kind="notice"))
    connection.execute(
        "INSERT INTO sms_outbox_parts (sms_id, part, reference, sent_at) VALUES ('sms7', 0, 40, 6)"
    )
    rows, indexes = _rows(connection), _indexes(connection)
    migrate.migrate(connection, 2, steps)
    connection.execute("PRAGMA foreign_keys = ON")
    kept = _rows(connection), _indexes(connection)
    connection.execute(SMS.format(seq=8, kind="test"))
    parts = connection.execute("SELECT sms_id, reference FROM sms_outbox_parts").fetchall()
    dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
    connection.close()
    assert kept == (rows, indexes)
    assert (parts, dangling) == ([("sms7", 40)], [])


def _rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT * FROM sms_outbox").fetchall()


def _indexes(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    found = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'sms_outbox' AND sql IS NOT NULL "
        "ORDER BY name"
    )
    return found.fetchall()
