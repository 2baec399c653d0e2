"""The writing thread: acknowledged writes are on the disk, and a failed job does not affect the others of its group."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Unavailable
from daemon.store.engine import READERS, Reader, Rows, Store, Tx
from daemon.store.migrate import DatabaseDamaged, check_sound
from daemon.store.upkeep import backup
from daemon.wire import FaultCause
from tests.fakes.new_database import writer

NOW = 1_760_000_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "momo.db")


def add_code(tx: Tx, code: str) -> None:
    tx.run(
        "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
        "VALUES ('s', :code, 'f', 200, '', 0, 1)",
        {"code": code},
    )


def add_many(tx: Tx) -> None:
    for n in range(200):
        add_code(tx, f"{n}" + "x" * 300)


def codes(store_path: str) -> list[str]:
    with closing(sqlite3.connect(store_path)) as other:
        rows = other.execute("SELECT key FROM idempotency_keys ORDER BY rowid").fetchall()
    return [code for (code,) in rows]


def count(store_path: str) -> int:
    return len(codes(store_path))


def overwrite_root(path: str, table: str) -> None:
    """Overwrite the root page of a table."""
    with closing(sqlite3.connect(path)) as base:
        found = base.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,))
        (root,) = found.fetchone()
    with Path(path).open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)


def overwrite_header(path: str) -> None:
    with Path(path).open("r+b") as file:
        file.write(b"no database")


@asynccontextmanager
async def blocked(store: Store) -> AsyncIterator[None]:
    """Hold the writing thread, so that the jobs that arrive meanwhile share one commit."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(_tx: Tx) -> None:
        begun.set()
        go_on.wait(10)

    held = asyncio.ensure_future(store.write(wait))
    await asyncio.to_thread(begun.wait, 10)
    try:
        yield
    finally:
        go_on.set()
        await held


async def test_a_finished_write_is_seen_by_another_program(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(lambda tx: add_code(tx, "a"))
    assert count(path) == 1
    store.close()


def last(tx: Tx, *codes: str) -> None:
    """Leave codes to the end of the commit."""
    tx.write_last(add_codes, [(code,) for code in codes])


def add_codes(tx: Tx, rows: Rows) -> None:
    add_code(tx, "+".join(code for (code,) in rows))


async def test_what_jobs_leave_to_the_end_is_written_together_without_that_of_a_failed_one(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(lambda tx: last(tx, "alone"))

    def fail(tx: Tx) -> None:
        last(tx, "never")
        raise ValueError("no")

    async with blocked(store):
        jobs = [
            asyncio.ensure_future(store.write(job))
            for job in (lambda tx: last(tx, "a", "b"), fail, lambda tx: last(tx, "c"))
        ]
        await asyncio.sleep(0)
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), ValueError, type(None)]
    assert codes(path) == ["alone", "a+b+c"]
    store.close()


async def test_a_lone_job_that_fails_leaves_nothing_to_the_end(path: str) -> None:
    store = Store.open(path, now_us=NOW)

    def fail(tx: Tx) -> None:
        last(tx, "never")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(fail)
    assert codes(path) == []
    store.close()


async def test_what_cannot_be_written_at_the_end_fails_its_commit_and_the_next_one_works(path: str) -> None:
    store = Store.open(path, now_us=NOW)

    def refuse(_tx: Tx, _rows: Rows) -> None:
        raise OverflowError("too large for a column")

    def job(tx: Tx) -> None:
        add_code(tx, "never")
        tx.write_last(refuse, [()])

    with pytest.raises(OverflowError):
        await store.write(job)
    await store.write(lambda tx: add_code(tx, "next"))
    assert codes(path) == ["next"]
    store.close()


