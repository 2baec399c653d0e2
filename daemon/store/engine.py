"""The database connections: one writer, owned by one thread, a few readers, and one for the event loop's own thread.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from msgspec import Struct, field

from daemon.core.errors import Refusal, Unavailable
from daemon.core.text import Text
from daemon.store import sqlite_file
from daemon.store.migrate import DatabaseDamaged
from daemon.store.rows import Conditions, load, load_joined, of_join, of_struct
from daemon.store.sqlite_file import DATABASE_LOST, SqliteFile
from daemon.wire import ErrorCode, FaultCause

GROUP_MAX: Final = 256
"""Largest number of jobs in one commit. Groups of 32 and of 256 were equally fast, so this only bounds the wait."""

READERS: Final = 2
"""Number of reading threads; the machine has two cores and reads take microseconds."""

STARTING_RETRY_S: Final = 1

_REFUSED_BY: Final = {
    "transactions.payment_seq": ErrorCode.TRANSACTION_ID_ALREADY_USED,
    "transactions_one_per_payment": ErrorCode.TRANSACTION_ID_ALREADY_USED,
}
"""The constraints that decide a race, and their refusals. With one writer the flows refuse before."""

Rows = Sequence[Sequence[Any]]
Params = Mapping[str, Any] | Sequence[Any]
"""By name, or in order for the long lists of `rows.table` and `rows.listed`."""
T = TypeVar("T")
S = TypeVar("S", bound=Struct)


class Database(Protocol):
    """A database of one engine. Its connections have `execute`, `in_transaction` and `close`, as sqlite3's have.

    Attributes:
        errors: The exceptions of its connections.
        row_errors: Those about the values of one row: the job that met one is their cause, and no other job.
        server: The server and the database for people, without a password; empty for a file.
    """

    errors: tuple[type[Exception], ...]
    row_errors: tuple[type[Exception], ...]
    server: str

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        """Return the writing connection and, besides `readers` reading ones, a last one that never waits.

        It makes or migrates the schema as needed.

        Raises:
            Unavailable: It cannot be used now.
        """

    def was_left_open(self) -> bool:
        """Return whether the last process did not close it."""

    def check_sound(self) -> None:
        """Check all of it for damage; blocking.

        Raises:
            Unavailable: With the damage.
        """

    def check_in_place(self) -> None:
        """Refuse to write if the open database is no longer the one at its address; before each commit.

        Raises:
            Unavailable: With the cause.
        """

    def changes(self, connection: Any) -> int:
        """Return a number that grows with each change of a row through the connection."""

    def as_unavailable(self, error: Exception) -> Exception:
        """Return the fault for the operator if the database cannot be used; other errors as they are."""

    def is_cut_off(self, connection: Any) -> bool:
        """Return whether the connection has ended, so that only a new one helps."""

    def broken_constraint(self, error: Exception) -> str:
        """Return the name of the unique index or the columns that refused a row; empty for another error."""

    def is_forbidden_write(self, error: Exception) -> bool:
        """Return whether a reading connection was asked to write."""


UNCOUNTED: Final = -1
"""In place of the total of a list that nobody counts."""


class Page(NamedTuple):
    """One page of a list, the number of rows of the whole list, and the page's last row if more follow."""

    rows: list[Any]
    total: int
    last: Any


