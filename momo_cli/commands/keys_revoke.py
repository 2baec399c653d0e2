"""End an API key at once: whoever uses it is refused from the next call on. Exit 10: you did not say yes."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.keys import FIELDS, lines
from momo_cli.naming import KEYS, id_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import with_status

EXAMPLES: Final = """\
  momo keys revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
  momo keys revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
"""
_VIEW: Final = View(fields=(*FIELDS, Field("status")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo keys revoke`."""

    key: str


def command(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key: its id or name.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(key.strip()), _VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask, and end it."""
    options = replace(options, key=id_of(client, KEYS, options.key))
    path = path_of(Path.KEY, id=options.key)
    seen = client.get(path)
    if seen.data.get("state") == "revoked":
        return _ended(seen, f"{clean(seen.data.get('hint'))} was ended already.", "already_revoked")
    if not terminal.flags.yes:
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
    return _ended(reply, said, "revoked")


def _ended(reply: Reply, said: str, status: str) -> Answer:
    return Answer(
        document=with_status(reply.body, status),
        rows=[{**reply.data, "status": status}],
        lines=[said],
        next=["momo keys create --name NAME"],
    )
