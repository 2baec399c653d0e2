"""The table of places in CONTRIBUTING.md names existing files, names and commands."""

import re
from pathlib import Path

import pytest

from tests.fakes import api_rows as rows
from tests.fakes.each import each
from tests.house.markdown import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.partition("## The one place to change")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| to |")
]
PLACE = re.compile(r"`((?:[\w.*<>-]+/)+[\w.*<>-]*|[\w-]+\.toml)`")
"""A path inside the repository; `<network>` and `*` stand for any name."""
NAME = re.compile(r"`([A-Z]+s?|[A-Z]\w+)`")
"""A table or a class in one of the row's files."""


def files(cell: str) -> list[list[Path]]:
    """Return the files for each place named in a cell."""
    return [sorted(ROOT.glob(re.sub(r"<\w+>", "*", place).rstrip("/"))) for place in PLACE.findall(cell)]


@pytest.mark.parametrize("wish", ["add a wording", "add a command", "add an HTTP field", "support a modem's odd reply"])
def test_one_place_is_named_for_what_is_changed_most(wish: str) -> None:
    rows = [row for row in ROWS if row[0].startswith(wish)]
    assert rows
    assert all(files(row[1]) and files(row[2]) for row in rows), "a place, and its test or document"


@each("row", ROWS)
def test_every_place_of_a_row_exists_and_holds_what_is_named(row: list[str]) -> None:
    assert len(row) == 3
    for cell in row[1:]:
        assert all(files(cell)), cell
    found = [path.read_text() for each in files(row[1] + row[2]) for path in each if path.is_file()]
    for name in NAME.findall(row[1] + row[2]):
        assert any(re.search(rf"^(?:class )?{name}\b", text, re.MULTILINE) for text in found), name


def test_a_place_that_is_gone_is_found() -> None:
    assert files("`parsers/nowhere/<network>.py` and `daemon/wire.py`") == [[], [ROOT / "daemon/wire.py"]]


def test_commands_of_make_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_a_field_of_the_endpoint_stands_in_six_files_of_the_product_at_most() -> None:
    """The headers of an endpoint are such a field; its column and its words are not counted."""
    named = re.compile(r"HEADER_PURPOSE|HEADERS_MAX|\.headers or \{\}|--send-header|shape == 'lines'")
    product = [path for name in ("daemon", "momo_cli") for path in (ROOT / name).rglob("*.*")]
    texts = {path: path.read_text() for path in product if path.suffix in (".py", ".html")}
    found = sorted(str(path.relative_to(ROOT)) for path, text in texts.items() if named.search(text))
    assert found == [
        "daemon/core/webhooks/endpoint.py",
        "daemon/dash/look/webhooks/form.html",
        "daemon/dash/pages/webhooks/endpoints.py",
        "daemon/flows/webhooks/endpoints.py",
        "daemon/steps/webhooks/head.py",
        "momo_cli/commands/webhooks/endpoints.py",
    ]


def test_every_row_names_a_test_that_exists() -> None:
    missing = [
        f"{row.text}: {row.file} {row.function}"
        for row in (*rows.other_rows(), *rows.delivery_rows())
        if row.function not in rows.functions(row.file)
    ]
    assert missing == []


def test_every_error_of_the_api_is_given_in_a_test_of_the_api() -> None:
    assert [row.text for row in rows.error_rows() if not row.function] == []


def test_a_row_whose_test_is_gone_is_found() -> None:
    assert "test_that_never_was" not in rows.functions("api/test_rows.py")
    assert rows.functions("api/no_such_file.py") == set()
    assert "test_a_field_is_there_of_its_type_and_within_its_limits" in rows.functions("api/test_rows.py")


def test_no_row_is_there_twice() -> None:
    texts = [(row.group, row.text) for row in (*rows.other_rows(), *rows.delivery_rows())]
    assert len(set(texts)) == len(texts)
