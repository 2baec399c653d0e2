"""A hub's database on a PostgreSQL server (`daemon.store.engine.Database`), and the copy of a shop's file to it, all or nothing.

One daemon writes: it holds an advisory lock on the very connection that writes, so a second daemon on the same database waits
(docs/operators/postgresql.md). The lock ends with the connection, even if the daemon was killed.
"""

import contextlib
import os
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import psycopg.conninfo
from psycopg import errors, sql

from daemon.core.errors import Unavailable
from daemon.core.text import Text
from daemon.store import migrate
from daemon.store.engine import Reader
from daemon.store.migrate import Copied, NotCopied
from daemon.store.postgresql import connection as store_connection
from daemon.store.postgresql.connection import Connection
from daemon.store.sqlite_file import file_uri
from daemon.store.upkeep import inspect
from daemon.wire import FaultCause

WRITER_LOCK: Final = 0x6D6F6D6F
"""The advisory lock of the writer: "momo" in ASCII."""
RETRY_S: Final = 1
_REFERENCES_TO: Final = (
    "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE contype = 'f' AND confrelid = to_regclass(:dropped) AND conrelid <> confrelid"
)
"""The other tables that refer to a table, with the clauses that restore the references."""
HUNG_S: Final = 3.0
"""After this time without a sign of life the writer's connections are ended. A daemon beats every second."""
PATIENCE_S: Final = 1.0
"""How long one call of `connect` waits for the lock."""
ASK_EVERY_S: Final = 0.1
DEFAULTS: Final = {
    # After a failover the name or the list of hosts may still lead to a server that only reads.
    "target_session_attrs": "read-write",
    # A server that has vanished from the network must not hold the writing thread for hours.
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
"""Of libpq, unless the address has them."""
_HOLDER: Final = """
SELECT a.application_name, CASE
  WHEN a.state = 'active' AND a.wait_event IS DISTINCT FROM 'ClientWrite' THEN 0
  ELSE EXTRACT(EPOCH FROM clock_timestamp() - GREATEST(a.query_start, a.state_change))
END
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = :key
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
"""The writer's name, and for how long its connection has been silent while the server waited for it."""
_END: Final = """
SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE application_name = :name AND datname = current_database()
"""


class Server:
    """The database at an address such as `postgresql:///momo` (libpq's connection URIs)."""

    errors: tuple[type[Exception], ...] = (psycopg.Error,)
    row_errors: tuple[type[Exception], ...] = (
        psycopg.DataError,
        psycopg.IntegrityError,
        psycopg.errors.ProgramLimitExceeded,
    )

    def __init__(self, url: str) -> None:
        given = psycopg.conninfo.conninfo_to_dict(url)
        # Names this process: a daemon that hangs is cut off as a whole, with its reading connections.
        name = f"momo on {socket.gethostname()[:24]}, process {os.getpid()}, {os.urandom(4).hex()}"
        self._info = psycopg.conninfo.make_conninfo("", **{**DEFAULTS, **given, "application_name": name})
        hosts = given.get("host") or given.get("hostaddr") or "this machine"
        self.server = f"PostgreSQL, database {given.get('dbname') or given.get('user') or 'momo'} on {hosts}"
        self._changes = 0

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        """Take the writer's lock, bring the schema up to date, and open the reading connections."""
        opened: list[Connection] = []
        try:
            writer = Connection(self._info, read_only=False)
            opened.append(writer)
            _take_lock(writer)
            _migrate(writer, now_us, create=create)
            opened += [self.new_reader() for _ in range(readers + 1)]
        except BaseException:
            for connection in opened:
                with contextlib.suppress(psycopg.Error):
                    connection.close()
            raise
        return writer, list(opened[1:])

    def new_reader(self) -> Connection:
        """Return one more reading connection."""
        return Connection(self._info, read_only=True)

    def was_left_open(self) -> bool:
        """Return False: the server recovers by itself."""
        return False

    def check_sound(self) -> None:
        """Do nothing: the server has checksums and `pg_amcheck`."""

    def check_in_place(self) -> None:
        """Do nothing: the connection that writes holds the lock."""

    def changes(self, connection: Any) -> int:  # noqa: ARG002 -- the engine's interface
        """Return a number that grows with each commit."""
        self._changes += 1
        return self._changes

    def is_cut_off(self, connection: Any) -> bool:
        """Return whether the connection has ended."""
        return bool(connection.is_broken)

    def broken_constraint(self, error: Exception) -> str:
        """Return the unique index that refused a row."""
        found = error.diag.constraint_name if isinstance(error, errors.UniqueViolation) else None
        return found or ""

    def is_forbidden_write(self, error: Exception) -> bool:
        """Return whether a reading connection was asked to write."""
        return isinstance(error, errors.ReadOnlySqlTransaction)

    def as_unavailable(self, error: Exception) -> Exception:
        """Return the fault for the operator if the server cannot be used; other errors as they are."""
        if isinstance(error, errors.ProgramLimitExceeded):
            return error  # it is about one row, such as a text that is too long for an index
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory)):
            return Unavailable(f"the database server cannot write: {_text(error)}", 30, cause=FaultCause.DISK_FULL)
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, errors.ReadOnlySqlTransaction)):
            return Unavailable(
                f"the database server cannot be used: {_text(error)}",
                RETRY_S,
                cause=FaultCause.DATABASE_UNREADABLE,
                next_step="momo doctor db",
            )
        return error


