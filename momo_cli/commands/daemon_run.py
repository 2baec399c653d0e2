"""Run the daemon here, in the foreground, until Ctrl-C or SIGTERM.

Without --modem it serves those of [modems] ports, or finds them by itself. A second Ctrl-C does not
wait for what is under way: nothing that was decided is lost. Exit 74 damaged database, 75 another daemon holds this
shop, 78 not set up or wrong settings.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.process import become
from momo_cli.run_flags import Http, InsecureHttp, Modems, NoModem, SimulatedPhone, run_flags
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo daemon run
  momo daemon run --http 127.0.0.1:0 --modem /dev/ttyUSB1
  momo daemon run --log-json --http off
  momo daemon run --no-modem
  momo daemon run --simulated-phone
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo daemon run`, as the daemon's program takes them."""

    flags: tuple[str, ...]


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    http: Http = None,
    insecure_http: InsecureHttp = False,
    modem: Modems = None,
    no_modem: NoModem = False,
    simulated_phone: SimulatedPhone = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Logs as JSON lines.")] = False,
    supervised: Annotated[
        bool,
        typer.Option("--supervised", help="Tell systemd when ready, and that nothing hangs."),
    ] = False,
) -> Call:
    """Read the flags."""
    flags = run_flags(
        http,
        modem or [],
        no_modem=no_modem,
        simulated_phone=simulated_phone,
        insecure_http=insecure_http,
        log_json=log_json,
        supervised=supervised,
    )
    return Call(run, Options(flags))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Become the daemon."""
    become(terminal, "run", *options.flags)
