"""Every migration keeps the shop's data; a step that fails or is killed changes nothing."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon.store.engine import Store
from daemon.store.migrate import DatabaseDamaged, DatabaseForeign, DatabaseNewer, Migration, migrate, migrations
from daemon.store.upkeep import backup, ledger_check
from tests.fakes.later_schema import BASE, STEPS, know_later_steps, make_small_shop
from tests.house import schema_checksums

KEPT = (
    "SELECT id, telco_transaction_id, amount_minor, standing FROM payments",
    "SELECT id, status, svc_code, payment_seq, meta FROM transactions ORDER BY id",
    "SELECT code, transaction_seq FROM svc_codes",
    "SELECT id, body, state FROM messages",
    "SELECT sha256, pdu FROM sms_parts",
    "SELECT id, status, webhook_id FROM deliveries ORDER BY id",
    "SELECT delivery_seq, status_code FROM attempts",
    "SELECT id, delivery_id FROM dead_letters",
    "SELECT id, url FROM endpoints",
    "SELECT owner, sealed FROM webhook_secrets",
    "SELECT type, transaction_seq FROM events ORDER BY seq",
)
KILLED = """
import os, signal, sqlite3, sys
from daemon.store.migrate import migrate
from tests.fakes.later_schema import STEPS
path, number, after = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
base = sqlite3.connect(path, isolation_level=None)
base.execute("PRAGMA journal_mode = WAL")
seen = None
def watch(sql):
    global seen
    if sql.startswith("BEGIN"):
        seen = 0
    elif seen is not None:
        seen += 1
        # The last statement of a step is its COMMIT, and then it has happened.
        if seen > after or sql.startswith("COMMIT"):
            os.kill(os.getpid(), signal.SIGKILL)
base.set_trace_callback(watch)
migrate(base, 1, STEPS[:number])
"""


def every_row(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of all tables but those of the text index, each as its columns by name."""
    base = connected(path)
    names = base.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search*' AND name NOT GLOB 'sqlite_*'"
    ).fetchall()
    rows = {}
    for (name,) in names:
        found = base.execute(f"SELECT * FROM {name} ORDER BY 1, 2")
        columns = [column[0] for column in found.description]
        rows[name] = [dict(zip(columns, row, strict=True)) for row in found]
    base.close()
    return rows


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def kill_in_step(path: Path, number: int, after: int) -> None:
    """Migrate in a separate process that is killed after so many statements of the last step."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(number), str(after)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, (number, after, done.stderr)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "momo.db"
    make_small_shop(made)
    return made


def holds(path: Path) -> list[Any]:
    base = connected(path)
    rows = [base.execute(question).fetchall() for question in KEPT]
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert base.execute("PRAGMA foreign_key_check").fetchall() == []
    base.close()
    return rows


def version(path: Path) -> int:
    base = connected(path)
    (found,) = base.execute("PRAGMA user_version").fetchone()
    base.close()
    return int(found)


def test_a_shop_comes_through_every_step_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = holds(path)
    know_later_steps(monkeypatch)
    Store.open(str(path), now_us=2).close()
    assert holds(path) == before
    base = connected(path)
    assert ledger_check.violations(base) == []
    steps = base.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()
    labels = base.execute("SELECT payment_id FROM labels").fetchall()
    base.close()
    assert steps == [(step.version, step.name) for step in STEPS]
    assert labels == [("p1",)]
    assert backup.verify_copy(path).findings == ()


@pytest.mark.parametrize("made_up", [False, True], ids=["this program's steps", "made-up steps"])
def test_every_row_of_a_base_schema_is_in_the_newest(
    path: Path, made_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that moves or drops a column on purpose names it here."""
    before = every_row(path)
    assert sum(len(rows) for name, rows in before.items() if name != "schema_migrations") > 20
    if made_up:
        know_later_steps(monkeypatch)
    Store.open(str(path), now_us=2).close()
    after = every_row(path)
    for name, rows in before.items():
        assert len(after[name]) == len(rows) or name == "schema_migrations", name
        for was, now in zip(rows, after[name], strict=False):
            assert was.items() <= now.items(), name


