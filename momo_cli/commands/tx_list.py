"""List orders, newest first.

In a pipe: tab-separated columns reference, svc_code, status, expected_amount, actual_amount,
difference, difference_type, currency, payer_phone, payer_name, created_at, completed_at.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client, Reply
from momo_cli.errors import usage
from momo_cli.orders import AS_SHOWN, LIST_VIEW, status_named
from momo_cli.terminal import Terminal
from momo_cli.text import at
from momo_cli.times import moment

EXAMPLES: Final = """\
  momo tx list
  momo tx list --status waiting
  momo tx list --from today --fields svc_code,actual_amount -o csv
  momo tx list --search kofi --sort largest
  momo tx list --all --json
"""
SORTS: Final = ("newest", "oldest", "largest", "smallest")
_PER_PAGE: Final = 50
_PER_PAGE_MAX: Final = 100


class Origin(StrEnum):
    """Where a row of the list comes from."""

    REQUEST = "request"
    OPEN = "open"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx list`."""

    status: str | None
    origin: Origin
    since: str | None
    until: str | None
    phone: str | None
    page: int
    per_page: int
    every: bool
    search: str | None
    sort: str


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    status: Annotated[
        str | None,
        typer.Option(
            help="Only this one status: waiting, paid, short, over, review, or the API's word.",
        ),
    ] = None,
    origin: Annotated[
        Origin,
        typer.Option(
            metavar="ORIGIN",
            help="request: orders; open: money without one; all.",
            show_default=True,
        ),
    ] = Origin.REQUEST,
    since: Annotated[
        str | None,
        typer.Option("--from", "--since", help="Made at or after: 24h, today, 2026-01-31."),
    ] = None,
    until: Annotated[str | None, typer.Option("--to", "--until", help="Made before.")] = None,
    phone: Annotated[str | None, typer.Option(help="Only this payer's number.")] = None,
    page: Annotated[int, typer.Option(min=1, help="Which page.")] = 1,
    per_page: Annotated[
        int,
        typer.Option(
            "--per-page",
            "--limit",
            min=1,
            max=_PER_PAGE_MAX,
            help="Orders on a page.",
            show_default=True,
        ),
    ] = _PER_PAGE,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every page; --json then writes a line per order."),
    ] = False,
    search: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="In a code, network ID, name, number or reference."),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(metavar="|".join(SORTS), help="What comes first.", show_default=True),
    ] = SORTS[0],
) -> Call:
    """Read the flags."""
    wanted = None if status is None else status_named(status)
    if every and page != 1:
        raise usage("--all writes every page; it goes without --page")
    if sort not in SORTS:
        raise usage(f"--sort: {sort!r} is not one of {', '.join(SORTS)}")
    options = Options(wanted, origin, since, until, phone, page, per_page, every, search, sort)
    return Call(run, options, LIST_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for one page, or for all of them one after the other."""
    query = {
        "status": options.status,
        "origin": None if options.origin is Origin.REQUEST else str(options.origin),
        "from": _moment(options.since, "--from", terminal),
        "to": _moment(options.until, "--to", terminal),
        "phone_number": options.phone,
        "search": options.search,
        "sort": None if options.sort == SORTS[0] else options.sort,
        "per_page": _PER_PAGE_MAX if options.every else options.per_page,
    }
    if options.every:
        return Answer(rows=_all(client, query), stream=not terminal.human, summary=True)
    reply = client.get(Path.TRANSACTIONS, page=options.page, **query)
    rows = reply.data or []
    return Answer(
        document=reply.text,
        rows=rows,
        heading=_heading(reply, options),
        empty="" if rows else f"No {_kind(options)}.",
        next=_next(reply, options),
    )


def _moment(text: str | None, flag: str, terminal: Terminal) -> str | None:
    return None if text is None else moment(text, flag, terminal.now(), terminal.zone)


def _all(client: Client, query: dict[str, Any]) -> Iterator[Row]:
    """Ask for page after page, each behind the last order of the one before: new ones move nothing."""
    after: str | None = None
    while True:
        reply = client.get(Path.TRANSACTIONS, after=after, **query)
        rows = reply.data or []
        yield from rows
        if not rows or len(rows) < (at(reply.body, "pagination.per_page") or 1):
            return
        after = rows[-1]["reference"]


def _heading(reply: Reply, options: Options) -> str:
    total = at(reply.body, "pagination.total")
    of = f" of {total}" if isinstance(total, int) else ""
    more = f", next: --page {options.page + 1}" if at(reply.body, "pagination.has_next") else ""
    return f"Showing {len(reply.data or ())}{of} {_kind(options)}, page {options.page}{more}"


def _kind(options: Options) -> str:
    """Return what is listed: `short orders`, in the word that the table shows."""
    shown = {str(status): word.lower() for word, status in AS_SHOWN.items()}
    status = options.status or ""
    what = "payments without an order" if options.origin is Origin.OPEN else "orders"
    return f"{shown.get(status, status.lower())} {what}".strip()


def _next(reply: Reply, options: Options) -> list[str]:
    if not at(reply.body, "pagination.has_next"):
        return []
    given = {
        "--status": options.status,
        "--origin": None if options.origin is Origin.REQUEST else str(options.origin),
        "--from": options.since,
        "--to": options.until,
        "--phone": options.phone,
        "--search": options.search,
        "--sort": None if options.sort == SORTS[0] else options.sort,
        "--per-page": None if options.per_page == _PER_PAGE else str(options.per_page),
    }
    words = [word for flag, value in given.items() if value is not None for word in (flag, value)]
    return [shlex.join(["momo", "tx", "list", *words, "--page", str(options.page + 1)])]
