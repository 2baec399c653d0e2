"""Reading a file of orders and the IDs of their payments: CSV or one JSON object a line.

Pure: text in, lines out. What is wrong with one line is said of that line, so that the others can
still be done; only a file that has not the two columns at all is refused whole.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from momo_cli.amounts import amount_of
from momo_cli.errors import Failure, usage

COLUMNS: Final = ("reference", "transaction_id", "amount", "notes", "provider")
"""In this order when the file has no header."""
_NEEDED: Final = COLUMNS[:2]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file.

    Attributes:
        number: Of the file, from 1.
        order: The reference or code; empty when it could not be read.
        body: What reconcile sends.
        problem: Why it cannot be sent; empty when it can.
    """

    number: int
    order: str
    body: dict[str, Any]
    problem: str = ""


def lines_of(text: str, form: str | None) -> list[Line]:
    """Read a file.

    Args:
        text: The whole of it.
        form: "csv" or "ndjson"; None looks at the first character.

    Raises:
        Failure: USAGE: it is not of that form, or has not the two columns.
    """
    text = text.removeprefix("\ufeff")  # Excel writes one
    if form == "ndjson" or (form is None and text.lstrip().startswith("{")):
        return [_line(number, found) for number, found in _objects(text)]
    return [_line(number, found) for number, found in _records(text)]


def _objects(text: str) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as problem:
                yield number, f"not JSON: {problem}"


def _records(text: str) -> Iterator[tuple[int, object]]:
    reader = csv.reader(text.splitlines(), strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            if not names:
                names = _header(row)
                if names:
                    continue
                names = list(COLUMNS)
            short = len(row) < len(_NEEDED)
            yield reader.line_num, "too few columns" if short else dict(zip(names, row))  # noqa: B905  # the last ones may be left out
    except csv.Error as problem:
        raise usage(f"--from-file: line {reader.line_num}: {problem}") from None


def _header(row: list[str]) -> list[str]:
    """Return the names of the columns; empty when the first line is not a header."""
    names = [cell.casefold().replace(" ", "_") for cell in row]
    if not set(names) & set(COLUMNS):
        return []
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise usage(f"--from-file: the first line names no column {', '.join(missing)}")
    return names


def _line(number: int, found: object) -> Line:
    if not isinstance(found, dict):
        return Line(number, "", {}, found if isinstance(found, str) else "not a JSON object")
    given = {name: found.get(name) for name in COLUMNS}
    order = str(given["reference"] or "").strip()
    if isinstance(given["transaction_id"], int | float):
        # A number has lost its leading zeros already; they are part of the ID.
        return Line(number, order, {}, "transaction_id must be a text in quotes, not a number")
    telco_id = str(given["transaction_id"] or "").replace(" ", "")
    body: dict[str, Any] = {"transaction_id": telco_id}
    if not order or not telco_id:
        return Line(number, order, body, "reference and transaction_id are needed")
    if given["amount"] not in (None, ""):
        try:
            body["amount"] = amount_of(str(given["amount"]), "amount")[0]
        except Failure as failure:
            return Line(number, order, body, failure.message)
    body |= {name: str(given[name]) for name in ("notes", "provider") if given[name]}
    return Line(number, order, body)
