"""Copy the database of a shop from its file to a PostgreSQL server, all or nothing (docs/operators/postgresql.md)."""

import contextlib
import sqlite3
from typing import Final

import psycopg
from psycopg import sql

from daemon.store import migrate
from daemon.store.database import Copied, NotCopied
from daemon.store.postgresql.connection import Connection
from daemon.store.postgresql.server import Server
from daemon.store.sqlite_file import file_uri

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
    """Copy every row of the shop in `file` to the empty database at `url`. The file stays as it is.

    Raises:
        NotCopied: The file is of another version or damaged, the shop is a branch, the database is not empty, or a row
            does not fit.
        Unavailable: Another daemon writes to the database.
    """
    server = Server(url)
    with contextlib.ExitStack() as stack:
        try:
            source = stack.enter_context(
                contextlib.closing(sqlite3.connect(file_uri(file, "mode=ro"), uri=True))
            )
            _check(source)
        except sqlite3.Error as error:
            raise NotCopied(_line(error)) from error
        try:
            writer, readers = server.connect(now_us, 0, create=True)
        except psycopg.Error as error:
            raise NotCopied(f"{server.server}: {_line(error)}") from error
        for connection in (writer, *readers):
            stack.callback(connection.close)
        try:
            return _copy(source, writer)
        except (psycopg.Error, sqlite3.Error) as error:
            raise NotCopied(_line(error)) from error


def _check(source: sqlite3.Connection) -> None:
    source.execute("BEGIN")
    (steps,) = source.execute("SELECT COUNT(*) FROM schema_migrations").fetchone()
    if steps != len(migrate.migrations()):
        raise NotCopied("the shop's file is of another version of momo: start its daemon once")
    # Only in a file each change of a row is noted for the hub.
    if source.execute("SELECT 1 FROM hub_link").fetchone() is not None:
        raise NotCopied(
            "this shop is a branch, whose data must stay in its file to be sent to its hub",
            "momo hub leave",
        )


def _copy(source: sqlite3.Connection, target: Connection) -> Copied:
    if target.execute("SELECT 1 FROM shop").fetchone() is not None:
        raise NotCopied("the database on the server has a shop already: name an empty one")
    target.execute("BEGIN")
    try:
        rows = _copy_tables(source, target)
        sums = _compared(source, target)
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
        total += _copy_table(source, target, table)
        target.run_as_written(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    for (table,) in target.execute(_IDENTITIES).fetchall():
        target.run_as_written(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'seq'), (SELECT MAX(seq) FROM {table}))"
        )
    for table, name, clause in references:
        target.run_as_written(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {clause}')
    return total


def _copy_table(source: sqlite3.Connection, target: Connection, table: str) -> int:
    columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    copy = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    chosen = ", ".join(f'"{name}"' for name in columns)
    rows = source.execute(f"SELECT {chosen} FROM {table}")
    return target.copy_rows(copy, rows)


def _compared(source: sqlite3.Connection, target: Connection) -> tuple[int, int]:
    wanted, found = _sums(source), _sums(target)
    if found != wanted:
        raise NotCopied(f"the payments differ: {wanted} in the file, {found} on the server")
    return wanted


def _sums(database: sqlite3.Connection | Connection) -> tuple[int, int]:
    count, amount = database.execute(
        "SELECT COUNT(*), COALESCE(SUM(amount_minor), 0) FROM payments"
    ).fetchone() or (0, 0)
    return int(count), int(amount)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
