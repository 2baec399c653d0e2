"""Bring a database to this program's schema: numbered SQL files, each applied with its record in one transaction."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from daemon.core.errors import MomoError, Unavailable
from daemon.core.upkeep.self_check import RETRY_AFTER_S
from daemon.wire import FaultCause

_FILE: Final = re.compile(r"^(\d{4})_(\w+)\.sql$", re.ASCII)

_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


class DatabaseDamaged(Unavailable):
    """The file is not a sound database. It is left untouched and must never be replaced by an empty one."""

    def __init__(self, damage: str) -> None:
        self.damage = damage
        super().__init__(
            f"the database is damaged ({damage}): no payments are stored until a backup is restored "
            "(momo restore --stop); payment messages wait on the SIM",
            RETRY_AFTER_S,
            cause=FaultCause.DATABASE_DAMAGED,
            next_step="momo restore --stop",
        )


class DatabaseNewer(MomoError):
    """A newer momo wrote this database, so this version must not change it."""


class DatabaseForeign(MomoError):
    """A pre-release of momo or another program made this database. It is left untouched."""


Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a SELECT and returns all rows."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return every step that this program knows, in order, without gaps."""
    found = []
    for entry in resources.files("daemon.store").joinpath("migrations").iterdir():
        match = _FILE.match(entry.name)
        if match:
            sql = entry.read_text(encoding="utf-8")
            found.append(Migration(int(match.group(1)), match.group(2), sql))
    found.sort(key=lambda migration: migration.version)
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return found


def check_sound(connection: sqlite3.Connection, path: str, *, whole: bool = False) -> None:
    """Check the whole file for damage. The time grows with the file.

    Args:
        connection: To the file.
        path: For the error.
        whole: Also compare every index with its table, which takes 1.6 s; after a crash.

    Raises:
        DatabaseDamaged: With the damage that SQLite found.
    """
    check = "integrity_check" if whole else "quick_check"
    try:
        connection.execute("PRAGMA cell_size_check = ON")
        rows = connection.execute(f"PRAGMA {check}(3)").fetchall()
        connection.execute("PRAGMA cell_size_check = OFF")
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DatabaseDamaged(f"{path}: {error}") from error
        raise
    if rows != [("ok",)]:
        raise DatabaseDamaged(f"{path}: {'; '.join(str(row[0]) for row in rows)}")


def schema_version(query: Query, known: list[Migration] | None = None) -> int:
    """Return the number of steps that were applied to a database, 0 for an empty file.

    Raises:
        DatabaseNewer: The file has steps that this program does not know.
        DatabaseForeign: The file has another schema.
    """
    steps = migrations() if known is None else known
    if not query("SELECT 1 FROM sqlite_schema LIMIT 1"):
        return 0
    if not query("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'"):
        raise DatabaseForeign(
            "this database was not made by momo: move it away and set up a new shop, or restore a backup"
        )
    names = [str(row[0]) for row in query("SELECT name FROM schema_migrations ORDER BY version")]
    if any(name != step.name for name, step in zip(names, steps, strict=False)):
        raise DatabaseForeign(
            "this database was made by a pre-release of momo, which this version cannot read: "
            "move it away and set up a new shop, or open it with that pre-release"
        )
    version = int(query("PRAGMA user_version")[0][0])
    if version > len(steps):
        raise DatabaseNewer(
            f"the database has schema {version}, this version of momo supports {len(steps)}: "
            "install the newer momo again, or restore a backup made before the upgrade"
        )
    return version


def migrate(
    connection: sqlite3.Connection, now_us: int, known: list[Migration] | None = None
) -> int:
    """Apply the missing steps and return the schema's version.

    A step that fails leaves the file as it was before that step. Foreign keys are not enforced afterwards, because a
    table that others refer to can only be recreated without them (sqlite.org/lang_altertable.html, section 7).

    Raises:
        DatabaseNewer: The file has steps that this program does not know.
        DatabaseForeign: The file has another schema.
        DatabaseDamaged: A step would leave rows that refer to rows which do not exist.
    """
    steps = migrations() if known is None else known
    version = schema_version(lambda sql: connection.execute(sql).fetchall(), steps)
    connection.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
    for step in steps[version:]:
        connection.execute("BEGIN EXCLUSIVE")
        try:
            connection.execute(_RECORD)
            dangling = _dangling(connection) if "DROP TABLE" in step.sql else None
            for statement in _statements(step.sql):
                connection.execute(statement)
            if dangling is not None:
                _check_references(connection, step, dangling)
            connection.execute(
                "INSERT INTO schema_migrations (version, name, applied_at) "
                "VALUES (:version, :name, :now)",
                {"version": step.version, "name": step.name, "now": now_us},
            )
            connection.execute(f"PRAGMA user_version = {step.version}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return len(steps)


def _dangling(connection: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Return the references to rows that do not exist: (table, rowid, referenced table, index of the foreign key)."""
    return set(connection.execute("PRAGMA foreign_key_check"))


def _check_references(
    connection: sqlite3.Connection, step: Migration, before: set[tuple[Any, ...]]
) -> None:
    for table, _row, other, _key in _dangling(connection) - before:
        raise DatabaseDamaged(
            f"step {step.version} of the schema would leave rows of {table} that refer to missing rows of {other}; "
            "nothing was changed"
        )


def _statements(sql: str) -> Iterator[str]:
    """Split a script into statements; `executescript` would commit the transaction around them."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip() or all(
        line.startswith("--") for line in statement.strip().splitlines()
    ), statement
