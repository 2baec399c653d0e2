"""Copies of the database, made while the shop is open and verified afterwards.

Several shops may share the off-site folder, so the names of copies in it contain the mark of their shop.

What was taken away since a backup stays taken away after its restore: API keys, users, sessions and used recovery codes.
Passwords, roles, second factors and secrets become those of the backup, because the person who restores knows which of both
is right.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from daemon.core.errors import MomoError, Unavailable
from daemon.core.upkeep.self_check import BackupRetention, copies_to_keep
from daemon.runtime.files import sync
from daemon.store import migrate
from daemon.store.engine import Store
from daemon.store.sqlite_file import BUSY_MS, SqliteFile, file_uri
from daemon.store.upkeep import ledger_check
from daemon.wire import FaultCause, Places
from parsers.times import render

FOLDER: Final = "backups"
_NAME: Final = re.compile(
    r"momo-(?:(?P<shop>[0-9a-f]{8})-)?(?P<id>(?:before-schema-\d+-)?(?P<at>\d{8}T\d{6}Z)(?:-(?P<number>\d{1,3}))?)\.db",
    re.ASCII,
)
"""Off-site names contain the mark of their shop, because several shops may share that folder. The second copy of one second
ends with -2."""
_HALF_DONE: Final = re.compile(r"\..+\.(\d{1,9})\.new(?:-\w+)?|\.drill\.(\d{1,9})\..*", re.ASCII)
"""A half-made copy or a drill folder, with the ID of its process."""
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID: Final = slice(68, 72)
"""Where it is in the header of a file (sqlite.org/fileformat.html)."""
_STAMP: Final = "%Y%m%dT%H%M%SZ"
_COUNTS: Final = """
SELECT 'messages', COUNT(*) FROM messages UNION ALL SELECT 'payments', COUNT(*) FROM payments
UNION ALL SELECT 'transactions', COUNT(*) FROM transactions UNION ALL SELECT 'deliveries', COUNT(*) FROM deliveries
UNION ALL SELECT 'events', COUNT(*) FROM events
"""
"""So that the operator can see that the copy has content."""


class BackupBad(MomoError):
    """The file is not a sound copy of a shop; the text says why."""


class DiskFull(BackupBad):
    """The disk has no space for a copy, or only the reserve that payments need; no copy is left behind."""


class BackupFile(Struct, frozen=True):
    """One backup in the folder.

    `before_upgrade`: It was made before a change of the schema; it is never deleted automatically.
    `place`: Its place in the order in which the copies were made, which no clock can change; 0 if it has none.
    """

    id: str
    path: str
    size: int
    made_at: datetime
    before_upgrade: bool
    number: int = 1
    """Which one of the copies of that second it is."""
    place: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        made_at = render(int(self.made_at.timestamp()) * 1_000_000)
        return {
            "id": self.id,
            "path": self.path,
            "bytes": self.size,
            "made_at": made_at,
            "before_upgrade": self.before_upgrade,
        }


class Copy(Struct, frozen=True):
    """A copy that was verified.

    `schema` is its number of migrations, `rows` the number of rows by table, `newest_us` the time of the newest journal
    entry. `findings` are invariants that the shop violates; the copy is faithful all the same.
    """

    path: str
    size: int
    schema: int
    shop: str
    rows: dict[str, int]
    newest_us: int | None
    findings: tuple[str, ...] = ()


def before_upgrade(places: Places, now: datetime) -> Path | None:
    """Copy a database before this program changes its schema; return the copy, None if the schema stays.

    The copy gets the time of the database's last change, so that the next attempt to open a database that has not
    changed uses it again, whatever the clock says: each attempt would add a copy, and nothing removes these.

    A missing, damaged, newer or foreign file is ignored here; opening it reports the problem with a better message.

    Raises:
        BackupBad: The copy cannot be made; then the database must not be changed.
        Unavailable: Another program has locked the database.
    """
    path = Path(places.database)
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(file_uri(path, "mode=ro"), uri=True)) as base:
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            schema = migrate.schema_version(lambda sql: base.execute(sql).fetchall())
    except sqlite3.Error as error:
        fault = SqliteFile(str(path)).as_unavailable(error)
        if isinstance(fault, Unavailable) and fault.cause is FaultCause.DATABASE_BUSY:
            # The lock may end before the file is opened, which would then be changed without a copy.
            raise fault from error
        return None
    except (migrate.DatabaseNewer, migrate.DatabaseForeign):
        return None
    if not 0 < schema < len(migrate.migrations()):
        return None
    prefix = f"before-schema-{schema + 1}-"
    try:
        # Of the database or its write-ahead log. An empty log is made by reading.
        changed_ns = max(
            file.stat().st_mtime_ns for file in (Path(f"{path}-wal"), path) if file.exists() and file.stat().st_size
        )
        for entry in entries(places):
            made = Path(entry.path)
            if entry.id.startswith(prefix) and made.stat().st_mtime_ns == changed_ns:
                return made
        target = folder(places) / f"momo-{prefix}{stamp(now)}.db"
        copy(str(path), target, place=next_place(places))
        os.utime(target, ns=(changed_ns, changed_ns))
    except OSError as error:
        raise BackupBad(str(error)) from error
    return target


def copy(source: str, target: Path, *, place: int | None = None) -> None:
    """Copy a database that may be in use, as it is at one moment; writers are not blocked (sqlite.org/backup.html).

    The copy is written under another name and renamed once it is complete and synced, so a file with the target's name
    is never half a copy. `place` is that of a new backup (`next_place`); any other copy keeps that of its source.

    Raises:
        BackupBad: The source cannot be read, or the target cannot be written.
        DiskFull: The disk is full.
    """

    def copy_into(writing: sqlite3.Connection) -> None:
        with contextlib.closing(sqlite3.connect(file_uri(source, "mode=ro"), uri=True)) as reading:
            reading.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            # `backup` would wait for ever while another program has locked the file.
            reading.execute("PRAGMA user_version").fetchone()
            # All pages in one step: with smaller steps, another process's write would restart the copy each time.
            reading.backup(writing, pages=-1)
        if place is not None:
            writing.execute(f"PRAGMA application_id = {place}")

    _write_copy(target, copy_into)


async def rescue(store: Store, target: Path) -> None:
    """Copy an open database, also after its file was removed or replaced.

    Raises:
        BackupBad: The copy cannot be written; then no file is left.
        Unavailable: The database is not open.
    """
    await store.read(lambda reader: _write_copy(target, reader.copy_to))


def _write_copy(target: Path, copy_into: Callable[[sqlite3.Connection], None]) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with contextlib.closing(sqlite3.connect(draft)) as writing:
            copy_into(writing)
            # Makes the copy a single file, without a log beside it.
            writing.execute("PRAGMA journal_mode = DELETE")
        sync(draft)
        draft.replace(target)
        sync(target.parent)
    except (sqlite3.Error, OSError) as error:
        if _says_full(error):
            raise DiskFull(f"the disk of {target.parent} is full: {error}") from error
        raise BackupBad(f"{target} cannot be written: {error}") from error
    finally:
        for name in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
            # A failure to clean up must not hide why the copy failed.
            with contextlib.suppress(OSError):
                name.unlink(missing_ok=True)


def _says_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def verify_copy(path: Path) -> Copy:
    """Verify a copy completely: the file, the shop in it, and the invariants.

    Raises:
        BackupBad: It is not a sound copy of a shop that this program can read, or cannot be read now; the text says which.
    """
    if not path.is_file():
        raise BackupBad(f"{path} is not there")
    try:
        with contextlib.closing(sqlite3.connect(file_uri(path, "immutable=1"), uri=True)) as base:
            return _verified(base, path)
    except sqlite3.Error as error:
        # The file may be sound; a table that is not there (`SQLITE_ERROR`) is one of another program.
        if not migrate.is_damage(error) and error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise BackupBad(f"{path} cannot be read now: {error}") from error
        raise BackupBad(f"{path} is not a sound database: {error}") from error


def _verified(base: sqlite3.Connection, path: Path) -> Copy:
    found = base.execute("PRAGMA integrity_check(3)").fetchall()
    if found != [("ok",)]:
        why = "; ".join(str(row[0]) for row in found)
        raise BackupBad(f"{path} {'cannot be read now' if migrate.is_unread(why) else 'is damaged'}: {why}")
    if base.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise BackupBad(f"{path} is damaged: some rows refer to rows that do not exist")
    try:
        schema = migrate.schema_version(lambda sql: base.execute(sql).fetchall())
    except (migrate.DatabaseNewer, migrate.DatabaseForeign) as error:
        raise BackupBad(f"{path}: {error}") from error
    shop = base.execute("SELECT name FROM shop").fetchone() if schema else None
    if shop is None:
        raise BackupBad(f"{path} does not contain a shop")
    current = schema == len(migrate.migrations())
    findings = tuple(ledger_check.violations(base)) if current else ()
    rows = dict(base.execute(_COUNTS).fetchall())
    (newest,) = base.execute("SELECT MAX(at) FROM events").fetchone()
    return Copy(str(path), path.stat().st_size, schema, str(shop[0]), rows, newest, findings)


def check_opens(path: Path, now_us: int) -> None:
    """Open a copy as the daemon would, with the upgrade to the schema of this program.

    Raises:
        BackupBad: It cannot be opened.
    """
    try:
        Store.open(str(path), now_us=now_us).close()
    except (MomoError, sqlite3.Error) as error:
        raise BackupBad(f"it could not be opened: {error}") from error


def count_losses(old: Path, new: Path) -> tuple[int, int]:
    """Compare a database with the copy that replaces it; (0, 0) if it cannot be read.

    Return the number of payments that only the old one has, and of webhooks that the new one has still to send although
    the old one had delivered them.
    """
    try:
        with contextlib.closing(sqlite3.connect(file_uri(new, "immutable=1"), uri=True)) as base:
            base.execute("ATTACH DATABASE :old AS old", {"old": replaced_uri(old)})
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


def replaced_uri(old: Path) -> str:
    """Return the address of the kept copy of a replaced database; with `immutable` SQLite would not read its log."""
    return file_uri(old, "mode=ro" if Path(f"{old}-wal").exists() else "immutable=1")


def merge_wal(database: Path) -> None:
    """Move the content of the write-ahead log into the database file, which must not be open elsewhere.

    Afterwards the file is complete without its log. A damaged file stays as it is.
    """
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(database, isolation_level=None)) as base,
    ):
        base.execute("PRAGMA synchronous = FULL")
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def drill_prefix() -> str:
    """Return the prefix of this process's drill folders."""
    return f".drill.{os.getpid()}."


