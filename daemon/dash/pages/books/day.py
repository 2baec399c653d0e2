"""The day sheet: the money of each wallet, compared with the wallet itself, and by hour, day or payer.

It is shown for print, as CSV, or as plain text for a mail to the owner.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from daemon.core.access.callers import Operation, require
from daemon.core.books import day_sheet
from daemon.core.json_values import Json
from daemon.core.limits import DAY_US, HOUR_US
from daemon.core.names import network_name
from daemon.dash.parts import chart, listing
from daemon.dash.parts.listing import Asked, Choice
from daemon.dash.parts.message_text import actor_name
from daemon.dash.parts.wallet import wallet_form
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.upkeep import notices
from daemon.steps.books.day_sheet import read_rows, read_sheet
from daemon.store import shop as shops
from daemon.store.books.day_sheet import Period, handed_up
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods as methods
from daemon.wire import Mode, ShopRole
from parsers.money import read_api_amount

BY: Final = Choice("group", day_sheet.BY, "hour")
ROWS_MAX: Final = 1000
BARS_MAX: Final = 31


async def show(visit: Visit) -> Shown | Download:
    """Show the sheet of today, or of the days in the address."""
    asked = await listing.ask(visit, BY, of_branches=True)
    zone = visit.words.zone
    period, by = _period(visit, asked), asked.chosen["group"]
    is_branch = visit.env.place.role is ShopRole.BRANCH

    def read(reader: Reader) -> tuple[Json, tuple[list[Json], int], Mapping[str, tuple[int, int]], dict[str, str]]:
        return (
            read_sheet(reader, period, shops.get(reader)),
            read_rows(reader, period, zone, by, limit=asked.limit if asked.as_csv else ROWS_MAX),
            handed_up(reader, period) if is_branch and visit.mode is Mode.LIVE else {},
            {one.id: wallet_form(visit, reader, one.sim_seq) for one in methods.in_use(reader, visit.mode)},
        )

    sheet, (rows, total), handed, proofs = await visit.env.store.read(read)
    names = ("payer_name", "payer_phone") if by == "payer" else (by,)
    names = (*names, "currency", "count", "amount")
    columns = {name: lambda row, name=name: row[name] for name in names}
    page = listing.ListPage("day-sheet", "books/day.html", columns, searched=False)
    values = {
        "sheets": sheet["sheets"],
        "settled": sheet["settled"],
        "by": by,
        "more": total - len(rows),
        # On the sheet of one day the date of an hour says nothing new.
        "named": lambda row: (
            named(visit, row, by)[-5:]
            if by == "hour" and period.until - period.since <= DAY_US
            else named(visit, row, by)
        ),
        "bars": _bars(visit, rows, by, period) if by != "payer" and rows else None,
        "kinds": day_sheet.COUNTED,
        "handed": handed,
        "proofs": proofs,
        "branch": period.branch or "",
        "when": _when(visit, period),
        "mails_to": _address(visit) if visit.may(Operation.MAIL_REPORT) else "",
    }
    return await page.answer(visit, asked, rows, None, **values)


async def mail(visit: Visit) -> Outcome:
    """Mail the sheet of the days in the form to the owner."""
    require(visit.caller, Operation.MAIL_REPORT)
    if not _address(visit):
        return Goto("/dash/day", "said_no_mail")
    # The days stand in hidden fields, with the names that they have in the address of the page.
    days = {name: visit.form[name] for name in ("from", "to", "branch") if visit.form.get(name)}
    visit.query = days
    period = _period(visit, await listing.ask(visit, of_branches=True))
    sheet = await visit.env.store.read(lambda reader: read_sheet(reader, period, shops.get(reader)))
    shop = visit.shop_name
    if period.branch:
        shop += f" · {period.branch}"
    subject = f"{_when(visit, period)} · {shop}"
    if visit.mode is Mode.TEST:
        subject = f"{visit.words('mode_title')} {subject}"
    text = "\n".join(lines(visit, sheet["sheets"])) or visit.words("day_nothing")
    await notices.queue_email(visit.env, visit.caller, subject, f"{subject}\n\n{text}\n")
    query = urlencode(days)
    return Goto(f"/dash/day?{query}" if query else "/dash/day", "said_mailed")


def _address(visit: Visit) -> str:
    """Return the owner's address; empty if the settings name no mail server."""
    return visit.env.config.smtp.to if "email" in visit.machine.channels else ""


