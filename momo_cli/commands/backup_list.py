"""List the copies in the shop's own folder, newest first."""

from dataclasses import dataclass
from typing import Final

from momo_cli import backups
from momo_cli.answer import Answer, Call, Field, Head, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import ago, size

EXAMPLES: Final = """\
  momo backup list
"""
VIEW: Final = View(
    fields=(Field("id"), Field("path"), Field("bytes"), Field("made_at")),
    heads=(
        Head("ID", lambda row, _: clean(row.get("id"))),
        Head("MADE", lambda row, t: ago(row.get("made_at"), t)),
        Head("SIZE", lambda row, _: size(int(row.get("bytes") or 0)), right=True),
        Head("FILE", lambda row, _: clean(row.get("path")), cut=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """`momo backup list` has no flags of its own."""


def command() -> Call:
    """Read the flags."""
    return Call(run, Options(), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Look into the folder."""
    done = backups.run(terminal, "list")
    rows = done.body["data"]
    return Answer(
        document=done.text,
        rows=rows,
        empty="" if rows else "No copy yet.",
        next=[] if rows else ["momo backup create"],
    )
