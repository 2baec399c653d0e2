"""Put a copy in the place of the shop's database; the one there is kept beside it. Stop the daemon first.

What came in after the copy was made is not in it: SMS that are still on the SIM are read again, webhooks that were
sent since may be sent again, under the same ids. Type the shop's name to confirm, or give it with --confirm.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import backups, exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo restore --dry-run
  momo restore 20261121T080000Z
  momo restore /media/stick/momo-20261121T080000Z.db --confirm "Ama Provisions"
"""
VIEW: Final = View(fields=(*backups.FIELDS[:-1], Field("kept"), Field("dry_run")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo restore`; no name means the newest copy."""

    name: str | None
    dry_run: bool
    confirm: str | None


def command(
    name: Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="The copy.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look at it.")] = False,
    confirm: Annotated[str | None, typer.Option(metavar="SHOP", help="The shop's name.")] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(name, dry_run, confirm), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Look at it, ask, put it there."""
    named = [] if options.name is None else [options.name]
    seen = backups.run(terminal, "restore", *named, "--dry-run")
    row: dict[str, Any] = seen.body["data"]
    if options.dry_run:
        said = [
            "Sound. It would be put in the place of the database:",
            *backups.lines(row, terminal),
        ]
        return Answer(document=seen.text, rows=[row], lines=said, next=["momo daemon stop"])
    if not terminal.flags.yes:
        typed = options.confirm
        if typed is None:
            for line in backups.lines(row, terminal):
                terminal.complain(line)
            typed = terminal.ask(f"Type {clean(row['shop'])} to put it back: ", "--confirm")
        if typed.strip() != row["shop"]:
            return Answer(
                document=seen.text,
                rows=[row],
                lines=["Nothing was changed."],
                exit_code=exits.CANCELLED,
            )
    done = backups.run(terminal, "restore", *named)
    data: dict[str, Any] = done.body["data"]
    lines = [f"{terminal.style('✓', 'green')} Put back.", *backups.lines(data, terminal)]
    if data.get("kept"):
        lines.append(f"  {'before':<6} {clean(data['kept'])}")
    notes = []
    if data.get("webhooks_that_may_repeat"):
        notes.append(
            f"{data['webhooks_that_may_repeat']} webhooks may be sent again, under the same ids."
        )
    return Answer(
        document=done.text, rows=[data], lines=lines, notes=notes, next=["momo daemon start"]
    )
