"""Say what a start would do to the database."""

import argparse

from daemon import wire
from daemon.api.envelope import VERSION
from daemon.doors import EXIT_OK
from daemon.store import upgrade
from daemon.system import SystemClock
from daemon.verbs.say import print_json
from parsers.when import from_us


def run(_options: argparse.Namespace, places: wire.Places) -> int:
    """Compare the database with this program, for `momo upgrade-check`; nothing is changed."""
    found = upgrade.check(places, from_us(SystemClock().now_us()))
    print_json({"success": True, "data": {"version": VERSION, **found}})
    return EXIT_OK
