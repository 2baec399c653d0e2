"""Copies of the whole database: made while the shop is open, and looked through before they count."""

import contextlib
import errno
import os
import re
import shutil
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from daemon.core.errors import MomoError
from daemon.store import ledger
from daemon.store.engine import BUSY_MS
from daemon.store.migrate import migrations
from daemon.wire import Places
from parsers.when import render

FOLDER: Final = "backups"
_NAME: Final = re.compile(
    r"momo-(?:(?P<shop>[0-9a-f]{8})-)?(?P<id>(?:before-schema-\d+-)?(?P<at>\d{8}T\d{6}Z))\.db",
    re.ASCII,
)
"""In the second place, where other shops may put theirs too, a name bears its shop's mark."""
_HALF_DONE: Final = re.compile(r"\..+\.(\d{1,9})\.new(?:-\w+)?|\.drill\.(\d{1,9})\..*", re.ASCII)
"""A copy that is being made, or a drill, and the process that does it."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
TABLES: Final = ("messages", "payments", "transactions", "deliveries", "events")
"""Counted, so that a person sees that there is something in the copy."""


class BackupBad(MomoError):
    """A file is no sound copy of a shop; the text says why."""


class NoRoom(BackupBad):
    """The disk has no room for a copy, or only what payments need; no copy is left behind."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One backup in the folder.

    `before_upgrade`: It was made because the schema was about to change; it goes only by hand.
    """

    id: str
    path: str
    size: int
    made_at: datetime
    before_upgrade: bool

    def as_json(self) -> dict[str, Any]:
        """Return it for people's programs."""
        made_at = render(int(self.made_at.timestamp()) * 1_000_000)
        return {
            "id": self.id,
            "path": self.path,
            "bytes": self.size,
            "made_at": made_at,
            "before_upgrade": self.before_upgrade,
        }


def folder(places: Places) -> Path:
    """Return where backups go unless said otherwise."""
    return Path(places.home) / FOLDER


def stamp(now: datetime) -> str:
    """Return a time as it stands in the name of a copy."""
    return now.astimezone(UTC).strftime(_STAMP)


def id_of(path: Path) -> str:
    """Return what people call a copy by."""
    match = _NAME.fullmatch(path.name)
    return match["id"] if match else path.name


def entries(places: Places) -> list[Entry]:
    """List the backups of the shop's own folder, newest first."""
    return entries_in(folder(places))


def entries_in(where: Path, mark: str | None = None) -> list[Entry]:
    """List the backups of a folder, newest first: those that bear the mark, with None those that bear none."""
    found = []
    for path in where.glob("momo-*.db"):
        match = _NAME.fullmatch(path.name)
        if match and match["shop"] == mark:
            made_at = datetime.strptime(match["at"], _STAMP).replace(tzinfo=UTC)
            is_before = match["id"] != match["at"]
            found.append(Entry(id_of(path), str(path), path.stat().st_size, made_at, is_before))
    return sorted(found, key=lambda entry: entry.made_at, reverse=True)


def before_upgrade(places: Places, now: datetime) -> Path | None:
    """Copy a database whose schema this program is about to change; returns the copy, None when it is not.

    A file that is not there, damaged, or newer is left to whoever opens it, who says so better.

    Raises:
        BackupBad: The copy cannot be made; then the database must stay as it is.
    """
    path = Path(places.database)
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            (schema,) = base.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        return None
    if not 0 < schema < len(migrations()):
        return None
    target = folder(places) / f"momo-before-schema-{schema + 1}-{stamp(now)}.db"
    copy(str(path), target)
    return target


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy that was looked through.

    Attributes:
        schema: Its number of migrations.
        rows: Table -> how many.
        newest_us: When its newest line of the journal was written; None when it has none.
        findings: What should always hold in a shop and does not in this one. The copy is true to it all the same.
    """

    path: str
    size: int
    schema: int
    shop: str
    rows: dict[str, int]
    newest_us: int | None
    findings: tuple[str, ...] = ()


def copy(source: str, target: Path) -> None:
    """Copy a database that may be in use, as it is at one moment; writers go on (sqlite.org/backup.html).

    It is written under another name and renamed when it is whole and on the disk, so a file of the target's name is
    never half a copy.

    Raises:
        BackupBad: The source cannot be read, or the target cannot be written.
        NoRoom: The disk is full.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(target.parent)
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(source, draft)
        sync(draft)
        draft.replace(target)
        sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        if _says_full(error):
            raise NoRoom(f"the disk of {target.parent} is full: {error}") from error
        raise BackupBad(f"{target} cannot be written: {error}") from error
    finally:
        for name in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
            # What cannot even be looked for must not hide why the copy failed.
            with contextlib.suppress(OSError):
                name.unlink(missing_ok=True)


def drill_prefix() -> str:
    """Return how the name of this process's folder for a drill begins."""
    return f".drill.{os.getpid()}."


def sweep(where: Path) -> None:
    """Remove what a process that was killed left half done in a folder: each would have the size of a shop."""
    for path in where.glob(".*"):
        match = _HALF_DONE.fullmatch(path.name)
        if match is None or _is_alive(int(match.group(1) or match.group(2))):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def settle(database: Path) -> None:
    """Move what stands in the log alone into the database, which nobody may have open: it is whole without its log then.

    Raises:
        sqlite3.Error: It cannot be read.
    """
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as base:
        base.execute("PRAGMA synchronous = FULL")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _says_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


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
    findings = tuple(ledger.broken(base)) if schema == known else ()
    rows = {
        table: int(base.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]) for table in TABLES
    }
    (newest,) = base.execute("SELECT MAX(at) FROM events").fetchone()
    return Copy(str(path), path.stat().st_size, schema, str(shop[0]), rows, newest, findings)


def lost(old: Path, new: Path) -> tuple[int, int]:
    """Compare a database with the copy that takes its place.

    Returns:
        How many payments are only in the old one, and how many webhooks the new one still owes that the old one had
        delivered. (0, 0) when the old one cannot be read.
    """
    try:
        with contextlib.closing(sqlite3.connect(f"file:{new}?immutable=1", uri=True)) as base:
            base.execute("ATTACH DATABASE :old AS old", {"old": f"file:{old}?immutable=1"})
            (payments,) = base.execute(
                "SELECT COUNT(*) FROM old.payments o LEFT JOIN payments n ON n.id = o.id WHERE n.id IS NULL"
            ).fetchone()
            (repeats,) = base.execute(
                "SELECT COUNT(*) FROM deliveries n JOIN old.deliveries o ON o.id = n.id "
                "WHERE o.status = 'delivered' AND n.status IN ('pending', 'retrying')"
            ).fetchone()
    except sqlite3.Error:
        return 0, 0
    return int(payments), int(repeats)


def sync(path: Path) -> None:
    """Make sure that a file or folder is on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
