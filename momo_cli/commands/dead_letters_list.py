"""List the webhooks that were given up, by what went wrong: what answered, since when, what to do."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.dead_letters import VIEW, grouped, next_commands
from momo_cli.finding import faults
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import at

EXAMPLES: Final = """\
  momo dead-letters list
  momo dead-letters list --fail-if-any --quiet
  momo dead-letters list -o csv --fields id,cause,last_status_code,transaction_id
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo dead-letters list`."""

    query: dict[str, Any]
    fail_if_any: bool


def command(
    endpoint: Annotated[str | None, typer.Option(metavar="ID", help="Only of this one.")] = None,
    include_replayed: Annotated[
        bool, typer.Option("--include-replayed", help="Also those that were sent again.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    fail_if_any: Annotated[
        bool, typer.Option("--fail-if-any", help="Exit 6 when the list is not empty.")
    ] = False,
) -> Call:
    """Read the flags."""
    query = {
        "endpoint_id": endpoint,
        "include_replayed": "true" if include_replayed else None,
        "limit": limit,
        "offset": offset,
    }
    return Call(run, Options(query, fail_if_any), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for one page."""
    if (named := options.query.get("endpoint_id")) is not None:
        options = replace(
            options, query={**options.query, "endpoint_id": endpoint_id(client, named)}
        )
    reply = client.get(Path.DEAD_LETTERS, **options.query)
    rows = reply.data or []
    total = at(reply.body, "meta.total")
    more = isinstance(total, int) and options.query["offset"] + len(rows) < total
    return Answer(
        document=reply.text,
        rows=rows,
        lines=grouped(rows, terminal),
        empty="" if rows else "No dead letters.",
        notes=[f"{total} in all; next: --offset {options.query['offset'] + len(rows)}"]
        if more
        else [],
        next=next_commands(rows),
        exit_code=exits.FINDINGS if options.fail_if_any and rows else exits.OK,
        faults=faults(
            reply, "webhook was given up", "webhooks were given up", wanted=options.fail_if_any
        ),
    )
