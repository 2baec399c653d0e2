"""A hub's database on a PostgreSQL server (`daemon.store.database.Database`).

One daemon writes: it holds an advisory lock on the very connection that writes, so a second daemon on the same database waits
(docs/hub.md). The lock ends with the connection, whatever ended the daemon.
"""

import contextlib
from typing import Any, Final

import psycopg
from psycopg import errors

from daemon.core.errors import Unavailable
from daemon.store import migrate
from daemon.store.postgresql import dialect
from daemon.store.postgresql.connection import Connection
from daemon.wire import FaultCause

WRITER_LOCK: Final = 0x6D6F6D6F
"""The advisory lock of the writer: "momo" in ASCII."""
RETRY_S: Final = 1
CONNECT_TIMEOUT_S: Final = 5
_REFERENCES_TO: Final = (
    "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE contype = 'f' AND confrelid = to_regclass(:dropped) AND conrelid <> confrelid"
)
"""The other tables that refer to a table, with the clauses that restore the references."""


class Server:
    """The database at an address such as `postgresql:///momo` (libpq's connection URIs)."""

    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        self._url = url
        self._changes = 0

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        """Take the writer's lock, bring the schema up to date, and open the reading connections."""
        opened: list[Connection] = []
        try:
            writer = Connection(self._url, read_only=False)
            opened.append(writer)
            _take_lock(writer)
            _migrate(writer, now_us, create=create)
            opened += [Connection(self._url, read_only=True) for _ in range(readers + 1)]
        except BaseException:
            for connection in opened:
                with contextlib.suppress(psycopg.Error):
                    connection.close()
            raise
        return writer, list(opened[1:])

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

    def is_forbidden_write(self, error: Exception) -> bool:
        """Return whether a reading connection was asked to write."""
        return isinstance(error, errors.ReadOnlySqlTransaction)

    def as_unavailable(self, error: Exception) -> Exception:
        """Return the fault for the operator if the server cannot be used; other errors as they are."""
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory)):
            return Unavailable(
                f"the database server cannot write: {_text(error)}", 30, cause=FaultCause.DISK_FULL
            )
        if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            return Unavailable(
                f"the database server cannot be used: {_text(error)}",
                RETRY_S,
                cause=FaultCause.DATABASE_UNREADABLE,
                next_step="momo doctor db",
            )
        return error


def _take_lock(connection: Connection) -> None:
    """Become the writer, until the connection ends.

    Raises:
        Unavailable: Another daemon is the writer.
    """
    row = connection.execute("SELECT pg_try_advisory_lock(:key)", {"key": WRITER_LOCK}).fetchone()
    if row != (1,):
        raise Unavailable(
            "another daemon writes to this database; this one takes over when it ends",
            RETRY_S,
            cause=FaultCause.DATABASE_BUSY,
        )


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
        raise Unavailable(
            "the database on the server is empty", RETRY_S, cause=FaultCause.DATABASE_MISSING
        )
    for step in known[version:]:
        connection.execute("BEGIN")
        try:
            if step.version == 1:
                connection.execute(dialect.RECORD)
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
        raise migrate.DatabaseForeign(
            "this database has tables, and was not made by momo: use an empty one"
        )
    if ("schema_migrations", "sha256") not in columns:
        raise migrate.DatabaseForeign(migrate.PRE_RELEASE)
    applied = connection.execute(
        "SELECT name, sha256 FROM schema_migrations ORDER BY version"
    ).fetchall()
    return migrate.check_applied(applied, len(applied), known)


def _run_step(connection: Connection, step: migrate.Migration) -> None:
    references = list[tuple[str, str]]()
    for statement in dialect.schema(step.sql):
        if statement.startswith("DROP TABLE"):
            references += connection.execute(
                _REFERENCES_TO, {"dropped": statement.split()[-1]}
            ).fetchall()
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