def remove_leftovers(where: Path) -> None:
    """Remove half-made files of processes that were killed: each may be as large as the whole database."""
    for path in where.glob(".*"):
        match = _HALF_DONE.fullmatch(path.name)
        if match is None:
            continue
        try:
            os.kill(int(match.group(1) or match.group(2)), 0)
            continue  # its process is alive
        except ProcessLookupError:
            pass
        except OSError:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def folder(places: Places) -> Path:
    """Return the default folder for backups."""
    return Path(places.home) / FOLDER


def stamp(now: datetime) -> str:
    """Return a time in the form used in the names of copies."""
    return now.astimezone(UTC).strftime(_STAMP)


def free_path(where: Path, now: datetime) -> Path:
    """Return a path for a new copy in that folder, with the time and, if that second has a copy already, a number."""
    path, number = where / f"momo-{stamp(now)}.db", 1
    while path.exists():
        number += 1
        path = where / f"momo-{stamp(now)}-{number}.db"
    return path


def id_of(path: Path) -> str:
    """Return the ID of a copy, as used in commands."""
    match = _NAME.fullmatch(path.name)
    return match["id"] if match else path.name


def rescue_path(database: str, now: datetime) -> Path:
    """Return the path for a copy of an open database after its file was removed or replaced, beside that file."""
    path = Path(database)
    return path.with_name(f"{path.stem}.rescued-{stamp(now)}.db")


