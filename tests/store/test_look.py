"""Reads of single rows in the event loop's own thread: without waiting, and never older than a write that has returned."""

import asyncio
import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from daemon.core.errors import Unavailable
from daemon.store.engine import READERS, Reader, Store, Tx
from daemon.store.migrate import DatabaseDamaged
from tests.store.test_engine import add_code, add_many, blocked, overwrite_root

NOW = 1_760_000_000_000_000
COUNT = "SELECT COUNT(*) FROM idempotency_keys"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(str(tmp_path / "momo.db"), now_us=NOW)
    yield opened
    opened.close()


def has(reader: Reader, *codes: str) -> bool:
    known = "SELECT 1 FROM idempotency_keys WHERE scope = 's' AND key = :code"
    return all(reader.exists(known, {"code": code}) for code in codes)


@pytest.mark.parametrize("seed", range(3))
async def test_a_caller_sees_what_it_has_written_and_every_write_that_returned_before(store: Store, seed: int) -> None:
    draw = random.Random(seed)
    finished: list[str] = []

    async def caller(name: int) -> None:
        for number in range(15):
            code = f"{name}-{number}"
            await store.write(partial(add_code, code=code))
            finished.append(code)
            if draw.random() < 0.3:
                await asyncio.sleep(draw.random() / 1_000)
            known = [code, draw.choice(finished)]
            assert await store.look(lambda reader, known=known: has(reader, *known))  # type: ignore[misc]

    await asyncio.gather(*(caller(name) for name in range(8)))
    assert await store.look(lambda reader: reader.value(COUNT)) == 8 * 15


async def test_it_runs_in_this_thread_while_every_other_reader_and_the_writer_are_busy(store: Store) -> None:
    go_on = threading.Event()
    reads = [store.read(lambda _reader: go_on.wait(10)) for _ in range(READERS)]
    busy = [asyncio.ensure_future(read) for read in reads]
    async with blocked(store):
        thread = await store.look(lambda _reader: threading.current_thread())
    assert thread is threading.current_thread()
    assert not any(read.done() for read in busy)
    go_on.set()
    await asyncio.gather(*busy)


async def test_one_look_is_one_snapshot_and_the_next_one_is_newer(store: Store) -> None:
    def write_between(reader: Reader) -> tuple[int, int]:
        before = reader.value(COUNT)
        with closing(sqlite3.connect(store.path)) as other, other:
            add_code(Tx(other, []), "a")
        return before, reader.value(COUNT)

    assert await store.look(write_between) == (0, 0)
    assert await store.look(lambda reader: reader.value(COUNT)) == 1


async def test_it_cannot_write_and_a_failed_look_leaves_nothing_open(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.look(lambda reader: reader.one("DELETE FROM idempotency_keys"))
    await store.write(lambda tx: add_code(tx, "a"))
    assert await store.look(lambda reader: has(reader, "a"))


async def test_a_locked_file_is_waited_for_in_another_thread(store: Store, tmp_path: Path) -> None:
    ran_in: list[threading.Thread] = []
    with closing(sqlite3.connect(tmp_path / "other.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")

        def job(_reader: Reader) -> str:
            ran_in.append(threading.current_thread())
            if ran_in[-1] is threading.main_thread():
                with closing(sqlite3.connect(tmp_path / "other.db", timeout=0)) as locked:
                    locked.execute("SELECT * FROM sqlite_schema")
            return "read"

        assert await store.look(job) == "read"
    assert len(ran_in) == 2
    assert store.fault is None


async def test_damage_that_it_meets_is_kept_as_the_fault(tmp_path: Path) -> None:
    path = str(tmp_path / "momo.db")
    store = Store.open(path, now_us=NOW)
    await store.write(add_many)
    store.close()
    overwrite_root(path, "idempotency_keys")
    store = Store(path)
    store.connect(NOW)
    with pytest.raises(DatabaseDamaged):
        await store.look(lambda reader: reader.all("SELECT * FROM idempotency_keys"))
    assert store.is_damaged
    store.close()


async def test_it_reads_the_file_that_was_opened_until_the_store_is_connected_again(
    store: Store, tmp_path: Path
) -> None:
    await store.write(lambda tx: add_code(tx, "old"))
    Path(store.path).rename(tmp_path / "moved.db")
    with closing(Store.open(str(tmp_path / "new.db"), now_us=NOW)) as another:
        await another.write(lambda tx: add_code(tx, "new"))
    (tmp_path / "new.db").rename(store.path)
    assert await store.look(lambda reader: has(reader, "old"))
    for rest in ("-wal", "-shm"):
        Path(store.path + rest).rename(tmp_path / f"moved.db{rest}")
    store.disconnect()
    with pytest.raises(Unavailable, match="closed"):
        await store.look(lambda reader: has(reader, "new"))
    store.connect(NOW)
    assert await store.look(lambda reader: has(reader, "new"))


async def test_after_the_close_it_is_refused(store: Store) -> None:
    store.close()
    with pytest.raises(Unavailable, match="shutting down"):
        await store.look(lambda reader: reader.value(COUNT))
