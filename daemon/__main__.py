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
    "run": "run",
    "setup": "setup",
    "password-set": "setup",
    "backup": "backup",
    "certificate": "certificate",
    "config": "config",
    "db": "db",
    "logs": "config",
    "move": "move",
    "upgrade-check": "doctor",
    "verify": "decode",
    "decode": "decode",
    "doctor": "doctor",
    "demo": "run",
    "demo-hub": "run",
}
"""Command -> its module."""
Add: TypeAlias = Callable[..., argparse.ArgumentParser]
"""Makes of modems that the daemon can read; HiLink sticks are not among them."""


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
    _add_checks(add)
    options = parser.parse_args(arguments)
    places = wire.places(os.environ, os.getuid(), tempfile.gettempdir())
    try:
        module = importlib.import_module(f"daemon.commands.{COMMANDS[options.command]}")
        command = getattr(module, f"{options.command.replace('-', '_')}_command")
        return int(command(options, places))
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


def _add_daemon_commands(add: Add) -> None:
    run = add("run", help="run the daemon in the foreground")
    run.add_argument("--http", metavar="HOST:PORT|off")
    run.add_argument("--insecure-http", action="store_true", help="allow --http without encryption")
    run.add_argument("--modem", metavar="PATH", action="append")
    run.add_argument(
        "--no-modem", dest="modem", action="store_const", const=[], help="use no modem"
    )
    run.add_argument("--simulated-phone", action="store_true")
    run.add_argument("--log-json", action="store_true")
    run.add_argument(
        "--supervised", action="store_true", help="send heartbeats to systemd's watchdog"
    )
    demo = add("demo", help="play one payment from SMS to webhook")
    demo.add_argument("--keep", action="store_true")
    demo.add_argument("--picture", metavar="FILE.svg", default="")
    chain = add("demo-hub", help="play head office and two branches")
    chain.add_argument("--store", metavar="URL", default="", help="the hub's [store] url")
    logs = add("logs", help="show the log; needs no daemon")
    for name in ("since", "level", "component", "lines", "after"):
        logs.add_argument(f"--{name}", default="")


def _add_shop_commands(add: Add) -> None:
    make = add("setup", help="create the shop and its keys")
    make.add_argument("--shop", default="")
    make.add_argument("--tz", default="Africa/Accra")
    make.add_argument("--owner-email", default=None)
    make.add_argument("--password-file", metavar="FILE|-")
    make.add_argument("--no-input", action="store_true")
    make.add_argument("--check", action="store_true")
    make.add_argument(
        "--in-browser", action="store_true", help="name and password follow in the browser"
    )
    make.add_argument("--json", action="store_true")
    make.add_argument("--shown-later", action="store_true", help="the caller shows the keys")
    copies = add("backup", help="create, list, verify, prune and restore backups")
    copies.add_argument("what", choices=("create", "list", "verify", "prune", "restore"))
    copies.add_argument("name", nargs="?")
    copies.add_argument("--to", metavar="FOLDER|FILE")
    copies.add_argument("--keep")
    copies.add_argument("--drill", action="store_true")
    copies.add_argument("--dry-run", action="store_true")
    copies.add_argument("--json", action="store_true")
    read = add("db", help="read the database; `query` reads its SQL from stdin")
    read.add_argument("what", choices=("tables", "schema", "query", "export"))
    read.add_argument("name", nargs="?")
    read.add_argument("--value", metavar="NAME=VALUE", action="append", default=[])
    read.add_argument("--limit", type=int, default=1_000)
    read.add_argument("--show-phones", action="store_true")
    read.add_argument("--json", action="store_true")
    move = add("move", help="copy the shop's database to a PostgreSQL server and use it there")
    move.add_argument("url")
    move.add_argument("--json", action="store_true")
    edit = add("config", help="show, change and validate the settings")
    edit.add_argument(
        "what",
        choices=(
            "show",
            "get",
            "set",
            "unset",
            "validate",
            "add-hilink",
            "add-source",
            "remove-source",
        ),
    )
    edit.add_argument("key", nargs="?", default="")
    edit.add_argument("value", nargs="?", default="")
    edit.add_argument("--json", action="store_true")
    own = add("certificate", help="make, show and export the shop's own certificate")
    own.add_argument("what", choices=("create", "show", "export"))
    own.add_argument("names", nargs="*", metavar="NAME|ADDRESS")
    own.add_argument("--new-ca", action="store_true")
    own.add_argument("--der", action="store_true")
    own.add_argument("--json", action="store_true")
    change = add("password-set", help="set the owner's password from stdin")
    change.add_argument("--json", action="store_true")


def _add_checks(add: Add) -> None:
    doctor = add("doctor", help="check this machine and the shop; needs no daemon")
    doctor.add_argument("areas", nargs="*", metavar="AREA")
    doctor.add_argument("--fix", action="store_true")
    doctor.add_argument("--deep", action="store_true")
    doctor.add_argument("--bundle", metavar="FILE.tar.gz")
    doctor.add_argument("--dry-run", action="store_true")
    doctor.add_argument("--json", action="store_true")
    add("upgrade-check", help="show whether a start would upgrade the database")
    code = add("decode", help="decode PDUs; each line of stdin is a JSON list of PDUs")
    code.add_argument("--join", action="store_true")
    add("verify", help="verify a webhook: headers, body and secrets as JSON on stdin")


if __name__ == "__main__":
    sys.exit(main())
