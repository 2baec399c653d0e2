"""Look for what is wrong, with no daemon running."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from daemon import wire
from daemon.api.envelope import VERSION
from daemon.doctor.checks import Patient, report
from daemon.doctor.rounds import AREAS, examine, mend, this_user
from daemon.doors import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, StartError
from daemon.system import SystemClock
from daemon.verbs.say import print_json


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Examine this machine without the daemon: what only phones can say is skipped."""
    if unknown := [area for area in options.areas if area not in AREAS]:
        print(f"error: no area {unknown[0]!r}; there are {', '.join(AREAS)}", file=sys.stderr)
        return EXIT_USAGE
    clock = SystemClock()
    patient = Patient(
        Path("/"), this_user(), places=places, environ=os.environ, version=VERSION,
        now_us=clock.now_us(),
    )  # fmt: skip
    found = examine(patient, options.areas, clock.monotonic)
    fixed = mend(found) if options.fix else []
    if fixed:
        found = examine(patient, options.areas, clock.monotonic)
    document = report(found)
    document["data"]["fixed"] = fixed
    if options.bundle:
        document["data"]["bundle"] = _bundle(options, patient, document)
    if options.json:
        print_json(document)
    else:
        for check in document["data"]["checks"]:
            print(f"{check['status']:<5} {check['id']:<20} {check['detail']}")
            if check["fix"]:
                print(f"      {check['fix']}")
    return EXIT_OK if document["success"] else EXIT_FINDINGS


def _bundle(
    options: argparse.Namespace, patient: Patient, document: dict[str, Any]
) -> dict[str, Any]:
    from daemon.doctor import bundle  # noqa: PLC0415 -- packing is for few

    target = Path(options.bundle)
    content = bundle.files(patient, document)
    told = {name: len(data) for name, data in content.items()}
    size = None
    if not options.dry_run:
        try:
            size = bundle.write(target, content)
        except OSError as error:
            raise StartError(
                wire.ErrorCode.USAGE, EXIT_USAGE, f"{target} cannot be written: {error}",
                "momo doctor --bundle ANOTHER.tar.gz",
            ) from error  # fmt: skip
    return {"path": str(target), "bytes": size, "files": told}
