"""Check the settings without starting anything; exit 78, with file, line and the nearest known key, when they are wrong."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo config validate
  momo config validate new.toml
"""
VIEW: Final = View(fields=(Field("path"), Field("valid")), id="path")


@dataclass(frozen=True, slots=True)
class Options:
    """What `momo config validate` is asked."""

    file: str | None


def command(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Another file than the shop's.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(file), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask the daemon's program, which knows the settings."""
    done = ask(terminal, "config", "--json", "validate", *([options.file] if options.file else []))
    row: dict[str, Any] = done.body["data"]
    mark = terminal.style("✓", "green")
    return Answer(document=done.text, rows=[row], lines=[f"{mark} {clean(row['path'])} is valid."])
