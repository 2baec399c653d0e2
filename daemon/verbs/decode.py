"""Decode PDUs."""

import argparse
import json
import sys

from daemon import wire
from daemon.doors import EXIT_OK
from daemon.intake import pasted
from daemon.verbs.say import print_json


def run(options: argparse.Namespace, _places: wire.Places) -> int:
    """Decode the PDUs on stdin, for `momo parse --pdu`; nothing is opened and nothing stored."""
    groups = [json.loads(line) for line in sys.stdin if line.strip()]
    print_json({"success": True, "data": pasted.decode(groups, join=options.join)})
    return EXIT_OK
