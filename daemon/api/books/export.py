"""GET /local/v1/export/{what}: whole tables, page by page, for `momo data export`.

On the Unix socket only. Each page has the cursor of the next, so that neither side holds more than one page. The journal
records the caller of an export at the first page, and at every page with the text of SMS.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.core.books import export_rows
from daemon.core.errors import Refusal
from daemon.core.ids import reference_of
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.flows.books import audit
from daemon.store.books import exports
from daemon.store.books.exports import DeliveryRow, TablePage
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, Mode

LIMIT: Final = 500
LIMIT_MAX: Final = 1000
_COMMAND_CHARACTERS_MAX: Final = 40
SEQ_MAX: Final = 1 << 62

Rows = list[tuple[int, Json]]


class ExportQuery(Struct, frozen=True):
    """The part of a table to export, and its form."""

    part: TablePage
    now: int
    show_body: bool


Read = Callable[[Reader, ExportQuery], Rows]


async def get(call: Call) -> Reply:
    """Return the rows after `after`, oldest first. `meta.next` is the `after` of the next page, null on the last page."""
    needs_owner(call.caller)
    what = call.path("what")
    if what not in KINDS:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    query = call.query
    after = query.number("after", 0, low=0, high=SEQ_MAX)
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    since, until = query.time("from"), query.time("to")
    show_body = query.flag("show_body")
    mode = Mode(query.word("mode", list(Mode)) or Mode.LIVE)
    if show_body and what != "messages":
        query.fail("show_body", "invalid", "is only for messages")
    query.done()
    wanted = ExportQuery(
        # The journal has live and sandbox beside each other: it has no sums.
        TablePage(after, since, until, limit + 1, mode=None if what == "audit" else mode),
        call.env.times().lower_bound_us,
        show_body,
    )
    if not after or show_body:
        facts = {"what": what, "after": after, "show_body": show_body}
        times = {"from": timestamp_or_none(since), "to": timestamp_or_none(until)}
        await audit.note_export(call.env, call.caller, {**facts, **times})
    rows = await call.env.store.read(lambda reader: KINDS[what](reader, wanted))
    more, rows = len(rows) > limit, rows[:limit]
    meta = {**(query.meta() or {}), "next": rows[-1][0] if more else None}
    return ok([row for _, row in rows], meta)


async def note_phones(call: Call) -> Reply:
    """Record in the journal that `momo data` is about to show whole phone numbers to this caller."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    command = fields.text("command", required=True, most=_COMMAND_CHARACTERS_MAX)
    fields.done()
    assert command is not None
    await audit.note_phones(call.env, call.caller, command)
    return ok({"noted": True})


def _transactions(reader: Reader, wanted: ExportQuery) -> Rows:
    return [
        (row.seq, export_rows.transaction(row, payment, wanted.now))
        for row, payment in exports.transactions(reader, wanted.part)
    ]


def _payments(reader: Reader, wanted: ExportQuery) -> Rows:
    return [
        (row.seq, export_rows.payment(row, line, pays))
        for row, line, pays in exports.payments(reader, wanted.part)
    ]


def _messages(reader: Reader, wanted: ExportQuery) -> Rows:
    return [
        (row.seq, export_rows.message(row, line, show_body=wanted.show_body))
        for row, line in exports.messages(reader, wanted.part)
    ]


def _deliveries(reader: Reader, wanted: ExportQuery) -> Rows:
    return [(row.seq, _sent(row)) for row in exports.deliveries(reader, wanted.part)]


def _audit(reader: Reader, wanted: ExportQuery) -> Rows:
    return [(row.seq, export_rows.event(row)) for row in exports.journal(reader, wanted.part)]


def _sent(row: DeliveryRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "webhook_id": row.webhook_id,
        "endpoint_id": row.endpoint_id,
        "url": row.url,
        "event": row.event,
        "reference": reference_of(row.transaction_id),
        "status": row.status,
        "attempt_count": row.attempt_count,
        "response_status_code": row.response_status_code,
        "error_code": row.error_code,
        "created_at": timestamp(row.created_at),
        "delivered_at": timestamp_or_none(row.delivered_at),
        "test": row.test,
    }


KINDS: Final[Mapping[str, Read]] = {
    "transactions": _transactions,
    "payments": _payments,
    "messages": _messages,
    "deliveries": _deliveries,
    "audit": _audit,
}
