"""Stop the daemon and start it again. Messages stay on the SIM meanwhile, and webhooks go on where they were.

Settings that are wrong are told before anything is stopped (exit 78). Flags are those of momo daemon start.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import ErrorCode
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import Failure
from momo_cli.process import ask
from momo_cli.run_flags import Http, InsecureHttp, Modems, NoModem, SimulatedPhone, run_flags
from momo_cli.running import VIEW, start, stop, told
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s

EXAMPLES: Final = """\
  momo daemon restart
  momo daemon restart --wait 60s --json
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon restart`."""

    wait_s: float
    flags: tuple[str, ...]


def command(
    wait: Annotated[str, typer.Option(metavar="TIME", help="For how long, each way.")] = "30s",
    http: Http = None,
    insecure_http: InsecureHttp = False,
    modem: Modems = None,
    no_modem: NoModem = False,
    simulated_phone: SimulatedPhone = False,
) -> Call:
    """Read the flags."""
    flags = run_flags(
        http,
        modem or [],
        no_modem=no_modem,
        simulated_phone=simulated_phone,
        insecure_http=insecure_http,
    )
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
    return told(started, terminal, again=True)
