"""Backup and restore: what `momo backup` and `momo restore` run. Needs no daemon; restoring needs it to be stopped.

A backup is one file: the database, with its secrets sealed. The key that opens them (`master.key`, or the keyring) is not
in it, so a backup that gets lost gives nothing away; keep a copy of the key somewhere else.
"""

import asyncio
import json
import re
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from daemon.core import keep as keeping
from daemon.lock import HomeLock
from daemon.store import backup, events
from daemon.store.backup import BackupBad, Copy
from daemon.store.engine import Store
from daemon.wire import Mode, Places
from parsers.when import render

_NAME: Final = re.compile(r"momo-(\d{8}T\d{6}Z)\.db", re.ASCII)
_STAMP: Final = "%Y%m%dT%H%M%SZ"
FOLDER: Final = "backups"


@dataclass(frozen=True, slots=True)
class Entry:
    """One backup in the folder."""

    id: str
    path: str
    size: int
    made_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Return it for people's programs."""
        made_at = render(int(self.made_at.timestamp()) * 1_000_000)
        return {"id": self.id, "path": self.path, "bytes": self.size, "made_at": made_at}


def folder(places: Places) -> Path:
    """Return where backups go unless said otherwise."""
    return Path(places.home) / FOLDER


def create(places: Places, to: str | None, now: datetime) -> dict[str, Any]:
    """Make a backup and look through it.

    Args:
        places: Of the shop.
        to: A folder, or a file that does not exist yet; None is the shop's own folder.
        now: For its name.

    Raises:
        BackupBad: It could not be made, or is not sound; then it is removed.
    """
    if not Path(places.database).is_file():
        raise BackupBad("there is no shop here yet")
    target = Path(to) if to is not None else folder(places)
    if to is None or target.is_dir():
        target = target / f"momo-{now.astimezone(UTC).strftime(_STAMP)}.db"
    if target.exists():
        raise BackupBad(f"{target} is there already")
    started = time.monotonic()  # noqa: TID251 -- how long it took, told to a person
    backup.copy(places.database, target)
    try:
        made = backup.look_through(target)
    except BackupBad:
        target.unlink(missing_ok=True)
        raise
    took_ms = round((time.monotonic() - started) * 1000)  # noqa: TID251 -- the same
    return {"id": _id(target), **_told(made), "verified": True, "ms": took_ms}


def entries(places: Places) -> list[Entry]:
    """List the backups of the shop's own folder, newest first."""
    found = []
    for path in folder(places).glob("momo-*.db"):
        match = _NAME.fullmatch(path.name)
        if match:
            made_at = datetime.strptime(match.group(1), _STAMP).replace(tzinfo=UTC)
            found.append(Entry(_id(path), str(path), path.stat().st_size, made_at))
    return sorted(found, key=lambda entry: entry.made_at, reverse=True)


def find(places: Places, name: str | None) -> Path:
    """Return the file of a backup: an id, a path, or None for the newest.

    Raises:
        BackupBad: There is none.
    """
    known = entries(places)
    if name is None:
        if not known:
            raise BackupBad("there is no backup yet")
        return Path(known[0].path)
    for entry in known:
        if name == entry.id:
            return Path(entry.path)
    if not Path(name).is_file():
        raise BackupBad(f"there is no backup {name}")
    return Path(name)


def verify(places: Places, name: str | None) -> dict[str, Any]:
    """Look through a backup from end to end.

    Raises:
        BackupBad: It is not sound, or not there.
    """
    path = find(places, name)
    return {"id": _id(path), **_told(backup.look_through(path)), "verified": True}


def prune(places: Places, keep: str, *, dry_run: bool) -> dict[str, Any]:
    """Remove the backups that need not be kept; the newest always is.

    Raises:
        keeping.KeepInvalid: `keep` is no such text.
    """
    wanted = keeping.parse(keep)
    known = entries(places)
    staying = keeping.kept([entry.made_at for entry in known], wanted)
    going = [entry for entry in known if entry.made_at not in staying]
    if not dry_run:
        for entry in going:
            Path(entry.path).unlink(missing_ok=True)
    return {
        "kept": [entry.id for entry in known if entry.made_at in staying],
        "removed": [entry.id for entry in going],
        "dry_run": dry_run,
    }


def restore(places: Places, name: str | None, now: datetime, *, dry_run: bool) -> dict[str, Any]:
    """Put a backup in the place of the database; the one there is kept beside it.

    Args:
        places: Of the shop.
        name: An id, a path, or None for the newest.
        now: For the name of the old file, and the journal.
        dry_run: Only look.

    Raises:
        BackupBad: The backup is not sound, or cannot be put there; the database is as it was.
        Locked: The daemon runs.
    """
    source = find(places, name)
    copy = backup.look_through(source)
    database = Path(places.database)
    kept = database.with_name(f"{database.name}.before-{now.astimezone(UTC).strftime(_STAMP)}")
    told = {"id": _id(source), **_told(copy), "dry_run": dry_run, "kept": None}
    if dry_run:
        return told
    lock = HomeLock(places.lock)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock.take()
    try:
        fresh = database.with_name(f".{database.name}.restoring")
        fresh.unlink(missing_ok=True)
        backup.copy(str(source), fresh)
        backup.look_through(fresh)
        if database.exists():
            # One file, with what its log still holds.
            backup.copy(str(database), kept)
            told["kept"] = str(kept)
        for beside in ("-wal", "-shm"):
            Path(f"{database}{beside}").unlink(missing_ok=True)
        fresh.replace(database)
        backup.sync(database.parent)
        told |= asyncio.run(_note(places, copy, now))
    finally:
        lock.release()
    return told


async def _note(places: Places, copy: Copy, now: datetime) -> dict[str, Any]:
    """Write into the journal that the shop went back in time, and say what that means for what was sent since."""
    now_us = int(now.timestamp()) * 1_000_000
    store = Store.open(places.database, now_us=now_us)
    try:
        data = {"backup_from_us": copy.newest_us}
        await store.write(
            lambda tx: events.add(tx, type="shop.restored", mode=Mode.LIVE, at=now_us, data=data)
        )
        waiting = await store.read(
            lambda reader: reader.value(
                "SELECT COUNT(*) FROM deliveries WHERE status IN ('pending', 'retrying')"
            )
        )
    finally:
        store.close()
    return {"webhooks_that_may_repeat": int(waiting)}


def _told(copy: Copy) -> dict[str, Any]:
    told = asdict(copy)
    newest = told.pop("newest_us")
    return {
        "path": told["path"],
        "bytes": told["size"],
        "schema": told["schema"],
        "shop": told["shop"],
        "rows": told["rows"],
        "newest_at": None if newest is None else render(newest),
    }


def _id(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match.group(1) if match else path.name


def as_document(data: Any) -> str:
    """Return the JSON that the program prints."""
    return json.dumps({"success": True, "data": data}, ensure_ascii=False)
