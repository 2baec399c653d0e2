"""Command `backup`: create, list, verify, prune and restore backups of the database."""

import argparse
import os
from pathlib import Path
from typing import Any, Final

from daemon.commands.output import need_shop, print_json
from daemon.core.errors import MomoError
from daemon.core.upkeep import self_check
from daemon.flows.upkeep import backups
from daemon.open_shop import EXIT_FINDINGS, EXIT_OK, StartError, refuse_on_server
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.locks import Locked
from daemon.runtime.system import SystemClock
from daemon.store.upkeep import backup
from daemon.store.upkeep.backup import BackupBad, DiskFull
from daemon.wire import ErrorCode, Places
from parsers.times import from_us

_FAILURES: Final[tuple[tuple[type[Exception], ErrorCode, str], ...]] = (
    (self_check.RetentionInvalid, ErrorCode.USAGE, f"momo backup prune --keep {self_check.DEFAULT_RETENTION} --dry-run"),
    (DiskFull, ErrorCode.DISK_FULL, "momo backup prune"),
    (backups.NoBackup, ErrorCode.BACKUP_NOT_FOUND, "momo backup list"),
    (BackupBad, ErrorCode.BACKUP_FAILED, "momo backup list"),
    (Locked, ErrorCode.LOCKED, "momo daemon stop"),
    (Exception, ErrorCode.UNAVAILABLE, "momo doctor disk permissions"),
)  # fmt: skip
"""An error, of which the first row that fits counts: its code, and the command to type next."""


def backup_command(options: argparse.Namespace, places: Places) -> int:
    """Run the command, for `momo backup` and `momo restore`."""
    refuse_on_server(places, os.environ, "use pg_dump and point-in-time recovery (docs/operators/postgresql.md)")
    need_shop(options.what != "create" or Path(places.database).is_file())
    try:
        data = _do(options, places)
    except (MomoError, OSError) as error:
        _, code, following = next(row for row in _FAILURES if isinstance(error, row[0]))
        where = "--keep: " if code is ErrorCode.USAGE else ""
        raise StartError(code, f"{where}{error}", following) from error
    print_json({"success": True, "data": data})
    wrong = options.what in {"create", "verify"} and (
        data.get("findings") or (data.get("also") or {}).get("status") == "failed"
    )
    return EXIT_FINDINGS if wrong else EXIT_OK


def _do(options: argparse.Namespace, places: Places) -> Any:
    """Do the requested action, and return its result."""
    also_to = messages_to = unknown = ""
    try:
        settings = load_config(places.config, os.environ).backup
        also_to, messages_to = settings.also_to, settings.messages_to
    except ConfigError as error:  # invalid settings must not prevent a backup
        unknown = f"the settings cannot be read: {error}"
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
            data = backups.drill(places, options.name, now) if options.drill else backups.verify(places, options.name)
        case "prune":
            keep = options.keep or self_check.DEFAULT_RETENTION
            data = backups.prune(places, keep, dry_run=options.dry_run, also_to=also_to)
        case _:
            to = {"to": options.to, "messages_to": messages_to}
            data = backups.restore(places, options.name, now, dry_run=options.dry_run, **to)
    return data
