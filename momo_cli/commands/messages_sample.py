"""Make a sample of a message to send to the maintainers: --redact replaces every name, number, ID and amount.

Equal ones stay equal and the shape is kept, so that a wording can be made from it. Look at it before you send it.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import pasted, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure
from momo_cli.naming import MESSAGES, id_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps
from privacy.redact import redact

EXAMPLES: Final = """\
  momo messages sample 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --redact
  momo messages sample 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --redact --json > sample.json
"""
VIEW: Final = View(
    fields=(Field("sender"), Field("kind"), Field("wording"), Field("why"), Field("text")),
    id="text",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo messages sample`."""

    message: str
    redact: bool


def command(
    message: Annotated[str, typer.Argument(metavar="ID", help="The message.")],
    redacted: Annotated[
        bool, typer.Option("--redact", help="Replace names, numbers, IDs and amounts.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(message, redacted), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Fetch it, and say how it is read."""
    options = replace(options, message=id_of(client, MESSAGES, options.message))
    data: dict[str, Any] = client.get(
        path_of(Path.LOCAL_MESSAGE, id=options.message), show_body="1"
    ).data
    body, sender = data.get("body"), data.get("sender")
    if not isinstance(body, str):
        raise Failure("MESSAGE_NOT_FOUND", "nothing but unreadable parts of it is there")
    text = body
    if options.redact:
        # A key for this one sample: nobody, not even we, can turn it back.
        text = redact(body, system.new_key().encode(), sender=sender)
        if isinstance(sender, str) and sender.lstrip("+").isdigit():
            sender = "a number"
    told = pasted.told(pasted.Source(sender=sender, own=pasted.own_of(terminal)), text)
    row = {
        "sender": sender,
        "redacted": options.redact,
        "text": text,
        **{name: told[name] for name in ("kind", "network", "wording", "why", "fields", "nearest")},
    }
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        verbatim=[
            f"from {clean(sender)}",
            *(f"| {clean(line)}" for line in text.splitlines()),
            f"read as {clean(row['wording'] or 'nothing')}: {clean(row['why'])}",
        ],
        notes=() if options.redact else ("Names and numbers are in it: --redact takes them out.",),
    )
