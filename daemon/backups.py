"""Backup and restore: what `momo backup` and `momo restore` run. Needs no daemon; restoring needs it to be stopped.

A backup is one file: the database, with its secrets sealed. The key that opens them (`master.key`, or the keyring) is not
in it, so a backup that gets lost gives nothing away; keep a copy of the key somewhere else.
"""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
import time
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from daemon.core import keep as keeping
from daemon.core.disk_room import FULL_BYTES, TIGHT_BYTES
from daemon.core.errors import MomoError
from daemon.disk import free_bytes
from daemon.lock import HomeLock
from daemon.store import backup, events, second_place
from daemon.store.backup import BackupBad, Copy, NoRoom
from daemon.store.engine import Store
from daemon.wire import Mode, Places
from parsers.when import render, to_us


class NoBackup(BackupBad):
    """There is no backup of that name, or none at all."""


def create(places: Places, to: str | None, now: datetime, *, also_to: str = "") -> dict[str, Any]:
    """Make a backup and look through it.

    A shop in which something does not hold that always should can still be backed up: what is found is told, and the
    copy stays. Without it one finding would leave the shop without any backup (docs/decisions/0030).

    Args:
        places: Of the shop.
        to: A folder, or a file that does not exist yet; None is the shop's own folder.
        now: For its name.
        also_to: The second place, for a copy of a copy that goes into the shop's own folder (docs/decisions/0042).

    Raises:
        BackupBad: It could not be made, or is not sound; then it is removed.
        NoRoom: It was not begun, or is removed. What goes wrong in the second place is told, in `also`.
    """
    if not Path(places.database).is_file():
        raise BackupBad("there is no shop here yet")
    target = Path(to) if to is not None else backup.folder(places)
    if to is None or target.is_dir():
        target = target / f"momo-{backup.stamp(now)}.db"
    if target.exists():
        raise BackupBad(f"{target} is there already")
    _leave_room(Path(places.database), target.parent)
    started = time.monotonic()  # noqa: TID251 -- how long it took, told to a person
    backup.copy(places.database, target)
    try:
        made = backup.look_through(target)
    except BackupBad:
        target.unlink(missing_ok=True)
        raise
    took_ms = round((time.monotonic() - started) * 1000)  # noqa: TID251 -- the same
    also = _also(target, Path(also_to)) if also_to and to is None else None
    return {"id": backup.id_of(target), **_told(made), "ms": took_ms, "also": also}


def _also(made: Path, folder: Path) -> dict[str, str | None]:
    """Put a copy into the second place too: `status` is `copied`, `away` or `failed`, and `why` says why."""
    told: dict[str, str | None] = {"folder": str(folder), "status": "away", "path": None}
    if not folder.is_dir():
        # It is never made: where a stick is out, that would be a folder of the very disk that it is to outlive.
        return {**told, "why": f"{folder} is not there"}
    target = second_place.place_for(made, folder)
    try:
        _leave_room(made, folder)
        backup.copy(str(made), target)
        backup.look_through(target)
    except BackupBad as error:
        target.unlink(missing_ok=True)
        return {**told, "status": "failed", "why": str(error)}
    return {**told, "status": "copied", "path": str(target), "why": ""}


def _leave_room(database: Path, folder: Path) -> None:
    """Refuse a copy that would fill the disk: payments need what is left.

    Raises:
        NoRoom: With how much there is and how much is needed.
    """
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    both = (database, Path(f"{database}-wal"))
    needed = sum(path.stat().st_size for path in both if path.exists())
    shares = folder.stat().st_dev == database.stat().st_dev
    reserve = TIGHT_BYTES if shares else FULL_BYTES
    free = free_bytes(str(folder))
    if free < needed + reserve:
        raise NoRoom(
            f"the disk of {folder} has {free // 1_000_000} MB left; a copy needs {needed // 1_000_000 + 1} MB and "
            f"{reserve // 1_000_000} MB must stay" + (" for payments" if shares else "")
        )


def find(places: Places, name: str | None) -> Path:
    """Return the file of a backup: an id, a path, or None for the newest.

    Raises:
        NoBackup: There is none.
    """
    known = backup.entries(places)
    if name is None:
        if not known:
            raise NoBackup("there is no backup yet")
        return Path(known[0].path)
    if ours := [entry for entry in known if entry.id == name]:
        return Path(ours[0].path)
    if not Path(name).is_file():
        raise NoBackup(f"there is no backup {name}")
    return Path(name)


def verify(places: Places, name: str | None) -> dict[str, Any]:
    """Look through a backup from end to end.

    Raises:
        BackupBad: It is not sound, or not there.
    """
    path = find(places, name)
    return {"id": backup.id_of(path), **_told(backup.look_through(path))}


