"""See a payment from SMS to webhook: a throw-away shop, a pretend phone, a real daemon.

Nothing of yours is touched. --keep leaves it running and says what to type.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.process import become
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo demo
  momo demo --keep
  momo demo --phone huawei --fault storm
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo demo`, as the daemon's program takes them."""

    flags: tuple[str, ...]


def command(
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running to play with.")] = False,
    phone: Annotated[
        str | None,
        typer.Option(
            metavar="MAKE",
            help="generic, huawei, zte, sim800, quectel or wavecom: the make.",
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="What goes wrong with it, such as storm; may be repeated."
        ),
    ] = None,
) -> Call:
    """Read the flags."""
    flags = ["--keep"] if keep else []
    flags += [f"--phone={phone}"] if phone else []
    flags += [f"--fault={name}" for name in fault or []]
    return Call(run, Options(tuple(flags)))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Become the demo."""
    become(terminal, "demo", *options.flags)
