"""Give a modem a name of your own: other commands take it wherever they ask for a MODEM or DEVICE."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.errors import usage
from momo_cli.modems import VIEW, called, find
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo modems name huawei-e3131-4f2a front-desk
  momo modems name /dev/ttyUSB0 "till 2"
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo modems name`."""

    modem: str
    name: str


def command(
    modem: Annotated[
        str, typer.Argument(metavar="MODEM", help="Its name, id or port: momo modems list.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Up to 40 characters, no : or /.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(modem, name), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Rename it."""
    row = find(client, options.modem)
    if row.get("device_id") is None:
        raise usage(
            f"no phone has answered on {options.modem} yet, so there is none to name",
            "momo doctor modem",
        )
    path = path_of(Path.LOCAL_MODEM, id=row["device_id"])
    reply = client.call("PATCH", path, body={"name": options.name})
    line = f"{terminal.style('✓', 'green')} {called(row)} is called {called(reply.data)} now"
    return Answer(document=reply.text, rows=[reply.data], lines=[line], next=["momo modems list"])
