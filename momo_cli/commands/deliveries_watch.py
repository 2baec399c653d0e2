"""Show deliveries as they end or are tried in vain, one line each, until Ctrl-C.

Tries that will be repeated are looked for every 15 seconds. --json writes one JSON document per line:
{"type":"item","event":"delivery.delivered","id":...,"data":{the delivery}}.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import DeliveryStatus, Path
from momo_cli.answer import Answer, Call, Field, Head, Row, View
from momo_cli.client import Client, path_of
from momo_cli.deliveries import FIELDS, answered
from momo_cli.errors import Failure, usage
from momo_cli.naming import endpoint_id
from momo_cli.orders import follow
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import clock, state

EXAMPLES: Final = """\
  momo deliveries watch
  momo deliveries watch --endpoint 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --status failed
  momo deliveries watch --json --since-event 4120
"""
_KIND: Final = "delivery."
_RETRYING: Final = "delivery.retrying"
_LIMIT: Final = 200
VIEW: Final = View(
    fields=(
        Field("event_id", "id"),
        Field("event"),
        *(Field(field.name, f"data.{field.name}") for field in FIELDS if field.name != "event"),
        Field("kind", "data.event"),
    ),
    heads=(
        Head("WHEN", lambda row, t: clock(_when(row), t)),
        Head("STATUS", lambda row, _: state(at(row, "data.status"))),
        Head("EVENT", lambda row, _: clean(at(row, "data.event")).removeprefix("transaction.")),
        Head("TRIES", lambda row, _: str(at(row, "data.attempt_count") or 0), right=True),
        Head("ANSWER", lambda row, _: answered(row["data"]) or "—"),
        Head("ID", lambda row, _: clean(at(row, "data.id")), cut=True),
    ),
    id="data.id",
)


def _when(row: Row) -> object:
    data = row["data"]
    return row.get("at") or data.get("delivered_at") or data.get("failed_at")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries watch`."""

    endpoint: str | None
    status: str | None
    since: str | None


def command(
    endpoint: Annotated[str | None, typer.Option(metavar="ID", help="Only to this one.")] = None,
    status: Annotated[
        str | None, typer.Option(help="pending, retrying, delivered or failed.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since-event", help="Go on after this event's id.")
    ] = None,
) -> Call:
    """Read the flags."""
    if status is not None and status.lower() not in set(DeliveryStatus):
        raise usage(f"--status: {status!r} is not one of {', '.join(DeliveryStatus)}")
    return Call(run, Options(endpoint, status and status.lower(), since), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Follow the events."""
    if options.endpoint is not None:
        options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    if terminal.human:
        terminal.note("Watching. Ctrl-C ends it.")
    rows = (row for row in _items(client, terminal, options) if _is_wanted(row["data"], options))
    return Answer(rows=rows, stream=True)


def _is_wanted(data: Row, options: Options) -> bool:
    return (options.endpoint is None or data.get("endpoint_id") == options.endpoint) and (
        options.status is None or data.get("status") == options.status
    )


def _items(client: Client, terminal: Terminal, options: Options) -> Iterator[dict[str, Any]]:
    # What was tried in vain before we looked is no news.
    tries = {row["id"]: row["attempt_count"] for row in _retrying(client, options)}
    for event in follow(client, None, options.since):
        if event is not None and event.kind.startswith(_KIND):
            yield {
                "event": event.kind,
                "id": event.id,
                "at": event.data.get("at"),
                "data": _delivery(client, event.data),
            }
        if event is not None:
            continue
        found = _retrying(client, options)
        now = terminal.now().isoformat()
        for row in found:
            if tries.get(row["id"]) != row["attempt_count"]:
                yield {"event": _RETRYING, "id": None, "at": now, "data": row}
        tries = {row["id"]: row["attempt_count"] for row in found}


def _retrying(client: Client, options: Options) -> list[dict[str, Any]]:
    """Return those that wait for another try; none while the daemon is away."""
    query = {"endpoint_id": options.endpoint, "status": DeliveryStatus.RETRYING, "kind": "all"}
    try:
        found: list[dict[str, Any]] = client.get(Path.DELIVERIES, **query, limit=_LIMIT).data or []
    except Failure as failure:
        if failure.http_status and failure.http_status < 500:
            raise
        return []
    return found


def _delivery(client: Client, told: Row) -> Row:
    """Return the delivery of an event; what the event itself says of one that is not kept any more."""
    delivery_id = str(at(told, "details.delivery_id"))
    try:
        found: Row = client.get(path_of(Path.DELIVERY, id=delivery_id)).data
    except Failure:
        return {
            "id": delivery_id,
            "endpoint_id": told.get("endpoint_id"),
            "transaction_id": told.get("transaction_id"),
            "event": at(told, "details.event"),
            "response_status_code": at(told, "details.code"),
        }
    return found
