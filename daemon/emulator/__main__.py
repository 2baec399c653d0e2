"""The emulated phone as a program, for the demo: `python -m daemon.emulator --link /tmp/phone`.

Each line of standard input is a JSON object `{"pdus": ["07..."]}`, an SMS to deliver part by part, and is answered with
`{"ok": true}`. The first line of standard output is `{"ready": true}`. The program ends with its input or at a signal,
and removes the link.
"""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from daemon.emulator.phone import Identity, Phone
from daemon.emulator.port import PhonePort


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m daemon.emulator", description=__doc__)
    parser.add_argument("--link", type=Path, required=True, help="symbolic link to the tty")
    options = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    port = PhonePort(Phone(Identity()), options.link)
    try:
        _say({"ready": True})
        for line in sys.stdin:
            port.deliver(json.loads(line)["pdus"])
            _say({"ok": True})
    finally:
        port.unplug()
    return 0


def _say(answer: dict[str, bool]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
