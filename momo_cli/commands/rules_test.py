"""Say which endpoints would get a payment, and why. Nothing is sent and nothing is kept.

The sample is what a webhook's `data` shows, whole or in part, or a whole webhook. With --filter or FIELD OP VALUE, also
whether that would claim it.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.amounts import read_json
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.rules import CLAIMS, claim_lines, read_filter
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of

EXAMPLES: Final = """\
  momo rules test --sample '{"amount": "12.50", "telco": {"provider": "mtn"}}'
  momo rules test --sample @webhook.json amount '>=' 50
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo rules test`."""

    body: dict[str, Any]


def command(
    sample: Annotated[
        str, typer.Option(metavar="JSON|@FILE", help="The payment, as a webhook shows it.")
    ],
    conditions: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD OP VALUE]...", help="Also try this.")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="JSON|@FILE", help="The same in JSON.")
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Try the sandbox's endpoints.")
    ] = False,
) -> Call:
    """Read the flags."""
    body: dict[str, Any] = {"sample": read_json(sample, "--sample")}
    tried = read_filter(filter_, conditions or ())
    if tried is not None:
        body["filter"] = tried
    if sandbox:
        body["is_sandbox"] = True
    return Call(run, Options(body), CLAIMS)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask the daemon."""
    reply = client.call("POST", Path.RULES_TEST, body=options.body)
    lines = claim_lines(reply.data.get("endpoints") or [], terminal)
    if not reply.data.get("claims"):
        lines.append("Nobody gets it: it would be kept, and can be replayed.")
    tried = reply.data.get("filter")
    if tried is not None:
        lines.insert(0, f"The filter {'matches' if tried.get('matched') else 'does not match'}.")
    return Answer(
        document=reply.text,
        rows=reply.data.get("endpoints") or [],
        lines=lines,
        notes=warnings_of(reply.body),
        next=["momo endpoints list"],
    )
