"""Commands of the daemon: run, start, stop, restart, status, logs, install, uninstall."""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.flags import Output
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import DRY_RUN, FOLLOW, HTTP_ADDRESS, flag, option
from momo_cli.inputs.typed_values import check_choice, http_address, only_given, time_of
from momo_cli.service import manager
from momo_cli.service.daemon_program import DAEMON_VIEW, exec_daemon, run_verb, start_answer, start_daemon, stop_daemon
from momo_cli.service.manager import (
    Kind,
    installed_service,
    service_for,
    service_lines,
    shop_of_unit,
    supervising_service,
)
from momo_cli.show.answer import Answer, Cell, Head, Row, document_of, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import uptime
from momo_cli.socket.client import Client
from momo_cli.text import at, clean
from momo_cli.times import duration_s, parse_stamp

_FIRST: Final = ("ts", "level", "component", "event")
_POLL_S: Final = 0.5
_POLL_DOWN_S: Final = 2.0
_LOG_VIEW: Final = view_of(
    *_FIRST,
    "facts",
    Head("WHEN", lambda row, t: _when(row.get("ts"), t)),
    Head("LEVEL", lambda row, _: _level(row)),
    Head("EVENT", lambda row, _: Cell(f"{clean(row.get('event')):<20}", "bold")),
    Head("FACTS", lambda row, _: _facts(row)),
    id="ts",
)
_INSECURE_HTTP = flag("Allow other machines to use --http, without encryption.")
_MODEMS = option("PATH", "The tty of a modem; repeat for each.")
_NO_MODEM = flag("Use no modem, for example for a copy of a shop.")
_SIMULATED_PHONE = flag("Attach a simulated phone, for momo simulate: test mode only.")


@command("daemon run")
def run(
    terminal: Terminal,
    http: str | None = HTTP_ADDRESS,
    insecure_http: bool = _INSECURE_HTTP,
    modem: list[str] | None = _MODEMS,
    no_modem: bool = _NO_MODEM,
    simulated_phone: bool = _SIMULATED_PHONE,
    log_json: bool = flag("Write the log as JSON lines."),
    supervised: bool = flag("Report readiness and the watchdog to systemd."),
) -> Answer:
    """It runs until Ctrl-C or SIGTERM. Without --modem it uses the modems of [modems] ports, or finds them. A second
    Ctrl-C does not wait for work in progress; nothing is lost. Exit 75: another daemon runs for
    this shop. 78: not set up, or wrong settings.

    Examples:
        momo daemon run
        momo daemon run --http 127.0.0.1:0 --modem /dev/ttyUSB1
        momo daemon run --simulated-phone
    """
    flags = _run_flags(http, insecure_http, modem, no_modem, simulated_phone)
    flags += ["--log-json"] if log_json else []
    flags += ["--supervised"] if supervised else []
    exec_daemon(terminal, "run", *flags)


def _run_flags(
    http: str | None, insecure_http: bool, modems: Sequence[str] | None, no_modem: bool, simulated_phone: bool
) -> list[str]:
    """Return the flags for the daemon's program; fail (exit 2) if both --modem and --no-modem are given."""
    if modems and no_modem:
        raise usage("--modem and --no-modem exclude each other")
    flags = [] if http is None else [f"--http={http_address(http)}"]
    flags += ["--insecure-http"] if insecure_http else []
    flags += [f"--modem={modem}" for modem in modems or ()]
    flags += ["--no-modem"] if no_modem else []
    flags += ["--simulated-phone"] if simulated_phone else []
    return flags


