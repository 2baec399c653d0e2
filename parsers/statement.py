"""Reading of a network's statement, given as rows of text: find the columns and the received payments.

Statements of MTN (of the wallet and of the merchant portal) and of Telecel (of the organisation portal) are recognised by
the names of their columns; for others the caller gives the names. Outgoing entries are only counted.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from parsers.money import read_money
from parsers.pasted import plain_amount
from parsers.reading import normalize_telco_id

PREAMBLE_ROWS_MAX: Final = 40
"""Rows with names, addresses and totals above the table."""
FIELDS: Final = ("id", "time", "amount", "paid_in", "before", "after", "status")
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("fid", "financialtransactionid", "transactionid", "transid", "receiptno", "receiptnumber", "id"),
    "time": ("transactiondate", "completiontime", "datetime", "date", "time"),
    "paid_in": ("paidin", "credit", "creditamount", "moneyin"),
    "amount": ("amount", "transactionamount"),
    "before": ("balbefore", "balancebefore", "openingbalance"),
    "after": ("balafter", "balanceafter", "balance", "runningbalance"),
    "status": ("transactionstatus", "status"),
}
"""Column names by field, lower case, only letters and digits; the first name that is present is used."""
_DONE: Final = ("", "completed", "complete", "success", "successful", "succeeded", "ok")
_FORMS: Final = (
    "%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%d-%b-%Y %H:%M:%S", "%d-%b-%Y %I:%M:%S %p",
    "%d %b %Y %H:%M:%S", "%d-%b-%y %H:%M:%S", "%d-%m-%Y", "%d/%m/%Y", "%d-%b-%Y",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatementEntry:
    """A received payment in a statement.

    Attributes:
        line: Line of the file, from 1.
        id: The network's transaction ID, normalised.
        minor: Amount in minor units.
        at: Printed time without a zone; None if it cannot be read.
    """

    line: int
    id: str
    minor: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Closing:
    """What the wallet held after the last row of a statement.

    Attributes:
        minor: The balance after the last row, in minor units.
        at: Printed time of the last row, without a zone.
        first_at: Printed time of the first row.
    """

    minor: int
    at: datetime
    first_at: datetime


@dataclass(frozen=True, slots=True)
class Statement:
    """The contents of a statement.

    Attributes:
        entries: The received payments.
        columns: Name of the column used for each field.
        out: Number of entries that are outgoing, zero or not completed.
        unread: Lines of the file without a readable ID or amount.
        missing: Required fields without a column; if any, there are no entries.
        header: Names of the columns in the file.
        closing: The balance after the last row; None if the statement does not tell it for certain.
    """

    entries: tuple[StatementEntry, ...]
    columns: Mapping[str, str]
    out: int = 0
    unread: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    closing: Closing | None = None


def rows_of(text: str) -> Iterator[list[str]]:
    """Yield the rows of a CSV file with cells separated by commas, semicolons or tabs, one after the other."""
    delimiter = max(",;\t", key=text[:4096].count)
    for _, cells, _ in records_of(io.StringIO(text, newline=""), delimiter):
        yield cells


def records_of(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Yield each record of a CSV file: the number of its first line, its cells, and why that line is no CSV, else nothing.

    The lines after such a line are read again: a quote that was left open may have taken them in.
    """
    number, again, rest = 1, list[str](), iter(lines)

    def source(taken: list[str]) -> Iterator[str]:
        while (line := again.pop() if again else next(rest, None)) is not None:
            taken.append(line)
            yield line

    while True:
        taken, why = list[str](), ""
        try:
            cells = next(csv.reader(source(taken), delimiter=delimiter, strict=True))
        except StopIteration:
            return
        except csv.Error as problem:
            why, cells = str(problem), taken[0].rstrip("\r\n").split(delimiter)
            again += reversed(taken[1:])
            del taken[1:]
        yield number, cells, why
        number += len(taken)