def _period(visit: Visit, asked: Asked) -> Period:
    """Return the days that are asked for, today if they make no sense, which is said on the page."""
    zone, branch = visit.words.zone, asked.chosen.get("branch") or None
    today = day_sheet.day(visit.words.local(visit.now).date(), zone)
    until = today[1] if asked.until is None else asked.until
    last = day_sheet.day(visit.words.local(until - 1).date(), zone)
    since = last[0] if asked.since is None else asked.since
    if 0 < until - since <= day_sheet.DAYS_MAX * DAY_US:
        return Period(since, until, visit.mode, branch)
    visit.fail("", "day_days_wrong", most=day_sheet.DAYS_MAX)
    return Period(*today, visit.mode, branch)


def _when(visit: Visit, period: Period) -> str:
    first, last = visit.words.weekday(period.since), visit.words.weekday(period.until - 1)
    year = visit.words.local(period.until - 1).year
    return f"{first} {year}" if first == last else f"{first} \N{EN DASH} {last} {year}"


def named(visit: Visit, row: Json, by: str) -> str:
    """Return the name of a row of the report in the user's language; a payer has a name and a number."""
    t, name = visit.words, str(row.get(by) or "")
    if by == "weekday":
        return t("weekdays").split()[day_sheet.WEEKDAYS.index(name)]
    if by == "month":
        return f"{t('months').split()[int(name[-2:]) - 1]} {name[:4]}"
    if by == "network":
        return network_name(name)
    if by == "maker":
        return actor_name(visit, name) if name else t("no_order")
    return name


def _bars(visit: Visit, rows: Sequence[Json], by: str, period: Period) -> chart.Bars | None:
    """Return the chart of the first currency; None if it would not be readable.

    A day without money has an empty bar, so that the bars of times stand at their place.
    """
    mine = {row[by]: row for row in rows if row["currency"] == rows[0]["currency"]}
    names = list(mine)
    if by == "day":
        days = range((period.until - period.since + HOUR_US) // DAY_US)
        first = visit.words.local(period.since).date()
        names = [str(first + timedelta(days=day)) for day in days]
    elif by == "weekday":
        names = list(day_sheet.WEEKDAYS)
    if len(mine) < 2 or len(names) > BARS_MAX:
        return None
    values = []
    for name in names:
        row = mine.get(name)
        minor = 0 if row is None else read_api_amount(row["amount"], row["currency"]) or 0
        full = named(visit, {by: name}, by)
        label = {"hour": full[-5:-3], "hour_of_day": full[:2], "day": full[-2:], "week": full[-5:]}
        short = full[:3] if by in {"weekday", "month"} else full[:8]
        values.append((label.get(by, short), minor, visit.money(minor, rows[0]["currency"])))
    return chart.bars(values)


_LABEL: Final = 34
_COUNT: Final = 6


def lines(visit: Visit, sheets: Sequence[Json]) -> list[str]:
    """Return the lines of the sheets of all currencies, each wallet below the total of its currency."""
    found: list[str] = []
    for sheet in sheets:
        found += [*_sums(visit, sheet["all"], sheet["currency"]), ""]
        if len(sheet["lines"]) > 1:
            for line in sheet["lines"]:
                number = visit.phone(line["phone_number"]) or visit.words("day_no_number")
                found += [f"{line['network_name']} {number}"]
                found += [*_sums(visit, line, sheet["currency"]), ""]
    return found


def _sums(visit: Visit, sums: Json, currency: str) -> list[str]:
    t = visit.words

    def row(label: str, amount: str, count: Any = "") -> str:
        return f"{label:<{_LABEL}}{count:>{_COUNT}}  {visit.money_text(amount, currency)}"

    found = [
        row(t(f"sheet_{kind}"), sums[kind]["amount"], sums[kind]["count"])
        for kind in day_sheet.COUNTED
        if kind == "paid" or sums[kind]["count"]
    ]
    found.append(row(t("day_money_in"), sums["money_in"]["amount"], sums["money_in"]["count"]))
    wallet = sums["wallet"]
    if wallet is not None:
        found.append(row(t("day_wallet_says"), wallet["says"]))
        if not wallet["agrees"]:
            found.append(t("day_wallet_differs", amount=visit.money_text(wallet["difference"], currency)))
    if sums["doubted"]["count"]:
        found.append(t.number("day_not_counted", sums["doubted"]["count"]))
    return found
