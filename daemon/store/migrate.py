"""Bring a database to this program's schema: numbered SQL files, each applied with its record in one transaction.

The record has the checksum of each step's text, so a database made by a pre-release, whose first step had another text, is
refused with its own error instead of failing later at a column that it lacks.
"""

import functools
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from daemon.core.errors import MomoError, Unavailable
from daemon.core.upkeep.self_check import RETRY_AFTER_S
from daemon.runtime.files import package_folder
from daemon.wire import FaultCause

_FILE: Final = re.compile(r"^(\d{4})_(\w+)\.sql$", re.ASCII)
_NUMBERED: Final = re.compile(r"^(\s*CREATE INDEX [^;]+), seq\)", re.ASCII)
"""An index that ends in the row's number. In SQLite every index does, and would have it twice."""

_UNREAD: Final = re.compile(r"unable to get the page\. error code=(\d{1,9})|failed to get page \d+", re.ASCII)
"""In the findings of SQLite's check (`checkTreePage` and `checkList` of btree.c): a page that it could not read."""

_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,  -- public
    applied_at INTEGER NOT NULL,
    sha256     TEXT NOT NULL  -- public; of the step's text
) STRICT
"""


RECORD_STEP: Final = (
    "INSERT INTO schema_migrations (version, name, applied_at, sha256) VALUES (:version, :name, :now, :sha256)"
)


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


PRE_RELEASE: Final = (
    "this database was made by a pre-release of momo, which this version cannot read: "
    "move it away and set up a new shop, or open it with that pre-release"
)

Query = Callable[[str], list[tuple[Any, ...]]]
"""Runs a SELECT and returns all rows."""


class Migration(Struct, frozen=True):
    """One step of the schema."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The checksum of its text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return every step that this program knows, in order, without gaps."""
    found = []
    for entry in package_folder("store/migrations").iterdir():
        match = _FILE.match(entry.name)
        if match:
            sql = entry.read_text(encoding="utf-8")
            found.append(Migration(int(match.group(1)), match.group(2), sql))
    found.sort(key=lambda migration: migration.version)
    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
    return found


_TABLE: Final = re.compile(r"^CREATE TABLE (?:IF NOT EXISTS )?(\w+?)(?:_anew)? \(|^ALTER TABLE (\w+) ADD COLUMN")
_MARKED: Final = re.compile(
    r"^(?:ALTER TABLE \w+ ADD COLUMN)?\s*(\w+) .*-- (public|masked|hidden)\b"
    r"(?:, (erased|forgotten|cleaned|own|kept)\b(?: (NULL|'[^']*'))?)?(.*)"
)


class Mark(Struct, frozen=True):
    """What the comment of a column says.

    Attributes:
        shown: What an operator sees: `public`, `masked` or `hidden`.
        forget: What happens to it when a payer is forgotten, as the schema's first lines say; None for a public one.
        empty: The SQL of the value that takes its place.
        is_json: The text is JSON.
    """

    shown: str
    forget: str | None
    empty: str | None
    is_json: bool


@functools.cache
def marks() -> Mapping[str, Mapping[str, Mark]]:
    """Return the marks of the columns by table. This is the one list of what is shown, masked and erased."""
    found, table = dict[str, dict[str, Mark]](), ""
    for step in [_RECORD, *(migration.sql for migration in migrations())]:
        for line in step.splitlines():
            if begin := _TABLE.match(line):
                table = begin[1] or begin[2]
            if match := _MARKED.match(line):
                mark = Mark(match[2], match[3], match[4], "JSON" in match[5])
                found.setdefault(table, {})[match[1]] = mark
    return found


def marked_columns(table: str, *words: str) -> list[str]:
    """Return the columns of a table with one of these marks, such as `masked` or `cleaned`."""
    columns = marks().get(table, {}).items()
    return [name for name, mark in columns if mark.shown in words or mark.forget in words]


def emptied(table: str, *words: str) -> str:
    """Return the assignments that empty the columns of a table with one of these marks."""
    return ", ".join(f"{name} = {marks()[table][name].empty}" for name in marked_columns(table, *words))