async def test_one_failing_job_does_not_undo_the_others_of_its_group(path: str) -> None:
    store = Store.open(path, now_us=NOW)

    def fail(tx: Tx) -> None:
        add_code(tx, "never")
        raise ValueError("no")

    jobs = [store.write(lambda tx, n=n: add_code(tx, str(n))) for n in range(20)]  # type: ignore[misc]  # a lambda in a loop has no type of its own
    results = await asyncio.gather(*jobs, store.write(fail), return_exceptions=True)
    assert isinstance(results[-1], ValueError)
    assert results[:-1] == [None] * 20
    assert count(path) == 20
    store.close()


async def test_a_unique_violation_is_the_callers_own(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(lambda tx: add_code(tx, "a"))
    with pytest.raises(sqlite3.IntegrityError):
        await store.write(lambda tx: add_code(tx, "a"))
    await store.write(lambda tx: add_code(tx, "b"))
    assert count(path) == 2
    store.close()


async def test_a_full_database_refuses_and_heals(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    writer(store).execute("PRAGMA max_page_count = 1")  # SQLite clamps it to the present size

    def much(tx: Tx) -> None:
        for n in range(2000):
            add_code(tx, f"{n}" + "x" * 500)

    with pytest.raises(Unavailable, match="disk is full"):
        await store.write(much)
    assert count(path) == 0
    writer(store).execute("PRAGMA max_page_count = 1000000")
    await store.write(lambda tx: add_code(tx, "a"))
    assert count(path) == 1
    store.close()


async def test_a_reader_cannot_write(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.read(lambda reader: reader.one("DELETE FROM idempotency_keys"))
    store.close()


async def test_subscribers_wake_after_the_commit_and_only_for_their_topic(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    woken: list[str] = []
    stop = store.subscribe("a", lambda: woken.append("a"))
    store.subscribe("b", lambda: woken.append("b"))

    def job(tx: Tx) -> None:
        tx.wake("a")
        assert woken == []

    await store.write(job)
    await asyncio.sleep(0)
    assert woken == ["a"]
    stop()
    await store.write(lambda tx: tx.wake("a"))
    await asyncio.sleep(0)
    assert woken == ["a"]
    store.close()


async def test_a_rolled_back_job_wakes_nobody(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    woken: list[str] = []
    store.subscribe("a", lambda: woken.append("a"))

    def job(tx: Tx) -> None:
        tx.wake("a")
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(job)
    await asyncio.sleep(0)
    assert woken == []
    store.close()


async def test_the_journal_cannot_be_changed(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(
        lambda tx: tx.run("INSERT INTO events (type, mode, at, actor, data) VALUES ('t', 'live', 1, 'momo', '{}')")
    )
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        await store.write(lambda tx: tx.run("DELETE FROM events"))
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        await store.write(lambda tx: tx.run("UPDATE events SET type = 'u'"))
    store.close()


def test_a_damaged_file_is_named_and_left_alone(path: str) -> None:
    Path(path).write_bytes(b"this is no database" * 100)
    before = Path(path).read_bytes()
    with pytest.raises(DatabaseDamaged):
        Store.open(path, now_us=NOW)
    assert Path(path).read_bytes() == before


async def test_a_torn_page_is_found_at_start(path: str) -> None:
    store = Store.open(path, now_us=NOW)

    def many(tx: Tx) -> None:
        for n in range(200):
            add_code(tx, f"{n}" + "x" * 300)

    await store.write(many)
    store.close()
    raw = bytearray(Path(path).read_bytes())
    raw[-4096:] = b"\xff" * 4096
    Path(path).write_bytes(raw)
    with pytest.raises(DatabaseDamaged):
        Store.open(path, now_us=NOW)


async def test_connecting_does_not_read_the_whole_file(path: str) -> None:
    """The daemon checks the file after its start, so that a large one starts as fast as a small one."""
    store = Store.open(path, now_us=NOW)
    await store.write(add_many)
    store.close()
    raw = bytearray(Path(path).read_bytes())
    raw[-4096:] = b"\xff" * 4096
    Path(path).write_bytes(raw)
    store = Store(path)
    store.connect(NOW)
    with pytest.raises(DatabaseDamaged):
        store.check_sound()
    store.close()


async def test_a_check_of_a_file_whose_header_was_overwritten_says_damaged(path: str) -> None:
    Store.open(path, now_us=NOW).close()
    overwrite_header(path)
    store = Store(path)
    with pytest.raises(DatabaseDamaged):
        store.check_sound()
    assert store.is_damaged


class Unanswered(sqlite3.Connection):
    """A connection to a disk that does not answer: SQLite reports it among the findings of its check."""

    def execute(self, sql: str, *params: Any) -> sqlite3.Cursor:
        if "_check(" in sql:
            sql = "SELECT 'Tree 5 page 9: unable to get the page. error code=266'"
        return super().execute(sql, *params)


def test_a_page_that_the_disk_does_not_give_is_no_damage(path: str) -> None:
    with closing(sqlite3.connect(path, factory=Unanswered)) as base, pytest.raises(Unavailable) as raised:
        check_sound(base, path)
    assert raised.value.cause is FaultCause.DATABASE_UNREADABLE


async def test_a_store_that_is_not_open_answers_with_the_cause(path: str) -> None:
    store = Store(path)
    with pytest.raises(Unavailable) as refused:
        await store.read(lambda reader: reader.value("SELECT 1"))
    assert refused.value.cause is FaultCause.STARTING
    before = store.is_starting
    with pytest.raises(Unavailable) as refused:
        store.connect(NOW, create=False)
    assert refused.value.cause is FaultCause.DATABASE_MISSING
    assert (before, store.is_starting) == (True, False)
    assert not Path(path).exists()
    with pytest.raises(Unavailable) as refused:
        await store.write(lambda tx: add_code(tx, "a"))
    assert refused.value.cause is FaultCause.DATABASE_MISSING
    store.connect(NOW)
    await store.write(lambda tx: add_code(tx, "a"))
    assert store.fault is None
    store.close()


async def test_a_store_can_be_disconnected_and_connected_again(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(lambda tx: add_code(tx, "a"))
    store.disconnect()
    with pytest.raises(Unavailable):
        await store.write(lambda tx: add_code(tx, "b"))
    store.connect(NOW)
    assert await store.read(lambda reader: reader.value("SELECT COUNT(*) FROM idempotency_keys")) == 1
    store.close()


async def test_reads_that_have_not_begun_when_the_store_closes_are_refused(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    begun, go_on = threading.Event(), threading.Event()

    def wait(_reader: Reader) -> None:
        begun.set()
        go_on.wait(10)

    held = [asyncio.ensure_future(store.read(wait)) for _ in range(READERS)]
    late = asyncio.ensure_future(store.read(lambda reader: reader.value("SELECT 1")))
    await asyncio.to_thread(begun.wait, 10)
    closing = asyncio.ensure_future(asyncio.to_thread(store.close))
    await asyncio.to_thread(go_on.wait, 0.2)
    go_on.set()
    await asyncio.wait_for(closing, 10)
    await asyncio.gather(*held)
    # Before or after the close, the job gets a result.
    assert isinstance((await asyncio.gather(late, return_exceptions=True))[0], int | Unavailable)


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
async def test_nothing_is_written_into_a_file_that_is_not_in_its_place(
    path: str, tmp_path: Path, *, replaced: bool
) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(lambda tx: add_code(tx, "a"))
    kept = tmp_path / "kept.db"
    Path(path).rename(kept)
    if replaced:
        Path(path).write_bytes(b"")
    with pytest.raises(Unavailable) as refused:
        await store.write(lambda tx: add_code(tx, "b"))
    cause = FaultCause.DATABASE_REPLACED if replaced else FaultCause.DATABASE_MISSING
    assert refused.value.cause is cause
    assert store.is_lost
    # Reads continue, and the written rows are rescued.
    count = "SELECT COUNT(*) FROM idempotency_keys"
    assert await store.read(lambda reader: reader.value(count)) == 1
    rescued = tmp_path / "rescued.db"
    await backup.rescue(store, rescued)
    assert rescued.stat().st_mode & 0o777 == 0o600
    copy = sqlite3.connect(rescued)
    assert copy.execute(count).fetchone() == (1,)
    copy.close()
    # With the file back in its place, writes work again.
    kept.replace(path)
    await store.write(lambda tx: add_code(tx, "c"))
    assert store.fault is None
    store.close()


async def test_a_statement_that_meets_damage_says_so_and_the_fault_stays(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    await store.write(add_many)
    store.close()
    overwrite_root(path, "idempotency_keys")
    store = Store(path)
    store.connect(NOW)
    with pytest.raises(DatabaseDamaged):
        await store.read(lambda reader: reader.all("SELECT * FROM idempotency_keys"))
    with pytest.raises(DatabaseDamaged):
        await store.write(lambda tx: add_code(tx, "b"))
    assert store.is_damaged
    # A write elsewhere succeeds, and the file is damaged all the same.
    await store.write(lambda tx: tx.run("CREATE TABLE other (x INTEGER)"))
    assert store.is_damaged
    store.trust_file()
    assert store.fault is None
    store.close()


async def test_durability_settings_are_what_the_promise_needs(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    settings = await store.write(
        lambda tx: (tx.value("PRAGMA journal_mode"), tx.value("PRAGMA synchronous"), tx.value("PRAGMA foreign_keys"))
    )
    assert settings == ("wal", 2, 1)
    store.close()


async def test_a_write_after_the_close_is_refused_and_does_not_wait_for_ever(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    store.close()
    with pytest.raises(Unavailable, match="shutting down"):
        await asyncio.wait_for(store.write(lambda tx: add_code(tx, "a")), 5)


async def test_what_was_added_has_the_number_that_the_writer_was_told(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    row = {"name": "Ama", "kind": "request"}

    def work(tx: Tx) -> tuple[list[int], list[tuple[object, ...]]]:
        tx.run("CREATE TABLE counts (n INTEGER NOT NULL)")
        tx.run("CREATE TABLE added (seq INTEGER PRIMARY KEY, name TEXT, kind TEXT)")
        tx.run("CREATE TRIGGER counted AFTER INSERT ON added BEGIN INSERT INTO counts VALUES (7); END")
        tx.run("INSERT INTO counts VALUES (1), (2), (3)")
        seqs = [tx.add("INSERT INTO added (name, kind) VALUES (:name, :kind)", row) for _each in "ab"]
        return seqs, tx.all("SELECT seq FROM added ORDER BY seq")

    seqs, rows = await store.write(work)
    store.close()
    assert [(seq,) for seq in seqs] == rows == [(1,), (2,)]


async def test_the_version_grows_with_each_commit_that_changes_a_row_before_its_caller_is_told(path: str) -> None:
    store = Store.open(path, now_us=NOW)
    first = store.version
    await store.write(lambda tx: tx.all("SELECT key FROM idempotency_keys"))
    await store.read(lambda reader: reader.all("SELECT key FROM idempotency_keys"))
    assert store.version == first
    await store.write(lambda tx: add_code(tx, "a"))
    second = store.version
    assert second > first
    store.disconnect()
    store.connect(NOW)
    # Another daemon may have written meanwhile.
    assert store.version > second
    store.close()


async def test_the_log_is_cut_after_a_long_reader_let_it_grow(path: str) -> None:
    store, log = Store.open(path, now_us=NOW), Path(f"{path}-wal")
    reading = sqlite3.connect(path, isolation_level=None)
    reading.execute("BEGIN")
    reading.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
    await store.write(lambda tx: tx.run("CREATE TABLE filler (octets BLOB)"))
    for _ in range(6):
        await store.write(lambda tx: tx.run("INSERT INTO filler VALUES (zeroblob(4000000))"))
    grown = log.stat().st_size
    reading.execute("COMMIT")
    reading.close()
    for _ in range(3):
        await store.write(lambda tx: tx.run("INSERT INTO filler VALUES (zeroblob(4000000))"))
    assert grown > 20_000_000
    assert log.stat().st_size <= 17_000_000
    store.close()
