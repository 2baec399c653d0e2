"""Note that you have seen the notices, all of them or one. What happens again is new again."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.naming import NOTICES, id_of
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo notices seen
  momo notices seen 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
"""
VIEW: Final = View(fields=(Field("seen"),), id="seen")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo notices seen`; no notice means all."""

    notice: str | None


def command(
    notice: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One notice: its id, or a part of it.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(notice), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Mark them."""
    body = {} if options.notice is None else {"id": id_of(client, NOTICES, options.notice.strip())}
    reply = client.call("POST", Path.LOCAL_NOTICES_SEEN, body=body)
    count = reply.data.get("seen") or 0
    said = f"{terminal.style('✓', 'green')} {count} notice{'s' if count != 1 else ''} seen."
    return Answer(document=reply.text, rows=[reply.data], lines=[said])
