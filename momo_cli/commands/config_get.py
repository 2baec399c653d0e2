"""Show one setting: its value alone in a pipe."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo config get http.bind
  momo config get webhooks.timeout_s --json
"""
VIEW: Final = View(
    fields=(Field("key"), Field("value"), Field("default"), Field("origin")), id="value"
)


@dataclass(frozen=True, slots=True)
class Options:
    """What `momo config get` is asked."""

    key: str


def command(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as http.bind.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(key.strip()), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask the daemon's program, which knows the settings."""
    done = ask(terminal, "config", "--json", "get", "--", options.key)
    row: dict[str, Any] = done.body["data"]
    value = row["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    origin = terminal.style(f"({clean(row['origin'])})", "dim")
    return Answer(
        document=done.text,
        rows=[row],
        lines=[f"{clean(text) or '—'}  {origin}"],
        plain=clean(text),
    )
