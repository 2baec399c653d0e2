"""Lists: filters and order in the address, pages, and the same rows as CSV for users with that permission.

At a hub a list has a filter and a column with the branch.
"""

import base64
import csv
import io
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.books import day_sheet
from daemon.core.model import PaymentMethod
from daemon.core.names import national_format, provider_name
from daemon.dash.web.visit import Download, Shown, Visit
from daemon.flows.books.audit import note_export
from daemon.store.branches import branches
from daemon.store.lines import payment_methods
from daemon.wire import Mode, ShopRole

PER_PAGE: Final = 50
CSV_ROWS_MAX: Final = 10_000
COUNTED_MAX: Final = 10_000
"""So many rows are counted in some milliseconds."""
SUMMED_MAX: Final = 2_000
"""So many transactions are added up in some milliseconds."""
SEARCH_CHARACTERS_MAX: Final = 100
PAGES_BACK_MAX: Final = 20
"""So many pages of a list one can go back, one at a time; the address names where each began."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
Row = TypeVar("Row")


class Choice(Struct, frozen=True):
    """A filter or an order with fixed options; the words are `<name>` and `<name>_<option>`; "" is every row.

    Options that are `named` are shown as they are.
    """

    name: str
    options: tuple[str, ...]
    default: str = ""
    named: bool = False


class Asked(Struct, frozen=True):
    """The query of a list, read from the address; the times are microseconds.

    Attributes:
        chosen: The option of each choice, its default for an unknown one.
        since: Start of the day `from`.
        until: End of the day `to`.
        after: Id of the row after which the page starts; None for the first page.
        as_csv: The address asks for the file.
        branches: The names of the branches by id; empty unless this shop is a hub.
    """

    choices: Sequence[Choice]
    chosen: Mapping[str, str]
    search: str | None
    since: int | None
    until: int | None
    after: str | None
    as_csv: bool
    branches: Mapping[str, str]

    @property
    def limit(self) -> int:
        """How many rows to read; for a file one more than it may have, so that a longer one is refused."""
        return CSV_ROWS_MAX + 1 if self.as_csv else PER_PAGE

    @property
    def branch(self) -> str | None:
        """The name of the chosen branch."""
        return self.chosen.get("branch") or None

    @property
    def number(self) -> int | None:
        """`after` as a number; None for none, and for a text that is none."""
        text = self.after or ""
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


class Listing(Struct, Generic[Row], frozen=True):
    """One page of a list for the template.

    Attributes:
        chosen: The option of each choice.
        search: The text in the search field; None if the list has no search.
        days: The days in the two fields of the filter; None if the list has no days.
        first: Address of the first page; "" on it, and where the page before is the first.
        newer: Address of the page before; "" on the first one.
        older: Address of the next page; "" on the last one.
        file: Address of the CSV; "" if the user may not export.
        filtered: Something is filtered.
        chips: The days that people ask for most: key of the words, address, whether they are chosen.
        count: How many rows the filter leaves, in words; "" if it is not known.
        sum: Their sum; "" for rows without amounts.
    """

    path: str
    rows: Sequence[Row]
    choices: Sequence[Choice]
    chosen: Mapping[str, str]
    search: str | None
    days: tuple[str, str] | None
    first: str
    newer: str
    older: str
    file: str
    filtered: bool
    chips: Sequence[tuple[str, str, bool]]
    count: str
    sum: str


async def branch_names(visit: Visit) -> Mapping[str, str]:
    """Return the names of the branches by id; empty unless this shop is a hub."""
    if visit.env.place.role is not ShopRole.HUB:
        return {}
    return await visit.env.store.read(branches.names)


async def ask(visit: Visit, *choices: Choice, of_branches: bool = False) -> Asked:
    """Read the address of a list; values that make no sense filter nothing."""
    query, names = visit.query, await branch_names(visit) if of_branches else {}
    if names:
        choices = (*choices, Choice("branch", ("", *names.values()), named=True))
    chosen = {}
    for choice in choices:
        given = query.get(choice.name, choice.default)
        chosen[choice.name] = given if given in choice.options else choice.default
    first, last = _day(visit, "from"), _day(visit, "to")
    return Asked(
        choices,
        chosen,
        query.get("search", "").strip()[:SEARCH_CHARACTERS_MAX] or None,
        None if first is None else first[0],
        None if last is None else last[1],
        query.get("after") or None,
        query.get("as") == "csv",
        names,
    )


def chosen_file(address: str) -> bytes:
    """Return a chosen file, which the script puts into a form as a `data:` address; empty if it is none."""
    try:
        return base64.b64decode(address.partition(",")[2], validate=True)
    except ValueError:
        return b""


async def named_lines(visit: Visit, value: Callable[[PaymentMethod], str]) -> list[tuple[str, str]]:
    """Return the shop's numbers as options of a form: the value of each, and its words."""
    found = await visit.env.store.read(payment_methods.in_use)
    return [(value(one), f"{national_format(one.phone_number)} · {provider_name(one.provider)}") for one in found]


