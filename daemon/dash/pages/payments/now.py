"""Now: the money of today, open tasks for an operator, the lines and webhooks, and the latest payments."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from daemon.core.access.callers import READERS, Operation
from daemon.core.books import day_sheet
from daemon.core.json_values import Json
from daemon.core.lines.line_json import LineStatusAnswer
from daemon.core.model import Payment, Review
from daemon.core.names import network_name
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.parts import chart
from daemon.dash.parts.listing import branch_names
from daemon.dash.parts.wallet import wallet_form
from daemon.dash.web.visit import Shown, Visit
from daemon.steps.books.day_sheet import read_buckets, read_totals
from daemon.steps.lines import line_status
from daemon.store.books.day_sheet import Period, waiting
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.store.messages import balances, messages
from daemon.store.payments import payment_list, payments, reviews, transaction_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.webhooks import delivery_log, endpoints
from daemon.wire import TransactionStatus, receiver_of
from parsers.money import read_api_amount

LATEST: Final = 25
REVIEWS_SHOWN: Final = 5
REVIEWS_READ: Final = 50
OPENS_AT: Final = 7
"""The chart begins at this hour, or earlier if there was money."""
_fields = msgspec.json.Decoder(dict[str, Any]).decode


async def show(visit: Visit) -> Shown:
    """Show the page."""
    t, now = visit.words, visit.now
    local = t.local(now)
    period = Period(*day_sheet.day(local.date(), t.zone), visit.mode)
    week_since = day_sheet.day(local.date() - timedelta(days=6), t.zone)[0]
    same_day = day_sheet.day(local.date() - timedelta(days=7), t.zone)[0]
    # Until the same time of that day.
    before = Period(same_day, max(same_day + 1, same_day + now - period.since), visit.mode)
    phones = visit.machine.phone_states()

    def read(reader: Reader) -> dict[str, Any]:
        sheets, hours = read_totals(reader, period, t.zone)
        lines = line_status(reader, now, phones, visit.mode)
        latest, _more = payment_list.listed(reader, PaymentFilter(mode=visit.mode), limit=LATEST)
        receivers, waits = (endpoints.in_use(reader, visit.mode), delivery_log.waiting_by_endpoint(reader))
        needs = _wallet_needs(visit, reader) + _review_needs(visit, reader)
        needs = _line_needs(visit, lines, needs) + _settle_needs(visit, reader)
        if visit.may(Operation.MANAGE_WEBHOOKS):
            needs += _webhook_needs(visit, reader, receivers, waits)
        currency = sheets[0]["currency"] if sheets else "GHS"
        week = read_buckets(reader, Period(week_since, period.until, visit.mode), t.zone, "day")
        earlier = _sum(read_buckets(reader, before, t.zone, "day"), currency)
        return {
            "day": f"{local:%Y-%m-%d}",
            "week": _week(visit, week, local, currency),
            "earlier": visit.money(earlier, currency),
            "same_weekday": t("weekdays").split()[local.weekday()],
            "sheet": sheets[0]["all"] if sheets else None,
            "currency": currency,
            "others": sheets[1:],
            "transactions_waiting": waiting(reader, now, visit.mode),
            "bars": _hours(visit, hours, local),
            "needs": needs,
            "lines": [
                {
                    "phone": phone.name,
                    "network": sim.network or network_name(None),
                    "number": sim.line and sim.line.phone_number,
                    "receiving": sim.receiving,
                    "why": t.told(sim.receiving_reason or ""),
                }
                for phone in lines.phones
                for sim in phone.sims
            ],
            "receiving": lines.receiving,
            "endpoints": [
                (
                    one,
                    waits.get(one.id, 0),
                    "paused" if not one.is_active else "failing" if one.consecutive_failures else "well",
                )
                for one in receivers
            ],
            "latest": latest,
            "sets_up": visit.may(Operation.MANAGE_USERS) and not latest,
        }

    values = await visit.env.store.read(read)
    sees = visit.may(Operation.MANAGE_WEBHOOKS) or visit.may(Operation.EXPORT)
    branches = await branch_names(visit)
    title = t("now_title", shop=visit.shop_name)
    shared = {"branches": branches, "sees_webhooks": sees}
    return Shown("payments/now.html", {**values, **shared}, title)


def _need(what: str, why: str, href: str, action: str, money: str = "") -> dict[str, str]:
    """Return something that needs a person: a sentence, why, where to go ("" if the user may not see it), and the money."""
    return {"what": what, "why": why, "href": href, "action": action, "money": money}


def _review_needs(visit: Visit, reader: Reader) -> list[dict[str, str]]:
    """Return the open reviews, most money first."""
    t = visit.words
    found, total = reviews.page(reader, state=reviews.OPEN, mode=visit.mode, limit=REVIEWS_READ, offset=0)
    with_money = [(one, *_amount(reader, one)) for one in found]
    needs = [
        _need(
            t("need_review"),
            t(f"review.{review.reason}.short"),
            f"/dash/review/{review.id}",
            t("open"),
            visit.money(minor, currency) if minor else "",
        )
        for review, minor, currency in sorted(with_money, key=lambda one: -one[1])[:REVIEWS_SHOWN]
    ]
    if total > REVIEWS_SHOWN:
        rest = t.number("need_more_reviews", total - REVIEWS_SHOWN)
        needs.append(_need(rest, "", "/dash/review", t("open")))
    return needs


def _settle_needs(visit: Visit, reader: Reader) -> list[dict[str, str]]:
    """Return what is owed and what is to be given back, of all days; who may not settle it is only told."""
    t, found = visit.words, []
    for (status, currency), (count, minor) in sorted(transaction_list.unsettled(reader, visit.mode).items()):
        word = "short" if status is TransactionStatus.PARTIAL else "over"
        what, money = t.number(f"need_{word}", count), visit.money(minor, currency)
        href = "/dash/transactions?state=unsettled"
        found.append(_need(what, t(f"need_{word}_why"), href, t("settle_them"), money))
    return found


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


def _wallet_needs(visit: Visit, reader: Reader) -> list[dict[str, str]]:
    """Return the lines with messages that do not follow from the believed balance; only for who may settle them."""
    t, found = visit.words, []
    in_doubt = {
        (chain.sim_key, chain.provider)
        for chain in balances.unsettled_chains(reader)
        if balances.state(reader, chain).live_rows
    }
    for method in payment_methods.in_use(reader, visit.mode) if in_doubt else ():
        href = wallet_form(visit, reader, method.sim_seq)
        sim = devices.sim_by_seq(reader, method.sim_seq) if method.sim_seq is not None else None
        if href and sim is not None and (sim.sim_key, method.provider) in in_doubt:
            what = t("need_wallet", number=visit.phone(method.phone_number))
            found.append(_need(what, t("wallet_settles"), href, t("wallet_say")))
    return found


def _line_needs(visit: Visit, lines: LineStatusAnswer, reviews_first: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the needs with those of the lines: a line that cannot receive stands first."""
    t, found = visit.words, [*reviews_first]
    reads = visit.role in READERS
    if lines.unplaced_payments:
        what = t.number("need_unplaced", lines.unplaced_payments)
        href = "/dash/unplaced" if reads else ""
        found.append(_need(what, t("need_unplaced_why"), href, t("assign")))
    if lines.receiving_reason is not None:
        href, why = "/dash/lines" if reads else "", t.told(lines.receiving_reason)
        found.insert(0, _need(t("need_line"), why, href, t("look")))
    return found


