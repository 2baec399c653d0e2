"""Stop the daemon, and wait until it is gone. Messages stay on the SIM meanwhile."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.running import stop
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo daemon stop
  momo daemon stop --wait 60s --json
"""
VIEW: Final = View(fields=(Field("status"),), id="status")


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
    return _answer(terminal, stop(client, terminal, options.wait_s))


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
