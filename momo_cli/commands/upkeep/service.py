"""The commands about momo as a service of the machine (systemd, or launchd on a Mac)."""

import glob
import os
from collections.abc import Sequence
from typing import Annotated, Any, Final

from daemon.wire import ErrorCode
from momo_cli import exit_codes
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import DryRun, Follow, option
from momo_cli.service import manager
from momo_cli.service.manager import Kind, Service, service_for
from momo_cli.service.unit_files import UnitFile, shop_of_unit
from momo_cli.show.answer import Answer, document_of, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import clean

_UNIT_VIEW: Final = view_of("status supervisor unit", id="unit")
_PROPERTIES: Final = "ActiveState,SubState,MainPID,UnitFileState,StatusText,NRestarts"

_System = Annotated[bool, option("--system/--user", "The machine's service, or your own.")]


@command("service install", view=view_of("status supervisor path", id="path"))
def install(
    client: Client,
    terminal: Terminal,
    system: Annotated[
        bool, option("--system/--user", "For the machine, as user momo; or for yourself.")
    ] = False,
    linger: Annotated[
        bool, option("--linger", "Run while you are not logged in (loginctl).")
    ] = False,
    timers: Annotated[bool, option("--timers", "Scheduled backups, erasure and checks.")] = False,
    show: Annotated[bool, option("--print", "Print the files to stdout; write nothing.")] = False,
    dry_run: DryRun = False,
) -> Answer:
    """Install momo as a service.

    It is a systemd unit, or a launchd agent on a Mac. The machine then starts momo, and restarts it after a failure.
    A summary is shown before the files are written, and --print prints them. --timers adds backups, the daily erasure of old data and the hourly check,
    which catch up after sleep. --linger lets a user's service run while the user is not logged in. Exit 6 when the
    files are written, but systemctl or launchctl failed.

    Examples:
        momo service install --print
        momo service install --timers --linger --dry-run
        momo service install --system --print
    """
    service = service_for(terminal, system=system)
    files = service.files(with_timers=timers)
    if show:
        return _printed(service, files)
    manager.check_program(service)
    new = [file for file in files if manager.read_unit(file.path) != file.text]
    before = service.text
    if dry_run:
        return _answer(terminal, service, "would_install" if new else "already_installed", new, [])
    if new and not manager.confirm_files(terminal, new):
        return _answer(terminal, service, "cancelled", [], [], exit_code=exit_codes.CANCELLED)
    for file in new:
        manager.write_unit(file)
    problems = manager.enable_service(client, terminal, service, linger=linger, timers=timers)
    status = ("updated" if before else "installed") if new else "already_installed"
    return _answer(terminal, service, status, new, problems)


def _printed(service: Service, files: list[UnitFile]) -> Answer:
    several = len(files) > 1
    text = "\n".join(
        (f"# {file.path}\n" if several else "") + file.text.rstrip("\n") for file in files
    )
    rows = [{"path": file.path, "text": file.text} for file in files]
    return Answer(
        document_of({"status": "printed", "files": rows}),
        [{"status": "printed", "supervisor": service.kind, "path": service.path}],
        verbatim=text.split("\n"),
        plain=text,
    )


def _answer(
    terminal: Terminal,
    service: Service,
    status: str,
    files: list[UnitFile],
    problems: list[str],
    exit_code: int = exit_codes.OK,
) -> Answer:
    row: dict[str, Any] = {
        "status": status,
        "supervisor": service.kind,
        "path": service.path,
        "files": [file.path for file in files],
        "problems": problems,
    }
    texts = {"would_install": "Would write:", "cancelled": "Nothing was written."}
    done = f"{terminal.tick} {status.capitalize().replace('_', ' ')}: {service.path}"
    lines = [texts.get(status, done), *(f"  {file.path}" for file in files)]
    lines += [f"{terminal.style('!', 'yellow')} {problem}" for problem in problems]
    code = exit_codes.FINDINGS if problems else exit_code
    return Answer(*made(row), lines=lines, next=_next(service, status, problems), exit_code=code)


