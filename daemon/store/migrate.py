"""Bring a database to this program's schema: numbered SQL files, each applied with its record in one transaction."""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from daemon.core.errors import MomoError

_FILE: Final = re.compile(r"^(\d{4})_(\w+)\.sql$", re.ASCII)

_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


class DatabaseDamaged(MomoError):
    """The file is not a sound database. It is left untouched: never start with an empty one in its place."""


class DatabaseNewer(MomoError):
    """A newer momo wrote this database; this one must not touch it."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return every step this program knows, in order, without gaps."""
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
    """Look through the whole file.

    Costs 0.4 s for a million messages, so it is done at every start.

    Args:
        connection: To the file.
        path: For the error.
        whole: Compare every index with its table too, which takes 1.6 s: after an end that was none.

    Raises:
        DatabaseDamaged: With what SQLite found.
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


def migrate(
    connection: sqlite3.Connection, now_us: int, known: list[Migration] | None = None
) -> int:
    """Apply what is missing and return the schema's version.

    A step that fails leaves the file as it was before that step. Foreign keys are not enforced afterwards: a table that
    others point at can only be made anew without (sqlite.org/lang_altertable.html, section 7).

    Raises:
        DatabaseNewer: The file has steps this program does not know.
        DatabaseDamaged: A step would leave rows that name others which are not there.
    """
    steps = migrations() if known is None else known
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(steps):
        raise DatabaseNewer(
            f"the database has schema {version}, this momo knows {len(steps)}: "
            "install the newer momo again, or restore a backup made before the upgrade"
        )
    connection.execute("PRAGMA foreign_keys = OFF")  # inside a transaction it would do nothing
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
    """Return the references to rows that are not there: (table, rowid, table it names, which of its foreign keys)."""
    return set(connection.execute("PRAGMA foreign_key_check"))


def _check_references(
    connection: sqlite3.Connection, step: Migration, before: set[tuple[Any, ...]]
) -> None:
    for table, _row, other, _key in _dangling(connection) - before:
        raise DatabaseDamaged(
            f"step {step.version} of the schema would leave rows of {table} that name none of {other}; "
            "nothing was changed"
        )


def _statements(sql: str) -> Iterator[str]:
    """Cut a script into statements; `executescript` would commit the transaction around them."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip() or all(
        line.startswith("--") for line in statement.strip().splitlines()
    ), statement
