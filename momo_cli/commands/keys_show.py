"""Show one API key: what it may do, until when, and when it was last used."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, View
from momo_cli.client import Client, path_of
from momo_cli.keys import FIELDS, lines
from momo_cli.naming import KEYS, id_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo keys show 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo keys show`."""

    key: str


def command(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key: its id or name.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(key.strip()), View(fields=FIELDS))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the key."""
    options = replace(options, key=id_of(client, KEYS, options.key))
    reply = client.get(path_of(Path.KEY, id=options.key))
    return Answer(document=reply.text, rows=[reply.data], lines=lines(reply.data, terminal))