def _webhook_needs(
    visit: Visit, reader: Reader, receivers: Sequence[Endpoint], waits: dict[str, int]
) -> list[dict[str, str]]:
    t = visit.words
    found = [
        _need(
            t("need_paused" if one.auto_paused_at else "need_paused_by_hand", url=receiver_of(one.url)),
            t.number("queued", waits.get(one.id, 0)),
            f"/dash/webhooks/{one.id}",
            t("look"),
        )
        for one in receivers
        if not one.is_active
    ]
    dead = delivery_log.count_dead_letters(reader, visit.mode)
    if dead:
        found.append(_need(t.number("need_dead", dead), "", "/dash/dead-letters", t("look")))
    return found


def _sum(rows: Sequence[Json], currency: str) -> int:
    amounts = [read_api_amount(row["amount"], currency) for row in rows if row["currency"] == currency]
    return sum(amount or 0 for amount in amounts)


def _week(visit: Visit, rows: Sequence[Json], local: datetime, currency: str) -> chart.Bars | None:
    """Return the money of each of the last seven days; None if there was none."""
    names, values = visit.words("weekdays").split(), []
    for back in range(6, -1, -1):
        day = local.date() - timedelta(days=back)
        minor = _sum([row for row in rows if row["day"] == str(day)], currency)
        values.append((names[day.weekday()][:2], minor, visit.money(minor, currency)))
    return chart.bars(values, now=6) if any(minor for _, minor, _ in values) else None


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
