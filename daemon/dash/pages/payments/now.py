"""Now: the money of today, open tasks for an operator, the lines and webhooks, and the latest payments."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.access.callers import READERS, Operation
from daemon.core.books import day_sheet
from daemon.core.json_values import Json
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.model import Payment, Review
from daemon.core.names import network_name
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.parts import chart, of_branches
from daemon.dash.web.visit import Shown, Visit
from daemon.dash.web.words import Words
from daemon.steps.books.day_sheet import read_totals
from daemon.steps.lines import line_status
from daemon.store.books.day_sheet import Period, waiting
from daemon.store.engine import Reader
from daemon.store.messages import messages
from daemon.store.payments import payment_list, payments, reviews
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.store.webhooks import delivery_log, endpoints
from daemon.wire import Mode, receiver_of
from parsers.money import read_api_amount

LATEST: Final = 25
REVIEWS_SHOWN: Final = 5
REVIEWS_READ: Final = 50
OPENS_AT: Final = 7
"""The chart begins at this hour, or earlier if there was money."""
_fields = msgspec.json.Decoder(dict[str, Any]).decode


class Need(Struct, frozen=True):
    """Something that needs a person: a sentence, why, the money at stake, and where to go."""

    what: str
    why: str
    minor: int
    money: str
    href: str
    action: str


class NowData(Struct, frozen=True):
    """Data of the page, from one snapshot."""

    sheets: Sequence[Json]
    hours: Sequence[Json]
    transactions_waiting: int
    lines: Json
    latest: Sequence[Listed]
    reviews: Sequence[tuple[Review, int, str]]
    reviews_open: int
    endpoints: Sequence[Endpoint]
    waiting: dict[str, int]
    queue: dict[str, int]


async def show(visit: Visit) -> Shown:
    """Show the page."""
    zone, now = visit.words.zone, visit.now
    local = visit.words.local(now)
    period = Period(*day_sheet.day(local.date(), zone))
    phones = visit.machine.phone_states()
    facts = await visit.env.store.read(lambda reader: _read(reader, period, zone, now, phones))
    sheet = facts.sheets[0] if facts.sheets else None
    return Shown(
        "payments/now.html",
        {
            "sheet": None if sheet is None else sheet["all"],
            "currency": "GHS" if sheet is None else sheet["currency"],
            "others": facts.sheets[1:],
            "transactions_waiting": facts.transactions_waiting,
            "bars": _hours(visit, facts.hours, local),
            "needs": _needs(visit, facts),
            "lines": _lines(visit.words, facts.lines),
            "receiving": facts.lines["receiving"],
            "endpoints": [
                (one, facts.waiting.get(one.id, 0), _endpoint_state(one)) for one in facts.endpoints
            ],
            "latest": facts.latest,
            "branches": await of_branches.names_of(visit),
            "sets_up": visit.may(Operation.MANAGE_USERS) and not facts.latest,
            "sees_webhooks": visit.may(Operation.MANAGE_WEBHOOKS) or visit.may(Operation.EXPORT),
        },
        visit.words("now_title", shop=visit.shop.name if visit.shop else "momo"),
    )


def _read(
    reader: Reader, period: Period, zone: tzinfo, now: int, phones: Sequence[ModemHealth]
) -> NowData:
    found, total = reviews.page(
        reader, state=reviews.OPEN, mode=Mode.LIVE, limit=REVIEWS_READ, offset=0
    )
    latest, _more = payment_list.listed(reader, PaymentFilter(), limit=LATEST)
    sheets, hours = read_totals(reader, period, zone)
    return NowData(
        sheets=sheets,
        hours=hours,
        transactions_waiting=waiting(reader, now),
        lines=line_status(reader, now, phones),
        latest=latest,
        reviews=[(review, *_amount(reader, review)) for review in found],
        reviews_open=total,
        endpoints=endpoints.in_use(reader, Mode.LIVE),
        waiting=delivery_log.waiting_by_endpoint(reader),
        queue=delivery_log.queue_counts(reader),
    )


def _amount(reader: Reader, review: Review) -> tuple[int, str]:
    """Return the amount of a review in minor units, 0 if it is unknown, and its currency."""
    payment: Payment | None = None
    if review.payment_id is not None:
        payment = payments.get(reader, review.payment_id)
    if payment is not None:
        return payment.amount_minor, payment.currency
    message = messages.get(reader, review.message_id)
    fields = {} if message is None else _fields(message.fields)
    currency = str(fields.get("currency") or "GHS")
    return read_api_amount(str(fields.get("amount") or ""), currency) or 0, currency


def _needs(visit: Visit, facts: NowData) -> list[Need]:
    """Return the open tasks for an operator, most money first."""
    t = visit.words
    found = [
        Need(
            t("need_review"),
            t(f"review.{review.reason}.short"),
            minor,
            visit.money(minor, currency) if minor else "",
            f"/dash/review/{review.id}",
            t("open"),
        )
        for review, minor, currency in facts.reviews
    ]
    found = sorted(found, key=lambda need: -need.minor)
    rest = facts.reviews_open - REVIEWS_SHOWN
    found = found[:REVIEWS_SHOWN]
    if rest > 0:
        found.append(
            Need(t.number("need_more_reviews", rest), "", 0, "", "/dash/review", t("open"))
        )
    unplaced = int(facts.lines["unplaced_payments"])
    if unplaced:
        why = t("need_unplaced_why")
        found.append(
            Need(
                t.number("need_unplaced", unplaced),
                why,
                0,
                "",
                _reading(visit, "/dash/unplaced"),
                t("assign"),
            )
        )
    if not facts.lines["receiving"]:
        why = t.told(facts.lines["receiving_reason"])
        found.insert(0, Need(t("need_line"), why, 0, "", _reading(visit, "/dash/lines"), t("look")))
    if visit.may(Operation.MANAGE_WEBHOOKS):
        found += _webhook_needs(t, facts)
    return found


def _reading(visit: Visit, href: str) -> str:
    """Return the address, or an empty text if the user may not see its page."""
    return href if visit.role in READERS else ""


def _webhook_needs(t: Words, facts: NowData) -> list[Need]:
    found = [
        Need(
            t("need_paused", url=receiver_of(one.url)),
            t.number("queued", facts.waiting.get(one.id, 0)),
            0,
            "",
            f"/dash/webhooks/{one.id}",
            t("look"),
        )
        for one in facts.endpoints
        if one.auto_paused_at is not None and not one.is_active
    ]
    dead = facts.queue["dead_letters"]
    if dead:
        found.append(Need(t.number("need_dead", dead), "", 0, "", "/dash/dead-letters", t("look")))
    return found


def _lines(t: Words, status: Json) -> list[dict[str, Any]]:
    return [
        {
            "phone": phone["name"],
            "network": sim["network"] or network_name(None),
            "number": (sim["line"] or {}).get("phone_number"),
            "receiving": sim["receiving"],
            "why": t.told(sim["receiving_reason"] or ""),
        }
        for phone in status["phones"]
        for sim in phone["sims"]
    ]


def _endpoint_state(endpoint: Endpoint) -> str:
    if not endpoint.is_active:
        return "paused"
    return "failing" if endpoint.consecutive_failures else "well"


def _hours(visit: Visit, rows: Sequence[Json], local: datetime) -> chart.Bars | None:
    """Return the money by hour of the first currency, from the opening of the shop until now."""
    mine = [row for row in rows if row["currency"] == rows[0]["currency"]] if rows else []
    if not mine:
        return None
    amounts = {int(str(row["hour"])[-5:-3]): row for row in mine}
    first = min(OPENS_AT, *amounts)
    last = max(local.hour, *amounts)
    values = []
    for hour in range(first, last + 1):
        row = amounts.get(hour)
        minor = 0 if row is None else read_api_amount(row["amount"], row["currency"]) or 0
        values.append((f"{hour:02}", minor, visit.money(minor, mine[0]["currency"])))
    return chart.bars(values, now=local.hour - first)
