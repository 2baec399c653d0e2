"""Commands `doctor`: check the machine and the shop, and `upgrade-check`; both without a running daemon."""

import argparse
import os
import sys
import threading
from pathlib import Path

from daemon.commands.output import print_json
from daemon.doctor.checks import System, report
from daemon.doctor.run import AREAS, apply_remedies, run_checks, this_user
from daemon.open_shop import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, StartError, refuse_on_server, store_url
from daemon.runtime.system import SystemClock
from daemon.store.upkeep import inspect
from daemon.wire import VERSION, ErrorCode, Places
from parsers.times import from_us


def doctor_command(options: argparse.Namespace, places: Places) -> int:
    """Run the checks; those that need an answer of a modem are skipped."""
    if unknown := [area for area in options.areas if area not in AREAS]:
        print(f"error: unknown area {unknown[0]!r}; areas: {', '.join(AREAS)}", file=sys.stderr)
        return EXIT_USAGE
    clock = SystemClock()
    system = System(
        Path("/"), this_user(), places=places, environ=os.environ, version=VERSION,
        store_url=store_url(places, os.environ),
        now_us=clock.now_us(), pause=_pause if options.deep else None,
    )  # fmt: skip
    found = run_checks(system, options.areas, clock.monotonic)
    fixed = apply_remedies(found) if options.fix else []
    if fixed:
        found = run_checks(system, options.areas, clock.monotonic)
    document = report(found)
    document["data"]["fixed"] = fixed
    if options.bundle:
        from daemon.doctor import bundle as doctor_bundle  # noqa: PLC0415 -- few calls need it

        target = Path(options.bundle)
        content = doctor_bundle.files(system, document)
        sizes = {name: len(data) for name, data in content.items()}
        size = None
        if not options.dry_run:
            try:
                size = doctor_bundle.write(target, content)
            except OSError as error:
                raise StartError(
                    ErrorCode.USAGE, f"{target} cannot be written: {error}", "momo doctor --bundle momo-doctor-2.tar.gz"
                ) from error
        document["data"]["bundle"] = {"path": str(target), "bytes": size, "files": sizes}
    if options.json:
        print_json(document)
    else:
        for check in document["data"]["checks"]:
            print(f"{check['status']:<5} {check['id']:<20} {check['detail']}")
            if check["fix"]:
                print(f"      {check['fix']}")
    return EXIT_OK if document["success"] else EXIT_FINDINGS


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def upgrade_check_command(_options: argparse.Namespace, places: Places) -> int:
    """Compare the database with this program, for `momo daemon upgrade-check`, without changing anything."""
    refuse_on_server(places, os.environ, "the daemon upgrades it at its start; make a backup with pg_dump before")
    try:
        found = inspect.check_upgrade(places, from_us(SystemClock().now_us()))
    except inspect.UnreadableShop as error:
        raise StartError(ErrorCode.UNAVAILABLE, str(error), "momo doctor disk db") from error
    print_json({"success": True, "data": {"version": VERSION, **found}})
    return EXIT_OK
