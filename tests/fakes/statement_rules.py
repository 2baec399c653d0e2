"""Rules for every SQL statement, so that a page has the same rows each time and PostgreSQL accepts it too."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from daemon.store import engine
from daemon.store.engine import Reader, Tx

UNIQUE: Final = re.compile(r"(\w+\.)?(seq|id)")
"""The columns that end an ORDER BY before a LIMIT."""
ALSO_UNIQUE: Final = frozenset(
    {
        "scope, key",  # of an idempotent answer
        "branch_id, day DESC",  # the key of a branch's days
        # Of one pair of name words: the key of `request_names`.
        "n.expires_at DESC, n.transaction_id DESC",
        # The columns that the rows are grouped by.
        "total DESC, key, name, p.currency",
    }
)
_TOKEN: Final = re.compile(r"'(?:[^']|'')*'|[(),]|[:\w.]+|\S")
_CLAUSES: Final = ("ON", "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "JOIN", "LEFT", "CROSS", ",", ")")


_STORE: Final = str(Path(engine.__file__).parent)
_IN_ENGINE: Final = frozenset({engine.__file__, __file__})
_OWN_FORM: Final = ("PRAGMA ", "pragma_", "sqlite_", "INTO search ", "FROM search ", "total_changes()")
"""Of the statements that only SQLite gets: the store asks which database it has."""


def faults(sql: str) -> list[str]:
    """Return the faults of a statement."""
    return [*_ambiguous_pages(sql), *_unnamed_subqueries(sql)]


def _ambiguous_pages(sql: str) -> Iterator[str]:
    """Yield each ORDER BY before a LIMIT if its last column is not unique: its pages may differ between two runs."""
    for match in re.finditer(r"\bORDER BY (?P<order>.*?)\bLIMIT\b", sql, re.DOTALL):
        order = match["order"]
        if _leaves_its_parentheses(order):
            continue
        last = _last_term(order)
        plain = " ".join(order.split())
        if not UNIQUE.fullmatch(last) and plain not in ALSO_UNIQUE:
            yield f"ends in no unique column: ORDER BY {plain}"


def _leaves_its_parentheses(order: str) -> bool:
    depth = 0
    for sign in order:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            return True
    return False


def _last_term(order: str) -> str:
    depth, start = 0, 0
    for place, sign in enumerate(order):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            start = place + 1
    return re.sub(r"\s+(ASC|DESC)$", "", order[start:].strip())


def _unnamed_subqueries(sql: str) -> Iterator[str]:
    """Yield each subquery in FROM without a name, which PostgreSQL 15 refuses."""
    tokens = _TOKEN.findall(sql)
    for place, token in enumerate(tokens[:-2]):
        if token.upper() not in ("FROM", "JOIN") or tokens[place + 1] != "(":
            continue
        depth, end = 1, place + 2
        while depth:
            depth += {"(": 1, ")": -1}.get(tokens[end], 0)
            end += 1
        following = tokens[end].upper() if end < len(tokens) else ")"
        if following in _CLAUSES:
            yield f"a subquery without a name: {' '.join(tokens[place : place + 8])}"


def _is_of_the_store() -> bool:
    """Return whether the statement comes from the store, and not from a test."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename in _IN_ENGINE and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(_STORE)


def record(found: list[str], unplanned: list[tuple[str, Any]]) -> None:
    """From now on, add to `found` the faults of any statement that the store runs in this process.

    `unplanned` gets each statement of the store once, with the parameters of its first success, for PostgreSQL
    (`tests/conftest.py`). Parameters that SQLite refuses, PostgreSQL may refuse too.
    """
    known: set[str] = set()
    planned: set[str] = set()

    def checked(method: Any, *, many: bool = False) -> Any:
        def run(self: Reader, sql: str, *params: Any) -> Any:
            if sql not in known:
                known.add(sql)
                found.extend(f"{fault}\n  in {sql}" for fault in faults(sql))
            result = method(self, sql, *params)
            if sql not in planned and ((params and params[0]) or not many) and _is_of_the_store():
                planned.add(sql)
                if not any(word in sql for word in _OWN_FORM):
                    given = params[0] if params else None
                    unplanned.append((sql, given[0] if given and many else given))
            return result

        return run

    for owner, names in ((Reader, ("one", "all")), (Tx, ("run", "add"))):
        for name in names:
            setattr(owner, name, checked(getattr(owner, name)))
    Tx.run_for_each = checked(Tx.run_for_each, many=True)  # type: ignore[method-assign]
