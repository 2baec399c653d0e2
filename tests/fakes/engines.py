"""The engine of the store as a parameter of tests: a shop's file, and a hub's PostgreSQL.

A folder's `conftest.py` imports `engine` and `pytest_generate_tests`; each of its tests then runs on both. On PostgreSQL a test
is slow, except those of `QUICK`. The mark `file` is for tests that open the file themselves, or speak SQLite's own SQL.
"""

from typing import Final

import pytest

from tests.fakes import new_database, postgresql

QUICK: Final = frozenset({"test_initialize", "test_reversal", "test_completed", "test_smscs"})
"""Modules that run on PostgreSQL in the quick tier too: one of each subject."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test on both engines."""
    module = metafunc.module.__name__.rpartition(".")[2]
    marks = () if module in QUICK else (pytest.mark.slow,)
    engines = [pytest.param("sqlite")]
    if metafunc.definition.get_closest_marker("file") is None:
        engines.append(pytest.param("postgresql", marks=marks))
    metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture(autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Put the shops of the test on one engine."""
    name: str = getattr(request, "param", "sqlite")  # a state machine of hypothesis takes no parameters
    if name == "postgresql":
        postgresql.cluster()
        new_database.use_postgresql(monkeypatch)
    return name
