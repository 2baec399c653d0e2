"""Backup and restore, for `momo backup` and `momo restore`. They need no daemon; for a restore it must be stopped.

A backup is one file: the database, with its secrets sealed. The key that opens them (`master.key`, or the keyring) is not
in the backup, so a lost backup reveals no secrets; keep a copy of the key in another place.
"""

import asyncio
import contextlib
import shutil
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict, replace

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.messages.message_journal import journal_key
from daemon.core.upkeep import self_check
from daemon.core.upkeep.self_check import FULL_BYTES, TIGHT_BYTES
from daemon.env import Env
from daemon.runtime.files import free_bytes, sync
from daemon.runtime.locks import HomeLock
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from daemon.runtime.secrets import SecretsElsewhere, SecretsLocked, Vault
from daemon.steps.store_parts import missing
from daemon.store import journal, shop
from daemon.store.branches import feed
from daemon.store.engine import Store, Tx
from daemon.store.open_store import IN_POSTGRESQL
from daemon.store.upkeep import backup, inspect
from daemon.store.upkeep.backup import BackupBad, Copy, DiskFull
from daemon.store.webhooks import delivery_log
from daemon.store.webhooks.endpoints import SIGNING_PURPOSE
from daemon.wire import Places
from parsers.times import from_us, render, to_us

RENEW: Final = "this shop was restored from a backup; nothing is sent until it has the hub's rows: type `momo hub restore --from-hub`"
"""Why a restored branch does not send: the hub knows what it has forgotten."""


class NoBackup(BackupBad):
    """There is no backup of this name, or no backup at all."""


def create(places: Places, to: str | None, now: datetime, *, also_to: str = "") -> dict[str, Any]:
    """Make a backup and verify it.

    A shop with ledger findings can still be backed up: the findings are returned, and the backup is kept. Otherwise one
    finding would leave the shop without any backup (docs/decisions/0022). `to` is a folder, or a file that does not
    exist yet; None is the shop's own folder. Then `also_to` is a second place for a copy (docs/decisions/0022); `also`
    in the result reports its errors.

    Raises:
        BackupBad: The backup could not be made, or is damaged; then it is removed.
        NoRoom: The disk has too little space; no backup is left.
    """
    if not Path(places.database).is_file():
        raise BackupBad("there is no shop here yet")
    target = Path(to) if to is not None else backup.folder(places)
    if to is None or target.is_dir():
        target = backup.free_path(target, now)
    elif target.exists():
        raise BackupBad(f"{target} already exists")
    _check_space(Path(places.database), target.parent)
    started = time.monotonic()  # noqa: TID251 -- a duration to show
    backup.copy(places.database, target, place=backup.next_place(places, also_to))
    try:
        made = backup.verify_copy(target)
    except BackupBad:
        target.unlink(missing_ok=True)
        raise
    took_ms = round((time.monotonic() - started) * 1000)  # noqa: TID251 -- the same
    also = _copy_to_second_place(target, Path(also_to)) if also_to and to is None else None
    return {"id": backup.id_of(target), **_as_json(made), "ms": took_ms, "also": also}


async def create_for(env: Env, caller: Caller, places: Places) -> dict[str, Any]:
    """Make a backup in the shop's own folder for a user, with a journal entry; the result is that of `create`.

    Raises:
        BackupBad, DiskFull: As for `create`.
    """
    require(caller, Operation.BACK_UP)
    _refuse_server(env)
    now = env.clock.now_us()
    also_to = env.config.backup.also_to
    # In a thread: it copies and reads the whole database.
    made = await asyncio.to_thread(create, places, None, from_us(now), also_to=also_to)
    await _note(env, caller, "backup.made", made["id"], now)
    return made


async def drill_for(env: Env, caller: Caller, places: Places, name: str) -> dict[str, Any]:
    """Restore one of the shop's own backups for a test, as `drill`, with a journal entry.

    Raises:
        NoBackup, BackupBad, DiskFull: As for `drill`.
    """
    require(caller, Operation.BACK_UP)
    _refuse_server(env)
    if name not in [entry.id for entry in backup.entries(places)]:
        raise NoBackup(f"there is no backup {name}")
    now = env.clock.now_us()
    tried = await asyncio.to_thread(drill, places, name, from_us(now))
    await _note(env, caller, "backup.checked", name, now)
    return tried


def _refuse_server(env: Env) -> None:
    if env.store.server:
        raise BackupBad(f"{IN_POSTGRESQL}: use pg_dump and point-in-time recovery")


async def _note(env: Env, caller: Caller, kind: str, name: str, now: int) -> None:
    data = {"backup": name}
    await env.store.write(lambda tx: journal.add(tx, kind, now, actor=caller.name, data=data))