def test_a_step_that_fails_half_way_leaves_the_file_as_it_was(path: Path) -> None:
    before, base = holds(path), connected(path)
    schema = base.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    fails = Migration(2, "fails", f"{STEPS[1].sql}INSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(base, 2, [BASE, fails])
    assert base.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall() == schema
    base.close()
    assert (version(path), holds(path)) == (1, before)


def test_a_step_that_would_leave_rows_without_what_they_name_is_not_taken(path: Path) -> None:
    lossy = (
        "CREATE TABLE anew (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;\nDROP TABLE transactions;\n"
        "ALTER TABLE anew RENAME TO transactions;\n"
    )
    base = connected(path)
    with pytest.raises(DatabaseDamaged, match="that refer to missing rows of transactions"):
        migrate(base, 2, [BASE, Migration(2, "lossy", lossy)])
    assert base.execute("SELECT COUNT(*) FROM transactions").fetchone() == (2,)
    base.close()


def test_a_database_of_a_pre_release_is_refused_and_left_as_it_is(path: Path) -> None:
    base = connected(path)
    base.execute("UPDATE schema_migrations SET name = 'foundations'")
    for number in range(2, 25):
        base.execute("INSERT INTO schema_migrations VALUES (?, 'earlier', 1, 'x')", (number,))
    base.execute("PRAGMA user_version = 24")
    base.execute("PRAGMA journal_mode = DELETE")
    base.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseForeign, match="made by a pre-release of momo"):
        Store.open(str(path), now_us=2)
    assert path.read_bytes() == before
    with pytest.raises(backup.BackupBad, match="made by a pre-release of momo"):
        backup.verify_copy(path)


def test_a_database_whose_first_step_had_another_text_is_of_a_pre_release(path: Path) -> None:
    earlier = Migration(1, BASE.name, BASE.sql.replace("created_at", "made_at"))
    base = connected(path)
    with pytest.raises(DatabaseForeign, match="made by a pre-release of momo"):
        migrate(base, 2, [earlier])
    base.close()


def test_a_database_without_checksums_is_of_a_pre_release(path: Path) -> None:
    base = connected(path)
    base.execute("ALTER TABLE schema_migrations DROP COLUMN sha256")
    with pytest.raises(DatabaseForeign, match="made by a pre-release of momo"):
        migrate(base, 2)
    base.close()


@pytest.mark.parametrize("number", [0, 2])
def test_a_database_whose_number_is_not_that_of_its_last_step_is_refused(number: int, path: Path) -> None:
    base = connected(path)
    base.execute(f"PRAGMA user_version = {number}")
    with pytest.raises(DatabaseForeign, match=f"has 1 steps of the schema and the number {number}"):
        migrate(base, 2, STEPS)
    base.close()


def test_the_text_of_a_step_never_changes() -> None:
    """After `make checksums`: only steps that no release has may be written anew."""
    written = schema_checksums.read()
    for step in migrations():
        assert schema_checksums.line(step) in written, (
            f"{step.name} was changed: a shop has its earlier text. Add a new step (CONTRIBUTING.md); "
            "if no release has it, run make checksums"
        )
    assert len(written) == len(migrations())


def test_the_checksum_of_a_released_step_is_not_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "checksums.txt"
    file.write_text("")
    schema_checksums.write([BASE], "0.1.0", file)
    next_step = Migration(2, "labels", "CREATE TABLE labels (seq INTEGER);")
    schema_checksums.write([BASE, next_step], "", file)
    changed = Migration(2, "labels", "CREATE TABLE labels (id INTEGER);")
    schema_checksums.write([BASE, changed], "", file)
    assert schema_checksums.read(file) == {schema_checksums.line(BASE): "0.1.0", schema_checksums.line(changed): ""}

    with pytest.raises(SystemExit, match=r"0001_\w+.sql is part of 0.1.0 and must keep its text(?s:.*)step 0003"):
        schema_checksums.write([Migration(1, BASE.name, BASE.sql + "\n"), changed], "", file)
    assert schema_checksums.line(changed) in file.read_text(), "it is left as it is"


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "momo.db"
    base = connected(path)
    base.execute("CREATE TABLE messages (text TEXT)")
    base.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseForeign, match="not made by momo"):
        Store.open(str(path), now_us=2)
    assert path.read_bytes() == before


def test_a_newer_database_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        know_later_steps(newer)
        Store.open(str(path), now_us=2).close()
    with pytest.raises(DatabaseNewer, match=r"the database has schema 3, .* supports 1"):
        Store.open(str(path), now_us=3)


@pytest.mark.slow
@pytest.mark.parametrize("after", [3, 1_000])
def test_a_kill_while_the_first_step_makes_the_shop_leaves_an_empty_file_that_can_be_used(
    after: int, tmp_path: Path
) -> None:
    new = tmp_path / "new.db"
    kill_in_step(new, 1, after)
    assert version(new) == 0
    base = connected(new)
    assert base.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone() == (0,)
    base.close()
    Store.open(str(new), now_us=2).close()
    assert version(new) == len(migrations())


@pytest.mark.slow
def test_a_kill_anywhere_in_a_step_leaves_the_one_before(path: Path) -> None:
    before = holds(path)
    for step in STEPS[1:]:
        for after in (*range(1, 6), 1_000):
            kill_in_step(path, step.version, after)
            assert version(path) == step.version - 1, (step.name, after)
            assert holds(path) == before, (step.name, after)
        base = connected(path)
        migrate(base, 1, STEPS[: step.version])
        base.close()
    assert version(path) == len(STEPS)
    assert holds(path) == before
