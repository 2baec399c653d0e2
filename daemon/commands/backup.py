"""Command `backup`: create, list, verify, prune and restore backups of the database."""

import argparse
import os
from pathlib import Path
from typing import Any

from daemon import wire
from daemon.commands.output import print_json
from daemon.core.errors import MomoError
from daemon.core.upkeep import backup_retention
from daemon.flows.upkeep import backups
from daemon.open_shop import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_LOCKED,
    EXIT_NOT_FOUND,
    EXIT_NOT_SET_UP,
    EXIT_OK,
    EXIT_USAGE,
    StartError,
    refuse_on_server,
)
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.locks import Locked
from daemon.runtime.system import SystemClock
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import BackupBad, DiskFull
from parsers.times import from_us


def backup_command(options: argparse.Namespace, places: wire.Places) -> int:
    """Run the command, for `momo backup` and `momo restore`."""
    refuse_on_server(
        places, os.environ, "use pg_dump and point-in-time recovery (docs/operators/postgresql.md)"
    )
    if options.what == "create" and not Path(places.database).is_file():
        raise StartError(
            wire.ErrorCode.NOT_SET_UP, EXIT_NOT_SET_UP, "there is no shop here yet", "momo setup"
        )
    try:
        data = _do(options, places)
    except backup_retention.RetentionInvalid as error:
        raise StartError(
            wire.ErrorCode.USAGE,
            EXIT_USAGE,
            f"--keep: {error}",
            f"momo backup prune --keep {backup_retention.DEFAULT} --dry-run",
        ) from error
    except DiskFull as error:
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
    return (
        EXIT_FINDINGS
        if options.what in {"create", "verify"}
        and (bool(data.get("findings")) or (data.get("also") or {}).get("status") == "failed")
        else EXIT_OK
    )


def _second_places(places: wire.Places) -> tuple[str, str, str]:
    """Return `also_to` and `messages_to` of `[backup]`, and an error text; invalid settings must not prevent a backup."""
    try:
        found = load_config(places.config, os.environ).backup
    except ConfigError as error:
        return "", "", f"the settings cannot be read: {error}"
    return found.also_to, found.messages_to, ""


def _do(options: argparse.Namespace, places: wire.Places) -> Any:
    """Do the requested action, and return its result."""
    also_to, messages_to, unknown = _second_places(places)
    now = from_us(SystemClock().now_us())
    data: Any
    match options.what:
        case "create":
            # Parse --keep first, so that an invalid value is reported before a backup is made.
            wanted = options.keep and backup_retention.parse_retention(options.keep)
            data = backups.create(places, options.to, now, also_to=also_to)
            if unknown and options.to is None:
                data["also"] = {"folder": None, "status": "failed", "path": None, "why": unknown}
            if wanted:
                pruned = backups.prune(places, options.keep, dry_run=False, also_to=also_to)
                data["removed"] = pruned["removed"]
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
                places,
                options.keep or backup_retention.DEFAULT,
                dry_run=options.dry_run,
                also_to=also_to,
            )
        case _:
            data = backups.restore(
                places,
                options.name,
                now,
                dry_run=options.dry_run,
                to=options.to,
                messages_to=messages_to,
            )
    return data