class Reader:
    """A read-only snapshot; the base class of `Tx`."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    def is_postgresql(self) -> bool:
        """Whether the database is PostgreSQL, for the few statements that the two do not share."""
        return not isinstance(self._connection, sqlite3.Connection)

    def one(self, sql: str, params: Params | None = None) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        row: tuple[Any, ...] | None = self._connection.execute(sql, params or {}).fetchone()
        return row

    def all(self, sql: str, params: Params | None = None) -> list[tuple[Any, ...]]:
        """Return all rows."""
        rows: list[tuple[Any, ...]] = self._connection.execute(sql, params or {}).fetchall()
        return rows

    def all_among(self, sql: str, members: Collection[str], *params: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a statement with `IN (members)`, whose other parameters follow that in order.

        A server gets the members as one array: it need not read a text of hundreds of placeholders each time.
        """
        if self.is_postgresql:
            one = sql.replace("IN (members)", "= ANY(?)")
            found: list[tuple[Any, ...]] = self._connection.execute_planned(one, [list(members), *params]).fetchall()
            return found
        marks = ", ".join("?" * len(members)) or "NULL"
        return self.all(sql.replace("(members)", f"({marks})"), [*members, *params])

    def value(self, sql: str, params: Params | None = None) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, params)
        return None if row is None else row[0]

    def column(self, sql: str, params: Params | None = None) -> list[Any]:
        """Return the first column of all rows."""
        return [row[0] for row in self.all(sql, params)]

    def exists(self, sql: str, params: Params | None = None) -> bool:
        """Return whether there is a row."""
        return self.one(sql, params) is not None

    def count(self, sql: str, params: Params | None = None) -> int:
        """Return the count or sum that a statement selects; 0 for the sum of no rows."""
        return int(self.value(sql, params) or 0)

    def first(self, model: type[S], sql: str, params: Params | None = None) -> S | None:
        """Return the first row as a struct; `*` in the statement stands for its columns."""
        row = self.one(of_struct(model, sql), params)
        return None if row is None else load(model, row)

    def only(self, model: type[S], sql: str, params: Params | None = None) -> S:
        """Return the row that there must be, as a struct; `*` in the statement stands for its columns."""
        row = self.one(of_struct(model, sql), params)
        assert row is not None, sql
        return load(model, row)

    def every(self, model: type[S], sql: str, params: Params | None = None) -> list[S]:
        """Return all rows as structs; `*` in the statement stands for their columns."""
        return [load(model, row) for row in self.all(of_struct(model, sql), params)]

    def joined(self, sql: str, params: Params | None = None, **models: type[Struct]) -> list[tuple[Any, ...]]:
        """Return all rows of a join, in which `p.*` is one value: the struct of the model given as `p`, None if it is missing."""
        whole, places = of_join(sql, tuple(models.items()))
        return [load_joined(places, row) for row in self.all(whole, params)]

    def page(
        self,
        sql: str,
        conditions: Conditions,
        *,
        order: str,
        limit: int,
        offset: int = 0,
        behind: Conditions | None = None,
        total: int | None = None,
        **models: type[Struct],
    ) -> Page:
        """Return one page of a list; every list with filters is read here.

        `sql` is a SELECT of a join, as for `joined`, without conditions; rows of one value are that value. `order` must
        define a unique order. `behind` is the position of a cursor, which the total does not depend on. The rows are
        counted unless `total` is given, or is `UNCOUNTED`.
        """
        where, params = conditions.where, conditions.params
        if total is None:
            total = self.count(f"SELECT COUNT(*) {sql[sql.index('FROM ') :]} WHERE {where}", params)
        if offset >= total > UNCOUNTED:
            return Page([], total, None)
        if behind is not None:
            where, params = f"{where} AND {behind.where}", params | behind.params
        rows: list[Any] = self.joined(
            f"{sql} WHERE {where} ORDER BY {order} LIMIT :limit OFFSET :offset",
            {**params, "limit": limit + 1, "offset": offset},
            **models,
        )
        if rows and len(rows[0]) == 1:
            rows = [row[0] for row in rows]
        return Page(rows[:limit], total, rows[limit - 1] if len(rows) > limit else None)

    def interrupt(self) -> None:
        """End a running statement of this snapshot from another thread."""
        self._connection.interrupt()

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy the whole database to another connection (sqlite.org/backup.html)."""
        self._connection.backup(target)


class Tx(Reader):
    """The database transaction of one job. Valid only while the job runs."""

    __slots__ = ("_last", "topics")

    def __init__(self, connection: Any, last: "_Last") -> None:
        super().__init__(connection)
        self.topics: set[str] = set()
        self._last = last

    def run(self, sql: str, params: Params | None = None) -> int:
        """Execute one statement and return the number of changed rows."""
        return int(self._connection.execute(sql, params or {}).rowcount)

    def changed(self, sql: str, params: Params | None = None) -> bool:
        """Execute one statement; return whether it changed a row."""
        return self.run(sql, params) > 0

    def run_for_each(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute one statement for each row of values: faster than one long statement where a server reads it."""
        if rows:
            self._connection.executemany(sql, rows)

    def insert_rows(self, table: str, names: Sequence[str], rows: Rows, conflict: str) -> None:
        """Insert rows with the columns `names`; `conflict` is the clause `ON CONFLICT`.

        A server gets them in one statement, so no two of them may conflict with each other.
        """
        if not rows:
            return
        if self.is_postgresql:
            self._connection.insert_rows(table, names, rows, conflict)
        else:
            marks = ", ".join("?" * len(names))
            into = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) {conflict}"
            self._connection.executemany(into, rows)

    def add(self, sql: str, params: Params) -> int:
        """Insert one row and return its `seq`. In SQLite, RETURNING would make the insert a sixth slower."""
        if self.is_postgresql:
            row = self._connection.execute(f"{sql} RETURNING seq", params).fetchone()
            return int(row[0])
        seq: int | None = self._connection.execute(sql, params).lastrowid
        assert seq is not None, "it inserted a row"
        return seq

    def write_last(self, write: "Callable[[Tx, Rows], None]", rows: Rows) -> None:
        """Let `write` write these rows at the end of the commit, together with those of the other jobs.

        For rows that no job reads back. One statement for the rows of 32 jobs is faster than 32, and lets other threads run
        once instead of 32 times. Rows of a job that fails are not written.
        """
        self._last.append((write, rows))

    def write_feed(self, *, on: bool) -> None:
        """Begin or end to write the feed of a branch; the database is a file then."""
        (sqlite_file.create_feed_triggers if on else sqlite_file.drop_feed_triggers)(self._connection)

    def wake(self, topic: str) -> None:
        """Notify the subscribers of `topic` after the commit."""
        self.topics.add(topic)


