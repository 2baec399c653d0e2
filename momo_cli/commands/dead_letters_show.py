"""Show one webhook that was given up: why, and what was to be sent."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.dead_letters import VIEW, lines, next_commands
from momo_cli.naming import DEAD_LETTERS, id_of
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo dead-letters show 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo dead-letters show 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --payload
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo dead-letters show`."""

    letter: str
    payload: bool


def command(
    letter: Annotated[str, typer.Argument(metavar="ID", help="The dead letter.")],
    payload: Annotated[
        bool, typer.Option("--payload", help="Also the body that was to be sent.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(letter.strip(), payload), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the dead letter."""
    options = replace(options, letter=id_of(client, DEAD_LETTERS, options.letter))
    reply = client.get(path_of(Path.DEAD_LETTER, id=options.letter))
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=lines(reply.data, terminal),
        verbatim=[dumps(reply.data.get("payload"))] if options.payload else (),
        next=next_commands([reply.data]),
    )