def read_statement(
    rows: Iterable[Sequence[str]], named: Mapping[str, str] | None = None, currency: str = "GHS"
) -> Statement:
    """Read a statement, row by row.

    `named` has column names by field (`FIELDS`), `currency` is that of amounts that name none.
    """
    table = [list(row) for row in rows]
    best: tuple[int, dict[str, int]] = (0, {})
    for place, row in enumerate(table[:PREAMBLE_ROWS_MAX]):
        found = _columns(row, named or {})
        if len(found) > len(best[1]):
            best = (place, found)
    start, columns = best
    header = tuple(table[start]) if table else ()
    missing = tuple(
        name for name, ok in (("id", "id" in columns), ("amount", {"amount", "paid_in"} & columns.keys())) if not ok
    )
    if missing:
        return Statement((), {}, missing=missing, header=header)
    entries, out, unread, done = [], 0, [], []
    for number, row in enumerate(table[start + 1 :], start + 2):
        if not any(cell.strip() for cell in row):
            continue
        cells = {name: row[at].strip() if at < len(row) else "" for name, at in columns.items()}
        if _is_total(cells):
            continue
        if _plain(cells.get("status", "")) in _DONE:
            done.append(cells)
        read = _entry(number, cells, currency)
        if isinstance(read, StatementEntry):
            entries.append(read)
        elif read:
            out += 1
        else:
            unread.append(number)
    names = {name: header[at].strip() for name, at in columns.items()}
    return Statement(tuple(entries), names, out, tuple(unread), header=header, closing=_closing(done, currency))


def _is_total(cells: Mapping[str, str]) -> bool:
    """Return whether a row only adds up others: it has no time, no balance and no ID of its own."""
    timed = "time" not in cells or _time(cells["time"]) is not None or cells.get("after")
    return not timed and re.match(r"(grand)?total|$", _plain(cells["id"])) is not None


def _closing(rows: Sequence[Mapping[str, str]], currency: str) -> Closing | None:
    """Return the balance after the last row; None if a time or that balance is not readable, or two rows may be the last."""
    times = [_time(cells.get("time", "")) for cells in rows]
    known = [at for at in times if at is not None]
    # A day without a time of day does not say what came before the balance and what after it.
    if not known or len(known) < len(rows) or any(":" not in cells["time"] for cells in rows):
        return None
    last = max(known)
    ends = [cells for cells, at in zip(rows, known, strict=True) if at == last]
    afters = [_minor(cells.get("after", ""), currency) for cells in ends]
    if len(ends) > 1:
        befores = [_minor(cells.get("before", ""), currency) for cells in ends]
        if None in befores:
            return None
        afters = [after for after in afters if after not in befores]
    if len(afters) != 1 or afters[0] is None:
        return None
    return Closing(afters[0], last, min(known))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _columns(row: Sequence[str], named: Mapping[str, str]) -> dict[str, int]:
    places = {_plain(cell): place for place, cell in reversed(list(enumerate(row))) if _plain(cell)}
    found = {}
    for field, names in _NAMES.items():
        wanted = (_plain(named[field]),) if field in named else names
        place = next((places[name] for name in wanted if name in places), None)
        if place is not None:
            found[field] = place
    return found


def _entry(number: int, cells: Mapping[str, str], currency: str) -> StatementEntry | bool:
    """Return the received payment; True for an entry that is none, False for an unreadable entry."""
    if _plain(cells.get("status", "")) not in _DONE:
        return True
    text = plain_amount(cells.get("paid_in" if "paid_in" in cells else "amount", ""))
    if not text or text.startswith("-"):
        return True
    minor, telco_id = _minor(text, currency), _id(cells["id"])
    if minor is None or not telco_id:
        return False
    before, after = (_minor(cells.get(name, ""), currency) for name in ("before", "after"))
    left = before is not None and after is not None and after <= before
    if minor == 0 or left:
        return True
    return StatementEntry(number, telco_id, minor, _time(cells.get("time", "")))


def _minor(text: str, currency: str) -> int | None:
    money = read_money(plain_amount(text).removeprefix("+").strip(), currency=currency)
    return None if money is None else money.minor


def _id(text: str) -> str:
    """Return the ID, without the ="..." or the apostrophe that a spreadsheet adds to keep it text."""
    found = normalize_telco_id(text)
    return found if re.fullmatch(r"[A-Z0-9.]{4,40}", found, re.ASCII) else ""


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        pass
    for form in _FORMS:
        try:
            return datetime.strptime(text, form)  # noqa: DTZ007 -- a statement names no zone
        except ValueError:
            continue
    return None
