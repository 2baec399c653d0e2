"""SQL stays in the subset shared with PostgreSQL, and every list with a limit has a unique order."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from tests.fakes.each import each

ROOT = Path(__file__).resolve().parents[2]
STORE = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "daemon/store").rglob("*.py"))
ONLY_SQLITE = re.compile(
    r"\b(?:IFNULL|GROUP_CONCAT|STRFTIME|DATETIME|JULIANDAY|UNIXEPOCH|TOTAL|IIF|INSTR|PRINTF)\s*\("
    r"|\bINSERT OR\b|\bREPLACE INTO\b|\bGLOB\b|\bNOCASE\b|\bROWID\b|\bWITHOUT ROWID\b",
    re.IGNORECASE,
)
UNTYPED = re.compile(r"(?<![\w:]):\w+ IS (?:NOT )?NULL")
GREATEST = re.compile(r"\b(?:MAX|MIN)\s*\(", re.IGNORECASE)
# SQLite's form of the search index.
OWN_FORM = "daemon/store/payments/search_index.py"
LIMITED = re.compile(r"\bORDER BY ((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?) LIMIT\b")
UNIQUE = {
    "seq",
    # What money is grouped by, and its currency.
    "key, name, p.currency",
    # The key of the facts that a hub keeps aside, and their own id.
    "branch_id, version, id",
    # The key of the facts that are only shown.
    "branch_id, kind, id",
    # The key of a branch's days.
    "branch_id, day",
    # The key of idempotent answers.
    "scope, key",
    # Each transaction has a pair of names once.
    "n.transaction_id",
    # `select_page`; the orders that its callers pass are checked below.
    "order",
}


def statements(file: str) -> Iterator[str]:
    """Yield the texts of a file, with each inserted name replaced by its constant's value, if any."""
    known = vars(importlib.import_module(file.removesuffix(".py").replace("/", ".")))
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(_part(part, known) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _part(part: ast.expr, known: dict[str, object]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    name = ast.unparse(part.value)
    value = known.get(name)
    return value if isinstance(value, str) else name


def arguments(text: str, begin: int) -> int:
    """Count the arguments of a call; the first one starts at `begin`."""
    depth, count = 0, 1
    for sign in text[begin:]:
        if sign == ")" and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(sign, 0)
        count += sign == "," and depth == 0
    return count


def is_unique(order: str) -> bool:
    """Return whether the last columns of an order are unique."""
    plain = re.sub(r" (?:DESC|ASC|order)\b", "", order.strip())
    return plain.rpartition(".")[2].rpartition(" ")[2] == "seq" or any(plain.endswith(columns) for columns in UNIQUE)


@each("file", STORE)
def test_the_store_speaks_what_postgresql_speaks_too(file: str) -> None:
    for text in statements(file):
        if not re.search(r"\b(?:SELECT|UPDATE|INSERT|DELETE|CASE|WHERE)\b|MAX\(", text):
            continue
        assert file == OWN_FORM or ONLY_SQLITE.search(text) is None, text
        assert UNTYPED.search(text) is None, f"PostgreSQL needs the type, CAST(:name AS TEXT) IS NULL: {text}"
        for found in GREATEST.finditer(text):
            assert arguments(text, found.end()) == 1, f"GREATEST and LEAST in PostgreSQL: {text}"


def test_a_limited_list_has_one_order_only() -> None:
    """Rows of one time come in the same order each time, so that no page repeats or omits one."""
    orders = [(file, order) for file in STORE for text in statements(file) for order in LIMITED.findall(text)]
    orders += [
        (file, order)
        for file in STORE
        for order in re.findall(r"\border=\"([^\"]+)\"", (ROOT / file).read_text("utf-8"))
    ]
    assert len(orders) > 50
    assert [one for one in orders if not is_unique(one[1])] == []


STATEMENT = re.compile(r"^\s*(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WITH \w+ AS)\b")


def test_sql_stands_only_in_the_store() -> None:
    elsewhere = [
        f"{file.relative_to(ROOT)}: {text[:60]}"
        for top in ("daemon", "momo_cli", "parsers")
        for file in sorted((ROOT / top).rglob("*.py"))
        if ROOT / "daemon/store" not in file.parents
        and re.search(r"SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH ", file.read_text("utf-8"))
        for text in statements(str(file.relative_to(ROOT)))
        if STATEMENT.match(text)
    ]
    assert elsewhere == []


ASSEMBLED = {
    "books/day_sheet.py": "its questions begin with the payments of a period: one part, which would be written six times",
    "branches/copies.py": "the kinds of rows that a branch sends are a table, each with its columns (core/branches/facts.py)",
    "branches/scope.py": "a statement of another module, behind the rows that its caller sees",
    "branches/feed.py": "the same kinds",
    "branches/restored.py": "the same kinds",
    "branches/branches.py": "one condition for the copies that nobody distrusts, of several tables",
    "engine.py": "`page` reads every list with filters; `insert_rows` inserts any table's rows",
    "payments/search_index.py": "the columns that a search looks in are named once, for the index and for the search",
    "payments/transaction_list.py": "a search in a list that is sorted and filtered: hundreds of combinations",
    "postgresql/connection.py": "statements of the schema, made from those of SQLite",
    "postgresql/server.py": "copies every table, whatever its columns are",
    "rows.py": "the columns of a struct",
    "sqlite_file.py": "one trigger for each kind of row that a branch sends",
    "upkeep/operator_sql.py": "views of every table, by the marks of the schema",
    "upkeep/payer_data.py": "erases the columns that the schema marks, in the rows of one payer",
    "upkeep/retention.py": "what is pruned is a table of kinds, and the schema's marks say what is erased",
}
"""Modules with a statement that is put together from parts, and why; a module is only taken off."""
ALLOWED = {"conditions.where", "', '.join((f'{name} = :{name}' for name in changes))"}
"""The filters of a list, and the columns that a change names."""
FROM_MODEL = {"anew", "columns", "insertion", "update"}
IS_SQL = re.compile(r"\b(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|FROM|WHERE)\b")


@each("file", STORE)
def test_a_statement_is_one_text_that_can_be_read(file: str) -> None:
    """Only what a model's fields say (`rows.columns`, `rows.insertion`, `rows.update`) is put into it."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    lists = {
        ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in FROM_MODEL
    }
    parts = {
        ast.unparse(part.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        and any(isinstance(one, ast.Constant) and IS_SQL.search(str(one.value)) for one in node.values)
        for part in node.values
        if isinstance(part, ast.FormattedValue)
    }
    found = {one for one in parts - lists - ALLOWED if one.partition("(")[0] not in FROM_MODEL}
    name = file.removeprefix("daemon/store/")
    assert bool(found) == (name in ASSEMBLED), found
