"""The database connections: one writer, owned by one thread, and a few readers.

SQLite 3.7.0 to 3.51.2 can lose committed transactions when two connections write or checkpoint at the same
instant (sqlite.org/wal.html, "the WAL-reset bug"), so only one connection here writes and checkpoints. Callers hand
jobs to the writing thread. Jobs that wait at the same time share one transaction (group commit), each in a savepoint of
its own, and one `fdatasync`. A caller gets its result only after that COMMIT, so a returned result is on the disk.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from daemon.core.errors import Unavailable
from daemon.store import migrate

GROUP_MAX: Final = 256
"""Largest number of jobs in one commit. Groups of 32 and of 256 were equally fast, so this only bounds the wait."""

READERS: Final = 2
"""Number of reading threads; the machine has two cores and reads take microseconds."""

BUSY_MS: Final = 5_000
"""How long to wait for a foreign lock (for example of a sqlite3 shell) before reporting that the database is busy."""

Rows = Sequence[Sequence[Any]]
Params = Mapping[str, Any] | Sequence[Any]
"""By name, or in order for the long lists of `rows.table` and `rows.listed`."""
T = TypeVar("T")


class Reader:
    """A read-only snapshot; the base class of `Tx`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def one(self, sql: str, params: Params | None = None) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        row: tuple[Any, ...] | None = self._connection.execute(sql, params or {}).fetchone()
        return row

    def all(self, sql: str, params: Params | None = None) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._connection.execute(sql, params or {}).fetchall()

    def value(self, sql: str, params: Params | None = None) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, params)
        return None if row is None else row[0]

    def exists(self, sql: str, params: Params | None = None) -> bool:
        """Return whether there is a row."""
        return self.one(sql, params) is not None


