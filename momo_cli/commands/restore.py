"""Put a copy in the place of the shop's database; the one there is kept beside it. Stop the daemon first, or --stop.

What came in after the copy was made is not in it: SMS that are still on the SIM are read again, webhooks that were
sent since may be sent again, under the same ids; how many of both is said. Type the shop's name to confirm, or give it
with --confirm; -y is not enough. --to puts a checked copy elsewhere and leaves the shop as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from momo_cli import backups, exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.running import stop
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import ago

EXAMPLES: Final = """\
  momo restore --dry-run
  momo restore 20261121T080000Z --stop
  momo restore --to /tmp/looked-at.db
  momo restore /media/stick/momo-20261121T080000Z.db --confirm "Ama Provisions"
"""
VIEW: Final = View(
    fields=(
        *backups.FIELDS,
        Field("kept"),
        Field("dry_run"),
        Field("to"),
        Field("payments_since"),
        Field("webhooks_repeated"),
    )
)


STOP_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo restore`; no name means the newest copy."""

    name: str | None
    dry_run: bool
    confirm: str | None
    to: str | None
    stop: bool


def command(
    name: Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="The copy.")] = None,
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Only look at it.")] = False,
    confirm: Annotated[str | None, typer.Option(metavar="SHOP", help="The shop's name.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="FILE", help="Put a copy there instead.")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the daemon first.")] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(name, dry_run, confirm, to, stop), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Look at it, ask, put it there."""
    named = [] if options.name is None else [options.name]
    if options.to is not None and not options.dry_run:
        # Nothing of the shop changes, so nobody is asked.
        done = backups.run(terminal, "restore", *named, f"--to={options.to}")
        return replace(
            backups.shown(done, terminal, f"Put at {clean(options.to)}.", []), exit_code=exits.OK
        )
    seen = backups.run(terminal, "restore", *named, "--dry-run")
    row: dict[str, Any] = seen.body["data"]
    if options.dry_run:
        said = [
            "Sound. It would be put in the place of the database:",
            *backups.lines(row, terminal),
        ]
        return Answer(document=seen.text, rows=[row], lines=said, next=["momo daemon stop"])
    typed = options.confirm
    if typed is None:  # --yes is not enough: what came after the copy is given up
        for line in backups.lines(row, terminal):
            terminal.complain(line)
        typed = terminal.ask(f"Type {clean(row['shop'])} to put it back: ", "--confirm")
    if typed.strip() != row["shop"]:
        return Answer(
            document=seen.text,
            rows=[row],
            lines=["Nothing was changed."],
            notes=[f"The shop is called {clean(row['shop'])}, not {clean(typed)}."],
            exit_code=exits.CANCELLED,
        )
    if options.stop and client.alive():
        stop(client, terminal, STOP_S)
    done = backups.run(terminal, "restore", *named)
    data: dict[str, Any] = done.body["data"]
    lines = [f"{terminal.style('✓', 'green')} Put back.", *backups.lines(data, terminal)]
    if data.get("kept"):
        lines.append(f"  {'before':<6} {clean(data['kept'])}")
    return Answer(
        document=done.text,
        rows=[data],
        lines=lines,
        notes=[*_since(data, terminal), *backups.findings(data)],
        next=["momo daemon start"],
    )


def _since(data: dict[str, Any], terminal: Terminal) -> Iterator[str]:
    """Say what happened after the copy was made, and is not in it."""
    when = ago(data.get("newest_at"), terminal)
    if count := data.get("payments_since"):
        yield (
            f"{_counted(count, 'payment')} came after the copy ({when}): what is still on a SIM is read again, the rest "
            "is only in the file that was kept. A customer's transaction ID finds a payment: momo reconcile."
        )
    if count := data.get("webhooks_repeated"):
        again = "goes" if count == 1 else "go"
        yield f"{_counted(count, 'webhook')} delivered since {again} out once more, under the same id."
    elif count := data.get("webhooks_that_may_repeat"):
        yield f"{_counted(count, 'webhook')} may be sent again, under the same id."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