def _next(service: Service, status: str, problems: list[str]) -> list[str]:
    if status in ("would_install", "cancelled"):
        return ["momo service install"]
    if service.kind is Kind.SYSTEM and status == "installed" and not problems:
        words = " ".join(f"{name}={value}" for name, value in service.shop.environment.items())
        return [f"sudo -u momo env {words} momo setup", "momo service status --system"]
    return ["momo service status"]


@command("service uninstall", view=view_of("status path", id="path"))
def uninstall(terminal: Terminal, system: _System = False) -> Answer:
    """Remove the service.

    The service is stopped and its files are removed. The shop, its database and its log stay. Exit 0 if there was no
    service, too.

    Examples:
        momo service uninstall
        momo service uninstall --system --json
    """
    service = service_for(terminal, system=system)
    found = _files(service)
    notes: list[str] = []
    if found and service.kind is Kind.LAUNCHD:
        notes += _tried(terminal, service.control("disable"))
    elif found:
        units = [name for path in found if "@" not in (name := path.rpartition("/")[2])]
        notes += _tried(terminal, service.control("disable", "--now", *units))
    packaged = service.packaged
    removed = [path for path in found if not packaged and manager.remove_unit(path)]
    if removed and service.kind is not Kind.LAUNCHD:
        notes += _tried(terminal, ["systemctl", *service.scope, "daemon-reload"])
    status = "uninstalled" if removed or (packaged and found) else "already_uninstalled"
    row = {"status": status, "path": service.path, "files": removed}
    line = "There is no service of this shop."
    if removed:
        line = f"{terminal.tick} Removed; the shop itself is untouched."
    elif status == "uninstalled":
        line = f"{terminal.tick} Disabled. Its files belong to the package: sudo apt remove momo."
    return Answer(
        *made(row),
        lines=[line, *(f"  {path}" for path in removed)],
        notes=notes,
        next=["momo daemon start"] if removed else ["momo service install"],
    )


def _tried(terminal: Terminal, words: Sequence[str]) -> list[str]:
    """Run a program of the machine; return a note if it fails."""
    try:
        manager.run_control(terminal, words)
    except Failure as failure:
        return [f"! {failure.message}"]
    return []


def _files(service: Service) -> list[str]:
    """Return the unit and the timers of this shop."""
    stem = service.path.removesuffix(".service")
    paths = [service.path, *sorted(glob.glob(f"{glob.escape(stem)}-*"))]  # noqa: PTH207  # no pathlib here
    return [path for path in paths if shop_of_unit(manager.read_unit(path)) == service.shop.home]


@command("service status", view=view_of("active state enabled pid says path", id="path"))
def status(terminal: Terminal, system: _System = False) -> Answer:
    """Show the state of the service.

    It shows whether momo is installed as a service, whether it runs, and its status text. Exit 0 when it runs, 7 when
    it is installed but does not run, 3 when it is not installed.

    Examples:
        momo service status
        momo service status --system --json
    """
    service = _installed(terminal, system=system)
    row = _seen(terminal, service)
    good = row["active"]
    mark = terminal.tick if good else terminal.style("✗", "red")
    pid = f", pid {row['pid']}" if row["pid"] else ""
    outdated = service.text != service.files(with_timers=False)[0].text
    return Answer(
        *made(row),
        lines=[
            f"{mark} {service.unit}: {clean(row['state'])}{pid}",
            f"  says      {clean(row['says']) or '—'}",
            f"  at start  {clean(row['enabled']) or '—'}",
            f"  restarts  {row['restarts']}",
            f"  unit      {service.path}",
        ],
        notes=["! The unit differs from the unit of this momo version: momo service install"]
        if outdated and service_for(terminal, system=system) == service
        else [],
        next=["momo status"] if good else ["momo service logs", "momo service start"],
        exit_code=exit_codes.OK if good else exit_codes.DAEMON,
    )


