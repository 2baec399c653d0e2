"""Show one SMS: what was read in it, and why it is money or is not. The text with --show-body."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.messages import VIEW, lines
from momo_cli.naming import MESSAGES, id_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo messages show 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
  momo messages show 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --show-body
"""
_VIEW: Final = View(fields=(*VIEW.fields, Field("body")), id="id")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo messages show`."""

    message: str
    show_body: bool


def command(
    message: Annotated[str, typer.Argument(metavar="ID", help="The message.")],
    show_body: Annotated[
        bool,
        typer.Option(
            "--show-body", help="With the text: names, numbers, balances; noted in the journal."
        ),
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(message, show_body), _VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the message."""
    options = replace(options, message=id_of(client, MESSAGES, options.message))
    path = path_of(Path.LOCAL_MESSAGE, id=options.message)
    reply = client.get(path, show_body="1" if options.show_body else None)
    return Answer(document=reply.text, rows=[reply.data], lines=lines(reply.data, terminal))