@command("daemon start", view=DAEMON_VIEW)
def start(
    client: Client,
    terminal: Terminal,
    wait: str = option("TIME", "The longest wait.", default="20s"),
    http: str | None = HTTP_ADDRESS,
    insecure_http: bool = _INSECURE_HTTP,
    modem: list[str] | None = _MODEMS,
    no_modem: bool = _NO_MODEM,
    simulated_phone: bool = _SIMULATED_PHONE,
) -> Answer:
    """The command waits until the daemon has opened the database, or knows why it cannot (momo status). Exit 0: started, or
    already running. 8: not ready in time. A shop installed as a service is started by the service (momo daemon install).
    See its work with momo daemon logs.

    Examples:
        momo daemon start
        momo daemon start --wait 60s --http 127.0.0.1:8420
    """
    flags = _run_flags(http, insecure_http, modem, no_modem, simulated_phone)
    return start_answer(start_daemon(client, terminal, flags, duration_s(wait, "--wait")), terminal)


@command("daemon stop", view=view_of("status", id="status"))
def stop(client: Client, terminal: Terminal, wait: str = option("TIME", "The longest wait.", default="30s")) -> Answer:
    """The command waits until it has ended; exit 8 when it has not ended in time. Messages stay on the SIM meanwhile.

    Examples:
        momo daemon stop
    """
    status = stop_daemon(client, terminal, duration_s(wait, "--wait"))
    lines = {
        "stopped": f"{terminal.tick} Daemon stopped.",
        "already_stopped": "The daemon does not run.",
        "stopping": "! The daemon is still stopping.",
    }
    waits, row = status == "stopping", {"status": status}
    return Answer(
        dumps({"success": not waits, "data": row}),
        [row],
        lines=[lines[status]],
        exit_code=exit_codes.PENDING if waits else exit_codes.OK,
        next=["momo daemon status"] if waits else [],
    )


@command("daemon restart", view=DAEMON_VIEW)
def restart(
    client: Client,
    terminal: Terminal,
    wait: str = option("TIME", "The longest wait for the stop, and for the start.", default="30s"),
    http: str | None = HTTP_ADDRESS,
    insecure_http: bool = _INSECURE_HTTP,
    modem: list[str] | None = _MODEMS,
    no_modem: bool = _NO_MODEM,
    simulated_phone: bool = _SIMULATED_PHONE,
) -> Answer:
    """Messages stay on the SIM meanwhile, and deliveries continue afterwards. Wrong settings are refused before anything
    is stopped (exit 78). The flags are those of momo daemon start.

    Examples:
        momo daemon restart
    """
    flags = _run_flags(http, insecure_http, modem, no_modem, simulated_phone)
    wait_s = duration_s(wait, "--wait")
    run_verb(terminal, "config", "--json", "validate")
    if stop_daemon(client, terminal, wait_s) == "stopping":
        why = f"the old daemon still runs after {wait_s:g} s; no new one was started"
        raise Failure(ErrorCode.LOCKED, why, next=("momo daemon status",))
    return start_answer(start_daemon(client, terminal, flags, wait_s), terminal, again=True)


@command("daemon status", view=view_of("pid version uptime_s", id="pid"))
def status(client: Client, terminal: Terminal) -> Answer:
    """People also see the state of its service, if it is installed as one. Exit 0 when it runs, 7 when it does not.

    Examples:
        momo daemon status
    """
    lines, notes = _service(terminal) if terminal.human else ([], [])
    try:
        reply = client.get(Path.LOCAL_STATUS)
    except Failure as failure:
        failure.shown = "\n".join(lines)
        raise
    pid, up_s = clean(at(reply.data, "pid")), at(reply.data, "uptime_s")
    up = "" if up_s is None else f", up {uptime(up_s)}"
    line = f"{terminal.tick} The daemon runs (pid {pid}{up})."
    return Answer(*reply.parts, lines=[line, *lines], notes=notes, next=["momo status"])


def _service(terminal: Terminal) -> tuple[list[str], list[str]]:
    """Return the state of the service of this shop, and what is wrong with it; nothing without a service."""
    service = supervising_service(terminal)
    if service is None:
        return [], []
    notes = []
    system = service.kind is Kind.SYSTEM
    if service.text != service.files(with_timers=False)[0].text:
        notes.append(
            f"! The unit differs from the unit of this momo version: momo daemon install{' --system' if system else ''}"
        )
    try:
        return service_lines(terminal, service), notes
    except Failure as failure:
        return [], [f"! {failure.message}", *notes]


