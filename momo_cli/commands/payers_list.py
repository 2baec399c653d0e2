"""List the names that you approved for a number, newest first; with --all, those that were revoked too.

A receipt that carries no number is taken for the expected payer's when its name was approved for that number.
Approving a review "payer's number not on the receipt" approves the name.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.payers import VIEW
from momo_cli.terminal import Terminal
from momo_cli.text import clean

EXAMPLES: Final = """\
  momo payers list
  momo payers list --phone 0244124567 --all
"""
_LIMIT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo payers list`."""

    phone: str | None
    every_state: bool
    limit: int
    offset: int


def command(
    phone: Annotated[str | None, typer.Option(help="Only names for this number.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that were revoked.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=_LIMIT_MAX, help="How many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
) -> Call:
    """Read the flags."""
    return Call(run, Options(phone, every, limit, offset), VIEW)


def run(client: Client, _terminal: Terminal, options: Options) -> Answer:
    """Ask for the names."""
    reply = client.get(
        Path.APPROVED_PAYERS,
        phone_number=options.phone,
        state="all" if options.every_state else None,
        limit=options.limit,
        offset=options.offset,
    )
    rows = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        empty="" if rows else "No names were approved.",
        next=[f"momo payers revoke {clean(rows[0].get('id'))}"] if rows else [],
    )
