"""Say where a payment went and why: each endpoint, each rule, each comparison, and the value seen.

By the rules as they were when it was decided; with --today by those of today, as a replay would.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call
from momo_cli.client import Client, path_of
from momo_cli.rules import CLAIMS, claim_lines
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import clock, money

EXAMPLES: Final = """\
  momo routes explain svc_trx_0123456789abcdef0123456789abcdef
  momo routes explain svc_trx_0123456789abcdef0123456789abcdef --today
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo routes explain`."""

    transaction: str
    today: bool


def command(
    transaction: Annotated[
        str,
        typer.Argument(metavar="REF", help="Its reference, or the transaction_id of a webhook."),
    ],
    today: Annotated[bool, typer.Option("--today", help="By the rules of today.")] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(transaction.strip(), today), CLAIMS)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the decisions."""
    reply = client.get(path_of(Path.ROUTING, id=options.transaction))
    data = reply.data
    paid = data.get("payment")
    reference = clean(data.get("reference"))
    if paid is None:
        told = ["No payment has verified it yet: nothing was sent."]
        return Answer(document=reply.text, lines=told, next=[f"momo tx show {reference}"])
    lines = [f"{money(paid.get('amount'), paid.get('currency'))}  {reference}"]
    decisions = [data["today"]] if options.today else data.get("decisions") or []
    for each in decisions:
        when = "by the rules of today" if options.today else clock(each.get("decided_at"), terminal)
        lines.append(f"{when}: {each.get('claims')} of {len(each['endpoints'])} get it")
        lines += claim_lines(each["endpoints"], terminal)
        if not each.get("claims"):
            lines.append("Nobody gets it: it is kept, and can be replayed.")
    if not decisions:
        lines.append("It was not sent by itself: it was rejected, or is older than its line.")
    return Answer(
        document=reply.text,
        rows=decisions[-1]["endpoints"] if decisions else [],
        lines=lines,
        next=[f"momo tx show {reference}"],
    )