@command("daemon logs", view=_LOG_VIEW)
def logs(
    client: Client,
    terminal: Terminal,
    follow: bool = FOLLOW,
    since: str | None = option("TIME", "From this time: 1h, today."),
    level: str = option("info|warning|error", "This level and worse.", default="info"),
    component: str | None = option("NAME", "modem, deliver, ingest, daemon ..."),
    lines: int = option("The last N lines.", default=200, min=1, max=10_000),
    journal: bool = flag("The service's lines in the machine's journal instead."),
) -> Answer:
    """The daemon need not run. No message, name, number or secret is ever in it. -f continues with new lines, also after a
    restart of the daemon. With --json each line is one JSON document. The log is momo.log in the shop's log folder: at
    most five files of 5 MB. --journal shows the same lines as the machine keeps them, and what came before the daemon's first
    line; only -f and --lines go with it. Exit 3 when this shop has no service.

    Examples:
        momo daemon logs
        momo daemon logs --since 1h --level warning
        momo daemon logs --journal -f
    """
    if journal:
        service = installed_service(terminal)
        if service is None:
            following = ("momo daemon install", "momo daemon logs")
            raise Failure(ErrorCode.SERVICE_NOT_INSTALLED, next=following)
        words = service.journal(f"-n{lines}", *(["-f"] if follow else []))
        terminal.stdout.flush()
        terminal.stderr.flush()
        try:
            os.execvpe(words[0], words, terminal.located.environ)  # noqa: S606  # the machine's own program
        except OSError as problem:
            why = f"{words[0]}: {problem.strerror}"
            raise Failure(ErrorCode.INTERNAL_ERROR, why, next=("momo daemon logs",)) from None
    check_choice(level, "--level", ("info", "warning", "error"))
    name, since = component and component.strip().lower(), time_of(since, "--since", terminal)
    query = only_given({"level": level, "lines": str(lines), "component": name, "since": since})
    rows, cursor = _read(client, terminal, query)
    if follow:
        more = _following(client, terminal, query, rows, cursor)
        return Answer(rows=_shown(terminal, more), stream=True)
    found = list(_shown(terminal, rows))
    return Answer(rows=found, empty="The log has no such lines.", stream=True)


def _when(ts: object, terminal: Terminal) -> str:
    at_ = parse_stamp(ts)
    return clean(ts) if at_ is None else f"{at_.astimezone(terminal.zone):%d %b %H:%M:%S}"


def _facts(row: Row) -> str:
    return "  ".join(f"{name}={clean(value)}" for name, value in row.items() if name not in (*_FIRST, "type", "facts"))


def _level(row: Row) -> Cell:
    level = clean(row.get("level"))
    return Cell(f"{level:<7}", {"warning": "yellow", "error": "red"}.get(level, "dim"))


def _following(
    client: Client, terminal: Terminal, query: dict[str, str], rows: list[Row], cursor: str
) -> Iterator[Row]:
    while True:
        yield from rows
        client.pause(_POLL_S if client.alive() else _POLL_DOWN_S)
        rows, cursor = _read(client, terminal, {**query, "after": cursor})


def _read(client: Client, terminal: Terminal, query: dict[str, str]) -> tuple[list[Row], str]:
    body: dict[str, Any] = {}
    if client.alive():
        try:
            body = client.get(Path.LOCAL_LOGS, **query).body
        except Failure as failure:
            if failure.http_status:
                raise
    if not body:  # the daemon does not run, or has just ended
        flags = (f"--{name}={value}" for name, value in query.items())
        body = run_verb(terminal, "logs", *flags).body
    return body.get("data") or [], str(at(body, "meta.cursor") or "0:0")


def _shown(terminal: Terminal, rows: Iterable[Row]) -> Iterator[Row]:
    """Add the facts as one text for formats with columns; for JSON, put the common members first."""
    whole = terminal.output in (Output.JSON, Output.NDJSON)
    for row in rows:
        first = {name: row[name] for name in _FIRST if name in row}
        yield {**first, **row} if whole else {**row, "facts": _facts(row)}


