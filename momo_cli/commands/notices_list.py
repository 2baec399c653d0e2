"""List what you have to know and have not seen yet, newest first. With --all what you have seen too.

Looking does not mark them: momo notices seen does.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago

EXAMPLES: Final = """\
  momo notices list
  momo notices list --all --json
"""


def _mark(row: Row) -> Cell:
    if row.get("recovered_at"):
        return Cell("✓ over", "green")
    return Cell("! now", "red") if row.get("urgent") else Cell("- note", "dim")


VIEW: Final = View(
    fields=(
        Field("id"),
        Field("kind"),
        Field("urgent"),
        Field("text"),
        Field("next"),
        Field("count"),
        Field("first_at"),
        Field("last_at"),
        Field("seen_at"),
        Field("recovered_at"),
    ),
    heads=(
        Head("", lambda row, _: _mark(row)),
        Head("WHEN", lambda row, t: ago(row.get("last_at"), t)),
        Head("TIMES", lambda row, _: str(row.get("count") or ""), right=True),
        Head("WHAT", lambda row, _: clean(row.get("text"))),
        Head("TYPE", lambda row, _: clean(row.get("next")), cut=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo notices list`."""

    every: bool
    limit: int


def command(
    every: Annotated[bool, typer.Option("--all", help="What was seen too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="At most so many.")] = 50,
) -> Call:
    """Read the flags."""
    return Call(run, Options(every, limit), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Ask for the notices."""
    every = "1" if options.every else None
    reply = client.get(Path.LOCAL_NOTICES, all=every, limit=options.limit)
    rows = reply.data or []
    failed = at(reply.body, "meta.not_sent")
    notes = []
    if isinstance(failed, dict):
        notes.append(f"! {clean(failed.get('channel'))}: {clean(failed.get('error'))}")
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "Nothing new.",
        notes=notes,
        next=["momo notices seen"] if rows and not options.every else [],
    )
