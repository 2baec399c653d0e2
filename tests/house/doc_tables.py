"""The tables in the documents that are made from the code. `python -m tests.house.doc_tables` writes them.

Each stands between `<!-- table: NAME -->` and `<!-- end -->`; a test holds the documents to them.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from daemon.core.errors import ERRORS
from daemon.wire import ErrorCode
from momo_cli.commands import COMMANDS
from momo_cli.errors import ERRORS as ROWS
from momo_cli.exits import EXIT_CODES

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def errors() -> str:
    """Every code of the API: status, what happened, what to do, and the exit code of `momo`."""
    rows = [
        (f"`{code}`", str(spec.http_status), spec.message, spec.hint, str(ROWS[code].exit_code))
        for code, spec in sorted(ERRORS.items(), key=lambda item: item[1].http_status)
    ]
    return _table(("code", "HTTP", "what happened", "what to do", "exit"), rows)


def program_errors() -> str:
    """The codes that only the programs themselves say."""
    rows = [
        (f"`{code}`", ROWS[code].sentence, str(ROWS[code].exit_code))
        for code in ErrorCode
        if code not in ERRORS
    ]
    return _table(("code", "what happened", "exit"), rows)


def commands() -> str:
    """Every command."""
    rows = [(f"`momo {name}`", info.panel, info.summary) for name, info in COMMANDS.items()]
    return _table(("command", "for", "what it does"), rows)


def exit_codes() -> str:
    """Every exit code."""
    return _table(
        ("code", "name", "meaning"),
        [(str(row.code), row.name, row.meaning) for row in EXIT_CODES],
    )


TABLES: Final[dict[str, Callable[[], str]]] = {
    "errors": errors,
    "program errors": program_errors,
    "commands": commands,
    "exit codes": exit_codes,
}
_PLACE: Final = re.compile(r"<!-- table: ([a-z ]+) -->\n(.*?)<!-- end -->", re.DOTALL)


def filled(text: str) -> str:
    """Return a document with its tables as they should be."""
    return _PLACE.sub(
        lambda match: f"<!-- table: {match.group(1)} -->\n{TABLES[match.group(1)]()}\n<!-- end -->",
        text,
    )


def write() -> None:
    """Bring all documents up to date."""
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        if filled(text) != text:
            path.write_text(filled(text))


if __name__ == "__main__":
    write()
