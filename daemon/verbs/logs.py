"""Show the log."""

import argparse

from daemon import log_file, wire
from daemon.doors import EXIT_OK
from daemon.verbs.say import print_json


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Show the log's files, for `momo logs` while no daemon runs; its flags were checked there."""
    wanted = log_file.Wanted(
        since=options.since,
        level=options.level or log_file.LEVELS[0],
        component=options.component,
        lines=int(options.lines or 200),
        after=options.after,
    )
    rows, cursor = log_file.read(places.log, wanted)
    print_json({"success": True, "data": rows, "meta": {"cursor": cursor}})
    return EXIT_OK