def newest_rescue(database: str) -> str:
    """Return the newest copy made by `rescue_path`; "" if there is none."""
    path = Path(database)
    return max((str(one) for one in path.parent.glob(f"{path.stem}.rescued-*.db")), default="")


def was_set_up(places: Places) -> bool:
    """Return whether there is a shop, or its database is missing and copies of it are still there."""
    return Path(places.database).exists() or bool(newest_rescue(places.database)) or bool(entries(places))


def entries(places: Places) -> list[BackupFile]:
    """List the backups in the shop's own folder, newest first."""
    return entries_in(folder(places))


def entries_in(where: Path, mark: str | None = None) -> list[BackupFile]:
    """List the backups in a folder, newest first: those with this mark, or with None those without a mark.

    The order is that of their places, the order in which they were made. The time in a name is only for people: one
    copy made while the clock was ahead would stay the newest for ever, and with an empty clock battery the copy
    just made would be the oldest.
    """
    found = []
    for path in where.glob("momo-*.db"):
        match = _NAME.fullmatch(path.name)
        if match and match["shop"] == mark:
            made_at = datetime.strptime(match["at"], _STAMP).replace(tzinfo=UTC)
            is_before = match["id"].startswith("before-")
            try:
                size, number = path.stat().st_size, int(match["number"] or 1)
            except FileNotFoundError:
                continue  # another process removed it meanwhile
            found.append(BackupFile(id_of(path), str(path), size, made_at, is_before, number, _place(path)))
    return sorted(found, key=lambda entry: (entry.place, entry.made_at, entry.number), reverse=True)


