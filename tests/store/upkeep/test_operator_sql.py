"""SQL by an operator: SELECT only, without secrets or whole phone numbers, and with a time limit."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon.store import migrate
from daemon.store.upkeep import operator_sql
from daemon.store.upkeep.operator_sql import OperatorSql, PhoneMask, SqlRefused
from tests.fakes import new_database
from tests.fakes.each import each

TOKEN = "0f" * 8
SCRIPTS = Path(__file__).parents[3] / "docs/developers/scripts.md"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "momo.db"
    new_database.lay(file)
    base = sqlite3.connect(file)
    base.execute(
        "INSERT INTO shop (id, name, timezone, owner_email, account_key, created_at) VALUES (1, 'Ama', 'Africa/Accra', NULL, 'KEY-1', 5)"
    )
    for number in ("+233244124567", "+233249994567", "+233244124567"):
        base.execute(
            "INSERT INTO notices (id, cause, kind, urgent, text, next, count, told, first_at, last_at) "
            "VALUES (hex(randomblob(4)), ?, 'k', 0, ?, '', 1, 0, 1, 1)",
            (number, f"Kofi of {number.replace('+233', '0')} paid, ID 0f3c0000-0000-4000-8000-000000000009"),
        )
    base.commit()
    base.close()
    return str(file)


def opened(
    path: str, *, show_phones: bool = False, monotonic: Callable[[], float] = lambda: 0.0
) -> Iterator[OperatorSql]:
    with operator_sql.open_for_operator(path, monotonic, TOKEN, show_phones=show_phones) as sql:
        yield sql


@pytest.fixture
def sql(path: str) -> Iterator[OperatorSql]:
    yield from opened(path)


def test_every_column_of_text_is_public_masked_or_hidden(path: str) -> None:
    base = sqlite3.connect(path)
    tables = base.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search%'"
    ).fetchall()
    found = [
        (table, column)
        for (table,) in tables
        for _, column, kind, *_ in base.execute(f"PRAGMA table_info({table})")
        if kind != "INTEGER"
    ]
    base.close()
    stated = [(table, column) for table, columns in migrate.marks().items() for column in columns]
    assert sorted(found) == sorted(stated), "say in the comment of its line in the schema what an operator may see"


@each(
    "query",
    [
        "SELECT account_key FROM shop",
        "SELECT account_key FROM main.shop",
        "WITH shop AS (SELECT account_key FROM main.shop) SELECT * FROM shop",
        f"WITH momo_{TOKEN}x AS (SELECT 1) SELECT account_key FROM main.shop, momo_{TOKEN}x",
        "SELECT (SELECT account_key FROM main.shop) FROM notices",
        "SELECT cause FROM main.notices",
        "SELECT rowid, * FROM search",
        "SELECT block FROM search_data",
        "SELECT name FROM sqlite_temp_schema",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('shop')",
        "PRAGMA query_only = OFF",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "INSERT INTO shop (id) VALUES (2)",
        "DELETE FROM main.notices RETURNING id",
        "UPDATE main.shop SET name = 'x'",
        "DROP TABLE main.shop",
        "CREATE TEMP TABLE x (a)",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "SELECT zeroblob(2000000)",
        "COMMIT",
        "no sql",
        "",
    ],
)
def test_nothing_else_is_read_or_changed(sql: OperatorSql, query: str) -> None:
    with pytest.raises(SqlRefused):
        sql.query(query, {}, 10)
    assert sql.query("SELECT name FROM shop", {}, 10).rows == [{"name": "Ama"}]


@pytest.mark.parametrize("change", ["DELETE FROM payments", "UPDATE shop SET name = 'x'"])
def test_a_change_is_refused_with_the_words_that_only_a_select_runs(sql: OperatorSql, change: str) -> None:
    with pytest.raises(SqlRefused, match="only a SELECT"):
        sql.query(change, {}, 10)


def test_whole_rows_come_without_secrets(sql: OperatorSql) -> None:
    assert sql.query("SELECT * FROM shop", {}, 10).columns == [
        "id", "name", "timezone", "owner_email", "created_at", "role",
    ]  # fmt: skip
    assert {row["column"]: row["shown"] for row in sql.columns("shop")}["account_key"] == "no"


def test_phone_numbers_are_masked_before_an_expression_sees_them(sql: OperatorSql) -> None:
    rows = sql.query("SELECT cause, text FROM notices ORDER BY seq", {}, 10).rows
    kept = "paid, ID 0f3c0000-0000-4000-8000-000000000009"
    assert rows == [
        {"cause": "024 *** 4567", "text": f"Kofi of 024 *** 4567 {kept}"},
        {"cause": "024 *** 4567 #2", "text": f"Kofi of 024 *** 4567 #2 {kept}"},
        {"cause": "024 *** 4567", "text": f"Kofi of 024 *** 4567 {kept}"},
    ]
    for expression in ("substr(cause, 1)", "hex(cause)", "replace(cause, '4', 'x')", "unicode(cause)",
                       "json_array(cause)", "cause || text"):  # fmt: skip
        (row, *_) = sql.query(f"SELECT {expression} AS x FROM notices", {}, 1).rows
        shown = str(row["x"])
        assert "244124567" not in shown
        assert b"244124567".hex() not in shown.lower()
    guess = "SELECT COUNT(*) AS n FROM notices WHERE cause LIKE '%244124567%' OR text LIKE '%244124567%'"
    assert sql.query(guess, {}, 1).rows == [{"n": 0}]


def test_groups_by_a_masked_number_are_those_of_the_whole_numbers(sql: OperatorSql) -> None:
    rows = sql.query("SELECT cause, COUNT(*) AS n FROM notices GROUP BY cause ORDER BY n", {}, 9)
    assert [row["n"] for row in rows.rows] == [1, 2]


def test_whole_numbers_are_shown_on_request_but_no_secret(path: str) -> None:
    for sql in opened(path, show_phones=True):
        rows = sql.query("SELECT cause FROM notices ORDER BY seq", {}, 1)
        assert (rows.rows, rows.more) == ([{"cause": "+233244124567"}], True)
        with pytest.raises(SqlRefused):
            sql.query("SELECT account_key FROM shop", {}, 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("0244124567", "024 *** 4567"),
        ("MTN0244124567.", "MTN024 *** 4567."),
        ("024 412 4567 and 020-000-1234", "024 *** 4567 and 020 *** 1234"),
        ('{"payer":"+22890123456"}', '{"payer":"228 *** 3456"}'),
        ("2026-11-23 06:00:08 GHS 12345678.00", "2026-11-23 06:00:08 GHS 12345678.00"),
        ("svc_trx_01234567890123456789012345678901", "svc_trx_01234567890123456789012345678901"),
    ],
)
def test_numbers_in_texts_are_masked_and_dates_amounts_and_our_ids_are_not(text: str, masked: str) -> None:
    assert PhoneMask()(text) == masked


def test_a_query_ends_after_ten_seconds(path: str) -> None:
    clock = iter(range(0, 1_000, 6))
    for sql in opened(path, monotonic=lambda: float(next(clock))):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n"
        with pytest.raises(SqlRefused, match="longer than 10 s"):
            sql.query(endless, {}, 1)


def test_ids_keep_their_zeros_and_long_numbers_come_as_text(sql: OperatorSql) -> None:
    (row,) = sql.query("SELECT :id AS id, 9007199254740993 AS n, x'0aff' AS b", {"id": "007"}, 1).rows
    assert row == {"id": "007", "n": "9007199254740993", "b": "0aff"}


def test_a_copy_for_other_programs_has_what_a_query_shows(sql: OperatorSql, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copied = sql.export(str(copy))
    assert (copied["shop"], copied["notices"]) == (1, 3)
    raw = copy.read_bytes()
    assert b"Africa/Accra" in raw
    assert not [each for each in (b"KEY-1", b"244124567") if each in raw]
    base = sqlite3.connect(copy)
    assert base.execute("SELECT typeof(first_at), text FROM notices").fetchone()[0] == "integer"
    base.close()


def test_the_queries_of_the_document_run(sql: OperatorSql) -> None:
    found = re.findall(r"momo data query - <<'SQL'\n(.+?)\nSQL\n", SCRIPTS.read_text("utf-8"), re.DOTALL)
    assert len(found) == 5
    for query in found:
        sql.query(query, {}, 10)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "momo.db"
    file.write_text("no database, but long enough to be looked at" * 30)
    with pytest.raises(SqlRefused):
        next(opened(str(file)))
