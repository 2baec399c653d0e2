"""Confirm a wording by one genuine message: from then on what it reads from that sender counts by itself.

Only for a message that you found in the wallet itself, on the phone. Approving it in a review is the same. --undo takes the
confirmation back.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.naming import MESSAGES, id_of
from momo_cli.passwords import owners_password
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo templates confirm 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
  momo templates confirm 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --undo
"""
VIEW: Final = View(
    fields=(
        Field("network"),
        Field("wording"),
        Field("sender"),
        Field("message_id"),
        Field("confirmed"),
    ),
    id="message_id",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo templates confirm`."""

    message: str
    undo: bool
    password_file: str | None


def command(
    message: Annotated[str, typer.Argument(metavar="ID", help="The genuine message.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take the confirmation back.")] = False,
    password_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The owner's password; - = stdin.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(message.strip(), undo, password_file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Confirm it."""
    options = replace(options, message=id_of(client, MESSAGES, options.message))
    body: dict[str, Any] = {"undo": options.undo}
    if not options.undo:
        body["password"] = owners_password(terminal, options.password_file)
    reply = client.call("POST", path_of(Path.LOCAL_MESSAGE_CONFIRM, id=options.message), body=body)
    row = reply.data
    what = f"{clean(row['network'])} {clean(row['wording'])} from {clean(row['sender'])}"
    said = "waits for a person again" if options.undo else "counts by itself from now on"
    return Answer(
        document=reply.text,
        rows=[row],
        lines=[f"{terminal.style('✓', 'green')} {what} {said}."],
        next=[] if options.undo else ["momo messages reparse --all-unparsed --dry-run"],
    )
