"""Look through a copy from end to end: the newest, or the one that is named. Exit 6: it is not sound.

--drill also puts it back in a folder of its own, opens it there as the daemon would, and removes that again: the shop is not
touched. momo service install --timers does so every week.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import backups
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo backup verify
  momo backup verify --latest --drill
  momo backup verify /media/stick/momo-20261121T080000Z.db
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo backup verify`; no name means the newest."""

    name: str | None
    drill: bool


def command(
    name: Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="The copy.")] = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="The newest, as without a name.")
    ] = False,
    drill: Annotated[
        bool, typer.Option("--drill", help="Put it back somewhere else and open it, for practice.")
    ] = False,
) -> Call:
    """Read the flags."""
    if latest and name is not None:
        raise usage("give a copy or --latest, not both")
    return Call(run, Options(name, drill), backups.VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Look through it."""
    named = [] if options.name is None else [options.name]
    done = backups.run(terminal, "verify", *named, *(["--drill"] if options.drill else []))
    said = (
        "Sound: put back in a folder of its own, opened, and removed."
        if options.drill
        else "Sound."
    )
    return backups.shown(done, terminal, said, [])
