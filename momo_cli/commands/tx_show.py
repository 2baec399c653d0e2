"""Show one order: what was asked, what was paid, by whom, and when.

With --events, also what happened to it, oldest first, the SMS that paid it and the webhooks that told of it; --json then
has "events", and the rest in "local", beside "data".
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path, TransactionStatus
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.deliveries import answered
from momo_cli.errors import usage
from momo_cli.orders import SHOW_VIEW, find, shown
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.values import dumps
from momo_cli.words import clock, state, styled

EXAMPLES: Final = """\
  momo tx show 7KQ2MX
  momo tx show svc_trx_0f3c5d2a9b8e47c1a6d0e2f4b8c6a901 --get data.status
  momo tx show --client-ref INV-17
  momo tx show 7KQ2MX --events
"""
EVENTS_VIEW: Final = View(
    fields=(
        Field("id"),
        Field("at"),
        Field("type"),
        Field("actor"),
        Field("text"),
        Field("payment_id"),
        Field("message_id"),
    )
)
_LIMIT_MAX: Final = 500
_SENT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo tx show`."""

    order: str | None
    client_ref: str | None
    events: bool


def command(
    order: Annotated[
        str | None,
        typer.Argument(metavar="REF|CODE", help="The order's reference or code."),
    ] = None,
    client_ref: Annotated[
        str | None, typer.Option("--client-ref", help="Find it by your own reference.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="And what happened to it.")] = False,
) -> Call:
    """Read the flags."""
    if (order is None) == (client_ref is None):
        raise usage("give one of REF, CODE and --client-ref")
    return Call(run, Options(order, client_ref, events), EVENTS_VIEW if events else SHOW_VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the order."""
    if options.client_ref is not None:
        path = path_of(Path.TRANSACTION_BY_CLIENT_REF, client_ref=options.client_ref)
        reply = client.get(path)
    else:
        reply = find(client, options.order or "")
    answer = shown(reply, terminal)
    return _with_events(client, terminal, reply, answer) if options.events else answer


def _with_events(client: Client, terminal: Terminal, reply: Reply, answer: Answer) -> Answer:
    path = path_of(Path.TRANSACTION_EVENTS, reference=str(reply.data["reference"]))
    events: list[Row] = []
    while True:
        page = client.get(path, limit=_LIMIT_MAX, offset=len(events)).data or []
        events += page
        if len(page) < _LIMIT_MAX:
            break
    local = _local(client, reply.data, events)
    # One document for all answers: the order's own, and beside its `data` what happened.
    document = dumps({**reply.body, "events": events, "local": local})
    told = [f"  {_when(event, terminal)}  {clean(event.get('text'))}" for event in events]
    if local["message_id"]:
        told += ["", f"  sms       {clean(local['message_id'])}"]
    told += [_sent(row, terminal) for row in local["deliveries"]]
    # For programs the rows are what was asked for; people see the order above them.
    return replace(answer, document=document, rows=events, lines=[*answer.lines, "", *told])


def _local(client: Client, order: Row, events: list[Row]) -> dict[str, Any]:
    """Return what only this shop knows of an order: its SMS, how it was matched, its review, its webhooks."""
    reference = order["reference"]
    messages = [event["message_id"] for event in events if event.get("message_id")]
    sent = client.get(Path.DELIVERIES, transaction_id=reference, kind="all", limit=_SENT_MAX)
    review = None
    if order.get("status") == TransactionStatus.MANUAL_REVIEW:
        rows = client.get(Path.REVIEWS).data or ()
        about = (row for row in rows if at(row, "request.reference") == reference)
        review = next((row.get("id") for row in about), None)
    return {
        "message_id": messages[-1] if messages else None,
        "matched_by": order.get("matched_by"),
        "review": review,
        "deliveries": sent.data or [],
    }


def _sent(row: Row, terminal: Terminal) -> str:
    said = f"  {answered(row)}" if answered(row) else ""
    what = f"{styled(state(row.get('status')), terminal)}  {clean(row.get('event'))}{said}"
    return f"  webhook   {what}  {clean(row.get('id'))}"


def _when(event: Row, terminal: Terminal) -> str:
    return f"{clock(event.get('at'), terminal):<12}"
