"""Copies of the whole database: made while the shop is open, and looked through before they count."""

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.core.errors import MomoError
from daemon.store import ledger
from daemon.store.engine import BUSY_MS
from daemon.store.migrate import migrations

TABLES: Final = ("messages", "payments", "transactions", "deliveries", "events")
"""Counted, so that a person sees that there is something in the copy."""


class BackupBad(MomoError):
    """A file is no sound copy of a shop; the text says why."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was looked through.

    Attributes:
        schema: Its number of migrations.
        rows: Table -> how many.
        newest_us: When its newest line of the journal was written; None when it has none.
    """

    path: str
    size: int
    schema: int
    shop: str
    rows: dict[str, int]
    newest_us: int | None


def copy(source: str, target: Path) -> None:
    """Copy a database that may be in use, as it is at one moment; writers go on (sqlite.org/backup.html).

    It is written under another name and renamed when it is whole and on the disk, so a file of the target's name is
    never half a copy.

    Raises:
        BackupBad: The source cannot be read, or the target cannot be written.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(source, draft)
        sync(draft)
        draft.replace(target)
        sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise BackupBad(f"{target} cannot be written: {error}") from error
    finally:
        for name in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
            name.unlink(missing_ok=True)


def _copy(source: str, draft: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as reading,
        contextlib.closing(sqlite3.connect(draft)) as writing,
    ):
        reading.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        # In one step: another process's writes would make it begin again and again.
        reading.backup(writing, pages=-1)
        # The copy is one file, with no log beside it.
        writing.execute("PRAGMA journal_mode = DELETE")


def look_through(path: Path) -> Copy:
    """Check a copy from end to end: the file, the shop in it, and what always holds.

    Raises:
        BackupBad: It is no sound copy of a shop that this program can read.
    """
    if not path.is_file():
        raise BackupBad(f"{path} is not there")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as base:
            return _look(base, path)
    except sqlite3.Error as error:
        raise BackupBad(f"{path} is no sound database: {error}") from error


def _look(base: sqlite3.Connection, path: Path) -> Copy:
    found = base.execute("PRAGMA integrity_check(3)").fetchall()
    if found != [("ok",)]:
        raise BackupBad(f"{path} is damaged: {'; '.join(str(row[0]) for row in found)}")
    if base.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise BackupBad(f"{path} is damaged: some rows belong to nothing")
    (schema,) = base.execute("PRAGMA user_version").fetchone()
    known = len(migrations())
    if not 0 < schema <= known:
        raise BackupBad(f"{path} has schema {schema}, and this momo knows 1 to {known}")
    shop = base.execute("SELECT name FROM shop").fetchone()
    if shop is None:
        raise BackupBad(f"{path} holds no shop")
    if schema == known and (wrong := ledger.broken(base)):
        raise BackupBad(f"{path}: {'; '.join(wrong)}")
    rows = {
        table: int(base.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]) for table in TABLES
    }
    (newest,) = base.execute("SELECT MAX(at) FROM events").fetchone()
    return Copy(str(path), path.stat().st_size, schema, str(shop[0]), rows, newest)


def sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
