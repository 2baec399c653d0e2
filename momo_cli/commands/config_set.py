"""Change one setting in the shop's config.toml; comments and everything else in it stay as they are.

A value that will not do is refused before anything is written (exit 78). A list is separated by commas. --default takes
the setting out of the file again. The daemon reads its settings when it starts.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo config set http.bind 127.0.0.1:9000
  momo config set webhooks.allow_private_hosts till.local,books.local
  momo config set webhooks.timeout_s --default
"""
VIEW: Final = View(
    fields=tuple(Field(name) for name in ("key", "value", "old", "path", "changed", "restart")),
    id="key",
)


@dataclass(frozen=True, slots=True)
class Options:
    """What `momo config set` is told; no value means the one that is built in."""

    key: str
    value: str | None


def command(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as http.bind.")],
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="What it becomes.")] = None,
    default: Annotated[
        bool, typer.Option("--default", help="What is built in, instead of a VALUE.")
    ] = False,
) -> Call:
    """Read the flags."""
    if (value is None) != default:
        raise usage("say a VALUE or --default", "momo config set --help")
    return Call(run, Options(key.strip(), value), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Have the daemon's program change the file, and say whether the daemon must start again."""
    if options.value is None:
        done = ask(terminal, "config", "--json", "unset", "--", options.key)
    else:
        done = ask(terminal, "config", "--json", "set", "--", options.key, options.value)
    row: dict[str, Any] = {**done.body["data"], "restart": False}
    # A value that is written down for the first time may be what is built in.
    row["restart"] = bool(row["changed"]) and row["value"] != row["old"] and client.alive()
    mark = terminal.style("✓", "green")
    said = f"{mark} {row['key']} = {_shown(row['value'])} (was {_shown(row['old'])})"
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[said if row["changed"] else f"{row['key']} is {_shown(row['value'])} already."],
        notes=["The daemon runs with the old value until it is started again."]
        if row["restart"]
        else [],
        next=["momo daemon restart"] if row["restart"] else [],
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(clean(item) for item in value)}]"
    return "—" if value is None else clean(value) or '""'
