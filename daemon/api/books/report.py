"""GET /local/v1/report: the sheet of a day or period, for `momo today`, `report` and `watch`.

On the Unix socket only.
"""

from datetime import UTC, date, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields, Query
from daemon.api.http.service import Call, Reply, ok
from daemon.core.books import day_sheet
from daemon.core.json_values import Json, timestamp
from daemon.core.limits import BODY_BYTES_MAX
from daemon.core.names import network_of
from daemon.core.payments.transaction_json import TransactionListItemAnswer
from daemon.flows.upkeep import notices
from daemon.steps.books.day_sheet import read_buckets, read_sheet
from daemon.store import shop
from daemon.store.books import day_sheet as sheet_rows
from daemon.store.books.day_sheet import Period, Recent
from daemon.store.engine import Reader
from daemon.wire import Mode
from parsers.money import render
from parsers.times import from_us

LIMIT: Final = 100
LIMIT_MAX: Final = 1000
RECENT_MAX: Final = 50
SUBJECT_CHARACTERS_MAX: Final = 200


async def get(call: Call) -> Reply:
    """Return the sheet of a local `date` (default today) or of the time from `from` to `to`, `to` excluded.

    At a hub `branch` names one of its branches. With `by` (hour, day or payer) also rows by that; with `recent` also that many of the newest payments.
    """
    query = call.query
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    by = query.word("by", ("hour", "day", "payer"))
    recent = query.number("recent", 0, low=0, high=RECENT_MAX)
    mode = Mode(query.word("mode", list(Mode)) or Mode.LIVE)
    branch = query.text("branch", most=40)
    local_date, since, until = _date(query), query.time("from"), query.time("to")
    if (since is None) is not (until is None):
        query.fail(
            "to" if until is None else "from", "required", "`from` and `to` must be given together"
        )
    query.done()
    now = call.env.clock.now_us()

    def read(reader: Reader) -> Json:
        owner = shop.get(reader)
        zone: tzinfo = UTC if owner is None else ZoneInfo(owner.timezone)
        if since is not None and until is not None:
            period = Period(since, until, mode, branch)
        else:
            local = local_date or from_us(now).astimezone(zone).date()
            period = Period(*day_sheet.day(local, zone), mode, branch)
        found = read_sheet(reader, period, owner)
        found["rows"] = _rows(reader, period, zone, by, limit, offset) if by else None
        newest = sheet_rows.recent(reader, mode, recent, branch)
        found["recent"] = [_recent(one, call.env.times().lower_bound_us) for one in newest]
        return found

    data = await call.env.store.read(read)
    rows = data["rows"]
    if rows is not None:
        data["rows"], total = rows
        return ok(data, query.meta(limit=limit, offset=offset, total=total))
    return ok(data, query.meta())


async def mail(call: Call) -> Reply:
    """POST /local/v1/report/mail: queue an e-mail to the owner, retried like notices. `to` must be the owner's address."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    to = fields.text("to", required=True, blank=False)
    subject = fields.text("subject", required=True, blank=False, most=SUBJECT_CHARACTERS_MAX)
    text = fields.text("text", required=True, blank=False, lines=True, most=BODY_BYTES_MAX)
    settings = call.env.config.smtp
    if to is not None and "email" not in call.service.hooks.channels:
        why = "the settings name no mail server: see [smtp] in config.toml"
        fields.fail("to", "not_configured", why)
    elif to is not None and to.casefold() != settings.to.casefold():
        fields.fail(
            "to", "invalid", f"only the owner gets mail, at the address in [smtp] to: {settings.to}"
        )
    fields.done()
    await notices.queue_email(call.env, call.caller, str(subject), str(text))
    return ok({"queued": ["email"], "to": settings.to})


def _date(query: Query) -> date | None:
    text = query.text("date")
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        query.fail("date", "invalid", "must be a day, such as 2026-01-31")
        return None


def _rows(
    reader: Reader, period: Period, zone: tzinfo, by: str, limit: int, offset: int
) -> tuple[list[Json], int]:
    if by == "payer":
        payers, total = sheet_rows.by_payer(reader, period, limit=limit, offset=offset)
        return [
            {
                "payer_phone": number,
                "payer_name": name,
                "currency": currency,
                "count": count,
                "amount": render(minor, currency),
            }
            for number, name, currency, count, minor in payers
        ], total
    rows = read_buckets(reader, period, zone, by)
    return rows[offset : offset + limit], len(rows)


def _recent(one: Recent, now: int) -> dict[str, Any]:
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