SQLITE: Final = SqliteFile("")
_Last = list[tuple[Callable[[Tx, Rows], None], Rows]]
"""Rows that the jobs of one commit postpone to its end."""


_Connections: TypeAlias = "queue.SimpleQueue[Any]"


class _Job(Struct):
    work: Callable[[Tx], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    error: BaseException | None = None
    topics: set[str] = field(default_factory=set)


class Store:
    """The only access to the database.

    Use `await store.write(job)` with a function of a `Tx`, and `await store.read(job)` with a function of a `Reader`;
    both run it at most once, in another thread. `await store.look(job)` runs a job of a few single rows in this one.
    A job must not touch anything but the database.

    While the file cannot be used, all raise Unavailable with the cause, and `fault` has it. `connect` may be tried again.

    Attributes:
        path: The database file.
        fault: Why the last write failed for a reason of the disk or the file; None once a write has succeeded. Damage
            stays until `trust_file`.
        writer_has_died: The writing thread has ended by a bug. Nothing can be stored until the process is started again.
        busy: Why the last write failed, if another program has locked the database; None once a write has succeeded.
        was_left_open: The process before this one did not close the database.
        version: A number that grows with each commit that changed a row, before the callers of its jobs have their results.
            What was read after a look at it is current as long as it stays the same.
    """

    def __init__(self, path: str, database: Database | None = None) -> None:
        self.path = path
        self._database = database or SqliteFile(path)
        self.fault: Unavailable | None = Unavailable(
            Text("unavailable.opening"), STARTING_RETRY_S, cause=FaultCause.STARTING
        )
        self.was_left_open = False
        self.writer_has_died = False
        self.busy: Unavailable | None = None
        self.version = 0
        self._writer: Any = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._listeners: list[tuple[str, asyncio.AbstractEventLoop, Callable[[], None]]] = []
        self._reader_connections: list[Any] = []
        self._idle: _Connections = queue.SimpleQueue()
        """Reading connections that no thread uses; None once they are closed."""
        self._at_hand: _Connections = queue.SimpleQueue()
        """The connection of `look`, while no thread uses it."""
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="momo-read")
        self._thread: threading.Thread | None = None

    @classmethod
    def open(cls, path: str, *, now_us: int) -> Self:
        """Open the database; create or migrate it as needed, and check the whole file. See `connect` for the errors."""
        store = cls(path)
        store.connect(now_us)
        try:
            store.check_sound()
        except BaseException:
            store.close()
            raise
        return store

    def connect(self, now_us: int, *, create: bool = True, first: Callable[[Reader], None] | None = None) -> None:
        """Open the file and begin to serve; blocking. Takes the same time for a file of any size.

        Only the header and the schema are read: `check_sound` checks the whole file. `first` reads what every job
        needs, before the first job. It is not called again if a page that it reads is damaged.

        Raises:
            DatabaseDamaged: The file is not a SQLite database with a sound schema; it is left as it is.
            DatabaseNewer: A newer momo wrote it.
            DatabaseForeign: A pre-release of momo or another program made it.
            Unavailable: The disk is full, the file cannot be read or written, or is missing and not to be created.
        """
        assert self._writer is None, "it is open"
        database = self._database
        refusals: tuple[type[Exception], ...] = (Unavailable, OSError, *database.errors)
        self.was_left_open = database.was_left_open()
        try:
            writer, self._reader_connections = database.connect(now_us, READERS, create=create)
        except refusals as error:
            fault = database.as_unavailable(error)
            if not isinstance(fault, Unavailable):
                raise
            self.fault = fault
            raise fault from error
        self._idle, self._at_hand = queue.SimpleQueue(), queue.SimpleQueue()
        *idle, at_hand = self._reader_connections
        for connection in idle:
            self._idle.put(connection)
        self._at_hand.put(at_hand)
        if first is not None:
            with contextlib.suppress(*database.errors):
                at_hand.execute("BEGIN")
                first(Reader(at_hand))
            with contextlib.suppress(*database.errors):
                at_hand.execute("ROLLBACK")
        self._writer, self.fault = writer, None
        self.version += 1  # another daemon may have written since
        self._thread = threading.Thread(target=self._run_writer, args=(writer,), name="momo-write", daemon=True)
        self._thread.start()

    def check_sound(self) -> None:
        """Check the whole file for damage, with a connection of its own; blocking.

        Raises:
            DatabaseDamaged: With the damage that SQLite found; `fault` has it too.
            Unavailable: The file cannot be read.
        """
        refusals: tuple[type[Exception], ...] = (Unavailable, *self._database.errors)
        try:
            self._database.check_sound()
        except refusals as error:
            found = self._noted(error)
            if found is error:
                raise
            raise found from error

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database about the values of one row; `write` raises them as they are."""
        return self._database.row_errors

    @property
    def is_open(self) -> bool:
        """Whether the database is open."""
        return self._writer is not None

    @property
    def is_starting(self) -> bool:
        """Whether the first attempt to open the database has not ended."""
        return self.fault is not None and self.fault.cause is FaultCause.STARTING

    @property
    def is_damaged(self) -> bool:
        """Whether a statement met a damaged page, or `distrust_file` was called."""
        return self.fault is not None and self.fault.cause is FaultCause.DATABASE_DAMAGED

    @property
    def server(self) -> str:
        """The database server, for people; empty if the database is a file."""
        return self._database.server

    @property
    def is_standby(self) -> bool:
        """Whether another daemon writes to this database, and this one waits."""
        return self.fault is not None and self.fault.cause is FaultCause.STANDBY

    @property
    def is_cut_off(self) -> bool:
        """Whether a connection to the server has ended: `disconnect`, then `connect`."""
        writer = self._writer
        return writer is not None and any(self._database.is_cut_off(one) for one in (writer, *self._reader_connections))

    @property
    def is_lost(self) -> bool:
        """Whether the path no longer leads to the open file."""
        return self.fault is not None and self.fault.cause in DATABASE_LOST

    def distrust_file(self, damage: str) -> None:
        """Record damage that a check has found."""
        self.fault = DatabaseDamaged(damage)

    def trust_file(self) -> None:
        """Forget the damage: a check has found none."""
        if self.is_damaged:
            self.fault = None

    async def write(self, job: Callable[[Tx], T]) -> T:
        """Run `job` in a write transaction and return its result once it is durable.

        Raises:
            Unavailable: The disk is full, the file is damaged or no longer in its place; the database is unchanged.
            Exception: Any error that the job raised; only its own changes were rolled back.
        """
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(job, loop, future))
        return await future

    async def read(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on a read-only connection, in one snapshot, and return its result.

        Raises:
            Unavailable: The database is not open, or cannot be read.
        """
        self._refuse_if_closed()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, job, self._idle)

    async def look(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on a read-only connection, in one snapshot, in this thread, and return its result.

        For a few rows that a key or a unique index finds: handing such a job to another thread and back takes several
        times as long as the job. Lists, searches and counts need `read`; they would hold up every other call.

        The snapshot is taken now, so it has every write that has returned. The call does not wait: if the file is
        locked, the job is run again, by `read`.

        Raises:
            Unavailable: The database is not open, or cannot be read.
        """
        self._refuse_if_closed()
        try:
            return self._read(job, self._at_hand, wait=False)
        except queue.Empty:  # it is being closed
            return await self.read(job)
        except Unavailable as error:
            if error.cause is not FaultCause.DATABASE_BUSY:
                raise
            return await self.read(job)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise Unavailable(Text("unavailable.stopping"))  # the writing thread has ended
        if self._writer is None or self.writer_has_died:
            raise self.fault or Unavailable(Text("unavailable.closed"))

    async def check_writable(self) -> None:
        """Try a write, which notices a hung writer, and a file that was removed or replaced.

        While there is a fault the write changes a row, so that it succeeds only if the fault is over. On a server it always
        does: a server that refuses writes takes empty transactions.

        Raises:
            Unavailable: A write is not possible now.
        """

        def job(tx: Tx) -> None:
            if tx.is_postgresql or (self.fault is not None and not self.is_damaged):
                tx.run("UPDATE shop SET name = name WHERE id = 1")

        await self.write(job)

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` in the running loop after each commit that woke `topic`; return a function that unsubscribes."""
        entry = (topic, asyncio.get_running_loop(), wake)
        self._listeners.append(entry)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(entry)

        return unsubscribe

    def disconnect(self) -> None:
        """Finish the queued jobs, then checkpoint and close all connections; blocking. `connect` opens it again."""
        if self._writer is None or self._thread is None:
            return
        writer, self._writer = self._writer, None
        self.fault = self.fault or Unavailable(Text("unavailable.closed"))
        # Until the database is open again, another daemon may change any row.
        for _, loop, wake in list(self._listeners):
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(wake)
        self._jobs.put(None)
        self._thread.join()
        for _ in range(READERS):
            self._idle.get()  # waits for the job that uses it
        self._at_hand.get()
        for connection in [*self._reader_connections, writer]:
            with contextlib.suppress(*self._database.errors):
                connection.close()
        self._reader_connections = []
        self._idle.put(None)  # for the jobs that have not begun
        self._refuse_queued()

    def close(self) -> None:
        """Disconnect for good."""
        self._closed = True
        self.disconnect()
        self._readers.shutdown()

    def _run_writer(self, writer: Any) -> None:
        try:
            self._serve(writer)
        except BaseException:
            self.fault = Unavailable("the thread that writes the database has ended")
            self.writer_has_died = True
            self._refuse_queued()
            raise

    def _serve(self, writer: Any) -> None:
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
            self._commit(writer, group)
            self._answer(group)
            if stop:
                return

    def _commit(self, connection: Any, group: list[_Job]) -> None:
        """Run the jobs in one transaction; afterwards each has its result or its error."""
        last: _Last = []
        changes = self._database.changes(connection)
        try:
            self._database.check_in_place()
            connection.execute("BEGIN IMMEDIATE")
            for job in group:
                run_job(connection, job, last, alone=len(group) == 1, database=self._database)
            if connection.in_transaction:
                _write_last(connection, last)
                connection.execute("COMMIT")
            if self._database.changes(connection) != changes:
                self.version += 1
                if not self.is_damaged:
                    self.fault = None
            self.busy = None
        except Exception as error:  # noqa: BLE001 -- passed on to the callers
            self.version += 1  # a server may have committed although its answer was lost
            # SQLITE_FULL has rolled back already; a second ROLLBACK would raise.
            if connection.in_transaction:
                with contextlib.suppress(*self._database.errors):
                    connection.execute("ROLLBACK")
            refused = self._noted(error)
            if isinstance(refused, Unavailable) and refused.cause is FaultCause.DATABASE_BUSY:
                self.busy = refused
            for job in group:
                job.error = job.error or refused
                job.topics.clear()

    def _noted(self, error: Exception) -> Exception:
        """Return the error for the callers; remember it if the disk or the file is the cause."""
        refused = isinstance(error, self._database.errors)
        found = self._database.as_unavailable(error) if refused else error
        if isinstance(found, Unavailable) and found.cause not in (None, FaultCause.DATABASE_BUSY):
            # Damage is reported until a check finds the file sound.
            self.fault = self.fault if self.is_damaged else found
        return found

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

    def _refuse_queued(self) -> None:
        """Refuse the jobs that were handed over while the writing thread ended."""
        late = []
        with contextlib.suppress(queue.Empty):
            while True:
                if (job := self._jobs.get_nowait()) is not None:
                    job.error = self.fault
                    late.append(job)
        self._answer(late)

    def _read(self, job: Callable[[Reader], T], idle: "_Connections", *, wait: bool = True) -> T:
        connection = idle.get(block=wait)
        if connection is None:
            idle.put(None)
            raise self.fault or Unavailable(Text("unavailable.closed"))
        try:
            connection.execute("BEGIN")
            return job(Reader(connection))
        except self._database.errors as error:
            if self._database.is_forbidden_write(error):
                raise  # a bug
            found = self._noted(error)
            if found is error:
                raise
            raise found from error
        finally:
            if connection.in_transaction:
                with contextlib.suppress(*self._database.errors):
                    connection.execute("ROLLBACK")
            idle.put(connection)


def run_job(connection: Any, job: _Job, last: _Last, *, alone: bool, database: Database = SQLITE) -> None:
    """Run one job of a commit; afterwards it has its result or its error."""
    tx, before = Tx(connection, last), len(last)
    if not alone:
        connection.execute("SAVEPOINT job")
    try:
        job.result = job.work(tx)
        job.topics = tx.topics
    except BaseException as error:
        refused: BaseException = error
        if isinstance(error, database.errors):
            if isinstance(database.as_unavailable(error), Unavailable):
                raise  # it concerns every job
            if (code := _REFUSED_BY.get(database.broken_constraint(error))) is not None:
                refused = Refusal(code, expected_amount=None)
        job.error = refused
        del last[before:]
        if connection.in_transaction:
            connection.execute("ROLLBACK" if alone else "ROLLBACK TO job")
    if not alone and connection.in_transaction:
        connection.execute("RELEASE job")


def _write_last(connection: Any, last: _Last) -> None:
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
