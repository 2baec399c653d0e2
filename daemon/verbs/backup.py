"""Make, list, check, thin out and put back copies of the database."""

import argparse
import os
from pathlib import Path
from typing import Any

from daemon import backups, wire
from daemon.config import ConfigError, load
from daemon.core import keep
from daemon.core.errors import MomoError
from daemon.doors import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_LOCKED,
    EXIT_NOT_FOUND,
    EXIT_NOT_SET_UP,
    EXIT_OK,
    EXIT_USAGE,
    StartError,
)
from daemon.lock import Locked
from daemon.store import backup
from daemon.store.backup import BackupBad, NoRoom
from daemon.system import SystemClock
from daemon.verbs.say import print_json
from parsers.when import from_us


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Care for copies of the database, for `momo backup` and `momo restore`."""
    if options.what == "create" and not Path(places.database).is_file():
        raise StartError(
            wire.ErrorCode.NOT_SET_UP, EXIT_NOT_SET_UP, "there is no shop here yet", "momo setup"
        )
    try:
        data = _do(options, places)
    except keep.KeepInvalid as error:
        raise StartError(
            wire.ErrorCode.USAGE,
            EXIT_USAGE,
            f"--keep: {error}",
            f"momo backup prune --keep {keep.DEFAULT} --dry-run",
        ) from error
    except NoRoom as error:
        raise StartError(
            wire.ErrorCode.DISK_FULL, EXIT_FAILED, str(error), "momo backup prune"
        ) from error
    except backups.NoBackup as error:
        raise StartError(
            wire.ErrorCode.BACKUP_NOT_FOUND, EXIT_NOT_FOUND, str(error), "momo backup list"
        ) from error
    except BackupBad as error:
        raise StartError(
            wire.ErrorCode.BACKUP_FAILED, EXIT_FINDINGS, str(error), "momo backup list"
        ) from error
    except Locked as error:
        raise StartError(
            wire.ErrorCode.LOCKED, EXIT_LOCKED, str(error), "momo daemon stop"
        ) from error
    except (MomoError, OSError) as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), "momo doctor disk permissions"
        ) from error
    print_json({"success": True, "data": data})
    return EXIT_FINDINGS if options.what in {"create", "verify"} and _wanting(data) else EXIT_OK


def _wanting(data: dict[str, Any]) -> bool:
    """Say whether a person must look: something in the shop does not hold, or the second place took no copy."""
    return bool(data.get("findings")) or (data.get("also") or {}).get("status") == "failed"


def _second_place(places: wire.Places) -> tuple[str, str]:
    """Return `[backup] also_to`, or why nobody knows it: wrong settings must not cost the shop tonight's copy."""
    try:
        return load(places.config, os.environ).backup.also_to, ""
    except ConfigError as error:
        return "", f"the settings cannot be read: {error}"


def _do(options: argparse.Namespace, places: wire.Places) -> Any:
    """Do it, and return what came of it."""
    also_to, unknown = _second_place(places)
    now = from_us(SystemClock().now_us())
    data: Any
    match options.what:
        case "create":
            # A word that is no --keep is said before anything is made.
            wanted = options.keep and keep.parse(options.keep)
            data = backups.create(places, options.to, now, also_to=also_to)
            if unknown and options.to is None:
                data["also"] = {"folder": None, "status": "failed", "path": None, "why": unknown}
            if wanted:
                gone = backups.prune(places, options.keep, dry_run=False, also_to=also_to)
                data["removed"] = gone["removed"]
        case "list":
            data = [entry.as_json() for entry in backup.entries(places)]
        case "verify":
            data = (
                backups.drill(places, options.name, now)
                if options.drill
                else backups.verify(places, options.name)
            )
        case "prune":
            data = backups.prune(
                places, options.keep or keep.DEFAULT, dry_run=options.dry_run, also_to=also_to
            )
        case _:
            data = backups.restore(
                places, options.name, now, dry_run=options.dry_run, to=options.to
            )
    return data