def _seen(terminal: Terminal, service: Service) -> dict[str, Any]:
    if service.kind is Kind.LAUNCHD:
        text = manager.run_control(terminal, service.control("show"))
        facts = {"ActiveState": "active" if "state = running" in text else "inactive"}
    else:
        words = service.control("show", f"--property={_PROPERTIES}", service.unit)
        lines = manager.run_control(terminal, words).splitlines()
        facts = dict(line.split("=", 1) for line in lines if "=" in line)
    state, sub = facts.get("ActiveState", "unknown"), facts.get("SubState", "")
    return {
        "supervisor": service.kind,
        "active": state == "active",
        "state": f"{state} ({sub})" if sub else state,
        "enabled": facts.get("UnitFileState", ""),
        "pid": int(facts.get("MainPID") or 0) or None,
        "says": facts.get("StatusText", ""),
        "restarts": int(facts.get("NRestarts") or 0),
        "path": service.path,
    }


@command("service start", view=_UNIT_VIEW)
def start(terminal: Terminal, system: _System = False) -> Answer:
    """Start the service.

    The command returns when the service is ready. Exit 3 when this shop has no service: momo service install, or momo
    daemon start without one.

    Examples:
        momo service start
        momo service start --system
    """
    return _control(terminal, "start", "started", system=system)


@command("service stop", view=_UNIT_VIEW)
def stop(terminal: Terminal, system: _System = False) -> Answer:
    """Stop the service.

    It starts again with the machine. Messages stay on the SIM meanwhile. Exit 3 when this shop has no service.

    Examples:
        momo service stop
        momo service stop --system
    """
    return _control(terminal, "stop", "stopped", system=system)


@command("service restart", view=_UNIT_VIEW)
def restart(terminal: Terminal, system: _System = False) -> Answer:
    """Stop the service and start it again.

    Do this after a change of the settings. Exit 3 when this shop has no service: momo service install, or momo daemon
    start without one.

    Examples:
        momo service restart
        momo service restart --system
    """
    return _control(terminal, "restart", "restarted", system=system)


def _control(terminal: Terminal, verb: str, status: str, *, system: bool) -> Answer:
    service = _installed(terminal, system=system)
    manager.run_control(terminal, service.control(verb))
    row = {"status": status, "supervisor": service.kind, "unit": service.unit}
    return Answer(
        *made(row),
        lines=[f"{terminal.tick} {service.unit} {status}."],
        next=["momo service status"],
    )


@command("service logs")
def logs(
    terminal: Terminal,
    system: _System = False,
    follow: Follow = False,
    lines: Annotated[int, option("The last N lines.", min=1, max=100_000)] = 200,
) -> Answer:
    """Show the service's lines in the machine's journal.

    momo daemon logs shows the shop's own log, which has the same lines.

    Examples:
        momo service logs
        momo service logs -f --lines 20
    """
    service = _installed(terminal, system=system)
    flags = [f"-n{lines}" if service.kind is not Kind.LAUNCHD else f"-{lines}"]
    words = service.journal(*flags, *(["-f"] if follow else []))
    terminal.stdout.flush()
    terminal.stderr.flush()
    try:
        os.execvpe(words[0], words, terminal.located.environ)  # noqa: S606  # the machine's own program
    except OSError as problem:
        why = f"{words[0]}: {problem.strerror}"
        raise Failure(ErrorCode.INTERNAL_ERROR, why, next=("momo daemon logs",)) from None


def _installed(terminal: Terminal, *, system: bool) -> Service:
    """Return this shop's service; fail (SERVICE_NOT_INSTALLED) if there is none."""
    service = service_for(terminal, system=system)
    if not service.installed:
        flag = " --system" if system else ""
        why = f"{service.path} does not exist, or belongs to another shop"
        following = (f"momo service install{flag}", "momo daemon start")
        raise Failure(ErrorCode.SERVICE_NOT_INSTALLED, why, next=following)
    return service