def check_sound(connection: sqlite3.Connection, path: str, *, whole: bool = False) -> None:
    """Check the whole file at `path` for damage. The time grows with the file.

    With `whole` also compare every index with its table, which takes 1.6 s; after a crash.

    Raises:
        DatabaseDamaged: With the damage that SQLite found.
        Unavailable: A page could not be read.
    """
    check = "integrity_check" if whole else "quick_check"
    try:
        connection.execute("PRAGMA cell_size_check = ON")
        rows = connection.execute(f"PRAGMA {check}(3)").fetchall()
        connection.execute("PRAGMA cell_size_check = OFF")
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise DatabaseDamaged(f"{path}: {error}") from error
        raise
    if rows == [("ok",)]:
        return
    found = f"{path}: {'; '.join(str(row[0]) for row in rows)}"
    if is_unread(found):
        raise Unavailable(
            f"the database cannot be read: {found}",
            RETRY_AFTER_S,
            cause=FaultCause.DATABASE_UNREADABLE,
            next_step="momo doctor db disk",
        )
    raise DatabaseDamaged(found)


def is_damage(error: Exception) -> bool:
    """Return whether the content of the file is at fault, and it is not only that it cannot be read now."""
    if isinstance(error, DatabaseDamaged):
        return True
    name: str = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def is_unread(findings: str) -> bool:
    """Return whether SQLite's check met a page that it could not read for another reason than the content of the file.

    Then its other findings say nothing: they may come from what was not read.
    """
    return any(_is_refusal(match[1]) for match in _UNREAD.finditer(findings))


def _is_refusal(code: str | None) -> bool:
    """Return whether a page was not read for another reason than its content; `code` is SQLite's, None if it named none."""
    return code is None or int(code) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


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
    if not query("SELECT 1 FROM pragma_table_info('schema_migrations') WHERE name = 'sha256'"):
        raise DatabaseForeign(PRE_RELEASE)
    applied = query("SELECT name, sha256 FROM schema_migrations ORDER BY version")
    # The number is the header's, because a file of a later program may have another record.
    version = int(query("PRAGMA user_version")[0][0])
    return check_applied(applied, version, steps)


def check_applied(applied: list[tuple[Any, ...]], version: int, steps: list[Migration]) -> int:
    """Return the number of applied steps, after a comparison of their names and checksums with those of this program.

    `version` is the schema's number, as the database has it.

    Raises:
        DatabaseNewer: The database has steps that this program does not know.
        DatabaseForeign: One of the applied steps had another text, or the number is not that of the last step.
    """
    known = [(step.name, step.sha256) for step in steps]
    if any(tuple(found) != ours for found, ours in zip(applied, known, strict=False)):
        raise DatabaseForeign(PRE_RELEASE)
    if version > len(steps):
        raise DatabaseNewer(
            f"the database has schema {version}, this version of momo supports {len(steps)}: "
            "install the newer momo again, or restore a backup made before the upgrade"
        )
    if version != len(applied):
        raise DatabaseForeign(
            f"this database has {len(applied)} steps of the schema and the number {version}, so it is not as momo left it: "
            "restore a backup"
        )
    return version


def migrate(connection: sqlite3.Connection, now_us: int, known: list[Migration] | None = None) -> int:
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
                connection.execute(_NUMBERED.sub(r"\1)", statement))
            if dangling is not None:
                _check_references(connection, step, dangling)
            connection.execute(RECORD_STEP, record_of(step, now_us))
            connection.execute(f"PRAGMA user_version = {step.version}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return len(steps)


def record_of(step: Migration, now_us: int) -> dict[str, Any]:
    """Return the parameters of `RECORD_STEP`."""
    return {"version": step.version, "name": step.name, "sha256": step.sha256, "now": now_us}


def _dangling(connection: sqlite3.Connection) -> set[tuple[Any, ...]]:
    """Return the references to rows that do not exist: (table, rowid, referenced table, index of the foreign key)."""
    return set(connection.execute("PRAGMA foreign_key_check"))


def _check_references(connection: sqlite3.Connection, step: Migration, before: set[tuple[Any, ...]]) -> None:
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
    assert not statement.strip() or all(line.startswith("--") for line in statement.strip().splitlines()), statement


class NotCopied(MomoError):
    """Nothing was copied to a server; the text is the reason.

    Attributes:
        next_step: The command to type next.
    """

    def __init__(self, why: str, next_step: str = "momo hub init --help") -> None:
        super().__init__(why)
        self.next_step = next_step


class Copied(Struct, frozen=True):
    """The result of a copy: the number of rows, of payments, and the payments' sum in minor units."""

    rows: int
    payments: int
    amount_minor: int
