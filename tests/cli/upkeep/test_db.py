"""`momo data`: output forms, and the journal entry before phone numbers are shown."""

import contextlib
import io
import json
import sqlite3
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from daemon import __main__ as program
from daemon import wire
from tests.cli.conftest import Momo, Shop
from tests.fakes import new_database
from tests.fakes.fake_api import FakeApi, ok, refusal

QUERY = "SELECT name, timezone AS zone, 5 AS n FROM shop"


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch, shop: Shop) -> list[list[str]]:
    """Make a shop, and run the daemon's program in this process."""
    path = Path(shop.places.database)
    path.unlink(missing_ok=True)
    new_database.lay(path)
    base = sqlite3.connect(path)
    base.execute(
        "INSERT INTO shop (id, name, timezone, owner_email, account_key, created_at) VALUES (1, 'Ama 0244124567', 'Africa/Accra', NULL, 'KEY', 5)"
    )
    base.commit()
    base.close()
    words: list[list[str]] = []

    def run(argv: list[str], **given: Any) -> subprocess.CompletedProcess[bytes]:
        words.append(argv[argv.index("db") :])
        out = io.StringIO()
        monkeypatch.setattr("sys.stdin", io.StringIO(given["input"].decode()))
        for name, value in given["env"].items():
            monkeypatch.setenv(name, value)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = program.main(words[-1])
        return subprocess.CompletedProcess(argv, code, out.getvalue().encode(), b"")

    monkeypatch.setattr("subprocess.run", run)
    return words


def test_the_columns_of_a_query_are_those_of_every_form(momo: Momo) -> None:
    row = {"name": "Ama 024 *** 4567", "zone": "Africa/Accra", "n": 5}
    assert momo("data", "query", QUERY, "-o", "plain").out == "Ama 024 *** 4567\tAfrica/Accra\t5\n"
    assert momo("data", "query", QUERY, "-o", "csv").out.splitlines() == [
        "name,zone,n", "Ama 024 *** 4567,Africa/Accra,5",
    ]  # fmt: skip
    assert json.loads(momo("data", "query", QUERY, "-o", "ndjson").out) == {"type": "item", **row}
    assert json.loads(momo("data", "query", QUERY, "--json").out)["data"] == [row]
    assert momo("data", "query", QUERY, "-o", "table").out.splitlines()[0].split() == ["NAME", "ZONE", "N"]
    assert momo("data", "query", QUERY, "-o", "csv", "--fields", "n").out.splitlines() == ["n", "5"]
    assert momo("data", "query", QUERY, "--fields", "price", "-o", "csv").code == 2
    assert momo("data", "query", QUERY, "-o", "id").out == "Ama 024 *** 4567\n"


def test_the_sql_is_not_in_the_list_of_processes(momo: Momo, asked: list[list[str]]) -> None:
    assert momo("data", "query", QUERY).code == 0
    assert not [word for word in asked[0] if "SELECT" in word]


def test_phone_numbers_are_shown_only_after_the_daemon_noted_it(
    api: FakeApi, momo: Momo, asked: list[list[str]]
) -> None:
    noted = ("POST", wire.Path.LOCAL_PHONES_SHOWN)
    api.on(*noted, refusal(503, wire.ErrorCode.UNAVAILABLE))
    assert momo("data", "query", QUERY, "--show-phones").code != 0
    assert asked == []
    api.on(*noted, ok({"noted": True}))
    assert "0244124567" in momo("data", "query", QUERY, "--show-phones").out
    assert api.asked[-1].body == {"command": "data query"}


def test_without_a_daemon_no_phone_number_is_shown(momo: Momo, asked: list[list[str]]) -> None:
    ran = momo("data", "copy", "copy.db", "--show-phones")
    assert (ran.code, asked) == (7, [])


def test_a_copy_is_private_and_replaces_nothing(momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    assert momo("data", "copy", str(file)).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    assert momo("data", "copy", str(file)).code == 1
    assert file.read_bytes() == before


def test_more_rows_than_the_limit_are_told(momo: Momo) -> None:
    ran = momo("data", "query", "SELECT 1 AS n UNION ALL SELECT 2", "--limit", "1", "--plain")
    assert (ran.code, ran.out) == (0, "1\n")
    assert "There are more rows" in ran.err


def test_a_hidden_column_is_refused_with_the_command_that_lists_the_others(momo: Momo) -> None:
    ran = momo("data", "query", "SELECT account_key FROM shop")
    assert (ran.code, ran.out) == (2, "")
    assert "no such column: account_key" in ran.err
    assert "momo data schema" in ran.err
