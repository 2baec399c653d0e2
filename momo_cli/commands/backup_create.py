"""Copy the whole shop into one file, and look through the copy. The shop stays open meanwhile.

The file holds no key: what is secret in it is sealed. Keep a copy of master.key somewhere else (momo help files). When
something in the shop does not hold that always should, the copy is kept all the same, what was found is said, and the exit
code is 6. --keep thins out the shop's own folder afterwards, as momo backup prune does. Without --to the copy goes to
`[backup] also_to` too, where that is set: exit 6 when it cannot be put there, 0 with a word when the stick is out.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import backups
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo backup create
  momo backup create --to /media/stick
  momo backup create --keep 7d,4w,12m --quiet
"""
VIEW: Final = View(fields=(*backups.FIELDS, Field("also", "also.status")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo backup create`."""

    to: str | None
    keep: str | None


def command(
    to: Annotated[
        str | None,
        typer.Option(metavar="FOLDER|FILE", help="Where; the shop's own folder if not said."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="7d,4w,12m", help="Then thin out the old ones.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(to, keep), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Make it."""
    named = (("to", options.to), ("keep", options.keep))
    flags = [f"--{name}={value}" for name, value in named if value is not None]
    done = backups.run(terminal, "create", *flags)
    return backups.shown(done, terminal, "Copied and looked through.", ["momo backup list"])
