"""Database files whose connections stay open from test to test, as those of the tests' server do.

Opening them, reading the schema and preparing the statements takes longer than most tests. At a shop's place is a link to its
file; the next shop that gets the file begins with the rows of a new database.
"""

import atexit
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from daemon.store import sqlite_file
from daemon.store.engine import READERS
from daemon.store.sqlite_file import SqliteFile

PAGES_MAX: Final = 1_000
"""A larger file is not used again, because its check takes longer; a new one has 281 pages."""
_FREE: Final[list["KeptFile"]] = []
_TAKEN: Final[list["KeptFile"]] = []


class _Kept(sqlite3.Connection):
    """A connection that outlives its store."""

    is_used = False

    def close(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")
        self.is_used = False


class KeptFile(SqliteFile):
    """A file with its connections; `checker` is another one, for what is done between two tests."""

    kind = _Kept

    def __init__(self, path: Path) -> None:
        """Open the new database at `path`."""
        super().__init__(str(path))
        self.path = path
        self.link = path
        self.writer, self.readers = self.connect(0, READERS, create=False)
        self.checker = sqlite3.connect(path, isolation_level=None, cached_statements=512)
        self.checker.execute("PRAGMA synchronous = OFF")
        self.checker.set_authorizer(_let_events_go)
        atexit.register(self.end)
        self._schema = self._number("schema_version")
        names = self.checker.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name NOT LIKE 'search%' OR name = 'search_cursor')"
        )
        self._rows = {name: self.checker.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names.fetchall()}
        self._with_rows = " UNION ALL ".join(
            f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in self._rows
        )

    @property
    def is_used(self) -> bool:
        """Whether a store has it open."""
        return any(one.is_used for one in (self.writer, *self.readers))

    @property
    def is_as_made(self) -> bool:
        """Whether no test has changed its schema or made it large."""
        return self._number("schema_version") == self._schema and self._number("page_count") < PAGES_MAX

    def _number(self, pragma: str) -> int:
        return int(self.checker.execute(f"PRAGMA {pragma}").fetchone()[0])

    def empty(self) -> None:
        """Bring it back to the rows of a new database."""
        if self.writer.execute("SELECT 1 FROM sqlite_temp_schema").fetchone() is not None:
            sqlite_file.drop_feed_triggers(self.writer)
        self.checker.execute("BEGIN IMMEDIATE")
        while found := self.checker.execute(self._with_rows).fetchall():  # triggers count what goes
            for (name,) in found:
                self.checker.execute(f"DELETE FROM {name}")
        for name, rows in self._rows.items():
            for row in rows:
                self.checker.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
        self.checker.execute("INSERT INTO search (search) VALUES ('delete-all')")
        self.checker.execute("COMMIT")

    def end(self) -> None:
        """Close it for good."""
        for one in (*self.readers, self.checker, self.writer):
            sqlite3.Connection.close(one)


class Link(SqliteFile):
    """The file at a shop's place, with the kept connections as long as it leads there and no other store has them."""

    def connect(self, now_us: int, readers: int, *, create: bool) -> tuple[Any, list[Any]]:
        kept = at(self._path)
        if kept is None or kept.is_used:
            return super().connect(now_us, readers, create=create)
        found = os.stat(self._path)  # noqa: PTH116 -- as the base class does
        self._file = (found.st_dev, found.st_ino)
        for one in (kept.writer, *kept.readers):
            one.is_used = True
        sqlite_file.create_feed_triggers_if_branch(kept.writer)
        return kept.writer, kept.readers


def lead(link: Path, make: Callable[[], Path]) -> None:
    """Let a link lead to a file with the rows of a new database; `make` makes one if there is none."""
    give_back(lambda kept: not kept.link.is_symlink())  # a test with many examples removes the folder of each
    while _FREE:
        kept = _FREE.pop()
        if kept.is_as_made:
            kept.empty()
            break
        kept.end()
    else:
        kept = KeptFile(make())
    _TAKEN.append(kept)
    kept.link = link
    link.symlink_to(kept.path)


def at(path: Path | str) -> KeptFile | None:
    """Return the file to which a shop's place leads; None if it is a file of its own."""
    leads_to = Path(path).resolve()
    return next((kept for kept in _TAKEN if kept.path == leads_to), None)


def give_back(of: Callable[[KeptFile], bool] = lambda _kept: True) -> None:
    """Let the next shops use the files that no store has open, or those `of` them."""
    for kept in [kept for kept in _TAKEN if not kept.is_used and of(kept)]:
        _TAKEN.remove(kept)
        _FREE.append(kept)


def _let_events_go(_action: int, _1: object, _2: object, _3: object, trigger: str | None) -> int:
    """Leave out the trigger that keeps events from being deleted."""
    return sqlite3.SQLITE_IGNORE if trigger == "events_never_go" else sqlite3.SQLITE_OK