def kept_by_restores(database: str, wanted: BackupRetention) -> list[Path]:
    """Return the old databases beside this one that restores kept, and that a retention no longer keeps."""
    found: dict[datetime, Path] = {}
    beside = Path(database)
    for path in beside.parent.glob(f"{beside.name}.before-*"):
        with contextlib.suppress(ValueError):
            text = path.name.removeprefix(f"{beside.name}.before-")
            found[datetime.strptime(text, _STAMP).replace(tzinfo=UTC)] = path
    staying = copies_to_keep(sorted(found, reverse=True), wanted)
    return [found[at] for at in sorted(found) if at not in staying]


def next_place(places: Places, also_to: str = "") -> int:
    """Return the place of a new backup: after those in the shop's own folder and in the second place.

    The place is the `application_id` of the file, so it stays when the file is copied or renamed. A restored database has
    that of its backup.

    Raises:
        BackupBad: The database cannot be read.
    """
    try:
        with contextlib.closing(sqlite3.connect(file_uri(places.database, "mode=ro"), uri=True)) as base:
            (restored,) = base.execute("PRAGMA application_id").fetchone()
    except sqlite3.Error as error:
        raise BackupBad(f"{places.database} cannot be read: {error}") from error
    known = [*entries(places), *offsite_entries(places.database, also_to)]
    return 1 + max(int(restored), *(entry.place for entry in known), 0)


