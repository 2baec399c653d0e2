"""The day sheet: the money of each wallet, compared with the wallet itself, and by hour, day or payer; for print or as CSV."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from daemon.core.books import day_sheet
from daemon.core.errors import FieldError
from daemon.core.json_values import Json
from daemon.core.limits import DAY_US
from daemon.dash.parts import chart, listing
from daemon.dash.parts.listing import Choice
from daemon.dash.web.answers import Download, Shown
from daemon.dash.web.visit import Visit
from daemon.steps.day_sheet import read_buckets, read_sheet
from daemon.store import shop as shops
from daemon.store.books.day_sheet import Period, by_payer
from daemon.store.engine import Reader
from parsers.money import read_api_amount, render

CHOICES: Final = (Choice("group", ("hour", "day", "payer"), "hour"),)
ROWS_MAX: Final = 1000
BARS_MAX: Final = 31


async def show(visit: Visit) -> Shown | Download:
    """Show the sheet of today, or of the days in the address."""
    asked = listing.ask(visit, CHOICES)
    zone = visit.words.zone
    today = day_sheet.day(visit.words.local(visit.now).date(), zone)
    until = today[1] if asked.until is None else asked.until
    last = day_sheet.day(visit.words.local(until - 1).date(), zone)
    since = last[0] if asked.since is None else asked.since
    if not 0 < until - since <= day_sheet.DAYS_MAX * DAY_US:
        visit.fail(
            FieldError("", "invalid", visit.words("day_days_wrong", most=day_sheet.DAYS_MAX))
        )
        since, until = today
    period, by = Period(since, until), asked.chosen["group"]

    def read(reader: Reader) -> tuple[Json, list[Json]]:
        return read_sheet(reader, period, shops.get(reader)), _rows(reader, period, zone, by)

    sheet, rows = await visit.env.store.read(read)
    if asked.as_csv:
        return await listing.csv_file(visit, "day-sheet", _columns(by), rows)
    return Shown(
        "books/day.html",
        {
            "sheets": sheet["sheets"],
            "list": listing.page(visit, asked, rows, None, searched=False),
            "by": by,
            "bars": _bars(visit, rows, by),
            "kinds": day_sheet.COUNTED,
            "when": _when(visit, since, until),
        },
    )


def _when(visit: Visit, since: int, until: int) -> str:
    first, last = visit.words.weekday(since), visit.words.weekday(until - 1)
    year = visit.words.local(until - 1).year
    return f"{first} {year}" if first == last else f"{first} \N{EN DASH} {last} {year}"


def _rows(reader: Reader, period: Period, zone: tzinfo, by: str) -> list[Json]:
    if by != "payer":
        return read_buckets(reader, period, zone, by)
    payers, _ = by_payer(reader, period, limit=ROWS_MAX, offset=0)
    return [
        {
            "payer_phone": number,
            "payer_name": name,
            "currency": currency,
            "count": count,
            "amount": render(minor, currency),
        }
        for number, name, currency, count, minor in payers
    ]


def _columns(by: str) -> dict[str, Any]:
    names = ("payer_name", "payer_phone") if by == "payer" else (by,)
    return {
        name: lambda row, name=name: row[name] for name in (*names, "currency", "count", "amount")
    }


def _bars(visit: Visit, rows: Sequence[Json], by: str) -> chart.Bars | None:
    """Return the chart of the first currency by hour or day; None if it would not be readable."""
    mine = [row for row in rows if row["currency"] == rows[0]["currency"]]
    if by == "payer" or not 1 < len(mine) <= BARS_MAX:
        return None
    return chart.bars(
        [
            (
                row[by][-5:-3] if by == "hour" else row[by][-2:],
                read_api_amount(row["amount"], row["currency"]) or 0,
                visit.money_text(row["amount"], row["currency"]),
            )
            for row in mine
        ]
    )
