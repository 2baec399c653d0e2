"""The statement recorder of every test (`tests/conftest.py`) finds the statements that break a rule."""

import pytest

from tests.fakes.statement_rules import faults


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t ORDER BY a, seq LIMIT 3",
        "SELECT a FROM t ORDER BY a DESC, t.seq DESC LIMIT :limit OFFSET 3",
        "SELECT a FROM t ORDER BY LOWER(a, b), id ASC LIMIT 1",
        "SELECT a FROM t ORDER BY a",
        "SELECT a FROM (SELECT a FROM t ORDER BY b) x LIMIT 1",
        "SELECT a FROM (SELECT a, b FROM (VALUES (1), (2)) AS v) x WHERE a IN (SELECT 1)",
        "SELECT a FROM t LIMIT 1",
    ],
)
def test_a_sound_statement_passes(sql: str) -> None:
    assert faults(sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t ORDER BY a LIMIT 3",
        "SELECT a FROM t ORDER BY seq, a DESC LIMIT 3",
        "SELECT a FROM u WHERE b IN (SELECT c FROM t ORDER BY c LIMIT 3)",
        "SELECT a FROM t ORDER BY LOWER(seq) LIMIT 3",
        "SELECT a FROM (SELECT a FROM t)",
        "SELECT a FROM u JOIN (SELECT a FROM t) ON TRUE",
        "SELECT * FROM (SELECT a FROM t) UNION ALL SELECT * FROM (SELECT a FROM t) x",
    ],
)
def test_a_page_that_may_differ_and_a_subquery_without_a_name_are_found(sql: str) -> None:
    assert len(faults(sql)) == 1
