"""CSV (RFC 4180) that is safe to open in a spreadsheet.

Names and references come from payers. A cell that a spreadsheet would read as a formula gets an apostrophe in front
(OWASP, CSV injection); amounts such as -2.00 and phone numbers such as +233244124567
are numbers and stay unchanged.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

BOM: Final = "\ufeff"
"""Marks the file as UTF-8 for Excel."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the full-width forms of = + - @, which some spreadsheets read as the same."""
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_PHONE: Final = re.compile(r"\+\d{8,15}", re.ASCII)
"""A phone number in E.164: digits alone calculate nothing, and with an apostrophe it could not be looked up."""
_LONG: Final = re.compile(r"\+?\d{8,40}|0\d{1,39}", re.ASCII)
"""Digits that are an identifier, not a number: Excel would round them or drop leading zeros."""


def csv_lines(
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    header: bool = True,
    excel: bool = False,
) -> Iterator[str]:
    """Yield a piece of CSV text for each row; lines end with CR LF.

    `columns` are the members of each row, in order. `excel` keeps long digits as text, because Excel rounds them: such
    a cell is written ="0244124567".
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    if header:
        writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(row.get(name), excel=excel) for name in columns])
        yield _taken(buffer)
    if buffer.tell():
        yield _taken(buffer)  # a header without rows


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def csv_cell(value: object, *, excel: bool = False) -> str:
    """Return the text of one cell."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if excel and _LONG.fullmatch(value):
        return f'="{value}"'
    if value.lstrip(" ").startswith(_FORMULA) and not (
        _NUMBER.fullmatch(value) or _PHONE.fullmatch(value)
    ):
        return f"'{value}"
    return value
