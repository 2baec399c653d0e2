"""`python -m daemon VERB`. What `momo` starts; people type `momo`.

Longer than 300 lines because it is one function a verb.
"""

import argparse
import asyncio
import base64
import faulthandler
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from daemon import backups, crash, log_file, settings, wire
from daemon.api.envelope import VERSION
from daemon.app import RunOptions, serve
from daemon.config import ConfigError
from daemon.core import keep, signature_check
from daemon.core.errors import MomoError, Refusal
from daemon.core.limits import SECOND_US
from daemon.doctor import bundle
from daemon.doctor.checks import Patient, report
from daemon.doctor.rounds import AREAS, examine, mend, this_user
from daemon.doors import (
    EXIT_CONFIG,
    EXIT_FAILED,
    EXIT_LOCKED,
    EXIT_OK,
    EXIT_USAGE,
    StartError,
    open_doors,
)
from daemon.flows import password, setup
from daemon.intake import pasted
from daemon.lock import Locked
from daemon.log import fault
from daemon.store import backup, upgrade
from daemon.store.backup import BackupBad
from daemon.system import SystemClock, SystemEntropy
from parsers.when import from_us

EXIT_FINDINGS = 6
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
        return _VERBS[options.verb](options, places)
    except StartError as error:
        if getattr(options, "json", False):
            _print_json(
                {
                    "success": False,
                    "error": {
                        "code": error.code,
                        "message": error.message,
                        "next": [error.next_step],
                    },
                    "exit_code": error.exit_code,
                }
            )
        print(f"error: {error.message}  [{error.code}]", file=sys.stderr)
        print(f"next:  {error.next_step}", file=sys.stderr)
        return error.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m daemon", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run the daemon in the foreground")
    run.add_argument("--http", metavar="HOST:PORT|off")
    run.add_argument("--insecure-http", action="store_true", help="--http may be in the clear")
    run.add_argument("--modem", metavar="PATH", action="append", default=[])
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


def _run(options: argparse.Namespace, places: wire.Places) -> int:
    # A supervisor that misses our pings sends SIGABRT; the log then shows where every thread stood.
    faulthandler.enable()
    crash.mask_threads()
    run = RunOptions(
        http=options.http,
        insecure_http=options.insecure_http,
        modems=tuple(options.modem),
        log_json=options.log_json,
        supervised=options.supervised,
        simulated_phone=options.simulated_phone,
    )
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(serve(run, places, os.environ))
    except (StartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 -- the last one who can: whatever it is, it is written down masked
        written = crash.write(places, error, from_us(SystemClock().now_us()))
        print(f"error: {fault(error)}  [INTERNAL_ERROR]", file=sys.stderr)
        told = (
            "momo logs"
            if written is None
            else f"momo doctor --bundle FILE.tar.gz takes {written} along"
        )
        print(f"next:  {told}", file=sys.stderr)
        return EXIT_FAILED


def _loop_factory() -> Any:
    try:
        import uvloop  # noqa: PLC0415 -- not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _demo(options: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415 -- only the demo draws

    from daemon.demo.story import DemoOptions, tell  # noqa: PLC0415 -- the same

    # Ctrl-C ends the demo, not this program's clean-up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not options.picture:
            demo = DemoOptions(options.keep, options.phone, tuple(options.fault))
            return tell(demo, Console(highlight=False))
        console = Console(highlight=False, record=True, width=100, force_terminal=True)
        code = tell(DemoOptions(), console)
        svg = console.export_svg(title="momo demo")
        # The picture must load nothing from anywhere; a reader's own fixed-width font will do.
        svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
        Path(options.picture).write_text(svg, encoding="utf-8")
    except KeyboardInterrupt:
        return 130
    return code


async def _setup(options: argparse.Namespace, places: wire.Places) -> int:
    """Make what the shop still lacks. Safe to run again: what is there is left as it is."""
    clock, entropy = SystemClock(), SystemEntropy()
    doors = open_doors(places, os.environ, clock)
    try:
        request = setup.SetupRequest(
            shop=options.shop or None,
            timezone=options.tz,
            password=_password(options.password_file),
            owner_email=options.owner_email,
            check=options.check,
        )
        result = await setup.set_up(doors.store, clock, entropy, doors.vault, request)
    except Refusal as refusal:
        raise StartError(
            refusal.code, EXIT_USAGE, refusal.message, "momo setup --shop NAME --password-file FILE"
        ) from refusal
    except MomoError as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), f"check {places.home}"
        ) from error
    finally:
        doors.close()
    body: dict[str, Any] = {"success": True, "data": result}
    if options.json:
        _print_json(body)
    else:
        for step in result["steps"]:
            print(f"{step['status']:<13} {step['id']:<15} {step['detail']}")
        for name in ("api_key", "test_api_key", "webhook_secret"):
            if result[name]:
                print(f"{name}: {result[name]}   (shown once: keep it)")
    waiting = [step for step in result["steps"] if step["status"] == "needs_action"]
    return EXIT_FINDINGS if options.check and waiting else EXIT_OK


