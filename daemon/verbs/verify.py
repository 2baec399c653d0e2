"""Look at a webhook that a receiver got."""

import argparse
import base64
import json
import sys
from dataclasses import asdict

from daemon import wire
from daemon.core import signature_check
from daemon.core.limits import SECOND_US
from daemon.doors import EXIT_OK
from daemon.system import SystemClock
from daemon.verbs.say import print_json


def run(_options: argparse.Namespace, _places: wire.Places) -> int:
    """Look at a webhook that a receiver got, for `momo verify`; nothing is opened and nothing stored."""
    given = json.load(sys.stdin)
    at = given["at"]
    now_us = SystemClock().now_us() if at is None else at * SECOND_US
    body = base64.b64decode(given["body"])
    found = signature_check.check(given["headers"], body, given["secrets"], now_us)
    print_json({"success": True, "data": {"valid": found.valid, **asdict(found)}})
    return EXIT_OK