def _copy_to_second_place(made: Path, folder: Path) -> dict[str, str | None]:
    """Copy a backup to the second place; `status` is `copied`, `away` or `failed`, and `why` is the reason."""
    result: dict[str, str | None] = {"folder": str(folder), "status": "away", "path": None}
    target = None
    try:
        if not folder.is_dir():
            # Never create it: with the removable drive unplugged, the folder would be on the disk that it protects against.
            return {**result, "why": f"{folder} does not exist"}
        target = backup.offsite_path(made, folder)
        _check_space(made, folder)
        backup.copy(str(made), target)
        backup.verify_copy(target)
    except (BackupBad, OSError) as error:
        if target is not None:
            with contextlib.suppress(OSError):
                target.unlink(missing_ok=True)
        return {**result, "status": "failed", "why": str(error)}
    return {**result, "status": "copied", "path": str(target), "why": ""}


def _check_space(database: Path, folder: Path) -> None:
    """Reject a copy that would fill the disk: payments need the rest of the space.

    Raises:
        NoRoom: The text has the free and the needed space.
    """
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    both = (database, Path(f"{database}-wal"))
    needed = sum(path.stat().st_size for path in both if path.exists())
    shares = folder.stat().st_dev == database.stat().st_dev
    reserve = TIGHT_BYTES if shares else FULL_BYTES
    free = free_bytes(str(folder))
    if free < needed + reserve:
        raise DiskFull(
            f"the disk of {folder} has {free // 1_000_000} MB free; a copy needs {needed // 1_000_000 + 1} MB and "
            f"{reserve // 1_000_000} MB must stay free" + (" for payments" if shares else "")
        )


