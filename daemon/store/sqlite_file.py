"""The database file of one shop: its connections, and the meaning of errors of SQLite and of the disk."""

import contextlib
import errno
import os
import sqlite3
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol

from daemon import wire
from daemon.core.errors import Unavailable
from daemon.core.text import Text
from daemon.store import migrate
from daemon.wire import FaultCause

BUSY_MS: Final = 5_000
"""How long to wait for a foreign lock (for example of a sqlite3 shell) before reporting that the database is busy."""
WAL_BYTES_KEPT: Final = 16 * 1024 * 1024
"""Size to which the write-ahead log is cut after it grew."""

LOST_RETRY_S: Final = 60
RESTORE: Final = "momo restore --stop"
RESTART: Final = "momo daemon restart"
_NOT_UNIQUE: Final = "UNIQUE constraint failed: "
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
DATABASE_LOST: Final = (FaultCause.DATABASE_MISSING, FaultCause.DATABASE_REPLACED)

# Without these, each value of an enumeration and each true or false is first looked for an own way to adapt it.
sqlite3.register_adapter(bool, int)
for _kind in vars(wire).values():
    if isinstance(_kind, type) and issubclass(_kind, StrEnum):
        sqlite3.register_adapter(_kind, attrgetter("_value_"))


class SqliteFile:
    """The file at a path (`daemon.store.engine.Database`)."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    row_errors: tuple[type[Exception], ...] = (sqlite3.DataError, sqlite3.IntegrityError)
    server = ""
    kind: type[sqlite3.Connection] = sqlite3.Connection
    """The class of its connections; most tests have one that stays open for the next test."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = (0, 0)
        """Device and inode of the open file."""

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        """Open the writing connection, the reading ones, and the one that never waits."""
        try:
            if not create and not Path(self._path).exists():
                raise missing(self._path)
            writer = _connect(self._path, now_us, self.kind)
            opened = [writer]
            try:
                found = os.stat(self._path)  # noqa: PTH116 -- no pathlib needed
                # Opened now: later the path may lead to another file.
                opened += [_connect_reader(self._path, self.kind) for _ in range(readers + 1)]
                # Never waits: it is used in the event loop's thread.
                opened[-1].execute("PRAGMA busy_timeout = 0")
            except BaseException:
                for connection in opened:
                    with contextlib.suppress(sqlite3.Error):
                        connection.close()
                raise
        except (Unavailable, OSError, sqlite3.Error) as error:
            fault = self.as_unavailable(error)
            if (
                isinstance(fault, Unavailable)
                and fault.cause is FaultCause.DATABASE_UNREADABLE
                and _is_read_only(self._path)
            ):
                # SQLite only says that it cannot open the write-ahead log.
                raise _read_only(str(error)) from error
            raise
        self._file = (found.st_dev, found.st_ino)
        return writer, opened[1:]

    def was_left_open(self) -> bool:
        """Return whether the last process did not close the file: closing removes the write-ahead log."""
        try:
            return Path(f"{self._path}-wal").stat().st_size > 0
        except OSError:
            return False

    def check_sound(self) -> None:
        """Check the whole file, with a connection of its own."""
        with contextlib.closing(_connect_reader(self._path, sqlite3.Connection)) as connection:
            migrate.check_sound(connection, self._path)

    def check_in_place(self) -> None:
        """Refuse to write into a file that was removed or replaced: the next start would not find the rows.

        One call of `stat` for each commit, 2 microseconds.
        """
        try:
            found = os.stat(self._path)  # noqa: PTH116 -- no pathlib needed
        except (FileNotFoundError, NotADirectoryError):
            raise missing(self._path) from None
        except OSError:
            return  # the write itself reports it
        if (found.st_dev, found.st_ino) != self._file:
            raise Unavailable(
                Text("unavailable.replaced", path=self._path),
                LOST_RETRY_S,
                cause=FaultCause.DATABASE_REPLACED,
                next_step=RESTART,
            )

    def changes(self, connection: Any) -> int:
        """Return the number of changed rows of the connection so far."""
        return int(connection.total_changes)

    def is_cut_off(self, connection: Any) -> bool:  # noqa: ARG002 -- the engine's interface
        """Return False: a file's connection lasts until it is closed."""
        return False

    def broken_constraint(self, error: Exception) -> str:
        """Return the columns that refused a row, such as `transactions.payment_seq`."""
        return str(error).removeprefix(_NOT_UNIQUE) if str(error).startswith(_NOT_UNIQUE) else ""

    def is_forbidden_write(self, error: Exception) -> bool:
        """Return whether a reading connection was asked to write."""
        return getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY"

    def as_unavailable(self, error: Exception) -> Exception:
        """Turn a refusal by the disk or the file into an error that a shop owner understands; return others as they are."""
        if isinstance(error, Unavailable):
            return error
        text = str(error)
        name = getattr(error, "sqlite_errorname", "")
        number = getattr(error, "errno", None)
        if name.startswith("SQLITE_FULL") or "disk is full" in text or number in _NO_SPACE:
            return Unavailable(
                Text("unavailable.disk_full"), 30, cause=FaultCause.DISK_FULL, next_step="momo backup prune"
            )
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return Unavailable(
                Text("unavailable.locked"), 5, cause=FaultCause.DATABASE_BUSY, next_step="momo doctor db"
            )
        if name.startswith("SQLITE_READONLY") or number == errno.EROFS:
            return _read_only(text)
        if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PERM")) or number is not None:
            return Unavailable(
                Text("unavailable.unreadable", why=text),
                30,
                cause=FaultCause.DATABASE_UNREADABLE,
                next_step="momo doctor db disk",
            )
        return migrate.DatabaseDamaged(text) if migrate.is_damage(error) else error