def _backup(options: argparse.Namespace, places: wire.Places) -> int:
    """Care for copies of the database, for `momo backup` and `momo restore`."""
    now = from_us(SystemClock().now_us())
    try:
        data: Any
        match options.what:
            case "create":
                # A word that is no --keep is said before anything is made.
                wanted = options.keep and keep.parse(options.keep)
                data = backups.create(places, options.to, now)
                if wanted:
                    data["removed"] = backups.prune(places, options.keep, dry_run=False)["removed"]
            case "list":
                data = [entry.as_json() for entry in backup.entries(places)]
            case "verify":
                data = backups.verify(places, options.name)
            case "prune":
                data = backups.prune(places, options.keep or keep.DEFAULT, dry_run=options.dry_run)
            case _:
                data = backups.restore(
                    places, options.name, now, dry_run=options.dry_run, to=options.to
                )
    except keep.KeepInvalid as error:
        raise StartError(
            wire.ErrorCode.USAGE, EXIT_USAGE, f"--keep: {error}", f"--keep {keep.DEFAULT}"
        ) from error
    except BackupBad as error:
        raise StartError(
            wire.ErrorCode.DATABASE_DAMAGED, EXIT_FINDINGS, str(error), "momo backup list"
        ) from error
    except Locked as error:
        raise StartError(
            wire.ErrorCode.LOCKED, EXIT_LOCKED, str(error), "momo daemon stop"
        ) from error
    except (MomoError, OSError) as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), f"check {places.home}"
        ) from error
    _print_json({"success": True, "data": data})
    found = isinstance(data, dict) and data.get("findings")
    return EXIT_FINDINGS if found and options.what in {"create", "verify"} else EXIT_OK


def _config(options: argparse.Namespace, places: wire.Places) -> int:
    """Show, change or check the settings, for `momo config`; no daemon is asked, none need run."""
    data: Any
    try:
        match options.what:
            case "show":
                data = settings.show(places, os.environ)
            case "get":
                data = settings.get(places, os.environ, options.key)
            case "validate":
                data = settings.validate(places, os.environ, options.key or None)
            case what:
                value = options.value if what == "set" else None
                data = settings.change(places, options.key, value)
    except ConfigError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID, EXIT_CONFIG, str(error), "momo config edit"
        ) from error
    except settings.NoSuchKey as error:
        raise StartError(
            wire.ErrorCode.USAGE, EXIT_USAGE, str(error), "momo config show"
        ) from error
    except (settings.CannotEdit, OSError) as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), "momo config edit"
        ) from error
    _print_json({"success": True, "data": data})
    return EXIT_OK


def _logs(options: argparse.Namespace, places: wire.Places) -> int:
    """Show the log's files, for `momo logs` while no daemon runs; its flags were checked there."""
    wanted = log_file.Wanted(
        since=options.since,
        level=options.level or log_file.LEVELS[0],
        component=options.component,
        lines=int(options.lines or 200),
        after=options.after,
    )
    rows, cursor = log_file.read(places.log, wanted)
    _print_json({"success": True, "data": rows, "meta": {"cursor": cursor}})
    return EXIT_OK


def _upgrade_check(places: wire.Places) -> int:
    """Compare the database with this program, for `momo upgrade-check`; nothing is changed."""
    found = upgrade.check(places, from_us(SystemClock().now_us()))
    _print_json({"success": True, "data": {"version": VERSION, **found}})
    return EXIT_OK


def _verify() -> int:
    """Look at a webhook that a receiver got, for `momo verify`; nothing is opened and nothing stored."""
    given = json.load(sys.stdin)
    at = given["at"]
    now_us = SystemClock().now_us() if at is None else at * SECOND_US
    body = base64.b64decode(given["body"])
    found = signature_check.check(given["headers"], body, given["secrets"], now_us)
    _print_json({"success": True, "data": {"valid": found.valid, **asdict(found)}})
    return EXIT_OK


def _decode(options: argparse.Namespace) -> int:
    """Decode the PDUs on stdin, for `momo parse --pdu`; nothing is opened and nothing stored."""
    groups = [json.loads(line) for line in sys.stdin if line.strip()]
    _print_json({"success": True, "data": pasted.decode(groups, join=options.join)})
    return EXIT_OK


def _doctor(options: argparse.Namespace, places: wire.Places) -> int:
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
        _print_json(document)
    else:
        for check in document["data"]["checks"]:
            print(f"{check['status']:<5} {check['id']:<20} {check['detail']}")
            if check["fix"]:
                print(f"      {check['fix']}")
    return EXIT_OK if document["success"] else EXIT_FINDINGS


def _bundle(
    options: argparse.Namespace, patient: Patient, document: dict[str, Any]
) -> dict[str, Any]:
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


async def _set_password(places: wire.Places) -> int:
    """Set the password that stands on stdin, with no daemon running."""
    clock = SystemClock()
    doors = open_doors(places, os.environ, clock)
    try:
        await password.set_new(doors.store, clock, f"local:{os.getuid()}", _password("-"))
    except Refusal as refusal:
        code = EXIT_CONFIG if refusal.code is wire.ErrorCode.NOT_SET_UP else EXIT_USAGE
        raise StartError(
            refusal.code, code, refusal.message, "momo password set --password-file FILE"
        ) from refusal
    finally:
        doors.close()
    _print_json({"success": True, "data": {"changed": True}})
    return EXIT_OK


def _password(source: str | None) -> str | None:
    """Read the password; one newline at its end does not belong to it."""
    if source is None:
        return None
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(
            wire.ErrorCode.USAGE,
            EXIT_USAGE,
            f"the password file {source} cannot be read: {error}",
            "momo setup --password-file FILE",
        ) from error
    return text.removesuffix("\n")


def _print_json(body: dict[str, Any]) -> None:
    print(json.dumps(body, ensure_ascii=False))


_VERBS: Final[dict[str, Callable[[argparse.Namespace, wire.Places], int]]] = {
    "run": _run,
    "setup": lambda options, places: asyncio.run(_setup(options, places)),
    "password-set": lambda _options, places: asyncio.run(_set_password(places)),
    "backup": _backup,
    "config": _config,
    "logs": _logs,
    "upgrade-check": lambda _options, places: _upgrade_check(places),
    "verify": lambda _options, _places: _verify(),
    "decode": lambda options, _places: _decode(options),
    "doctor": _doctor,
    "demo": lambda options, _places: _demo(options),
}


if __name__ == "__main__":
    sys.exit(main())
