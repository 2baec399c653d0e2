"""Show every setting; with --origin also where each value comes from, as file and line."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call, Cell, Field, Head, View
from momo_cli.client import Client
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo config show
  momo config show --origin
  momo config show --changed --json
"""
_FIELDS: Final = (Field("key"), Field("value"), Field("default"), Field("origin"))
_KEY: Final = Head("SETTING", lambda row, _: clean(row["key"]))
_ORIGIN: Final = Head(
    "FROM",
    lambda row, _: Cell(clean(row["origin"]), "dim" if row["origin"] == "default" else ""),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo config show`."""

    changed: bool


def command(
    origin: Annotated[
        bool, typer.Option("--origin", help="Say where each value comes from.")
    ] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Only those that a file sets.")
    ] = False,
) -> Call:
    """Read the flags."""
    value = Head("VALUE", lambda row, _: _shown(row["value"]), cut=True)
    heads = (_KEY, value, _ORIGIN) if origin else (_KEY, value)
    return Call(run, Options(changed), View(fields=_FIELDS, heads=heads, id="key"))


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask the daemon's program, which knows the settings."""
    done = ask(terminal, "config", "show", "--json")
    rows = [row for row in done.body["data"] if not options.changed or row["origin"] != "default"]
    return Answer(
        document=json.dumps({"success": True, "data": rows}, ensure_ascii=False),
        rows=rows,
        empty="" if rows else "No file sets anything; all is as built in.",
        next=["momo config set KEY VALUE"],
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) or "—"
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) or "—"
