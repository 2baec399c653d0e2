"""Remove old copies from the shop's own folder: some days, weeks and months keep their newest one.

In the second place (`[backup] also_to`) the same is done, where it is there.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import backups
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo backup prune --dry-run
  momo backup prune --keep 7d,4w,12m
"""
VIEW: Final = View(fields=(Field("id"), Field("kept")))


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo backup prune`."""

    keep: str
    dry_run: bool


def command(
    keep: Annotated[str, typer.Option(metavar="7d,4w,12m", help="What to keep.")] = "7d,4w,12m",
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Only say what would go.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(keep, dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Thin them out."""
    flags = [f"--keep={options.keep}", *(["--dry-run"] if options.dry_run else [])]
    done = backups.run(terminal, "prune", *flags)
    data: dict[str, Any] = done.body["data"]
    going, staying = data["removed"], data["kept"]
    verb = "would go" if options.dry_run else "removed"
    rows = [{"id": one, "kept": True} for one in staying]
    rows += [{"id": one, "kept": False} for one in going]
    said = f"{terminal.style('✓', 'green')} {len(going)} {verb}, {len(staying)} stay."
    if there := data.get("also_removed"):
        said += f" In the second place {len(there)} {verb}."
    return Answer(
        document=done.text, rows=rows, lines=[said, *(f"  {one}" for one in going)], faults=()
    )
