"""SQL stays in the subset that PostgreSQL shares, so that a big shop may move one day (architecture.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STORE = sorted((ROOT / "daemon/store").glob("*.py"))
ONLY_SQLITE = re.compile(
    r"\b(?:IFNULL|GROUP_CONCAT|STRFTIME|DATETIME|JULIANDAY|UNIXEPOCH|TOTAL|IIF|INSTR|PRINTF|JSON_EACH)\s*\("
    r"|\bINSERT OR\b|\bREPLACE INTO\b|\bGLOB\b|\bNOCASE\b|\bROWID\b|\bWITHOUT ROWID\b",
    re.IGNORECASE,
)
GREATEST = re.compile(r"\b(?:MAX|MIN)\s*\(", re.IGNORECASE)


def statements(file: Path) -> Iterator[str]:
    """The texts of a file that are SQL; what is put into them is a blank."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else " " for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if re.search(r"\b(?:SELECT|UPDATE|INSERT|DELETE|CASE|WHERE)\b", text) or "MAX(" in text:
            yield text


def arguments(text: str, begin: int) -> int:
    """Count the arguments of a call whose first is at `begin`."""
    depth, count = 0, 1
    for sign in text[begin:]:
        if sign == ")" and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(sign, 0)
        count += sign == "," and depth == 0
    return count


@pytest.mark.parametrize("file", STORE, ids=lambda file: file.name)
def test_the_store_speaks_what_postgresql_speaks_too(file: Path) -> None:
    for text in statements(file):
        assert ONLY_SQLITE.search(text) is None, text
        for found in GREATEST.finditer(text):
            assert arguments(text, found.end()) == 1, f"GREATEST and LEAST in PostgreSQL: {text}"
