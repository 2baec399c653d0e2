"""Show one modem: its signal, network, SIM and storage, and what is wrong with what to do about it."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.modems import VIEW, document, find, shown
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo modems show front-desk
  momo modems show /dev/ttyUSB0 --json
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems show`."""

    modem: str


def command(
    modem: Annotated[
        str, typer.Argument(metavar="MODEM", help="Its name, id or port: momo modems list.")
    ],
) -> Call:
    """Read the flags."""
    return Call(run, Options(modem), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for it; a port on which no phone has said who it is has no address of its own."""
    row = find(client, options.modem)
    if row.get("device_id") is None:
        return shown(document(row), row, terminal)
    reply = client.get(path_of(Path.LOCAL_MODEM, id=row["device_id"]))
    return shown(reply.text, reply.data, terminal)
