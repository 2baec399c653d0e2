"""The books, on the Unix socket only: the report, a statement compared with the payments, and the export."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, tzinfo
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct, field

from daemon.api.http.auth import needs_owner
from daemon.api.http.service import Call, Reply, ok
from daemon.core.books import day_sheet, export_rows
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.ids import reference_of
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.limits import BODY_BYTES_MAX
from daemon.core.model import Delivery
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import TransactionListItemAnswer
from daemon.core.reading import Wrong
from daemon.core.shape import Offset, marked, page_size
from daemon.flows.books import audit, shifts
from daemon.flows.books.audit import note_statement
from daemon.flows.upkeep import notices
from daemon.steps.books.day_sheet import read_rows, read_sheet
from daemon.steps.books.statement import Finding, compared
from daemon.store import shop
from daemon.store.books import exports
from daemon.store.books import shifts as stored_shifts
from daemon.store.books.day_sheet import Period
from daemon.store.books.exports import TablePage
from daemon.store.engine import Reader
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.wire import ErrorCode, Mode
from parsers.money import render
from parsers.times import from_us

REPORT_LIMIT: Final = 100
REPORT_LIMIT_MAX: Final = 1000
RECENT_MAX: Final = 50
SUBJECT_CHARACTERS_MAX: Final = 200


def _date(text: str) -> date | Wrong:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return Wrong("invalid", "must be a day, such as 2026-01-31")


_Time = Annotated[int, marked(read="time")]


class ReportQuery(Struct, frozen=True):
    """The time of a report, and its rows."""

    limit: Annotated[int, page_size(REPORT_LIMIT_MAX)] = REPORT_LIMIT
    offset: Offset = 0
    by: Literal["hour", "day", "week", "month", "weekday", "hour_of_day", "network", "maker", "payer"] | None = None
    recent: Annotated[int, page_size(RECENT_MAX, low=0)] = 0
    mode: Mode = Mode.LIVE
    branch: Annotated[str, Meta(max_length=40)] | None = None
    day: Annotated[date, marked(read="text", then=_date)] | None = field(name="date", default=None)
    since: _Time | None = field(name="from", default=None)
    until: _Time | None = field(name="to", default=None)

    @staticmethod
    def check(_given: object, query: Mapping[str, str], fail: Callable[[str, str, str], Any]) -> None:
        """Ask for both ends of a time."""
        for there, other in (("from", "to"), ("to", "from")):
            if query.get(there) and not query.get(other):
                fail(other, "required", "`from` and `to` must be given together")


async def get_report(call: Call) -> Reply:
    """Return the sheet of a local `date` (default today) or of the time from `from` to `to`, `to` excluded.

    At a hub `branch` names one of its branches. With `by` also rows by that; a maker is who made the order; with `recent` also that many of the newest payments.
    """
    asked = call.query.read(ReportQuery)
    by, mode, branch, since, until = asked.by, asked.mode, asked.branch, asked.since, asked.until
    now = call.env.clock.now_us()

    def read(reader: Reader) -> Json:
        owner = shop.get(reader)
        zone: tzinfo = UTC if owner is None else ZoneInfo(owner.timezone)
        if since is not None and until is not None:
            period = Period(since, until, mode, branch)
        else:
            local = asked.day or from_us(now).astimezone(zone).date()
            period = Period(*day_sheet.day(local, zone), mode, branch)
        found = read_sheet(reader, period, owner)
        rows = read_rows(reader, period, zone, by, limit=asked.limit, offset=asked.offset) if by else None
        found["rows"] = rows
        newest = payment_list.listed(reader, PaymentFilter(mode, branch=branch), limit=asked.recent)[0]
        found["recent"] = [_recent(one, call.env.times().lower_bound_us) for one in newest]
        return found

    data = await call.env.store.read(read)
    rows = data["rows"]
    if rows is not None:
        data["rows"], total = rows
        return ok(data, call.query.page(asked, total))
    return ok(data, call.query.meta())


SHIFTS: Final = 50


class ShiftsQuery(Struct, frozen=True):
    """The page of the list."""

    before: Annotated[int, page_size(1 << 62)] | None = None


async def list_shifts(call: Call) -> Reply:
    """Return the newest shifts with their sums; `before` is the id of the last one of the page before."""
    before = call.query.read(ShiftsQuery).before
    now = call.env.clock.now_us()

    def read(reader: Reader) -> list[Json]:
        found = stored_shifts.latest(reader, None, before=before, limit=SHIFTS)
        return [shifts.sheet(reader, one, now) for one in found]

    return ok(await call.env.store.read(read))


async def get_shift(call: Call) -> Reply:
    """Return one shift with its sums; `mine` is the caller's open one."""
    return await _shift(call, call.path("shift_id"))


