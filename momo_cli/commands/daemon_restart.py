"""Stop the daemon and start it again. Messages stay on the SIM meanwhile, and webhooks go on where they were.

Settings that are wrong are told before anything is stopped (exit 78). Flags are those of momo daemon start.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import ask
from momo_cli.run_flags import run_flags
from momo_cli.running import start, stop
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo daemon restart
  momo daemon restart --wait 60s --json
"""
VIEW: Final = View(fields=(Field("status"), Field("pid"), Field("log")), id="pid")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon restart`."""

    wait_s: float
    flags: tuple[str, ...]


def command(
    wait: Annotated[str, typer.Option(metavar="TIME", help="For how long, each way.")] = "30s",
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT|off", help="Where the API listens.")
    ] = None,
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
    flags = run_flags(http, modem or [], simulated_phone=simulated_phone)
    return Call(run, Options(duration_s(wait, "--wait"), flags), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look through the settings, stop, start."""
    ask(terminal, "config", "--json", "validate")
    stopped = stop(client, terminal, options.wait_s)
    if stopped == "stopping":
        raise Failure(
            ErrorCode.LOCKED,
            f"the old daemon still runs after {options.wait_s:g} s; nothing new was started",
            next=("momo daemon status",),
        )
    started = start(client, terminal, options.flags, options.wait_s)
    waits = started.status == "starting"
    row = {
        "status": "starting" if waits else "restarted",
        "pid": started.pid,
        "supervisor": started.supervisor,
        "log": started.log,
    }
    mark = terminal.style("✓", "green")
    good = f"{mark} Daemon restarted (pid {started.pid}) in {started.took_s:.1f} s."
    bad = f"! The daemon did not answer within {started.took_s:g} s. Its log: {started.log}"
    return Answer(
        document=dumps({"success": not waits, "data": row}),
        rows=[row],
        lines=[bad if waits else good],
        exit_code=exits.PENDING if waits else exits.OK,
        next=["momo daemon status"] if waits else ["momo status"],
    )
