"""Send one webhook again that was given up: the same body and id, freshly signed."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.dead_letters import VIEW, host
from momo_cli.naming import DEAD_LETTERS, id_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of

EXAMPLES: Final = """\
  momo dead-letters replay 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo dead-letters replay`."""

    letter: str


def command(
    letter: Annotated[str, typer.Argument(metavar="ID", help="The dead letter.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(letter.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Send it again."""
    options = replace(options, letter=id_of(client, DEAD_LETTERS, options.letter))
    path = path_of(Path.DEAD_LETTER_REPLAY, id=options.letter)
    reply = client.call("POST", path, idempotency_key=system.new_key())
    said = terminal.style("✓", "green")
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=[f"{said} It will be sent to {host(reply.data)} again."],
        notes=warnings_of(reply.body),
        next=[f"momo deliveries show {clean(reply.data.get('delivery_id'))} --attempts"],
    )