async def open_shift(call: Call) -> Reply:
    """Open a shift of the caller; one that is open goes on."""
    return await _shift(call, str((await shifts.begin(call.env, call.caller)).seq))


async def close_shift(call: Call) -> Reply:
    """Close a shift; `mine` is the caller's open one. A closed one stays as it is."""
    closed = await shifts.end(call.env, call.caller, call.path("shift_id"))
    return await _shift(call, str(closed.seq))


async def _shift(call: Call, number: str) -> Reply:
    now = call.env.clock.now_us()
    return ok(
        await call.env.store.read(lambda reader: shifts.sheet(reader, shifts.shown(reader, call.caller, number), now))
    )


class MailBody(Struct, frozen=True):
    """An e-mail to the owner."""

    to: Annotated[str, Meta(min_length=1)]
    subject: Annotated[str, Meta(min_length=1, max_length=SUBJECT_CHARACTERS_MAX)]
    text: Annotated[str, Meta(min_length=1, max_length=BODY_BYTES_MAX), marked(lines=True)]


async def mail_report(call: Call) -> Reply:
    """POST /local/v1/report/mail: queue an e-mail to the owner, retried like notices. `to` must be the owner's address."""
    needs_owner(call.caller)
    mail, settings = await call.body(MailBody), call.env.config.smtp
    if "email" not in call.service.hooks.channels:
        why = "the settings name no mail server: see [smtp] in config.toml"
        raise invalid([FieldError("to", "not_configured", why)])
    if mail.to.casefold() != settings.to.casefold():
        why = f"only the owner gets mail, at the address in [smtp] to: {settings.to}"
        raise invalid([FieldError("to", "invalid", why)])
    await notices.queue_email(call.env, call.caller, mail.subject, mail.text)
    return ok({"queued": ["email"], "to": settings.to})


def _recent(one: Listed, now: int) -> dict[str, Any]:
    payment, transaction = one.payment, one.transaction
    currency = payment.currency
    return {
        "id": payment.id,
        "amount": render(payment.amount_minor, currency),
        "currency": currency,
        "network": network_of(payment.provider),
        "transaction_id": payment.telco_id_as_read,
        "payer_name": payment.payer_name,
        "payer_phone": payment.payer_phone,
        "phone_number": one.phone_number,
        "at": timestamp(payment.telco_at),
        "stored_at": timestamp(payment.stored_at),
        "standing": payment.standing,
        "doubted": one.doubted,
        "reversed": payment.reversed_at is not None,
        "order": None
        if transaction is None or transaction.origin != "request"
        else TransactionListItemAnswer.of(transaction, payment, now),
    }


ENTRIES_MAX: Final = 400
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_COUNTS: Final = (*Finding, "not_on_statement")


def _entries(value: object) -> object:
    good = (
        isinstance(value, list)
        and len(value) <= ENTRIES_MAX
        and all(
            isinstance(each, dict)
            and isinstance(each.get("id"), str)
            and 0 < len(each["id"]) <= 40
            and isinstance(each.get("amount_minor"), int)
            for each in value
        )
    )
    if good:
        return value
    return Wrong("invalid", f"must be up to {ENTRIES_MAX} objects of id and amount_minor")


def _note(value: Json) -> Json | Wrong:
    if _DIGEST.fullmatch(str(value.get("sha256"))):
        return value
    return Wrong("invalid", "must be the SHA-256 of the file, in hex", ".sha256")


class StatementBody(Struct, frozen=True):
    """Entries of a statement, and what is noted at the end."""

    line: Annotated[str, marked(read="phone")] | None = None
    entries: Annotated[Sequence[Json], marked(read="any", then=_entries)] = ()
    note: Annotated[Json, marked(then=_note)] | None = None


