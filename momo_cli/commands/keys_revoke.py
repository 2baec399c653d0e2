"""End an API key at once: whoever uses it is refused from the next call on. Exit 10: you did not say yes."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, View
from momo_cli.client import Client, path_of
from momo_cli.keys import FIELDS, lines
from momo_cli.naming import KEYS, id_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo keys revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
  momo keys revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo keys revoke`."""

    key: str


def command(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key: its id or name.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(key.strip()), View(fields=FIELDS))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask, and end it."""
    options = replace(options, key=id_of(client, KEYS, options.key))
    path = path_of(Path.KEY, id=options.key)
    if not terminal.flags.yes:
        seen = client.get(path)
        for line in lines(seen.data, terminal):
            terminal.complain(line)
        if terminal.ask("End this key for good? [y/N] ", "--yes").lower() not in ("y", "yes"):
            return Answer(
                document=seen.text,
                rows=[seen.data],
                lines=["Nothing was changed."],
                exit_code=exits.CANCELLED,
            )
    reply = client.call("DELETE", path)
    said = f"{terminal.style('✓', 'green')} Ended {clean(reply.data.get('hint'))}"
    return Answer(
        document=reply.text, rows=[reply.data], lines=[said], next=["momo keys create --name NAME"]
    )
