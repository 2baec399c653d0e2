"""Starting and stopping the daemon, for the commands that do: by the service that keeps it, or by ourselves."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.wire import ErrorCode, Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import spawn
from momo_cli.services import do, supervisor_of
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

PAUSE_S: Final = 0.05
VIEW: Final = View(fields=(Field("status"), Field("pid"), Field("log")), id="pid")
_TAIL_BYTES: Final = 2000
_ERROR: Final = "error: "
_LAST_WORDS: Final = 10
"""An error is a line or a few, with what to type next behind it."""
_DIED: Final = {
    exits.DATABASE: ErrorCode.DATABASE_DAMAGED,
    exits.TEMPORARY: ErrorCode.LOCKED,
    exits.CONFIGURATION: ErrorCode.CONFIG_INVALID,
}


@dataclass(frozen=True, slots=True)
class Started:
    """What came of a start.

    Attributes:
        status: `started`, `already_running`, or `starting` when it did not answer in time.
        supervisor: Who keeps it running; `none` when nobody does.
    """

    status: str
    pid: Any  # JSON
    log: str
    took_s: float
    supervisor: str = "none"


def start(client: Client, terminal: Terminal, flags: Sequence[str], wait_s: float) -> Started:
    """Start the daemon unless it runs, and wait until its socket answers.

    Args:
        client: Asks the daemon.
        terminal: The person's side.
        flags: For `daemon run`; a service has flags of its own, so with any we start it ourselves.
        wait_s: At most so long; 0 is for ever.

    Raises:
        Failure: NOT_SET_UP, or what the daemon said when it died.
    """
    log = f"{terminal.located.places.log}/daemon.log"
    if client.alive():
        status = client.get(Path.LOCAL_STATUS).data or {}
        return Started("already_running", status.get("pid"), log, 0.0)
    if not os.path.exists(terminal.located.places.database):  # noqa: PTH110  # no pathlib needed
        raise Failure(ErrorCode.NOT_SET_UP)
    started = system.monotonic()
    service = None if flags else supervisor_of(terminal)
    child: subprocess.Popen[bytes] | None = None
    if service is not None:
        try:
            do(terminal, service.control("start"))
        except Failure as failure:
            # Started by ourselves it says itself what is wrong, or goes where systemd does not run.
            terminal.note(f"! {failure.message}")
            service = None
    if service is None:
        try:
            child = spawn(terminal, log, flags)
        except OSError as problem:
            raise Failure(ErrorCode.INTERNAL_ERROR, f"{log}: {problem.strerror}") from None
    keeper = "none" if service is None else str(service.kind)
    while not client.alive():
        code = None if child is None else child.poll()
        if code is not None:
            raise _died(code, log)
        if wait_s and system.monotonic() - started >= wait_s:
            return Started("starting", _let_go(child), log, wait_s, keeper)
        client.pause(PAUSE_S)
    pid = _let_go(child) or (client.get(Path.LOCAL_STATUS).data or {}).get("pid")
    return Started("started", pid, log, system.monotonic() - started, keeper)


def told(started: Started, terminal: Terminal, *, again: bool = False) -> Answer:
    """Say what came of a start, or with `again` of a restart; exit 8 when it does not answer yet."""
    waits = started.status == "starting"
    status = "restarted" if again and not waits else started.status
    pid, took_s = started.pid, started.took_s
    row = {"status": status, "pid": pid, "supervisor": started.supervisor, "log": started.log}
    done = f"{terminal.style('✓', 'green')} Daemon {status} (pid {pid}) in {took_s:.1f} s."
    lines = {
        "already_running": f"The daemon already runs (pid {pid}).",
        "starting": f"! The daemon did not answer within {took_s:g} s. Its log: {started.log}",
    }
    return Answer(
        document=dumps({"success": not waits, "data": row}),
        rows=[row],
        lines=[lines.get(status, done)],
        exit_code=exits.PENDING if waits else exits.OK,
        next=["momo daemon status"] if waits else ["momo status"],
    )


def stop(client: Client, terminal: Terminal, wait_s: float) -> str:
    """Ask the daemon to stop and wait until nobody listens; `stopped`, `already_stopped` or `stopping`.

    A service that is told so ends well, and its supervisor leaves it at that.

    Raises:
        Failure: NOT_SET_UP.
    """
    if not client.alive():
        if not os.path.exists(terminal.located.places.database):  # noqa: PTH110  # no pathlib needed
            raise Failure(ErrorCode.NOT_SET_UP)
        return "already_stopped"
    client.call("POST", Path.LOCAL_SHUTDOWN)
    started = system.monotonic()
    while client.alive():
        if wait_s and system.monotonic() - started >= wait_s:
            return "stopping"
        client.pause(PAUSE_S)
    return "stopped"


def _let_go(child: subprocess.Popen[bytes] | None) -> int | None:
    if child is None:
        return None
    child.returncode = 0  # it goes on without us; do not warn about it at exit
    return child.pid


def _died(code: int, log: str) -> Failure:
    said = _tail(log)
    if said.endswith(f"[{ErrorCode.NOT_SET_UP}]"):
        return Failure(ErrorCode.NOT_SET_UP)
    return Failure(
        _DIED.get(code, ErrorCode.INTERNAL_ERROR),
        f"the daemon ended with {code}" + (f": {said}" if said else f"; see {log}"),
        next=("momo daemon run",),
    )


def _tail(log: str) -> str:
    """Return the daemon's own error, which it says last; else the last line of the log."""
    try:
        with open(log, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    last = [line.strip() for line in reversed(lines) if line.strip()]
    errors = (line for line in last[:_LAST_WORDS] if line.startswith(_ERROR))
    return next(errors, next(iter(last), "")).removeprefix(_ERROR)