def _take_lock(connection: Connection) -> None:
    """Become the writer, until the connection ends; end a writer that hangs.

    Raises:
        Unavailable: Another daemon is the writer, and was until `PATIENCE_S` had passed.
    """
    key, waiting = {"key": WRITER_LOCK}, threading.Event()
    until = time.monotonic() + PATIENCE_S  # noqa: TID251 -- a duration
    while connection.execute("SELECT pg_try_advisory_lock(:key)", key).fetchone() != (1,):
        holder = connection.execute(_HOLDER, key).fetchone()
        if holder is not None and holder[1] is not None and holder[1] > HUNG_S:
            connection.execute(_END, {"name": holder[0]})
        elif time.monotonic() > until:  # noqa: TID251 -- the same
            # Without the part that makes its name unique.
            writer = "another daemon" if holder is None else f"the writer, {holder[0].rpartition(', ')[0] or holder[0]}"
            raise Unavailable(Text("unavailable.standby", writer=writer), RETRY_S, cause=FaultCause.STANDBY)
        waiting.wait(ASK_EVERY_S)


def _text(error: Exception) -> str:
    return " ".join(str(error).split())


def _migrate(connection: Connection, now_us: int, *, create: bool) -> None:
    """Apply the missing steps, each with its record in one transaction; a step that fails has changed nothing.

    Raises:
        migrate.DatabaseNewer: A newer momo wrote it.
        migrate.DatabaseForeign: A pre-release of momo or another program made it.
        DatabaseDamaged: A step would leave rows that refer to rows which do not exist.
        Unavailable: It is empty, and is not to be made.
    """
    known = migrate.migrations()
    version = _version(connection, known)
    if version == 0 and not create:
        raise Unavailable("the database on the server is empty", RETRY_S, cause=FaultCause.DATABASE_MISSING)
    for step in known[version:]:
        connection.execute("BEGIN")
        try:
            if step.version == 1:
                connection.execute(store_connection.RECORD)
            _run_step(connection, step)
            connection.execute(migrate.RECORD_STEP, migrate.record_of(step, now_us))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction and not connection.is_broken:
                connection.execute("ROLLBACK")
            raise


def _version(connection: Connection, known: list[migrate.Migration]) -> int:
    """Return the number of steps that were applied, 0 for an empty database."""
    columns = {
        (table, column)
        for table, column in connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        )
    }
    if not columns:
        return 0
    if ("schema_migrations", "version") not in columns:
        raise migrate.DatabaseForeign("this database has tables, and was not made by momo: use an empty one")
    if ("schema_migrations", "sha256") not in columns:
        raise migrate.DatabaseForeign(migrate.PRE_RELEASE)
    applied = connection.execute("SELECT name, sha256 FROM schema_migrations ORDER BY version").fetchall()
    return migrate.check_applied(applied, len(applied), known)


def _run_step(connection: Connection, step: migrate.Migration) -> None:
    references = list[tuple[str, str]]()
    for statement in store_connection.schema(step.sql):
        if statement.startswith("DROP TABLE"):
            references += connection.execute(_REFERENCES_TO, {"dropped": statement.split()[-1]}).fetchall()
            statement += " CASCADE"  # noqa: PLW2901 -- the references are restored below
        connection.run_as_written(statement)
    for table, clause in references:
        try:
            connection.run_as_written(f"ALTER TABLE {table} ADD {clause}")
        except errors.ForeignKeyViolation as error:
            raise migrate.DatabaseDamaged(
                f"step {step.version} of the schema would leave rows of {table} that refer to missing rows; "
                "nothing was changed"
            ) from error


