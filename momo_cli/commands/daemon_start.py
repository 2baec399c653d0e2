"""Start the daemon in the background, and wait until it answers.

Exit 0 started or already running, 8 when it does not answer in time. A shop that was
installed as a service is started by it (momo service install). momo logs shows what it does.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.run_flags import run_flags
from momo_cli.running import start
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo daemon start
  momo daemon start --wait 60s --http 127.0.0.1:8420
"""
VIEW: Final = View(fields=(Field("status"), Field("pid"), Field("log")), id="pid")


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
    """Start the daemon unless it runs, and say so."""
    started = start(client, terminal, options.flags, options.wait_s)
    row = {
        "status": started.status,
        "pid": started.pid,
        "supervisor": started.supervisor,
        "log": started.log,
    }
    pid, took_s = started.pid, started.took_s
    lines = {
        "started": f"{terminal.style('✓', 'green')} Daemon started (pid {pid}) in {took_s:.1f} s.",
        "already_running": f"The daemon already runs (pid {pid}).",
        "starting": f"! The daemon did not answer within {took_s:g} s. Its log: {started.log}",
    }
    waits = started.status == "starting"
    return Answer(
        document=dumps({"success": not waits, "data": row}),
        rows=[row],
        lines=[lines[started.status]],
        exit_code=exits.PENDING if waits else exits.OK,
        next=["momo daemon status"] if waits else ["momo status"],
    )
