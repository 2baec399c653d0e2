"""Reading of a statement's file into rows of text: CSV in UTF-8 or UTF-16, or one sheet of Excel."""

import io
import itertools
import zipfile
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from parsers.statement import rows_of

UNPACKED_BYTES_MAX: Final = 20_000_000
"""Of all parts of an Excel file; a year of a busy shop has a tenth of it."""
ROWS_MAX: Final = 50_000
COLUMNS_MAX: Final = 100
WRONG: Final = {
    "empty": "the file is empty",
    "long": f"the file is too long: at most {ROWS_MAX:,} rows are read; export a shorter period",
    "pdf": "this is a PDF, which has no columns: download the statement as CSV or Excel instead",
    "latin": 'the file is not in UTF-8 but in an older encoding such as Latin-1: save it as "CSV UTF-8" or as Excel',
    "binary": "the file is neither CSV nor Excel: download the statement as CSV or Excel",
    "old_excel": "the file is of an old Excel or has a password: save it as .xlsx without a password",
    "macros": "the file has macros, so it is not read: save it as .xlsx or CSV",
    "formulas": "the file has formulas without results: open it in Excel and save it, or save it as CSV",
    "sheets": "the file has more than one sheet with content: keep the one with the payments, or save it as CSV",
    "broken": "the Excel file is damaged: download it again, or save it as CSV",
}
"""Why a file is refused, in a sentence with what to do."""


class StatementFileError(ValueError):
    """A file that is no statement; `why` is a key of `WRONG`, the text its sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(WRONG[why])
        self.why = why


def rows_in(data: bytes) -> list[list[str]]:
    """Return the rows of a file.

    Raises:
        StatementFileError: It is none that can be read.
    """
    if data.startswith(b"PK\x03\x04"):
        return _excel_rows(data)
    if b"%PDF-" in data[:1024]:
        raise StatementFileError("pdf")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise StatementFileError("old_excel")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not utf16 and b"\0" in data:
        raise StatementFileError("binary")
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        # Text in an older encoding has the usual signs and few others.
        plain = sum(byte in b"\t\r\n" or 32 <= byte < 127 for byte in data)
        raise StatementFileError("latin" if plain > 0.8 * len(data) else "binary") from None
    if not text.strip():
        raise StatementFileError("empty")
    lines = rows_of(text.replace("\r\n", "\n").replace("\r", "\n"))
    rows = list(itertools.islice(lines, ROWS_MAX + 1))
    if len(rows) > ROWS_MAX:
        raise StatementFileError("long")
    return rows


def _excel_rows(data: bytes) -> list[list[str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            found = {part.filename: part.file_size for part in parts.infolist()}
    except Exception as error:
        raise StatementFileError("broken") from error
    if "xl/workbook.xml" not in found:
        raise StatementFileError("binary")
    if any(name.endswith("vbaProject.bin") for name in found):
        raise StatementFileError("macros")
    # What a part says of its size is the most that is read of it.
    if sum(found.values()) > UNPACKED_BYTES_MAX:
        raise StatementFileError("long")
    try:
        return _sheet_rows(data)
    except StatementFileError:
        raise
    except Exception as error:
        # A damaged file ends in any error of the zip file, of the XML or of the reader.
        raise StatementFileError("broken") from error


def _sheet_rows(data: bytes) -> list[list[str]]:
    """Return the rows of the one sheet with content; of a formula the result that its program stored."""
    import openpyxl  # noqa: PLC0415 -- only who compares an Excel file needs it

    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        formulas = any(b"<f" in parts.read(one) for one in parts.namelist() if one.startswith("xl/worksheets/"))
    books = [
        openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False, data_only=results)
        for results in ((True, False) if formulas else (True,))
    ]
    found: list[list[list[str]]] = []
    for sheets in zip(*(book.worksheets for book in books), strict=True):
        for sheet in sheets:
            sheet.reset_dimensions()
        rows, read = [], zip(*(sheet.iter_rows(max_col=COLUMNS_MAX) for sheet in sheets), strict=True)
        for results, *written in itertools.islice(read, ROWS_MAX + 1):
            if written and _lacks_result(results, *written):
                raise StatementFileError("formulas")
            rows.append([_text(cell.value) for cell in results])
        while rows and not any(rows[-1]):
            rows.pop()
        if len(rows) > ROWS_MAX:
            raise StatementFileError("long")
        if rows:
            found.append(rows)
    if not found:
        raise StatementFileError("empty")
    if len(found) > 1:
        raise StatementFileError("sheets")
    return found[0]


def _lacks_result(results: Sequence[Any], written: Sequence[Any]) -> bool:
    return any(cell.data_type == "f" and result.value is None for result, cell in zip(results, written, strict=True))


def _text(value: Any) -> str:
    """Return the text of a cell as a statement in CSV has it."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%d-%m-%Y %H:%M:%S}"
    if isinstance(value, float):
        # Excel keeps 25.1 as the nearest binary fraction.
        return str(int(value)) if value.is_integer() else f"{value:.2f}"
    return str(value).strip()
