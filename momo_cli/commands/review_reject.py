"""Reject a doubtful payment: it pays nothing and is not forwarded, and its order waits for its money again.

Real money stays in the wallet and in the books: give it back, or match it later with momo reconcile.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, Reply, path_of
from momo_cli.naming import REVIEWS, id_of
from momo_cli.reviews import VIEW, next_commands
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import money, state, styled

EXAMPLES: Final = """\
  momo review reject 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --notes "no such money in the wallet"
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo review reject`."""

    review: str
    notes: str


def command(
    review: Annotated[str, typer.Argument(metavar="ID", help="The review.")],
    notes: Annotated[str, typer.Option("--notes", "--reason", help="Why; kept in the audit log.")],
) -> Call:
    """Read the flags."""
    return Call(run, Options(review.strip(), notes), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Reject it."""
    options = replace(options, review=id_of(client, REVIEWS, options.review))
    reply = client.call(
        "POST",
        path_of(Path.REVIEW_REJECT, id=options.review),
        body={"notes": options.notes},
        idempotency_key=system.new_key(),
    )
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=_lines(reply, terminal),
        next=next_commands(reply.data),
    )


def _lines(reply: Reply, terminal: Terminal) -> list[str]:
    row, amount = reply.data, money(reply.data.get("amount"), reply.data.get("currency"))
    said = terminal.style("✓ Rejected.", "green")
    if reply.body.get("transaction") is None:
        return [f"{said} The message counts as nothing."]
    kept = clean(at(reply.body, "transaction.reference"))
    found = [f"{said} {amount} is kept and not forwarded ({kept})."]
    if row.get("request") is not None:
        status = styled(state(at(row, "request.status")), terminal)
        found.append(f"  its order  {clean(at(row, 'request.reference'))}  {status}")
    return found