def drill(places: Places, name: str | None, now: datetime) -> dict[str, Any]:
    """Put a backup back in a folder of its own, open it there as the daemon would, look through it, and remove it.

    `verify` says that a copy is sound; this says that a shop comes out of it, also where it has to be brought to
    today's schema first. The shop and the backup are as they were.

    Raises:
        BackupBad: No shop comes out of it.
        NoRoom: It was not tried.
    """
    source = find(places, name)
    backup.look_through(source)
    beside = backup.folder(places)
    _leave_room(source, beside)
    backup.sweep(beside)
    with tempfile.TemporaryDirectory(prefix=backup.drill_prefix(), dir=beside) as folder:
        tried = Path(folder) / Path(places.database).name
        backup.copy(str(source), tried)
        try:
            Store.open(str(tried), now_us=to_us(now)).close()
        except (MomoError, sqlite3.Error) as error:
            raise BackupBad(f"{source} was put back and could not be opened: {error}") from error
        looked = backup.look_through(tried)
    told = _told(replace(looked, path=str(source), size=source.stat().st_size))
    return {"id": backup.id_of(source), **told, "drilled": True}


def prune(places: Places, keep: str, *, dry_run: bool, also_to: str = "") -> dict[str, Any]:
    """Remove the backups that need not be kept; the newest always is, and so is one from before an upgrade.

    In the second place, where it is there, the same is done with those of this shop: `also_removed`.

    Raises:
        keeping.KeepInvalid: `keep` is no such text.
    """
    wanted = keeping.parse(keep)
    kept, removed = _thinned(backup.entries(places), wanted, dry_run=dry_run)
    there = second_place.entries_of(places.database, also_to)
    _, also_removed = _thinned(there, wanted, dry_run=dry_run)
    return {"kept": kept, "removed": removed, "also_removed": also_removed, "dry_run": dry_run}


def _thinned(
    entries: list[backup.Entry], wanted: keeping.Keep, *, dry_run: bool
) -> tuple[list[str], list[str]]:
    known = [entry for entry in entries if not entry.before_upgrade]
    staying = keeping.kept([entry.made_at for entry in known], wanted)
    going = [entry for entry in known if entry.made_at not in staying]
    if not dry_run:
        for entry in going:
            Path(entry.path).unlink(missing_ok=True)
    return [e.id for e in known if e.made_at in staying], [e.id for e in going]


def restore(
    places: Places, name: str | None, now: datetime, *, dry_run: bool, to: str | None = None
) -> dict[str, Any]:
    """Put a backup in the place of the database; the one there is kept beside it.

    Args:
        places: Of the shop.
        name: An id, a path, or None for the newest.
        now: For the name of the old file, and the journal.
        dry_run: Only look.
        to: A file that does not exist yet: put a checked copy there, and leave the shop as it is.

    Raises:
        BackupBad: The backup is not sound, or cannot be put there; the database is as it was.
        NoRoom: The disk has no room for it; the same.
        Locked: The daemon runs.
    """
    source = find(places, name)
    looked = backup.look_through(source)
    told = {"id": backup.id_of(source), **_told(looked), "dry_run": dry_run, "kept": None, "to": to}
    if dry_run:
        return told
    if to is not None:
        target = Path(to)
        if target.exists():
            raise BackupBad(f"{target} is there already")
        backup.copy(str(source), target)
        backup.look_through(target)
        return told
    return {**told, **_put_back(places, source, looked, now)}


def _put_back(places: Places, source: Path, looked: Copy, now: datetime) -> dict[str, Any]:
    database = Path(places.database)
    kept = database.with_name(f"{database.name}.before-{backup.stamp(now)}")
    told: dict[str, Any] = {"kept": None, "payments_since": 0, "webhooks_repeated": 0}
    lock = HomeLock(places.lock)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock.take()
    fresh = database.with_name(f".{database.name}.restoring")
    try:
        fresh.unlink(missing_ok=True)
        backup.copy(str(source), fresh)
        backup.look_through(fresh)
        if database.exists():
            _keep(database, kept)
            told["kept"] = str(kept)
            told["payments_since"], told["webhooks_repeated"] = backup.lost(kept, fresh)
            # Killed between here and the swap, the old database would be without its log.
            with contextlib.suppress(sqlite3.Error):
                backup.settle(database)
        for beside in ("-wal", "-shm"):
            Path(f"{database}{beside}").unlink(missing_ok=True)
        fresh.replace(database)
        backup.sync(database.parent)
        told |= asyncio.run(_note(places, looked, now, told))
    finally:
        fresh.unlink(missing_ok=True)
        lock.release()
    return told


def _keep(database: Path, kept: Path) -> None:
    """Keep what is there: as one file with what its log holds; a damaged one as it is, with its log beside it."""
    try:
        backup.copy(str(database), kept)
    except NoRoom:
        raise
    except BackupBad:
        for beside in ("", "-wal"):
            found = Path(f"{database}{beside}")
            if found.exists():
                shutil.copy2(found, f"{kept}{beside}")
        backup.sync(kept)


async def _note(places: Places, copy: Copy, now: datetime, told: dict[str, Any]) -> dict[str, Any]:
    """Write into the journal that the shop went back in time, and say what that means for what was sent since."""
    now_us = int(now.timestamp()) * 1_000_000
    store = Store.open(places.database, now_us=now_us)
    try:
        data = {
            "backup_from_us": copy.newest_us,
            "payments_since": told["payments_since"],
            "webhooks_repeated": told["webhooks_repeated"],
        }
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
        "verified": not copy.findings,
        "findings": list(copy.findings),
    }