async def compare(call: Call) -> Reply:
    """Compare up to 400 entries of the number `line`, or record the end of the comparison in the journal."""
    needs_owner(call.caller)
    body = await call.body(StatementBody)
    line, note, asked = body.line, body.note, body.entries
    noted = False
    if note is not None:
        facts = {"line": line, **{name: note.get(name) for name in _COUNTS if isinstance(note.get(name), int)}}
        noted = await note_statement(call.env, call.caller, str(note["sha256"]), facts)
    found = await call.env.store.read(lambda reader: compared(reader, asked, line)) if asked else []
    return ok({"entries": found, "noted": noted})


LIMIT: Final = 500
LIMIT_MAX: Final = 1000
_COMMAND_CHARACTERS_MAX: Final = 40
SEQ_MAX: Final = 1 << 62

Rows = list[tuple[int, Json]]


class ExportQuery(Struct, frozen=True):
    """The page and the time of an export."""

    after: Annotated[int, page_size(SEQ_MAX, low=0)] = 0
    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    since: _Time | None = field(name="from", default=None)
    until: _Time | None = field(name="to", default=None)
    show_body: bool = False
    mode: Mode | None = None


class ExportedPart(Struct, frozen=True):
    """The part of a table to export, and its form."""

    part: TablePage
    now: int
    show_body: bool


Read = Callable[[Reader, ExportedPart], Rows]


async def export(call: Call) -> Reply:
    """Return the rows after `after`, oldest first. `meta.next` is the `after` of the next page, null on the last page."""
    needs_owner(call.caller)
    what = call.path("what")
    if what not in KINDS:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    query = call.query
    asked = query.read(ExportQuery)
    after, limit, since, until = asked.after, asked.limit, asked.since, asked.until
    show_body = asked.show_body
    if show_body and what != "messages":
        raise invalid([FieldError("show_body", "invalid", "is only for messages")])
    # The journal has live and sandbox beside each other: it has no sums.
    mode = asked.mode or (None if what == "audit" else Mode.LIVE)
    wanted = ExportedPart(
        TablePage(after, since, until, limit + 1, mode=mode), call.env.times().lower_bound_us, show_body
    )
    if not after or show_body:
        facts = {"what": what, "after": after, "show_body": show_body}
        times = {"from": timestamp_or_none(since), "to": timestamp_or_none(until)}
        await audit.note_export(call.env, call.caller, {**facts, **times})
    rows = await call.env.store.read(lambda reader: KINDS[what](reader, wanted))
    more, rows = len(rows) > limit, rows[:limit]
    meta = {**(query.meta() or {}), "next": rows[-1][0] if more else None}
    return ok([row for _, row in rows], meta)


class PhonesBody(Struct, frozen=True):
    """The command that shows whole phone numbers."""

    command: Annotated[str, Meta(min_length=1, max_length=_COMMAND_CHARACTERS_MAX)]


async def note_phones(call: Call) -> Reply:
    """Record in the journal that `momo data` is about to show whole phone numbers to this caller."""
    needs_owner(call.caller)
    await audit.note_phones(call.env, call.caller, (await call.body(PhonesBody)).command)
    return ok({"noted": True})


# fmt: off
KINDS: Final[Mapping[str, Read]] = {
    "transactions": lambda reader, wanted: [
        (row.seq, export_rows.transaction(row, payment, wanted.now)) for row, payment in exports.transactions(reader, wanted.part)
    ],
    "payments": lambda reader, wanted: [
        (row.seq, export_rows.payment(row, line, pays)) for row, line, pays in exports.payments(reader, wanted.part)
    ],
    "messages": lambda reader, wanted: [
        (row.seq, export_rows.message(row, line, show_body=wanted.show_body)) for row, line in exports.messages(reader, wanted.part)
    ],
    "deliveries": lambda reader, wanted: [(row.seq, _sent(row, url)) for row, url in exports.deliveries(reader, wanted.part)],
    "audit": lambda reader, wanted: [(row.seq, export_rows.event(row)) for row in exports.journal(reader, wanted.part)],
}
# fmt: on


def _sent(row: Delivery, url: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "webhook_id": row.webhook_id,
        "endpoint_id": row.endpoint_id,
        "url": url,
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