def _place(path: Path) -> int:
    """Return the place of a backup, 0 if it has none or its header cannot be read.

    Opened without SQLite, which may be done only with files to which no process writes: closing drops SQLite's locks.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_APPLICATION_ID.stop)
    except OSError:
        return 0
    return int.from_bytes(header[_APPLICATION_ID], "big") if header.startswith(_MAGIC) else 0


def offsite_path(made: Path, folder: Path) -> Path:
    """Return the off-site path for a copy.

    Raises:
        BackupBad: The copy does not contain a shop.
    """
    mark = shop_mark(str(made))
    if mark is None:
        raise BackupBad(f"{made} does not contain a shop")
    return folder / f"momo-{mark}-{id_of(made)}.db"


def offsite_entries(database: str, folder: str) -> list[BackupFile]:
    """List a shop's own copies in that folder, newest first; none if the folder or the shop's mark cannot be read."""
    mark = shop_mark(database) if folder else None
    try:
        return [] if mark is None else entries_in(Path(folder), mark)
    except OSError:
        return []  # a stick that was pulled out must not cost the shop's own backup


def shop_mark(database: str) -> str | None:
    """Return the eight characters that mark a shop's copies in a shared folder; None if the database cannot be read.

    They are a hash of the account's key, which is different for each shop, survives a restore and cannot be derived
    from the mark.
    """
    try:
        with contextlib.closing(sqlite3.connect(file_uri(database, "mode=ro"), uri=True)) as base:
            base.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            row = base.execute("SELECT account_key FROM shop").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else hashlib.sha256(f"backup:{row[0]}".encode()).hexdigest()[:8]


_OFF: Final = {
    "key": (
        (
            "UPDATE api_keys SET revoked_at = o.revoked_at FROM old.api_keys o "
            "WHERE o.id = api_keys.id AND o.revoked_at IS NOT NULL AND api_keys.revoked_at IS NULL RETURNING name"
        ),
        (
            "UPDATE api_keys SET expires_at = o.expires_at FROM old.api_keys o "
            "WHERE o.id = api_keys.id AND (api_keys.expires_at IS NULL OR api_keys.expires_at > o.expires_at) "
            "AND o.expires_at IS NOT NULL RETURNING name"
        ),
    ),
    "user": (
        (
            "UPDATE users SET disabled_at = o.disabled_at FROM old.users o "
            "WHERE o.id = users.id AND o.disabled_at IS NOT NULL AND users.disabled_at IS NULL RETURNING name"
        ),
    ),
}
_ENDED: Final = (
    "DELETE FROM browser_sessions WHERE id NOT IN (SELECT id FROM old.browser_sessions)",
    "DELETE FROM session_keys WHERE sealed NOT IN (SELECT sealed FROM old.session_keys)",
    "INSERT INTO ended_sessions (id, ends_at) SELECT id, ends_at FROM old.ended_sessions WHERE TRUE ON CONFLICT DO NOTHING",
    (
        "DELETE FROM recovery_codes WHERE (user_id, sha256) NOT IN (SELECT user_id, sha256 FROM old.recovery_codes) "
        "AND user_id IN (SELECT n.id FROM users n JOIN old.users o USING (id) WHERE n.totp_sealed = o.totp_sealed)"
    ),
)
_ALL_ENDED: Final = ("DELETE FROM browser_sessions", "DELETE FROM session_keys")
_EARLIER: Final = """
SELECT 'password', n.name FROM users n JOIN old.users o USING (id) WHERE n.password_hash <> o.password_hash
UNION ALL
SELECT 'role', n.name FROM users n JOIN old.users o USING (id) WHERE n.role <> o.role
UNION ALL
SELECT 'second_factor', n.name FROM users n JOIN old.users o USING (id) WHERE n.totp_sealed IS NOT o.totp_sealed
UNION ALL
SELECT 'signing_secret', COALESCE(e.url, n.owner) FROM webhook_secrets n JOIN old.webhook_secrets o USING (owner)
LEFT JOIN endpoints e ON e.id = n.owner
WHERE n.expires_at IS NULL AND o.expires_at IS NULL AND n.sealed <> o.sealed
UNION ALL
SELECT 'secret', n.name FROM sealed_secrets n JOIN old.sealed_secrets o USING (name) WHERE n.sealed <> o.sealed
"""


def carry_over(old: Path | None, new: Path) -> dict[str, Any] | None:
    """Take away in a restored copy what was taken away in the database that it replaces, None if there is none.

    Return what stays off (`still_off`) and what is older than before (`earlier`), each with `what` and `name`; None if
    the replaced database cannot be read. Then all sessions end, because nobody knows which ones did.

    Raises:
        BackupBad: The copy cannot be written.
    """
    try:
        with contextlib.closing(sqlite3.connect(file_uri(new, "mode=rw"), uri=True, isolation_level=None)) as base:
            # A journal file that a killed process leaves would be played back into the next copy of this name.
            base.execute("PRAGMA journal_mode = MEMORY")
            if old is not None:
                try:
                    return _take_away(base, old)
                except sqlite3.Error:
                    if base.in_transaction:
                        base.execute("ROLLBACK")
            for statement in _ALL_ENDED:
                base.execute(statement)
            return None
    except sqlite3.Error as error:
        raise BackupBad(f"{new} cannot be written: {error}") from error


def _take_away(base: sqlite3.Connection, old: Path) -> dict[str, Any]:
    base.execute("ATTACH DATABASE ? AS old", (replaced_uri(old),))
    base.execute("BEGIN IMMEDIATE")
    off = [
        (what, name)
        for what, statements in _OFF.items()
        for statement in statements
        for (name,) in base.execute(statement).fetchall()
    ]
    for statement in _ENDED:
        base.execute(statement)
    earlier = base.execute(_EARLIER).fetchall()
    base.execute("COMMIT")
    return {
        key: [{"what": what, "name": name} for what, name in dict.fromkeys(found)]
        for key, found in (("still_off", off), ("earlier", earlier))
    }