@command("daemon install", view=view_of("status supervisor path", id="path"))
def install(
    client: Client,
    terminal: Terminal,
    system: bool = flag("--system/--user", "For the machine, as user momo; or for yourself."),
    linger: bool = flag("Run while you are not logged in (loginctl)."),
    timers: bool = flag("Scheduled backups, erasure and checks."),
    show: bool = flag("--print", "Print the files to stdout; write nothing."),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """It is a systemd unit. The machine then starts momo, and restarts it after a failure.
    A summary is shown before the files are written, and --print prints them. --timers adds backups, the daily erasure of old data and the hourly check,
    which catch up after sleep. --linger lets a user's service run while the user is not logged in. Exit 6 when the
    files are written, but systemctl failed.

    Examples:
        momo daemon install --print
        momo daemon install --timers --linger --dry-run
    """
    service = service_for(terminal, system=system)
    files = service.files(with_timers=timers)
    if show:
        several = len(files) > 1
        text = "\n".join((f"# {file.path}\n" if several else "") + file.text.rstrip("\n") for file in files)
        rows = [{"path": file.path, "text": file.text} for file in files]
        return Answer(
            document_of({"status": "printed", "files": rows}),
            [{"status": "printed", "supervisor": service.kind, "path": service.path}],
            verbatim=text.split("\n"),
            plain=text,
        )
    manager.check_program(service)
    new = [file for file in files if manager.read_unit(file.path) != file.text]
    before = service.text
    problems, code = list[str](), exit_codes.OK
    status = ("updated" if before else "installed") if new else "already_installed"
    said = f"{status.capitalize().replace('_', ' ')}: {service.path}"
    lines, following = [f"{terminal.tick} {said}"], ["momo daemon status"]
    if dry_run and new:
        status, lines, following = "would_install", ["Would write:"], ["momo daemon install"]
    elif new and not dry_run and not manager.confirm_files(terminal, new):
        status, lines, following = "cancelled", ["Nothing was written."], ["momo daemon install"]
        new, code = [], exit_codes.CANCELLED
    elif not dry_run:
        for file in new:
            manager.write_unit(file)
        problems = manager.enable_service(client, terminal, service, linger=linger, timers=timers)
        code = exit_codes.FINDINGS if problems else exit_codes.OK
    if service.kind is Kind.SYSTEM and status == "installed" and not problems:
        words = " ".join(f"{name}={value}" for name, value in service.shop.environment.items())
        following = [f"sudo -u momo env {words} momo setup", "momo daemon status --system"]
    paths = [file.path for file in new]
    row = {"status": status, "supervisor": service.kind, "path": service.path, "files": paths, "problems": problems}
    lines += [f"  {path}" for path in paths]
    lines += [f"{terminal.style('!', 'yellow')} {problem}" for problem in problems]
    return Answer(*made(row), lines=lines, next=following, exit_code=code)


@command("daemon uninstall", view=view_of("status path", id="path"))
def uninstall(
    terminal: Terminal, system: bool = flag("--system/--user", "The machine's service, or your own.")
) -> Answer:
    """The service is stopped and its files are removed. The shop, its database and its log stay. Exit 0 if there was no
    service, too.

    Examples:
        momo daemon uninstall
    """
    service = service_for(terminal, system=system)
    stem = service.path.removesuffix(".service")
    paths = [service.path, *sorted(glob.glob(f"{glob.escape(stem)}-*"))]  # noqa: PTH207  # no pathlib here
    found = [path for path in paths if shop_of_unit(manager.read_unit(path)) == service.shop.home]
    notes: list[str] = []
    if found:
        units = [name for path in found if "@" not in (name := path.rpartition("/")[2])]
        notes += _tried(terminal, service.control("disable", "--now", *units))
    packaged = service.packaged
    removed = [path for path in found if not packaged and manager.remove_unit(path)]
    if removed:
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
