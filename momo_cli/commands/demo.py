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
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo demo`."""

    keep: bool


def command(
    keep: Annotated[bool, typer.Option("--keep", help="Leave it running to play with.")] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(keep))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Become the demo."""
    become(terminal, "demo", *(["--keep"] if options.keep else []))