class Tx(Reader):
    """The database transaction of one job. Valid only while the job runs."""

    __slots__ = ("_last", "topics")

    def __init__(self, connection: sqlite3.Connection, last: "_Last") -> None:
        super().__init__(connection)
        self.topics: set[str] = set()
        self._last = last

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute one statement and return the number of changed rows."""
        return self._connection.execute(sql, params or {}).rowcount

    def add(self, sql: str, params: Params) -> int:
        """Insert one row and return its `seq`. RETURNING would make the insert a sixth slower."""
        seq = self._connection.execute(sql, params).lastrowid
        assert seq is not None, "it inserted a row"
        return seq

    def write_last(self, write: "Callable[[Tx, Rows], None]", rows: Rows) -> None:
        """Let `write` write these rows at the end of the commit, together with those of the other jobs.

        For rows that no job reads back. One statement for the rows of 32 jobs is faster than 32, and lets other threads run
        once instead of 32 times. Rows of a job that fails are not written.
        """
        self._last.append((write, rows))

    def wake(self, topic: str) -> None:
        """Notify the subscribers of `topic` after the commit."""
        self.topics.add(topic)


_Last = list[tuple[Callable[[Tx, Rows], None], Rows]]
"""Rows that the jobs of one commit postpone to its end."""


@dataclass(slots=True)
class _Job:
    work: Callable[[Tx], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None
    topics: set[str] = field(default_factory=set)


class Store:
    """The only access to the database.

    Use `await store.write(job)` with a function of a `Tx`, and `await store.read(job)` with a function of a `Reader`.
    A job runs at most once, in another thread, and must not touch anything but the database.
    """

    def __init__(self, path: str, writer: sqlite3.Connection) -> None:
        self.path = path
        self._writer = writer
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._listeners: list[tuple[str, asyncio.AbstractEventLoop, Callable[[], None]]] = []
        self._local = threading.local()
        self._reader_connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="momo-read")
        self._thread = threading.Thread(target=self._serve, name="momo-write", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, path: str, *, now_us: int) -> Self:
        """Open the database; create or migrate it as needed.

        Raises:
            migrate.DatabaseDamaged: The file is not a sound SQLite database; it is left as it is.
            migrate.DatabaseNewer: A newer momo wrote it.
            migrate.DatabaseForeign: A pre-release of momo or another program made it.
            Unavailable: The disk is full or the file cannot be read or written.
        """
        unclean = _left_open(path)
        try:
            connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=512
            )
        except sqlite3.DatabaseError as error:
            raise _unavailable(error) from error
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            migrate.check_sound(connection, path, whole=unclean)
            # Before the first write, so that a file that is refused stays as it is.
            migrate.schema_version(lambda sql: connection.execute(sql).fetchall())
            connection.execute("PRAGMA journal_mode = WAL")
            # NORMAL may lose a commit in a power cut, and the SMS is deleted from the SIM right after the commit.
            connection.execute("PRAGMA synchronous = FULL")
            # Savepoints of a group would spill into a file beyond 64 KB; in memory, 8 callers are 20 % faster.
            connection.execute("PRAGMA temp_store = MEMORY")
            migrate.migrate(connection, now_us)
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            connection.close()
            raise _unavailable(error) from error
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    async def write(self, job: Callable[[Tx], T]) -> T:
        """Run `job` in a write transaction and return its result once it is durable.

        Raises:
            Unavailable: Disk full or an I/O error; the database is unchanged.
            Exception: Any error that the job raised; only its own changes were rolled back.
        """
        if self._closed:
            raise Unavailable("momo is shutting down")  # the writing thread has ended
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(job, loop, future))
        return await future

    async def read(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on a read-only connection, in one snapshot, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, job)

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` in the running loop after each commit that woke `topic`; return a function that unsubscribes."""
        entry = (topic, asyncio.get_running_loop(), wake)
        self._listeners.append(entry)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(entry)

        return unsubscribe

    def close(self) -> None:
        """Finish the queued jobs, then checkpoint and close all connections."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()
        self._readers.shutdown()
        for connection in self._reader_connections:
            connection.close()
        self._writer.close()

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            group = [first]
            stop = False
            while len(group) < GROUP_MAX:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    stop = True
                    break
                group.append(job)
            self._commit(group)
            self._answer(group)
            if stop:
                return

    def _commit(self, group: list[_Job]) -> None:
        """Run the jobs in one transaction; afterwards each has its result or its error."""
        connection = self._writer
        last: _Last = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job in group:
                self._run(job, last, alone=len(group) == 1)
            if connection.in_transaction:
                _write_last(connection, last)
                connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 -- passed on to the callers
            # SQLITE_FULL has rolled back already; a second ROLLBACK would raise.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            shared = _unavailable(error) if isinstance(error, sqlite3.Error) else error
            for job in group:
                job.error = job.error or shared
                job.topics.clear()

    def _run(self, job: _Job, last: _Last, *, alone: bool) -> None:
        connection = self._writer
        tx, before = Tx(connection, last), len(last)
        if not alone:
            connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(tx)
            job.topics = tx.topics
        except sqlite3.OperationalError:
            raise
        except BaseException as error:  # noqa: BLE001 -- passed on to the caller
            job.error = error
            del last[before:]
            if connection.in_transaction:
                connection.execute("ROLLBACK" if alone else "ROLLBACK TO job")
        if not alone and connection.in_transaction:
            connection.execute("RELEASE job")

    def _answer(self, group: list[_Job]) -> None:
        topics = set[str]().union(*(job.topics for job in group))
        wakes = [(loop, wake) for topic, loop, wake in list(self._listeners) if topic in topics]
        loops = {job.loop for job in group}
        for loop in loops:
            mine = [job for job in group if job.loop is loop]
            calls = [wake for other, wake in wakes if other is loop]
            with contextlib.suppress(RuntimeError):  # the loop was closed during the commit
                loop.call_soon_threadsafe(_settle, mine, calls)
        for loop, wake in wakes:
            if loop not in loops:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(wake)

    def _read(self, job: Callable[[Reader], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                f"file:{_uri(self.path)}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            self._local.connection = connection
            self._reader_connections.append(connection)
        connection.execute("BEGIN")
        try:
            return job(Reader(connection))
        finally:
            connection.execute("ROLLBACK")


def _write_last(connection: sqlite3.Connection, last: _Last) -> None:
    together: dict[Callable[[Tx, Rows], None], list[Sequence[Any]]] = {}
    for write, rows in last:
        together.setdefault(write, []).extend(rows)
    for write, all_rows in together.items():
        write(Tx(connection, []), all_rows)


def _settle(jobs: list[_Job], wakes: list[Callable[[], None]]) -> None:
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
    for wake in wakes:
        wake()


def _unavailable(error: sqlite3.Error) -> BaseException:
    """Turn a refusal by the disk or the database into an error that a shop owner understands."""
    text = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL") or "disk is full" in text:
        return Unavailable("the disk is full; free some space and momo goes on by itself", 30)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable("another program has locked the database; close it", 5)
    if name.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return Unavailable(f"the database cannot be written: {text}", 30)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return migrate.DatabaseDamaged(text)
    return error


def _left_open(path: str) -> bool:
    """Return whether the last process did not close the database: closing removes the write-ahead log."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except OSError:
        return False


def _uri(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
