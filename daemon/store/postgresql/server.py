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
    """Make the schema in an empty database, as one transaction.

    Raises:
        migrate.DatabaseNewer: A newer momo wrote it.
        Unavailable: It is empty, and is not to be made.
    """
    known = migrate.migrations()
    table = connection.execute("SELECT to_regclass('schema_migrations')").fetchone()
    version = 0
    if table != (None,):
        found = connection.execute(
            "SELECT COALESCE(MAX(version), 0) FROM schema_migrations"
        ).fetchone()
        assert found is not None, "it has an aggregate"
        version = found[0]
    if version > len(known):
        raise migrate.DatabaseNewer(
            f"this database has schema {version}, and this momo knows {len(known)}: install the newer momo"
        )
    if version == len(known):
        return
    if version == 0 and not create:
        raise Unavailable(
            "the database on the server is empty", RETRY_S, cause=FaultCause.DATABASE_MISSING
        )
    connection.execute("BEGIN")
    for step in known[version:]:
        if version == 0:
            connection.execute(dialect.RECORD)
        for statement in dialect.schema(step.sql):
            connection.run_as_written(statement)
        connection.execute(
            "INSERT INTO schema_migrations (version, name, applied_at) VALUES (:version, :name, :now)",
            {"version": step.version, "name": step.name, "now": now_us},
        )
        version = step.version
    connection.execute("COMMIT")
