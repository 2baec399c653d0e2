"""The commands about momo as a service of the machine (systemd, or launchd on a Mac)."""

import glob
from collections.abc import Sequence
from typing import Annotated, Any

from momo_cli import exit_codes
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import DryRun, option
from momo_cli.service import manager
from momo_cli.service.manager import Kind, Service, service_for
from momo_cli.service.unit_files import UnitFile, shop_of_unit
from momo_cli.show.answer import Answer, document_of, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client

_System = Annotated[bool, option("--system/--user", "The machine's service, or your own.")]


@command("daemon install", view=view_of("status supervisor path", id="path"))
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
        momo daemon install --print
        momo daemon install --timers --linger --dry-run
        momo daemon install --system --print
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
        return ["momo daemon install"]
    if service.kind is Kind.SYSTEM and status == "installed" and not problems:
        words = " ".join(f"{name}={value}" for name, value in service.shop.environment.items())
        return [f"sudo -u momo env {words} momo setup", "momo daemon status --system"]
    return ["momo daemon status"]


@command("daemon uninstall", view=view_of("status path", id="path"))
def uninstall(terminal: Terminal, system: _System = False) -> Answer:
    """Remove the service.

    The service is stopped and its files are removed. The shop, its database and its log stay. Exit 0 if there was no
    service, too.

    Examples:
        momo daemon uninstall
        momo daemon uninstall --system --json
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
        next=["momo daemon start"] if removed else ["momo daemon install"],
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
