"""List the payments that an endpoint should have and has not. Exit 6 when there are any; 0 proves that nothing is lost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, Head, View
from momo_cli.client import Client
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.times import moment
from momo_cli.words import ago, money, state

EXAMPLES: Final = """\
  momo deliveries gap --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo deliveries gap --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 7d --quiet || echo look
"""
_PAGE: Final = 1000

VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "reference",
            "transaction_id",
            "amount",
            "currency",
            "telco_transaction_id",
            "received_at",
            "state",
            "delivery_id",
        )
    ),
    heads=(
        Head(
            "STATE",
            lambda row, _: (
                "✗ never sent" if row.get("state") == "missing" else state(row.get("state"))
            ),
        ),
        Head("AMOUNT", lambda row, _: money(row.get("amount"), row.get("currency")), right=True),
        Head("PAYMENT", lambda row, _: clean(row.get("telco_transaction_id"))),
        Head("WHEN", lambda row, t: ago(row.get("received_at"), t)),
        Head("DELIVERY", lambda row, _: clean(row.get("delivery_id")) or "—", cut=True),
    ),
    id="reference",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries gap`."""

    endpoint: str
    since: str
    until: str
    every: bool


def command(
    endpoint: Annotated[str, typer.Option(metavar="ID", help="Who should have them.")],
    since: Annotated[str, typer.Option("--from", help="From then.")] = "24h",
    until: Annotated[str, typer.Option("--to", help="Until then.")] = "now",
    every: Annotated[
        bool, typer.Option("--all", help="Every one; --json then writes a line each.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(endpoint.strip(), since, until, every), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the gap."""
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    query = {
        "endpoint_id": options.endpoint,
        "from": moment(options.since, "--from", terminal.now(), terminal.zone),
        "to": moment(options.until, "--to", terminal.now(), terminal.zone),
        "limit": _PAGE,
    }
    reply = client.get(Path.GAP, **query)
    rows = reply.data or []
    if options.every:
        rows = list(_all(client, query, reply.body))
    looked, more = at(reply.body, "meta.looked_at"), at(reply.body, "meta.has_more")
    window = f"--endpoint {options.endpoint} --from {query['from']} --to {query['to']}"
    return Answer(
        document=reply.text,
        rows=rows,
        heading=f"{len(rows)}{' or more' if more and not options.every else ''} payments are not delivered",
        empty=""
        if rows
        else f"No gap: all of {looked} payments that it should have are delivered.",
        notes=["There are more: add --all."] if more and not options.every else [],
        next=[f"momo replay {window}"] if rows else [],
        exit_code=exits.FINDINGS if rows else exits.OK,
        stream=options.every and not terminal.human,
        summary=True,
    )


def _all(client: Client, query: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while True:
        yield from body.get("data") or ()
        cursor = at(body, "meta.next_cursor")
        if cursor is None:
            return
        body = client.get(Path.GAP, **query, cursor=cursor).body
