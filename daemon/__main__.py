"""`python -m daemon VERB`. What `momo` starts; people type `momo`.

Each verb is a module of `daemon.verbs` with a function `run(options, places)`, loaded when it is asked for.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Final

from daemon import wire
from daemon.doors import EXIT_USAGE, StartError

VERBS: Final = {
    "run": "daemon_run",
    "setup": "setup",
    "password-set": "password_set",
    "backup": "backup",
    "config": "config",
    "logs": "logs",
    "upgrade-check": "upgrade_check",
    "verify": "verify",
    "decode": "decode",
    "doctor": "doctor",
    "demo": "demo",
}
"""Verb -> its module."""
DEMO_PHONES = ("generic", "huawei", "zte", "sim800", "quectel", "wavecom")
"""Makes that the daemon can read; a HiLink stick shows its messages to nobody."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    if not __debug__:
        # The assertions are part of the program: they stop it rather than let it go on wrong.
        print("error: python -O is not supported", file=sys.stderr)
        return EXIT_USAGE
    os.umask(0o077)
    options = _parser().parse_args(arguments)
    places = wire.places(os.environ, os.getuid(), tempfile.gettempdir())
    try:
        verb = importlib.import_module(f"daemon.verbs.{VERBS[options.verb]}")
        return int(verb.run(options, places))
    except StartError as error:
        if getattr(options, "json", False):
            body = {
                "success": False,
                "error": {
                    "code": error.code,
                    "message": error.message,
                    "next": [error.next_step],
                },
                "exit_code": error.exit_code,
            }
            print(json.dumps(body, ensure_ascii=False))
        print(f"error: {error.message}  [{error.code}]", file=sys.stderr)
        print(f"next:  {error.next_step}", file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m daemon", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run the daemon in the foreground")
    run.add_argument("--http", metavar="HOST:PORT|off")
    run.add_argument("--insecure-http", action="store_true", help="--http may be in the clear")
    run.add_argument("--modem", metavar="PATH", action="append")
    run.add_argument("--no-modem", dest="modem", action="store_const", const=[], help="no phone")
    run.add_argument("--simulated-phone", action="store_true")
    run.add_argument("--log-json", action="store_true")
    run.add_argument("--supervised", action="store_true", help="systemd counts our pings")
    make = verbs.add_parser("setup", help="make the shop and its keys")
    make.add_argument("--shop", default="")
    make.add_argument("--tz", default="Africa/Accra")
    make.add_argument("--owner-email", default=None)
    make.add_argument("--password-file", metavar="FILE|-")
    make.add_argument("--no-input", action="store_true")
    make.add_argument("--check", action="store_true")
    make.add_argument("--json", action="store_true")
    code = verbs.add_parser("decode", help="decode PDUs: each line of stdin a JSON list of them")
    code.add_argument("--join", action="store_true")
    copies = verbs.add_parser("backup", help="make, list, check, thin out and put back copies")
    copies.add_argument("what", choices=("create", "list", "verify", "prune", "restore"))
    copies.add_argument("name", nargs="?")
    copies.add_argument("--to", metavar="FOLDER|FILE")
    copies.add_argument("--keep")
    copies.add_argument("--drill", action="store_true")
    copies.add_argument("--dry-run", action="store_true")
    copies.add_argument("--json", action="store_true")
    edit = verbs.add_parser("config", help="show, change and check the settings")
    edit.add_argument("what", choices=("show", "get", "set", "unset", "validate"))
    edit.add_argument("key", nargs="?", default="")
    edit.add_argument("value", nargs="?", default="")
    edit.add_argument("--json", action="store_true")
    verbs.add_parser("verify", help="look at a webhook: headers, body and secrets as JSON on stdin")
    change = verbs.add_parser("password-set", help="give the owner the password on stdin")
    change.add_argument("--json", action="store_true")
    doctor = verbs.add_parser("doctor", help="look for what is wrong; needs no shop and no daemon")
    doctor.add_argument("areas", nargs="*", metavar="AREA")
    doctor.add_argument("--fix", action="store_true")
    doctor.add_argument("--bundle", metavar="FILE.tar.gz")
    doctor.add_argument("--dry-run", action="store_true")
    doctor.add_argument("--json", action="store_true")
    verbs.add_parser("upgrade-check", help="say what a start would do to the database")
    logs = verbs.add_parser("logs", help="show the log; needs no daemon")
    for name in ("since", "level", "component", "lines", "after"):
        logs.add_argument(f"--{name}", default="")
    demo = verbs.add_parser("demo", help="play one payment from SMS to webhook")
    demo.add_argument("--keep", action="store_true")
    demo.add_argument("--phone", choices=DEMO_PHONES, default="generic")
    demo.add_argument("--fault", metavar="NAME", action="append", default=[])
    demo.add_argument("--picture", metavar="FILE.svg", default="")
    return parser


if __name__ == "__main__":
    sys.exit(main())
