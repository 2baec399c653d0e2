"""CSV by RFC 4180 that a spreadsheet may open: what strangers wrote is never a formula.

Names and references come from whoever pays. A cell that a spreadsheet would take for a formula begins with an apostrophe
(OWASP, CSV injection); amounts such as -2.00 are numbers and stay as they are.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

BOM: Final = "\ufeff"
"""Tells Excel that the file is UTF-8."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the wide forms of = + - @, which some spreadsheets read alike."""
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_LONG: Final = re.compile(r"\+?\d{8,40}|0\d{1,39}", re.ASCII)
"""Digits that are a name, not a number: Excel would round them or drop their zeros."""


def csv_lines(
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    header: bool = True,
    excel: bool = False,
) -> Iterator[str]:
    """Write rows as they come, one piece of text each, lines ended by CR LF.

    Args:
        columns: The members of each row, in order.
        rows: The records.
        header: Begin with the names of the columns.
        excel: Keep long digits as text, which Excel else rounds: such a cell is written ="0244124567".
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    if header:
        writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row.get(name), excel=excel) for name in columns])
        yield _taken(buffer)
    if buffer.tell():
        yield _taken(buffer)  # a header without rows


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def cell(value: object, *, excel: bool = False) -> str:
    """Return what stands in one cell."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if excel and _LONG.fullmatch(value):
        return f'="{value}"'
    if value.lstrip(" ").startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
