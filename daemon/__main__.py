"""`python -m daemon COMMAND`: the commands that the program `momo` starts; people type `momo`.

The command `password-set` is the function `password_set_command(options, places)` in a module of `daemon.commands`, which is
imported when it is used.
"""

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from daemon import wire
from daemon.open_shop import EXIT_USAGE, StartError

COMMANDS: Final = {
    "run": "run", "setup": "setup", "password-set": "setup", "backup": "backup", "certificate": "certificate",
    "config": "config", "db": "db", "logs": "config", "move": "move", "upgrade-check": "doctor", "verify": "decode",
    "decode": "decode", "doctor": "doctor", "demo": "run",
}  # fmt: skip
"""Command -> its module."""
Add: TypeAlias = Callable[..., argparse.ArgumentParser]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    if not __debug__:
        # The assertions are part of the program: they stop it before it works with wrong values.
        print("error: python -O is not supported", file=sys.stderr)
        return EXIT_USAGE
    os.umask(0o077)
    parser = argparse.ArgumentParser(prog="python -m daemon", description=__doc__)
    add = parser.add_subparsers(dest="command", required=True).add_parser
    _add_daemon_commands(add)
    _add_shop_commands(add)
    options = parser.parse_args(arguments)
    places = wire.places(os.environ, os.getuid(), tempfile.gettempdir())
    try:
        module = importlib.import_module(f"daemon.commands.{COMMANDS[options.command]}")
        command = getattr(module, f"{options.command.replace('-', '_')}_command")
        return int(command(options, places))
    except StartError as error:
        if getattr(options, "json", False):
            why = {"code": error.code, "message": error.message, "next": [error.next_step]}
            body = {"success": False, "error": why, "exit_code": error.exit_code}
            print(json.dumps(body, ensure_ascii=False))
        print(f"error: {error.message}  [{error.code}]", file=sys.stderr)
        print(f"next:  {error.next_step}", file=sys.stderr)
        return error.exit_code


def _add_flags(command: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        command.add_argument(f"--{name}", action="store_true")


def _add_daemon_commands(add: Add) -> None:
    run = add("run", help="run the daemon in the foreground")
    run.add_argument("--http", metavar="HOST:PORT|off")
    _add_flags(run, "insecure-http")
    run.add_argument("--modem", metavar="PATH", action="append")
    run.add_argument("--no-modem", dest="modem", action="store_const", const=[])
    _add_flags(run, "simulated-phone", "log-json", "supervised")
    demo = add("demo", help="play one payment from SMS to webhook")
    _add_flags(demo, "keep")
    logs = add("logs", help="show the log; needs no daemon")
    for name in ("since", "level", "component", "lines", "after"):
        logs.add_argument(f"--{name}", default="")


def _add_shop_commands(add: Add) -> None:
    make = add("setup", help="create the shop and its keys")
    make.add_argument("--shop", default="")
    make.add_argument("--tz", default="Africa/Accra")
    make.add_argument("--owner-email", default=None)
    make.add_argument("--password-file", metavar="FILE|-")
    # `--in-browser`: name and password follow in the browser; `--shown-later`: the caller shows the keys.
    _add_flags(make, "no-input", "check", "in-browser", "json", "shown-later")
    copies = add("backup", help="create, list, verify, prune and restore backups")
    copies.add_argument("what", choices=("create", "list", "verify", "prune", "restore"))
    copies.add_argument("name", nargs="?")
    copies.add_argument("--to", metavar="FOLDER|FILE")
    copies.add_argument("--keep")
    _add_flags(copies, "drill", "dry-run", "json")
    read = add("db", help="read the database; `query` reads its SQL from stdin")
    read.add_argument("what", choices=("tables", "schema", "query", "export"))
    read.add_argument("name", nargs="?")
    read.add_argument("--value", metavar="NAME=VALUE", action="append", default=[])
    read.add_argument("--limit", type=int, default=1_000)
    _add_flags(read, "show-phones", "json")
    move = add("move", help="copy the shop's database to a PostgreSQL server and use it there")
    move.add_argument("url")
    _add_flags(move, "json")
    edit = add("config", help="show, change and validate the settings")
    verbs = "show get set unset validate add-hilink add-source remove-source"
    edit.add_argument("what", choices=verbs.split())
    edit.add_argument("key", nargs="?", default="")
    edit.add_argument("value", nargs="?", default="")
    _add_flags(edit, "json")
    own = add("certificate", help="make, show and export the shop's own certificate")
    own.add_argument("what", choices=("create", "show", "export"))
    own.add_argument("names", nargs="*", metavar="NAME|ADDRESS")
    _add_flags(own, "new-ca", "der", "json")
    change = add("password-set", help="set the owner's password from stdin")
    _add_flags(change, "json")
    doctor = add("doctor", help="check this machine and the shop; needs no daemon")
    doctor.add_argument("areas", nargs="*", metavar="AREA")
    doctor.add_argument("--bundle", metavar="FILE.tar.gz")
    _add_flags(doctor, "fix", "deep", "dry-run", "json")
    add("upgrade-check", help="show whether a start would upgrade the database")
    code = add("decode", help="decode PDUs; each line of stdin is a JSON list of PDUs")
    _add_flags(code, "join")
    add("verify", help="verify a webhook: headers, body and secrets as JSON on stdin")


if __name__ == "__main__":
    sys.exit(main())