class ListPage(Struct, Generic[Row], frozen=True):
    """A page that is a list, and the same as a CSV of the `name`, with a reader for each column of a row.

    `branch_of` reads the branch of a row. It may have a search field, and be filtered by days.
    """

    name: str
    template: str
    columns: Mapping[str, Callable[[Row], Any]]
    branch_of: Callable[[Row], str | None] | None = None
    searched: bool = True
    dated: bool = True

    async def answer(
        self, visit: Visit, asked: Asked, rows: Sequence[Row], last: object, **values: Any
    ) -> Shown | Download:
        """Return the page, or the file if the address asks for it.

        `last` is the id of the last row if more follow, else None. Of `values` for the template, `count` and `sum` are
        those of the list.
        """
        if asked.as_csv:
            return await self._file(visit, asked, rows)
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

        back = visit.query.get("back", "").split(",") if visit.query.get("back") else []
        here = [*back, asked.after] if asked.after else []
        newer = {"after": back[-1]} if back else {}
        if back[:-1]:
            newer["back"] = ",".join(back[:-1])
        older = {"after": str(last)}
        if here:
            older["back"] = ",".join(here[-PAGES_BACK_MAX:])
        found = Listing(
            visit.path,
            rows,
            asked.choices,
            asked.chosen,
            (asked.search or "") if self.searched else None,
            (visit.query.get("from", ""), visit.query.get("to", "")) if self.dated else None,
            address() if back else "",
            address(**newer) if asked.after else "",
            "" if last is None else address(**older),
            address(**{"as": "csv"}) if visit.may(Operation.EXPORT) else "",
            filtered=bool(kept),
            chips=_chips(visit, address) if self.dated else (),
            count=str(values.pop("count", "")),
            sum=str(values.pop("sum", "")),
        )
        return Shown(self.template, {"branches": asked.branches, **values, "list": found})

    async def _file(self, visit: Visit, asked: Asked, rows: Sequence[Row]) -> Download | Shown:
        """Return the rows as CSV and record the export in the journal; a page that says so if there are too many.

        A cell that a spreadsheet would read as a formula begins with an apostrophe.
        """
        require(visit.caller, Operation.EXPORT)
        if len(rows) > CSV_ROWS_MAX:
            headline = visit.words("file_too_long", most=f"{CSV_ROWS_MAX:,}")
            more = visit.words("file_too_long_more")
            values = {"headline": headline, "more": more, "next": "momo data export --help"}
            return Shown("error.html", values, headline, status=422)
        await note_export(visit.env, visit.caller, {"what": self.name, "rows": len(rows)})
        columns, branch_of = dict(self.columns), self.branch_of
        if asked.branches and branch_of is not None:
            columns["branch"] = lambda row: asked.branches.get(branch_of(row) or "")
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(columns)
        for row in rows:
            cells = [str("" if (value := read(row)) is None else value) for read in columns.values()]
            writer.writerow(f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells)
        kind = f"{self.name}-sandbox" if visit.mode is Mode.TEST else self.name
        name = f"{kind}-{visit.words.local(visit.now):%Y-%m-%d}.csv"
        return Download(name, out.getvalue().encode())


def counted(visit: Visit, count: int) -> str:
    """Return a number of rows in words; those above `COUNTED_MAX` are not counted."""
    if count > COUNTED_MAX:
        return visit.words("count_more", count=f"{COUNTED_MAX:,}")
    return f"{count:,}"


def _chips(visit: Visit, address: Callable[..., str]) -> list[tuple[str, str, bool]]:
    today, found = visit.words.local(visit.now).date(), []
    for word, first, last in (("today", 0, 0), ("yesterday", 1, 1), ("week", 6, 0), ("month", 29, 0)):
        days = {"from": str(today - timedelta(days=first)), "to": str(today - timedelta(days=last))}
        here = all(visit.query.get(name) == day for name, day in days.items())
        found.append((f"chip_{word}", address(**days), here))
    return found


def _day(visit: Visit, name: str) -> tuple[int, int] | None:
    try:
        return day_sheet.day(date.fromisoformat(visit.query.get(name, "")), visit.words.zone)
    except (ValueError, OverflowError):
        return None
