"""Start the daemon in the background, and wait until it answers.

Exit 0 started or already running, 8 when it does not answer in time. Its log is daemon.log in the
shop's log folder.
"""

import os
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import spawn
from momo_cli.render import dumps
from momo_cli.run_flags import run_flags
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s

EXAMPLES: Final = """\
  momo daemon start
  momo daemon start --wait 60s --http 127.0.0.1:8420
"""
VIEW: Final = View(fields=(Field("status"), Field("pid"), Field("log")), id="pid")
_PAUSE_S: Final = 0.05
_TAIL_BYTES: Final = 2000
_DIED: Final = {
    exits.DATABASE: ErrorCode.DATABASE_DAMAGED,
    exits.TEMPORARY: ErrorCode.LOCKED,
    exits.CONFIGURATION: ErrorCode.CONFIG_INVALID,
}


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon start`."""

    wait_s: float
    flags: tuple[str, ...]


def command(
    wait: Annotated[str, typer.Option(metavar="TIME", help="For how long.")] = "20s",
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT|off", help="Where the API listens.")
    ] = None,
    insecure_http: Annotated[
        bool,
        typer.Option(
            "--insecure-http", help="--http may be reached by other machines, in the clear."
        ),
    ] = False,
    modem: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A modem's tty; may be repeated."),
    ] = None,
    simulated_phone: Annotated[
        bool,
        typer.Option(
            "--simulated-phone", help="Attach a simulated phone, for momo simulate: test mode only."
        ),
    ] = False,
) -> Call:
    """Read the flags."""
    flags = run_flags(
        http, modem or [], simulated_phone=simulated_phone, insecure_http=insecure_http
    )
    return Call(run, Options(duration_s(wait, "--wait"), flags), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Start the daemon unless it runs, and wait until its socket answers."""
    log = f"{terminal.located.places.log}/daemon.log"
    if client.alive():
        status = client.get(Path.LOCAL_STATUS).data or {}
        return _answer(terminal, "already_running", status.get("pid"), log, 0.0)
    if not os.path.exists(terminal.located.places.database):  # noqa: PTH110  # no pathlib needed
        raise Failure(ErrorCode.NOT_SET_UP)
    started = system.monotonic()
    try:
        child = spawn(terminal, log, options.flags)
    except OSError as problem:
        raise Failure(ErrorCode.INTERNAL_ERROR, f"{log}: {problem.strerror}") from None
    while not client.alive():
        code = child.poll()
        if code is not None:
            raise _died(code, log)
        if options.wait_s and system.monotonic() - started >= options.wait_s:
            child.returncode = 0  # it goes on without us; do not warn about it at exit
            return _answer(terminal, "starting", child.pid, log, options.wait_s)
        client.pause(_PAUSE_S)
    child.returncode = 0
    return _answer(terminal, "started", child.pid, log, system.monotonic() - started)


def _died(code: int, log: str) -> Failure:
    said = _tail(log)
    return Failure(
        _DIED.get(code, ErrorCode.INTERNAL_ERROR),
        f"the daemon ended with {code}" + (f": {said}" if said else f"; see {log}"),
        next=("momo daemon run",),
    )


def _tail(log: str) -> str:
    """Return the last line of the log, where the daemon says why it gave up."""
    try:
        with open(log, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _answer(terminal: Terminal, status: str, pid: Any, log: str, took_s: float) -> Answer:  # JSON
    row = {"status": status, "pid": pid, "supervisor": "none", "log": log}
    lines = {
        "started": f"{terminal.style('✓', 'green')} Daemon started (pid {pid}) in {took_s:.1f} s.",
        "already_running": f"The daemon already runs (pid {pid}).",
        "starting": f"! The daemon (pid {pid}) did not answer within {took_s:g} s. Its log: {log}",
    }
    return Answer(
        document=dumps({"success": status != "starting", "data": row}),
        rows=[row],
        lines=[lines[status]],
        exit_code=exits.PENDING if status == "starting" else exits.OK,
        next=["momo daemon status"] if status == "starting" else ["momo status"],
    )
