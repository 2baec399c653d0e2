"""Show one review: the message, the payment and the order side by side, why it waits, what to do."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.naming import REVIEWS, id_of
from momo_cli.reviews import VIEW, lines, next_commands
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo review show 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo review show 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --get data.what_to_do
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo review show`."""

    review: str


def command(
    review: Annotated[str, typer.Argument(metavar="ID", help="The review.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(review.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the review."""
    options = replace(options, review=id_of(client, REVIEWS, options.review))
    reply = client.get(path_of(Path.REVIEW, id=options.review))
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=lines(reply.data, terminal),
        next=next_commands(reply.data),
    )
