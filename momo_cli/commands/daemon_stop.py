"""Stop the daemon, and wait until it is gone. Messages stay on the SIM meanwhile."""

import os
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.render import dumps
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s

EXAMPLES: Final = """\
  momo daemon stop
  momo daemon stop --wait 60s --json
"""
VIEW: Final = View(fields=(Field("status"),), id="status")
_PAUSE_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon stop`."""

    wait_s: float


def command(
    wait: Annotated[str, typer.Option(metavar="TIME", help="For how long.")] = "30s",
) -> Call:
    """Read the flags."""
    return Call(run, Options(duration_s(wait, "--wait")), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask the daemon to stop, and wait until nobody listens."""
    if not client.alive():
        if not os.path.exists(terminal.located.places.database):  # noqa: PTH110  # no pathlib needed
            raise Failure(ErrorCode.NOT_SET_UP)
        return _answer(terminal, "already_stopped")
    client.call("POST", Path.LOCAL_SHUTDOWN)
    started = system.monotonic()
    while client.alive():
        if options.wait_s and system.monotonic() - started >= options.wait_s:
            return _answer(terminal, "stopping")
        client.pause(_PAUSE_S)
    return _answer(terminal, "stopped")


def _answer(terminal: Terminal, status: str) -> Answer:
    lines = {
        "stopped": f"{terminal.style('✓', 'green')} Daemon stopped.",
        "already_stopped": "The daemon does not run.",
        "stopping": "! The daemon was asked to stop and still runs.",
    }
    row = {"status": status}
    return Answer(
        document=dumps({"success": status != "stopping", "data": row}),
        rows=[row],
        lines=[lines[status]],
        exit_code=exits.PENDING if status == "stopping" else exits.OK,
        next=["momo daemon status"] if status == "stopping" else [],
    )
