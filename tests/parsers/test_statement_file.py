"""The files of statements: CSV and Excel give the same rows, and each file that is no statement is named in one sentence."""

import contextlib
import io
import zipfile
from datetime import datetime
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.statement import read_statement
from parsers.statement_file import ROWS_MAX, WRONG, StatementFileError, rows_in

HEAD = ["FID", "Transaction date", "Amount"]


def excel(*sheets: list[list[Any]], name: str = "", part: bytes = b"") -> bytes:
    """Return an Excel file with these sheets, and with one more part in it."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    if name:
        with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as parts:
            parts.writestr(name, part)
    return out.getvalue()


def replaced(data: bytes, old: str, new: str) -> bytes:
    """Return an Excel file with a part of its sheets replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as parts, zipfile.ZipFile(out, "w") as anew:
        for name in parts.namelist():
            anew.writestr(name, parts.read(name).replace(old.encode(), new.encode()))
    return out.getvalue()


def why(data: bytes) -> str:
    with pytest.raises(StatementFileError) as raised:
        rows_in(data)
    assert str(raised.value) == WRONG[raised.value.why]
    return raised.value.why


def test_excel_and_csv_of_the_same_statement_have_the_same_payments() -> None:
    at = datetime(2026, 11, 21, 8, 0, 30)  # noqa: DTZ001 -- a printed time names no zone
    rows: list[list[Any]] = [
        HEAD,
        [93214500001, at, 25.1],
        ["93214500002", "21-11-2026 08:01:00", 7],
        [93214500003.0, at, 1209.47],
    ]
    text = (
        "FID,Transaction date,Amount\r\n93214500001,21-11-2026 08:00:30,25.10\r\n"
        "93214500002,21-11-2026 08:01:00,7\r\n93214500003,21-11-2026 08:00:30,1209.47\r\n"
    )
    by_excel = read_statement(rows_in(excel(rows, [])))
    assert by_excel.entries == read_statement(rows_in(text.encode("utf-8-sig"))).entries
    assert by_excel.entries == read_statement(rows_in(text.encode("utf-16"))).entries
    assert [one.minor for one in by_excel.entries] == [2510, 700, 120947]


def test_a_file_that_is_no_statement_is_named() -> None:
    sheet: list[list[Any]] = [HEAD, ["93214500001", "21-11-2026", 25]]
    letter = io.BytesIO()
    with zipfile.ZipFile(letter, "w") as parts:
        parts.writestr("word/document.xml", "<w/>")
    bomb = excel(sheet, name="xl/media/image1.png", part=b"\0" * 30_000_000)
    assert len(bomb) < 100_000
    assert {
        "nothing": why(b""),
        "blanks": why(b"\xef\xbb\xbf \r\n"),
        "a sheet without rows": why(excel([])),
        "PDF": why(b"%PDF-1.7\n..."),
        "Latin-1": why("FID,Montant,Payé par\n1,2,Esi Nyarkö\n".encode("latin-1")),
        "a picture": why(b"\x89PNG\r\n\x1a\n\0\0"),
        "old Excel": why(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600),
        "a letter": why(letter.getvalue()),
        "a cut file": why(excel(sheet)[:-200]),
        "formulas": why(excel([*sheet, ["", "", "=SUM(C2:C2)"]])),
        "macros": why(excel(sheet, name="xl/vbaProject.bin", part=b"x")),
        "two sheets": why(excel(sheet, sheet)),
        "a bomb": why(bomb),
        "too much": why(
            replaced(
                excel([["a"]]), "</row>", "</row>" + '<row><c t="inlineStr"><is><t>a</t></is></c></row>' * ROWS_MAX
            )
        ),
        "too much CSV": why(b"a\n" * (ROWS_MAX + 1)),
    } == {
        "nothing": "empty",
        "blanks": "empty",
        "a sheet without rows": "empty",
        "PDF": "pdf",
        "Latin-1": "latin",
        "a picture": "binary",
        "old Excel": "old_excel",
        "a letter": "binary",
        "a cut file": "broken",
        "formulas": "formulas",
        "macros": "macros",
        "two sheets": "sheets",
        "a bomb": "long",
        "too much": "long",
        "too much CSV": "long",
    }


def test_results_of_formulas_are_read_and_a_row_of_sums_is_no_payment() -> None:
    head = ["Receipt No.", "Completion Time", "Paid In", "Balance"]
    at = datetime(2026, 11, 21, 9, 30)  # noqa: DTZ001 -- a printed time names no zone
    for total in (
        ["", "", "=SUM(C2:C3)", ""],
        ["Total", "", "=SUM(C2:C3)", ""],
        ["", "Grand total", "=SUM(C2:C3)", ""],
    ):
        rows: list[list[Any]] = [
            head,
            ["93214500001", at, 25, 125],
            ["93214500002", at.replace(hour=10), "=20+12.5", 157.5],
            total,
        ]
        data = excel(rows)
        assert why(data) == "formulas", "its program has not calculated it"
        for formula, result in (("SUM(C2:C3)", 57.5), ("20+12.5", 32.5)):
            data = replaced(data, f"<f>{formula}</f><v />", f"<f>{formula}</f><v>{result}</v>")
        read = read_statement(rows_in(data))
        assert [one.minor for one in read.entries] == [2500, 3250]
        assert (read.out, read.unread) == (0, ())
        assert read.closing is not None
        assert read.closing.minor == 15750
    odd = read_statement([head, ["93214500001", f"{at}", "25", "125"], ["", "", "7", "132"]])
    assert odd.unread == (3,), "a row that moved the balance is told"


@given(st.binary() | st.binary().map(lambda data: b"PK\x03\x04" + data))
def test_any_file_gives_rows_or_one_sentence(data: bytes) -> None:
    with contextlib.suppress(StatementFileError):
        assert all(isinstance(cell, str) for row in rows_in(data) for cell in row)
