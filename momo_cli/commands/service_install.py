"""Have this machine start momo by itself, and again when it fails: a systemd unit, or a launchd agent on a Mac.

Shows each file before it is written. --timers adds backups, the daily tidying and the hourly check, which catch up
after sleep. --linger lets a user's service run while nobody is logged in. Exit 6 when the files are written and the
machine's own programs refused to go on.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.service_setup import agreed, switch_on
from momo_cli.services import Kind, Service, check_place, read, service_for, write
from momo_cli.terminal import Terminal
from momo_cli.unit_files import UnitFile
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo service install --print
  momo service install --timers --linger --dry-run
  momo service install --system --print
"""
VIEW: Final = View(fields=(Field("status"), Field("supervisor"), Field("path")), id="path")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo service install`."""

    system: bool
    linger: bool
    timers: bool
    show: bool
    dry_run: bool


def command(
    system: Annotated[
        bool, typer.Option("--system/--user", help="For the machine, as user momo; or for you.")
    ] = False,
    linger: Annotated[
        bool, typer.Option("--linger", help="Run while you are not logged in (loginctl).")
    ] = False,
    timers: Annotated[
        bool, typer.Option("--timers", help="Backups, tidying and checks by the clock.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--print", help="Print the files to stdout; write nothing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Say what would be written; write nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(system, linger, timers, show, dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Write what is missing, after showing it, and switch it on."""
    service = service_for(terminal, system=options.system)
    files = service.files(with_timers=options.timers)
    if options.show:
        return _printed(service, files)
    check_place(service)
    new = [file for file in files if read(file.path) != file.text]
    before = service.text
    if options.dry_run:
        return _answer(terminal, service, "would_install" if new else "already_installed", new, [])
    if new and not agreed(terminal, new):
        return _answer(terminal, service, "cancelled", [], [], exit_code=exits.CANCELLED)
    for file in new:
        write(file)
    problems = switch_on(client, terminal, service, linger=options.linger, timers=options.timers)
    status = ("updated" if before else "installed") if new else "already_installed"
    return _answer(terminal, service, status, new, problems)


def _printed(service: Service, files: list[UnitFile]) -> Answer:
    several = len(files) > 1
    text = "\n".join(
        (f"# {file.path}\n" if several else "") + file.text.rstrip("\n") for file in files
    )
    rows = [{"path": file.path, "text": file.text} for file in files]
    return Answer(
        document=dumps({"success": True, "data": {"status": "printed", "files": rows}}),
        rows=[{"status": "printed", "supervisor": service.kind, "path": service.path}],
        verbatim=text.split("\n"),
        plain=text,
    )


def _answer(
    terminal: Terminal,
    service: Service,
    status: str,
    files: list[UnitFile],
    problems: list[str],
    exit_code: int | None = None,
) -> Answer:
    row: dict[str, Any] = {
        "status": status,
        "supervisor": service.kind,
        "path": service.path,
        "files": [file.path for file in files],
        "problems": problems,
    }
    good = terminal.style("✓", "green")
    said = {
        "installed": f"{good} Installed: {service.path}",
        "updated": f"{good} Brought up to date: {service.path}",
        "already_installed": f"{good} Already installed: {service.path}",
        "would_install": "Would write:",
        "cancelled": "Nothing was written.",
    }
    lines = [said[status], *(f"  {file.path}" for file in files)]
    lines += [f"{terminal.style('!', 'yellow')} {problem}" for problem in problems]
    code = exits.FINDINGS if problems else exits.OK
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=lines,
        next=_next(service, status, problems),
        exit_code=code if exit_code is None else exit_code,
    )


def _next(service: Service, status: str, problems: list[str]) -> list[str]:
    if status in ("would_install", "cancelled"):
        return ["momo service install"]
    if problems:
        return ["momo service status"]
    if service.kind is Kind.SYSTEM and status == "installed":
        words = " ".join(f"{name}={value}" for name, value in service.shop.environment.items())
        return [f"sudo -u momo env {words} momo setup", "momo service status --system"]
    return ["momo service status"]