@contextlib.contextmanager
def open_readonly(url: str) -> Iterator[Reader]:
    """Open a snapshot of a database, beside the daemon.

    Raises:
        Unreadable: It cannot be opened or read, also within the `with` block.
    """
    server = Server(url)
    try:
        connection = server.new_reader()
        try:
            connection.execute("BEGIN")
            yield Reader(connection)
        finally:
            connection.close()
    except psycopg.Error as error:
        raise inspect.UnreadableShop(f"{server.server}: {_text(error)}") from error


_OWN: Final = {"schema_migrations"}
_TABLES: Final = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' "
    "AND table_type = 'BASE TABLE' ORDER BY table_name"
)
_IDENTITIES: Final = (
    "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' "
    "AND is_identity = 'YES' AND column_name = 'seq'"
)
_REFERENCES: Final = (
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
)


def copy_shop(file: str, url: str, now_us: int) -> Copied:
    """Copy every row of the shop in `file` to the empty database at `url`, where it is a hub. The file stays as it is.

    Raises:
        NotCopied: The file is of another version or damaged, the shop is a branch, the database is not empty, or a row
            does not fit.
        Unavailable: Another daemon writes to the database.
    """
    server = Server(url)
    with contextlib.ExitStack() as stack:
        try:
            source = stack.enter_context(contextlib.closing(sqlite3.connect(file_uri(file, "mode=ro"), uri=True)))
            _check(source)
        except sqlite3.Error as error:
            raise NotCopied(_text(error)) from error
        try:
            writer, readers = server.connect(now_us, 0, create=True)
        except psycopg.Error as error:
            raise NotCopied(f"{server.server}: {_text(error)}") from error
        for connection in (writer, *readers):
            stack.callback(connection.close)
        try:
            return _copy(source, writer)
        except (psycopg.Error, sqlite3.Error) as error:
            raise NotCopied(_text(error)) from error


def _check(source: sqlite3.Connection) -> None:
    source.execute("BEGIN")
    (steps,) = source.execute("SELECT COUNT(*) FROM schema_migrations").fetchone()
    if steps != len(migrate.migrations()):
        raise NotCopied("the shop's file is of another version of momo: start its daemon once")
    # Only in a file each change of a row is noted for the hub.
    if source.execute("SELECT 1 FROM hub_link").fetchone() is not None:
        raise NotCopied(
            "this shop is a branch, whose data must stay in its file to be sent to its hub", "momo hub leave"
        )


def _copy(source: sqlite3.Connection, target: Connection) -> Copied:
    if target.execute("SELECT 1 FROM shop").fetchone() is not None:
        raise NotCopied("the database on the server has a shop already: name an empty one")
    target.execute("BEGIN")
    try:
        rows = _copy_tables(source, target)
        sums = _compared(source, target)
        target.execute("UPDATE shop SET role = 'hub'")
        target.execute("COMMIT")
    except BaseException:
        if target.in_transaction and not target.is_broken:
            target.execute("ROLLBACK")
        raise
    return Copied(rows, *sums)


def _copy_tables(source: sqlite3.Connection, target: Connection) -> int:
    tables = [name for (name,) in target.execute(_TABLES) if name not in _OWN]
    references = target.execute(_REFERENCES).fetchall()
    # Rows come in the order of their tables, so the references are checked at the end, all at once.
    for table, name, _clause in references:
        target.run_as_written(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
    total = 0
    for table in tables:
        # The triggers count and protect rows; these were counted in the file.
        target.run_as_written(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        target.run_as_written(f"DELETE FROM {table}")
        columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        chosen = ", ".join(f'"{name}"' for name in columns)
        total += target.copy_rows(copy, source.execute(f"SELECT {chosen} FROM {table}"))
        target.run_as_written(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    for (table,) in target.execute(_IDENTITIES).fetchall():
        target.run_as_written(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), (SELECT MAX(seq) FROM {table}))"
        )
    for table, name, clause in references:
        target.run_as_written(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {clause}')
    return total


def _compared(source: sqlite3.Connection, target: Connection) -> tuple[int, int]:
    wanted, found = _sums(source), _sums(target)
    if found != wanted:
        raise NotCopied(f"the payments differ: {wanted} in the file, {found} on the server")
    return wanted


def _sums(database: sqlite3.Connection | Connection) -> tuple[int, int]:
    count, amount = database.execute("SELECT COUNT(*), COALESCE(SUM(amount_minor), 0) FROM payments").fetchone() or (
        0,
        0,
    )
    return int(count), int(amount)
