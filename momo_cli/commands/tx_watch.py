"""Show what happens to orders, one line per change, until Ctrl-C.

--json writes one JSON document per line: {"type":"item","event":...,"id":...,"data":{...}}.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli.answer import Answer, Call, Cell, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.noticing import notifier
from momo_cli.orders import follow, reference_of, status_named
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import clock, money, person, state

EXAMPLES: Final = """\
  momo tx watch
  momo tx watch 7KQ2MX
  momo tx watch --status paid --status over --notify
  momo tx watch --json --since-event 4120
"""


def _of(row: Row, *names: str) -> object:
    """Return the first of these members of the event's data that is there."""
    return next((v for v in (at(row, f"data.{name}") for name in names) if v is not None), None)


VIEW: Final = View(
    fields=(
        Field("id"),
        Field("event"),
        Field("reference", "data.reference"),
        Field("svc_code", "data.svc_code"),
        Field("status", "data.status"),
        Field("actual_amount", "data.actual_amount"),
    ),
    heads=(
        Head("WHEN", lambda row, t: clock(_of(row, "at", "timestamp", "created_at"), t)),
        Head("EVENT", lambda row, _: clean(row["event"])),
        Head("STATUS", lambda row, _: state(_of(row, "status"))),
        Head("CODE", lambda row, _: Cell(clean(_of(row, "svc_code")), "bold")),
        Head(
            "AMOUNT",
            lambda row, _: money(_of(row, "actual_amount", "amount"), _of(row, "currency")),
        ),
        Head(
            "PAYER",
            lambda row, _: person(
                _of(row, "payer.name", "payer_name"),
                _of(row, "payer.phone_number", "payer_phone"),
            ),
        ),
        Head("REFERENCE", lambda row, _: clean(_of(row, "reference"))),
    ),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx watch`."""

    order: str | None
    since: str | None
    statuses: frozenset[str]
    notify: bool


def command(
    order: Annotated[
        str | None, typer.Argument(metavar="[REF|CODE]", help="Only this order.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since-event", help="Go on after this event's id.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Only orders with this status, such as paid; may be repeated."),
    ] = None,
    notify: Annotated[
        bool, typer.Option("--notify", help="Ring the bell and tell the desktop of each.")
    ] = False,
) -> Call:
    """Read the flags."""
    statuses = frozenset(status_named(one) for one in status or ())
    return Call(run, Options(order, since, statuses, notify), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Follow the events."""
    reference = None if options.order is None else reference_of(client, options.order)
    if terminal.human:
        terminal.note("Watching. Ctrl-C ends it.")
    rows = _items(client, reference, options)
    return Answer(rows=_noticed(rows, terminal) if options.notify else rows, stream=True)


def _items(client: Client, reference: str | None, options: Options) -> Iterator[Row]:
    for event in follow(client, reference, options.since):
        about_order = event is not None and (
            event.kind.startswith("transaction.") or event.data.get("reference") is not None
        )
        if event is None or not about_order:
            continue
        if not options.statuses or event.data.get("status") in options.statuses:
            yield {"event": event.kind, "id": event.id, "data": event.data}


def _noticed(rows: Iterator[Row], terminal: Terminal) -> Iterator[Row]:
    """Tell whoever looks elsewhere of each, once its line is written."""
    notify = notifier(terminal)
    for row in rows:
        yield row
        amount = money(_of(row, "actual_amount", "expected_amount"), _of(row, "currency"))
        who = person(_of(row, "payer.name", "payer_name"), None)
        parts = (amount, who, clean(_of(row, "svc_code")))
        status = state(_of(row, "status")).text
        notify(f"momo: {status}", " · ".join(part for part in parts if part) or clean(row["event"]))
