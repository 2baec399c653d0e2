"""Lists: filters and order in the address, pages, and the same rows as CSV for users with that permission."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.books import day_sheet
from daemon.dash.web.visit import Download, Shown, Visit
from daemon.flows.books.audit import note_export

PER_PAGE: Final = 50
CSV_ROWS_MAX: Final = 10_000
SEARCH_CHARACTERS_MAX: Final = 100
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
Row = TypeVar("Row")


class Choice(Struct, frozen=True):
    """A filter or an order with fixed options; the words are `<name>` and `<name>_<option>`; "" is every row.

    Attributes:
        named: The options are names, shown as they are.
    """

    name: str
    options: tuple[str, ...]
    default: str = ""
    named: bool = False


class Asked(Struct, frozen=True):
    """The query of a list, read from the address.

    Attributes:
        choices: The filters.
        chosen: The option of each choice, its default for an unknown one.
        search: Text to search for; None for none.
        since: Start of the day `from`, microseconds; None for none.
        until: End of the day `to`.
        after: Id of the row after which the page starts; None for the first page.
        as_csv: The address asks for the file.
    """

    choices: Sequence[Choice]
    chosen: Mapping[str, str]
    search: str | None
    since: int | None
    until: int | None
    after: str | None
    as_csv: bool

    @property
    def limit(self) -> int:
        """How many rows to read; for a file one more than it may have, so that a longer one is refused."""
        return CSV_ROWS_MAX + 1 if self.as_csv else PER_PAGE


class Listing(Struct, Generic[Row], frozen=True):
    """One page of a list for the template.

    Attributes:
        rows: The rows.
        choices: The filters.
        chosen: The option of each.
        search: The text in the search field; None if the list has no search.
        days: The days in the two fields of the filter; None if the list has no days.
        first: Address of the first page; "" on it.
        older: Address of the next page; "" on the last one.
        file: Address of the CSV; "" if the user may not export.
        filtered: Something is filtered.
    """

    path: str
    rows: Sequence[Row]
    choices: Sequence[Choice]
    chosen: Mapping[str, str]
    search: str | None
    days: tuple[str, str] | None
    first: str
    older: str
    file: str
    filtered: bool


def ask(visit: Visit, choices: Sequence[Choice]) -> Asked:
    """Read the address of a list; values that make no sense filter nothing."""
    query = visit.query
    chosen = {}
    for choice in choices:
        given = query.get(choice.name, choice.default)
        chosen[choice.name] = given if given in choice.options else choice.default
    days = _day(visit, "from"), _day(visit, "to")
    return Asked(
        choices,
        chosen,
        query.get("search", "").strip()[:SEARCH_CHARACTERS_MAX] or None,
        None if days[0] is None else days[0][0],
        None if days[1] is None else days[1][1],
        query.get("after") or None,
        query.get("as") == "csv",
    )


def offset(asked: Asked) -> int:
    """Return the number of rows before the page, for a list that uses it as `after`."""
    text = asked.after or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def page(
    visit: Visit,
    asked: Asked,
    rows: Sequence[Row],
    last: str | None,
    *,
    searched: bool = True,
    dated: bool = True,
) -> Listing[Row]:
    """Return the page of a list.

    Args:
        visit: The request.
        asked: The result of `ask`.
        rows: The rows of the page.
        last: Id of the last row if more follow, else None.
        searched: The list has a search field.
        dated: The list can be filtered by days.
    """
    kept: dict[str, str] = {
        choice.name: asked.chosen[choice.name]
        for choice in asked.choices
        if asked.chosen[choice.name] != choice.default
    }
    if asked.search:
        kept["search"] = asked.search
    kept |= {name: visit.query[name] for name in ("from", "to") if _day(visit, name) is not None}

    def address(**more: str) -> str:
        query = urlencode({**kept, **more})
        return f"{visit.path}?{query}" if query else visit.path

    return Listing(
        visit.path,
        rows,
        asked.choices,
        asked.chosen,
        (asked.search or "") if searched else None,
        (visit.query.get("from", ""), visit.query.get("to", "")) if dated else None,
        address() if asked.after else "",
        address(after=last) if last else "",
        address(**{"as": "csv"}) if visit.may(Operation.EXPORT) else "",
        filtered=bool(kept),
    )


async def csv_file(
    visit: Visit,
    name: str,
    columns: Mapping[str, Callable[[Row], Any]],
    rows: Sequence[Row],
) -> Download | Shown:
    """Return a list as CSV and record the export in the journal; a page that says so if there are too many rows.

    A cell that a spreadsheet would read as a formula begins with an apostrophe.

    Raises:
        Refusal: ROLE_REQUIRED.
    """
    require(visit.caller, Operation.EXPORT)
    if len(rows) > CSV_ROWS_MAX:
        headline = visit.words("file_too_long", most=f"{CSV_ROWS_MAX:,}")
        more = visit.words("file_too_long_more")
        values = {"headline": headline, "more": more, "next": "momo data export --help"}
        return Shown("error.html", values, headline, status=422)
    await note_export(visit.env, visit.caller, {"what": name, "rows": len(rows)})
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(read(row)) for read in columns.values()])
    return Download(f"{name}-{visit.words.local(visit.now):%Y-%m-%d}.csv", out.getvalue().encode())


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _day(visit: Visit, name: str) -> tuple[int, int] | None:
    try:
        return day_sheet.day(date.fromisoformat(visit.query.get(name, "")), visit.words.zone)
    except (ValueError, OverflowError):
        return None
