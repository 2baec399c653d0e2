"""Make, list, check, thin out and put back copies of the database."""

import argparse
from typing import Any

from daemon import backups, wire
from daemon.core import keep
from daemon.core.errors import MomoError
from daemon.doors import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_LOCKED,
    EXIT_NOT_FOUND,
    EXIT_OK,
    EXIT_USAGE,
    StartError,
)
from daemon.lock import Locked
from daemon.store import backup
from daemon.store.backup import BackupBad
from daemon.system import SystemClock
from daemon.verbs.say import print_json
from parsers.when import from_us


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Care for copies of the database, for `momo backup` and `momo restore`."""
    try:
        data = _do(options, places)
    except keep.KeepInvalid as error:
        raise StartError(
            wire.ErrorCode.USAGE, EXIT_USAGE, f"--keep: {error}", f"--keep {keep.DEFAULT}"
        ) from error
    except backups.NoRoom as error:
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
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), f"check {places.home}"
        ) from error
    print_json({"success": True, "data": data})
    found = isinstance(data, dict) and data.get("findings")
    return EXIT_FINDINGS if found and options.what in {"create", "verify"} else EXIT_OK


def _do(options: argparse.Namespace, places: wire.Places) -> Any:
    """Do it, and return what came of it."""
    now = from_us(SystemClock().now_us())
    data: Any
    match options.what:
        case "create":
            # A word that is no --keep is said before anything is made.
            wanted = options.keep and keep.parse(options.keep)
            data = backups.create(places, options.to, now)
            if wanted:
                data["removed"] = backups.prune(places, options.keep, dry_run=False)["removed"]
        case "list":
            data = [entry.as_json() for entry in backup.entries(places)]
        case "verify":
            data = (
                backups.drill(places, options.name, now)
                if options.drill
                else backups.verify(places, options.name)
            )
        case "prune":
            data = backups.prune(places, options.keep or keep.DEFAULT, dry_run=options.dry_run)
        case _:
            data = backups.restore(
                places, options.name, now, dry_run=options.dry_run, to=options.to
            )
    return data
