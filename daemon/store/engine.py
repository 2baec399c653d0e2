"""The connections: one that writes and checkpoints, owned by one thread, and a few that only read.

SQLite 3.7.0 to 3.51.2 can lose committed transactions when two connections write or checkpoint at the same
instant (sqlite.org/wal.html, "the WAL-reset bug"), so exactly one connection here ever does. Callers hand a job to
the writing thread; jobs that wait at the same time share one transaction, each in a savepoint of its own, and one
`fdatasync`. A job's caller is answered only after that COMMIT: what a caller was told is on the disk.

It is a little longer than 300 lines because the queue, the commit and the answer are one promise and read together.
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
"""Jobs that share one commit at most; groups of 32 and 256 measured the same, so this only bounds the wait."""

READERS: Final = 2
"""Reading threads; the machine has two cores and reads take microseconds."""

BUSY_MS: Final = 5_000
"""How long to wait for a foreign lock (a person's sqlite3 shell) before saying that the database is busy."""

Rows = Sequence[Sequence[Any]]
Params = Mapping[str, Any] | Sequence[Any]
"""By name; in their order for the long lists of `rows.table` and `rows.listed`."""
T = TypeVar("T")


class Reader:
    """A read-only view; within a transaction the same class is also what writes."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def one(self, sql: str, params: Params | None = None) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        row: tuple[Any, ...] | None = self._connection.execute(sql, params or {}).fetchone()
        return row

    def all(self, sql: str, params: Params | None = None) -> list[tuple[Any, ...]]:
        """Return every row."""
        return self._connection.execute(sql, params or {}).fetchall()

    def value(self, sql: str, params: Params | None = None) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, params)
        return None if row is None else row[0]


class Tx(Reader):
    """What a job writes through. Valid only while the job runs."""

    __slots__ = ("_last", "topics")

    def __init__(self, connection: sqlite3.Connection, last: "_Last") -> None:
        super().__init__(connection)
        self.topics: set[str] = set()
        self._last = last

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute one statement and return how many rows it changed."""
        return self._connection.execute(sql, params or {}).rowcount

    def add(self, sql: str, params: Params) -> int:
        """Insert one row and return its `seq`; without RETURNING, which would cost a sixth of the insert itself."""
        seq = self._connection.execute(sql, params).lastrowid
        assert seq is not None, "it inserted a row"
        return seq

    def write_last(self, write: "Callable[[Tx, Rows], None]", rows: Rows) -> None:
        """Let `write` write these rows at the end of the commit, together with those of the other jobs.

        For rows that no job reads back. One statement for those of 32 jobs is quicker, and it lets another thread in once
        instead of 32 times. Those of a job that fails are not written.
        """
        self._last.append((write, rows))

    def wake(self, topic: str) -> None:
        """Tell the subscribers of `topic` once this is committed."""
        self.topics.add(topic)


_Last = list[tuple[Callable[[Tx, Rows], None], Rows]]
"""What the jobs of one commit leave to its end."""


@dataclass(slots=True)
class _Job:
    work: Callable[[Tx], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None
    topics: set[str] = field(default_factory=set)


class Store:
    """The one door to the database.

    Use `await store.write(job)` with a function of a `Tx`, and `await store.read(job)` with a function of a `Reader`.
    A job must not touch anything but the database: it may run again never, but it does run in another thread.
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
        """Open the database, making or migrating it as needed.

        Raises:
            migrate.DatabaseDamaged: The file is no sound SQLite database; it is left as it is.
            migrate.DatabaseNewer: A newer momo wrote it.
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
            connection.execute("PRAGMA journal_mode = WAL")
            # NORMAL may roll a commit back after a power cut, and the SMS is deleted after the commit.
            connection.execute("PRAGMA synchronous = FULL")
            # Savepoints of a group would spill into a file beyond 64 KB; in memory 8 callers are a fifth quicker.
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

    # What callers use --------------------------------------------------------------------------------

    async def write(self, job: Callable[[Tx], T]) -> T:
        """Run `job` in a write transaction and return its result once it is durable.

        Raises:
            Unavailable: Disk full or an I/O error; nothing was changed.
            Exception: Whatever the job raised; its changes were rolled back and others' were not.
        """
        if self._closed:
            raise Unavailable("the shop is closing")  # nobody would ever answer
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(job, loop, future))
        return await future

    async def read(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on a read-only connection, in one snapshot, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, job)

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` in the running loop after each commit that woke `topic`; returns how to stop."""
        entry = (topic, asyncio.get_running_loop(), wake)
        self._listeners.append(entry)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(entry)

        return unsubscribe

    def close(self) -> None:
        """Finish what is queued, then checkpoint and close every connection."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join()
        self._readers.shutdown()
        for connection in self._reader_connections:
            connection.close()
        self._writer.close()

    # The writing thread ------------------------------------------------------------------------------

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
        except Exception as error:  # noqa: BLE001 -- it is handed to the callers, whole
            # SQLITE_FULL has rolled back by itself; a second ROLLBACK would raise.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            told = _unavailable(error) if isinstance(error, sqlite3.Error) else error
            for job in group:
                job.error = job.error or told
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
        except BaseException as error:  # noqa: BLE001 -- it is handed to the caller, whole
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
            with contextlib.suppress(RuntimeError):  # the loop was closed while we committed
                loop.call_soon_threadsafe(_settle, mine, calls)
        for loop, wake in wakes:
            if loop not in loops:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(wake)

    # The reading threads --------------------------------------------------------------------------------

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
    """Say in a shopkeeper's words what the disk or the database refused."""
    text = str(error)
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL") or "disk is full" in text:
        return Unavailable("the disk is full; free some space and momo goes on by itself", 30)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable("another program holds the database; close it", 5)
    if name.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return Unavailable(f"the database cannot be written: {text}", 30)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return migrate.DatabaseDamaged(text)
    return error


def _left_open(path: str) -> bool:
    """Say whether whoever had the database open last did not close it: closing takes its log away."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except OSError:
        return False


def _uri(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
