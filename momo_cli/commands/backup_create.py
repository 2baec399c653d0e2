"""Copy the whole shop into one file, and look through the copy. The shop stays open meanwhile.

The file holds no key: what is secret in it is sealed. Keep a copy of master.key somewhere else (momo help files).
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import backups
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo backup create
  momo backup create --to /media/stick
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo backup create`."""

    to: str | None


def command(
    to: Annotated[
        str | None,
        typer.Option(metavar="FOLDER|FILE", help="Where; the shop's own folder if not said."),
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(to), backups.VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Make it."""
    flags = [] if options.to is None else [f"--to={options.to}"]
    done = backups.run(terminal, "create", *flags)
    return backups.shown(done, terminal, "Copied and looked through.", ["momo backup list"])
