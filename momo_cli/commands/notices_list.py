"""List what you have to know and have not seen yet, newest first. With --all what you have seen too.

Looking does not mark them: momo notices seen does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Cell, Field, Row, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, styled

EXAMPLES: Final = """\
  momo notices list
  momo notices list --all --json
"""


_INDENT: Final = "       "


def _mark(row: Row) -> Cell:
    if row.get("recovered_at"):
        return Cell("✓ over", "green")
    return Cell("! now", "red") if row.get("urgent") else Cell("- note", "dim")


def _lines(row: Row, terminal: Terminal) -> Iterator[str]:
    """Tell one notice: since when, its id, what it is, and the command by itself, to be copied."""
    count = row.get("count")
    times = f"  {count} times" if isinstance(count, int) and count > 1 else ""
    which = terminal.style(clean(row.get("id")), "dim")
    yield f"{styled(_mark(row), terminal)}  {ago(row.get('last_at'), terminal)}{times}  {which}"
    yield f"{_INDENT}{clean(row.get('text'))}"
    if command := clean(row.get("next")):
        yield f"{_INDENT}{command}"


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


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
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
        lines=[line for row in rows for line in _lines(row, terminal)],
        empty="" if rows else "Nothing new.",
        notes=notes,
        next=["momo notices seen"] if rows and not options.every else [],
    )
