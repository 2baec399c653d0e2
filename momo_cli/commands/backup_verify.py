"""Look through a copy from end to end: the newest, or the one that is named. Exit 6: it is not sound."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import backups
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo backup verify
  momo backup verify /media/stick/momo-20261121T080000Z.db
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo backup verify`; no name means the newest."""

    name: str | None


def command(
    name: Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="The copy.")] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(name), backups.VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Look through it."""
    done = backups.run(terminal, "verify", *([] if options.name is None else [options.name]))
    return backups.shown(done, terminal, "Sound.", [])
