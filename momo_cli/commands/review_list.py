"""List the payments and messages that wait for a person, newest first; with --all, decided ones too."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.finding import faults
from momo_cli.headings import showing
from momo_cli.reviews import OPEN, VIEW
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo review list
  momo review list --fail-if-any --quiet
  momo review list --all -o csv --fields created_at,reason,amount,decided_by
"""
_LIMIT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo review list`."""

    every_state: bool
    limit: int
    offset: int
    fail_if_any: bool


def command(
    every: Annotated[
        bool, typer.Option("--all/--open", help="Also those that were decided; or not, as usual.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=_LIMIT_MAX, help="How many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    fail_if_any: Annotated[
        bool, typer.Option("--fail-if-any", help="Exit 6 when the list is not empty.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(every, limit, offset, fail_if_any), VIEW)


def run(client: Client, _terminal: Terminal, options: Options) -> Answer:
    """Ask for the reviews."""
    reply = client.get(
        Path.REVIEWS,
        state="all" if options.every_state else None,
        limit=options.limit,
        offset=options.offset,
    )
    rows = reply.data or []
    open_ = [clean(row.get("id")) for row in rows if row.get("state") == OPEN]
    return Answer(
        document=reply.text,
        rows=rows,
        heading=showing(reply, "reviews", offset=options.offset),
        empty="" if rows else "Nothing waits for you.",
        next=[f"momo review show {each}" for each in open_[:1]],
        exit_code=exits.FINDINGS if options.fail_if_any and rows else exits.OK,
        faults=faults(reply, "payment to review", "payments to review", wanted=options.fail_if_any),
    )