def _connect(path: str, now_us: int, kind: type[sqlite3.Connection]) -> sqlite3.Connection:
    """Open the writing connection; create or migrate the file as needed."""
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=512, factory=kind
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # Before the first write, so that a file that is refused stays as it is.
        migrate.schema_version(lambda sql: connection.execute(sql).fetchall())
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL may lose a commit in a power cut, and the SMS is deleted from the SIM right after the commit.
        connection.execute("PRAGMA synchronous = FULL")
        # A long reader lets the log grow; without a limit it would keep that size for ever.
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}")
        # Savepoints of a group would spill into a file beyond 64 KB; in memory, 8 callers are 20 % faster.
        connection.execute("PRAGMA temp_store = MEMORY")
        # Without PRAGMA optimize: the statistics of a new shop's one-row tables made SQLite read whole tables later.
        migrate.migrate(connection, now_us)
        connection.execute("PRAGMA foreign_keys = ON")
        create_feed_triggers_if_branch(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_reader(path: str, kind: type[sqlite3.Connection]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file_uri(path, "mode=ro"),
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=kind,
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    # Opens the write-ahead log too. A SELECT would also parse the whole schema, 2 ms: the first job does.
    connection.execute("PRAGMA user_version").fetchone()
    return connection


def file_uri(path: str | Path, query: str) -> str:
    """Return the address for `sqlite3.connect(..., uri=True)` of a file, whose path may have any characters.

    `query` has the parameters (sqlite.org/uri.html), such as `mode=ro`.
    """
    text = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Without an empty host, a path that begins with // would name one.
    return f"file:{'//' if text.startswith('/') else ''}{text}?{query}"


def missing(path: str) -> Unavailable:
    """Return the fault of a database file that is not at its path."""
    return Unavailable(
        Text("unavailable.missing", path=path), LOST_RETRY_S, cause=FaultCause.DATABASE_MISSING, next_step=RESTORE
    )


def _read_only(text: str) -> Unavailable:
    return Unavailable(
        Text("unavailable.read_only", why=text), 30, cause=FaultCause.DATABASE_READ_ONLY, next_step="momo doctor disk"
    )


def _is_read_only(path: str) -> bool:
    folder = Path(path).parent
    return not os.access(folder, os.W_OK) or (Path(path).exists() and not os.access(path, os.W_OK))


WATCHED: Final = (
    ("method", "payment_methods", "id", "provider, phone_number, account_name, merchant_code, sim_seq, is_active, deleted_at"),
    ("payment", "payments", "id", ""),
    ("transaction", "transactions", "id", ""),
    ("review", "reviews", "id", ""),
    ("reversal", "reversals", "message_id", ""),
    ("sim", "sims", "sim_key", "sim_key, network, device_id, slot_index, present, ignored_at, not_receiving_since, served_by"),
    ("device", "devices", "device_id", "name, present, forgotten_at"),
)  # fmt: skip
"""Kind, table, key, and the columns whose change is a fact: all if empty. The journal stays at the branch."""


class SqlConnection(Protocol):
    """A connection to the file."""

    def execute(self, sql: str, /) -> Any:
        """Run one statement."""


def create_feed_triggers_if_branch(connection: SqlConnection) -> None:
    """Create the triggers on a new writing connection, if the shop is a branch."""
    if connection.execute("SELECT 1 FROM hub_link").fetchone() is not None:
        create_feed_triggers(connection)


def create_feed_triggers(connection: SqlConnection) -> None:
    """Create the triggers."""
    for kind, table, key, columns in WATCHED:
        update = f"UPDATE OF {columns}" if columns else "UPDATE"
        for name, event in (("insert", "INSERT"), ("update", update)):
            connection.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS feed_{kind}_{name} AFTER {event} ON main.{table} "
                f"BEGIN INSERT INTO feed (kind, id) VALUES ('{kind}', CAST(NEW.{key} AS TEXT)); END"
            )


def drop_feed_triggers(connection: SqlConnection) -> None:
    """Drop the triggers."""
    for kind, _table, _key, _columns in WATCHED:
        for event in ("insert", "update"):
            connection.execute(f"DROP TRIGGER IF EXISTS temp.feed_{kind}_{event}")
