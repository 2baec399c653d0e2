"""The step of the schema that knows of each delivery when it was tried last."""

import sqlite3
from pathlib import Path

from daemon.store.migrate import migrate, migrations
from tests.store.test_migrations import SHOP_OF_SCHEMA_1

BEFORE = 22


def test_what_was_tried_before_is_known_by_its_last_attempt_of_this_run(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    migrate(base, 1, migrations()[:1])
    for statement in SHOP_OF_SCHEMA_1:
        base.execute(statement)
    migrate(base, 1, migrations()[:BEFORE])
    for number, run in ((1, 1), (2, 1), (1, 2)):
        base.execute(
            "INSERT INTO attempts (delivery_id, run, number, started_at) VALUES ('dl1', ?, ?, 9)",
            (run, number),
        )
    waits = "UPDATE deliveries SET status = 'pending', run = ?, next_attempt_at = 5 WHERE id = ?"
    base.execute(waits, (1, "dl1"))
    migrate(base, 2)
    assert base.execute(
        "SELECT d.id, a.number, a.run FROM deliveries d LEFT JOIN attempts a ON a.seq = d.tried ORDER BY d.seq"
    ).fetchall() == [("dl1", 2, 1), ("dl2", None, None)]
    base.close()
