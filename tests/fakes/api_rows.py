"""The rows of the tables of the API and of delivery, each with the test that covers it; `docs/contributing/rows.md` shows them."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from daemon.error_table import ERRORS
from daemon.wire import ErrorCode

TESTS: Final = Path(__file__).parents[1]
CORPUS: Final = TESTS / "corpus" / "rows"
FIELD_TEST: Final = "api/test_rows.py"
ELSEWHERE: Final = {
    # Errors of the Unix socket only.
    ErrorCode.DEVICE_NOT_FOUND,
    ErrorCode.MESSAGE_NOT_FOUND,
    ErrorCode.NO_CHECKOUT_PAGE,
    ErrorCode.NOT_SET_UP,
    ErrorCode.PAYER_STILL_OPEN,
    # Errors of the dashboard, which are pages.
    ErrorCode.FORM_REFUSED,
    ErrorCode.ROLE_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One row of a table of fields.

    Attributes:
        table: Its heading.
        place: The object or operation that has the field.
        name: The field; `phones[].sims` is nested.
        kind: Its type.
        nullable: It may be null.
        required: A request must have it.
        limits: Further limits of its schema.
    """

    table: str
    place: str
    name: str
    kind: str
    nullable: bool
    required: bool
    limits: dict[str, object]

    @property
    def id(self) -> str:
        """The name of this row's test."""
        return f"{self.table}: {self.name}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of any other table, with its test: a file under tests/ and a function."""

    group: str
    text: str
    file: str
    function: str


def field_rows() -> list[FieldRow]:
    """Return the rows of the tables of fields."""
    found: list[FieldRow] = []
    for block in (CORPUS / "fields.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        table, place = lines[0].split(" | ")
        for line in lines[1:]:
            name, kind, *limits = line.split(" | ")
            pairs = (pair.split("=") for text in limits for pair in text.split())
            found.append(
                FieldRow(
                    table,
                    place,
                    name,
                    kind.rstrip("?*"),
                    kind.endswith("?"),
                    kind.endswith("*"),
                    {key: value == "true" or int(value) for key, value in pairs},
                )
            )
    return found


def other_rows() -> list[Row]:
    """Return the rows of operations, transitions, authentication, events and limits."""
    return _rows("tests.txt")


def delivery_rows() -> list[Row]:
    """Return the rows of the state table and of the guarantees of deliveries."""
    return _rows("delivery.txt")


def _rows(name: str) -> list[Row]:
    group, found = "", []
    for line in (CORPUS / name).read_text().splitlines()[1:]:
        if line.startswith("# "):
            group = line[2:]
            continue
        text, place = line.rsplit(" | ", 1)
        file, function = place.split()
        found.append(Row(group, text, file, f"test_{function}"))
    return found


def error_rows() -> list[Row]:
    """Return a row for each error code of the API, with a test in tests/api that checks code and status; empty without
    one.
    """
    found = []
    for code in sorted(set(ERRORS) - ELSEWHERE, key=lambda code: (ERRORS[code].http_status, code)):
        file, function = _naming(code)
        found.append(Row("Errors", f"{ERRORS[code].http_status} {code}", file, function))
    return found


def functions(file: str) -> set[str]:
    """Return the names of the tests of a file."""
    return {name for name, _ in _tests(file)}


@functools.cache
def _tests(file: str) -> list[tuple[str, str]]:
    """Return the tests of a file with their text, decorators included."""
    path = TESTS / file
    if not path.is_file():
        return []
    text = path.read_text()
    lines = text.splitlines()
    return [
        (each.name, "\n".join(lines[_first(each) - 1 : each.end_lineno]))
        for each in ast.parse(text).body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test_")
    ]


def _first(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def _naming(code: ErrorCode) -> tuple[str, str]:
    both = re.compile(rf'\b{ERRORS[code].http_status},\s+"{code}"')
    for path in sorted((TESTS / "api").rglob("test_*.py")):
        file = str(path.relative_to(TESTS))
        for name, text in _tests(file):
            if both.search(text):
                return file, name
    return "", ""
