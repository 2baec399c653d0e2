"""Start the daemon in the background, and wait until it answers.

Exit 0 started or already running, 8 when it does not answer in time. A shop that was
installed as a service is started by it (momo service install). momo logs shows what it does.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.run_flags import Http, InsecureHttp, Modems, NoModem, SimulatedPhone, run_flags
from momo_cli.running import VIEW, start, told
from momo_cli.terminal import Terminal
from momo_cli.times import duration_s

EXAMPLES: Final = """\
  momo daemon start
  momo daemon start --wait 60s --http 127.0.0.1:8420
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon start`."""

    wait_s: float
    flags: tuple[str, ...]


def command(
    wait: Annotated[str, typer.Option(metavar="TIME", help="For how long.")] = "20s",
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
    """Start the daemon unless it runs, and say so."""
    started = start(client, terminal, options.flags, options.wait_s)
    return told(started, terminal)
