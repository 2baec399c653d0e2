"""List what was sent to the endpoints, newest first, with what each answered."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import DeliveryStatus, Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Head, Row, View
from momo_cli.client import Client
from momo_cli.deliveries import FIELDS, answered
from momo_cli.errors import usage
from momo_cli.finding import faults
from momo_cli.headings import showing
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.words import ago, state

EXAMPLES: Final = """\
  momo deliveries list
  momo deliveries list --status failed --fail-if-any --quiet
  momo deliveries list --all -o csv --fields webhook_id,status,response_status_code
"""
_LIMIT_MAX: Final = 200


VIEW: Final = View(
    fields=FIELDS,
    heads=(
        Head("STATUS", lambda row, _: state(row.get("status"))),
        Head("EVENT", lambda row, _: clean(row.get("event")).removeprefix("transaction.")),
        Head("TRIES", lambda row, _: str(row.get("attempt_count") or 0), right=True),
        Head("ANSWER", lambda row, _: answered(row) or "—"),
        Head(
            "WHEN",
            lambda row, t: ago(row.get("delivered_at") or row.get("created_at"), t),
        ),
        Head("WEBHOOK ID", lambda row, _: clean(row.get("webhook_id")), cut=True),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries list`."""

    query: dict[str, Any]
    limit: int
    offset: int
    every: bool
    fail_if_any: bool


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    endpoint: Annotated[str | None, typer.Option(metavar="ID", help="Only to this one.")] = None,
    status: Annotated[
        str | None, typer.Option(help="pending, retrying, delivered or failed.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=_LIMIT_MAX, help="How many.")] = 50,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many first.")] = 0,
    kind: Annotated[
        str | None,
        typer.Option(metavar="all", help="all: also those of orders' own webhook addresses."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every one; --json then writes a line each.")
    ] = False,
    fail_if_any: Annotated[
        bool, typer.Option("--fail-if-any", help="Exit 6 when the list is not empty.")
    ] = False,
) -> Call:
    """Read the flags."""
    if status is not None and status.lower() not in set(DeliveryStatus):
        raise usage(f"--status: {status!r} is not one of {', '.join(DeliveryStatus)}")
    if kind not in (None, "all"):
        raise usage("--kind takes only the word all")
    query = {
        "endpoint_id": endpoint,
        "status": status.lower() if status else None,
        "kind": kind,
    }
    return Call(run, Options(query, limit, offset, every, fail_if_any), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for one page, or for all of them one after the other."""
    if (named := options.query.get("endpoint_id")) is not None:
        options = replace(
            options, query={**options.query, "endpoint_id": endpoint_id(client, named)}
        )
    if options.every and not options.fail_if_any:
        every = _all(client, options.query, options.offset)
        return Answer(rows=every, stream=not terminal.human, summary=True)
    reply = client.get(Path.DELIVERIES, **options.query, limit=options.limit, offset=options.offset)
    rows = reply.data or []
    kind = options.query["status"]
    word = f"{kind} " if kind else ""
    return Answer(
        document=reply.text,
        rows=rows,
        heading=showing(reply, "deliveries", offset=options.offset, kind=kind),
        empty="" if rows else f"No {word}deliveries.",
        next=[f"momo deliveries show {rows[0]['id']}"] if options.fail_if_any and rows else [],
        exit_code=exits.FINDINGS if options.fail_if_any and rows else exits.OK,
        faults=faults(reply, f"{word}delivery", f"{word}deliveries", wanted=options.fail_if_any),
    )


def _all(client: Client, query: dict[str, Any], offset: int) -> Iterator[Row]:
    while True:
        rows = client.get(Path.DELIVERIES, **query, limit=_LIMIT_MAX, offset=offset).data or []
        yield from rows
        if len(rows) < _LIMIT_MAX:
            return
        offset += len(rows)
