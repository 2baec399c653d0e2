"""The schema's steps on a PostgreSQL server: a shop comes through whole; a step that fails or is killed has not happened."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from daemon.core.errors import Unavailable
from daemon.store import migrate
from daemon.store.engine import Store
from daemon.store.migrate import DatabaseDamaged, DatabaseForeign, DatabaseNewer, Migration
from daemon.store.postgresql.server import Server
from tests.fakes import postgresql
from tests.fakes.later_schema import BASE, SMALL_SHOP, STEPS, know_later_steps
from tests.fakes.real_shop import wait_until

NOW = 1_795_248_000_000_000
KILLED = """
import os, signal, sys
from daemon.store import migrate
from daemon.store.engine import Store
from daemon.store.postgresql.connection import Connection
from daemon.store.postgresql.server import Server
from tests.fakes.later_schema import STEPS
url, number, after = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
migrate.migrations = lambda: STEPS[:number]
as_before, done = Connection.run_as_written, 0
def run_as_written(self, sql):
    global done
    if done == after:
        os.kill(os.getpid(), signal.SIGKILL)
    done += 1
    as_before(self, sql)
Connection.run_as_written = run_as_written
Store(url, Server(url)).connect(1)
"""


@pytest.fixture(scope="module")
def template() -> str:
    """The name of a database with the small shop in the base schema."""
    url = postgresql.cluster().new_database()
    with pytest.MonkeyPatch.context() as only_base:
        only_base.setattr(migrate, "migrations", lambda: [BASE])
        with opened(url):
            pass
    with psycopg.connect(url) as connection:
        for statement in SMALL_SHOP:
            connection.execute(re.sub(r"x'([0-9a-f]*)'", r"'\\x\1'::bytea", statement).encode())
    return url.partition("///")[2].partition("?")[0]


@pytest.fixture
def url(template: str) -> str:
    return postgresql.cluster().new_database(template)


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """Open the store, with the missing steps."""
    store = Store(url, Server(url))
    store.connect(NOW)
    with closing(store):
        yield store


def every_row(url: str) -> dict[str, list[dict[str, Any]]]:
    with psycopg.connect(url) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND relname <> 'schema_migrations'"
        ).fetchall()
        rows = {}
        for (name,) in names:
            found = connection.execute(f'SELECT * FROM "{name}" ORDER BY 1, 2'.encode())
            columns = [column.name for column in found.description or ()]
            rows[name] = [dict(zip(columns, row, strict=True)) for row in found]
    return rows


def references(url: str) -> set[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        return set(
            connection.execute(
                "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'"
            ).fetchall()
        )


def version(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT MAX(version) FROM schema_migrations").fetchone()
    assert row is not None
    return int(row[0])


def test_a_shop_comes_through_every_step_with_all_rows_and_references(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, referred = every_row(url), references(url)
    assert sum(map(len, before.values())) > 20
    know_later_steps(monkeypatch)
    with opened(url):
        pass
    after = every_row(url)
    for name, rows in before.items():
        assert len(after[name]) == len(rows), name
        for was, now in zip(rows, after[name], strict=True):
            assert was.items() <= now.items(), name
    assert after["labels"] == [{"seq": 1, "payment_id": "p1"}]
    assert references(url) - referred == {("labels", "FOREIGN KEY (payment_id) REFERENCES payments(id)")}
    assert referred <= references(url)
    assert version(url) == len(STEPS)


def test_rows_added_after_a_step_that_copied_numbers_get_new_ones(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    know_later_steps(monkeypatch)
    with opened(url), psycopg.connect(url) as connection:
        connection.execute("INSERT INTO labels (payment_id) VALUES ('p1')")
    assert [row["seq"] for row in every_row(url)["labels"]] == [1, 2]


def test_a_step_that_fails_half_way_leaves_the_database_as_it_was(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = every_row(url), references(url)
    fails = Migration(2, "fails", f"{STEPS[1].sql}{STEPS[2].sql}INSERT INTO nowhere VALUES (1);\n")
    monkeypatch.setattr(migrate, "migrations", lambda: [BASE, fails])
    with pytest.raises(psycopg.errors.UndefinedTable, match="nowhere"), opened(url):
        pass
    assert (version(url), (every_row(url), references(url))) == (1, before)
    monkeypatch.undo()
    with opened(url):
        pass


def test_a_step_that_would_leave_rows_without_what_they_name_is_not_taken(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = (
        "CREATE TABLE anew (\n    seq INTEGER PRIMARY KEY,\n    id TEXT NOT NULL UNIQUE\n) STRICT;\nDROP TABLE endpoints;\n"
        "ALTER TABLE anew RENAME TO endpoints;\n"
    )
    monkeypatch.setattr(migrate, "migrations", lambda: [BASE, Migration(2, "lossy", lossy)])
    with pytest.raises(DatabaseDamaged, match="refer to missing rows"), opened(url):
        pass
    assert len(every_row(url)["endpoints"]) == 1


def test_a_trigger_is_replaced_and_dropped_by_a_step(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = (
        "DROP TRIGGER events_never_change;\nDROP TRIGGER events_never_go;\n"
        "CREATE TRIGGER events_never_go BEFORE DELETE ON events\n"
        "BEGIN SELECT RAISE(ABORT, 'events stay'); END;\n"
    )
    monkeypatch.setattr(migrate, "migrations", lambda: [BASE, Migration(2, "triggers", step)])
    with opened(url), psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE events SET actor = 'other'")
        with pytest.raises(psycopg.errors.RaiseException, match="events stay"):
            connection.execute("DELETE FROM events")


def test_a_newer_database_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        know_later_steps(newer)
        with opened(url):
            pass
    with pytest.raises(DatabaseNewer, match=r"the database has schema 3, .* supports 1"):
        Store(url, Server(url)).connect(NOW)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE schema_migrations SET sha256 = 'earlier'", "made by a pre-release of momo"),
        ("ALTER TABLE schema_migrations DROP COLUMN sha256", "made by a pre-release of momo"),
        ("DROP TABLE schema_migrations", "was not made by momo"),
    ],
)
def test_a_database_of_a_pre_release_or_another_program_is_refused(url: str, change: str, said: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(change.encode())
    before = every_row(url)
    with pytest.raises(DatabaseForeign, match=said):
        Store(url, Server(url)).connect(NOW)
    assert every_row(url) == before


@pytest.mark.slow
def test_a_kill_anywhere_in_a_step_leaves_the_one_before(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = every_row(url), references(url)
    for after in range(1, 6):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, url, "2", str(after)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert (version(url), (every_row(url), references(url))) == (1, before)
    know_later_steps(monkeypatch)
    wait_until(lambda: _opens(url), 30, "the server notices that the killed daemon has gone")
    assert version(url) == len(STEPS)


def _opens(url: str) -> bool:
    try:
        with opened(url):
            return True
    except Unavailable:
        return False
