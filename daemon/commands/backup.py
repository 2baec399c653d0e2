"""Command `backup`: create, list, verify, prune and restore backups of the database."""

import argparse
import os
from pathlib import Path
from typing import Any, Final

from daemon import wire
from daemon.commands.output import need_shop, print_json
from daemon.core.errors import MomoError
from daemon.core.upkeep import self_check
from daemon.flows.upkeep import backups
from daemon.open_shop import (
    EXIT_FAILED,
    EXIT_FINDINGS,
    EXIT_LOCKED,
    EXIT_NOT_FOUND,
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

_FAILURES: Final = (
    (self_check.RetentionInvalid, wire.ErrorCode.USAGE, EXIT_USAGE, f"momo backup prune --keep {self_check.DEFAULT_RETENTION} --dry-run"),
    (DiskFull, wire.ErrorCode.DISK_FULL, EXIT_FAILED, "momo backup prune"),
    (backups.NoBackup, wire.ErrorCode.BACKUP_NOT_FOUND, EXIT_NOT_FOUND, "momo backup list"),
    (BackupBad, wire.ErrorCode.BACKUP_FAILED, EXIT_FINDINGS, "momo backup list"),
    (Locked, wire.ErrorCode.LOCKED, EXIT_LOCKED, "momo daemon stop"),
    (Exception, wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, "momo doctor disk permissions"),
)  # fmt: skip
"""An error, of which the first row that fits counts: its code, the exit code and the command to type next."""


def backup_command(options: argparse.Namespace, places: wire.Places) -> int:
    """Run the command, for `momo backup` and `momo restore`."""
    refuse_on_server(
        places, os.environ, "use pg_dump and point-in-time recovery (docs/operators/postgresql.md)"
    )
    need_shop(options.what != "create" or Path(places.database).is_file())
    try:
        data = _do(options, places)
    except (MomoError, OSError) as error:
        for kind, code, exit_code, following in _FAILURES:
            if isinstance(error, kind):
                where = "--keep: " if code is wire.ErrorCode.USAGE else ""
                raise StartError(code, exit_code, f"{where}{error}", following) from error
        raise
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
            wanted = options.keep and self_check.parse_retention(options.keep)
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
                options.keep or self_check.DEFAULT_RETENTION,
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