def find(places: Places, name: str | None) -> Path:
    """Return the file of a backup by id or path, or of the one made last if `name` is None.

    Raises:
        NoBackup: There is no such backup.
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
    """Verify a whole backup.

    Raises:
        BackupBad: It is damaged, or does not exist.
    """
    path = find(places, name)
    return {"id": backup.id_of(path), **_as_json(backup.verify_copy(path))}


def drill(places: Places, name: str | None, now: datetime) -> dict[str, Any]:
    """Restore a backup to a temporary folder, open it as the daemon would, verify it, and remove it.

    `verify` checks the file; `drill` checks that a shop can be restored from it, including an upgrade to today's schema.
    The shop and the backup are not changed.

    Raises:
        BackupBad: The restore failed.
        NoRoom: The disk has too little space to try.
    """
    source = find(places, name)
    backup.verify_copy(source)
    beside = backup.folder(places)
    _check_space(source, beside)
    backup.remove_leftovers(beside)
    with tempfile.TemporaryDirectory(prefix=backup.drill_prefix(), dir=beside) as folder:
        tried = Path(folder) / Path(places.database).name
        backup.copy(str(source), tried)
        try:
            backup.check_opens(tried, to_us(now))
        except BackupBad as error:
            raise BackupBad(f"{source} was restored for a test, but {error}") from error
        copy = backup.verify_copy(tried)
    result = _as_json(replace(copy, path=str(source), size=source.stat().st_size))
    return {"id": backup.id_of(source), **result, "drilled": True}


def prune(places: Places, keep: str, *, dry_run: bool, also_to: str = "") -> dict[str, Any]:
    """Remove old backups, but never the one made last or one from before an upgrade; and old databases that a restore kept.

    Backups of this shop in the second place, if it is available, are treated the same: `also_removed`.

    Raises:
        backup_retention.KeepInvalid: `keep` has the wrong form.
    """
    wanted = self_check.parse_retention(keep)
    kept, removed = _pruned(backup.entries(places), wanted, dry_run=dry_run)
    for old in backup.kept_by_restores(places.database, wanted):
        removed.append(old.name)
        for file in () if dry_run else (old, Path(f"{old}-wal")):
            file.unlink(missing_ok=True)
    there = backup.offsite_entries(places.database, also_to)
    _, also_removed = _pruned(there, wanted, dry_run=dry_run)
    return {"kept": kept, "removed": removed, "also_removed": also_removed, "dry_run": dry_run}


def _pruned(
    entries: list[backup.BackupFile], wanted: self_check.BackupRetention, *, dry_run: bool
) -> tuple[list[str], list[str]]:
    known = [entry for entry in entries if not entry.before_upgrade]
    staying = self_check.copies_to_keep([entry.made_at for entry in known], wanted)
    kept = list[str]()
    removed = list[str]()
    for entry in known:
        # Of the copies of one second, which come newest first, one is enough.
        if entry.made_at in staying:
            staying.remove(entry.made_at)
            kept.append(entry.id)
            continue
        removed.append(entry.id)
        if not dry_run:
            Path(entry.path).unlink(missing_ok=True)
    return kept, removed


def restore(
    places: Places, name: str | None, now: datetime, *, dry_run: bool, to: str | None = None, messages_to: str = ""
) -> dict[str, Any]:
    """Replace the database with a backup; the old database is kept beside it.

    The message journal is not changed, except that it gets the parts that only its second folder, `messages_to`, has.

    `name` is an id, a path, or None for the newest backup. `dry_run` only verifies it. With `to`, a file that does not
    exist yet, a verified copy is written there and the shop stays as it is.

    Raises:
        BackupBad: The backup is damaged, or cannot be written; the database is unchanged.
        NoRoom: The disk has too little space; the database is unchanged.
        Locked: The daemon runs.
    """
    source = find(places, name)
    copy = backup.verify_copy(source)
    result = {"id": backup.id_of(source), **_as_json(copy), "dry_run": dry_run, "kept": None, "to": to}
    if dry_run:
        return result
    if to is not None:
        target = Path(to)
        if target.exists():
            raise BackupBad(f"{target} already exists")
        backup.copy(str(source), target)
        backup.verify_copy(target)
        return result
    return {**result, **_put_back(places, source, copy, now, messages_to)}


def _put_back(places: Places, source: Path, copy: Copy, now: datetime, messages_to: str) -> dict[str, Any]:
    database = Path(places.database)
    kept = database.with_name(f"{database.name}.before-{backup.stamp(now)}")
    result: dict[str, Any] = {"kept": None, "payments_since": 0, "webhooks_repeated": 0, "access": None}
    lock = HomeLock(places.lock)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock.take()
    fresh = database.with_name(f".{database.name}.restoring")
    try:
        fresh.unlink(missing_ok=True)
        backup.copy(str(source), fresh)
        backup.verify_copy(fresh)
        if database.exists():
            try:
                backup.copy(str(database), kept)
            except DiskFull:
                raise
            except BackupBad:
                for suffix in ("", "-wal"):
                    found = Path(f"{database}{suffix}")
                    if found.exists():
                        shutil.copy2(found, f"{kept}{suffix}")
                sync(kept)
            result["kept"] = str(kept)
            result["payments_since"], result["webhooks_repeated"] = backup.count_losses(kept, fresh)
            result["access"] = backup.carry_over(kept, fresh)
            # Merge the log first: if this process is killed before the swap, the old database must not lose it.
            backup.merge_wal(database)
        else:
            result["access"] = backup.carry_over(None, fresh)
        for beside in ("-wal", "-shm"):
            Path(f"{database}{beside}").unlink(missing_ok=True)
        fresh.replace(database)
        sync(database.parent)
        result |= asyncio.run(_record_restore(places, copy, now, result, messages_to))
    finally:
        fresh.unlink(missing_ok=True)
        lock.release()
    return result


async def _record_restore(
    places: Places, copy: Copy, now: datetime, result: dict[str, Any], messages_to: str
) -> dict[str, Any]:
    """Record the restore in the journal; return what the owner has to know of what follows.

    The daemon takes the messages in at its next start. None: the message journal cannot be read.
    """
    now_us = int(now.timestamp()) * 1_000_000
    store = Store.open(places.database, now_us=now_us)
    try:
        data = {
            "backup_from_us": copy.newest_us,
            "payments_since": result["payments_since"],
            "webhooks_repeated": result["webhooks_repeated"],
            "access": result["access"],
        }

        def job(tx: Tx) -> bool:
            journal.add(tx, "shop.restored", now_us, data=data)
            return feed.mark_restored(tx, RENEW)

        is_branch = await store.write(job)
        found_shop = await store.read(shop.get)
        assert found_shop is not None, "a verified copy contains a shop"
        key = journal_key(bytes.fromhex(found_shop.account_key))
        message_journal = MessageJournal(Path(places.home), key, SecondFolder(messages_to))
        with contextlib.suppress(OSError):
            await asyncio.to_thread(message_journal.fetch_back)
        try:
            lacking = len(await missing(store, message_journal))
        except OSError:
            lacking = None
        counts = await store.read(delivery_log.queue_counts)
        secrets = await store.read(inspect.current_secrets)
    finally:
        store.close()
    return {
        "webhooks_that_may_repeat": counts["pending"] + counts["retrying"],
        "parts_to_recover": lacking,
        "is_branch": is_branch,
        "secrets_locked": await asyncio.to_thread(_unopened, places, secrets),
    }


def _unopened(places: Places, secrets: list[str]) -> str | None:
    """Return why the master key does not open the signing secrets; None if it does, or only the service has it."""
    vault = Vault(places, "auto")
    try:
        for sealed in secrets:
            vault.unseal(sealed, SIGNING_PURPOSE)
    except SecretsElsewhere:
        return None
    except SecretsLocked as error:
        return str(error)
    return None


def _as_json(copy: Copy) -> dict[str, Any]:
    result = asdict(copy)
    newest = result.pop("newest_us")
    return {
        "path": result["path"],
        "bytes": result["size"],
        "schema": result["schema"],
        "shop": result["shop"],
        "rows": result["rows"],
        "newest_at": None if newest is None else render(newest),
        "verified": not copy.findings,
        "findings": list(copy.findings),
    }
