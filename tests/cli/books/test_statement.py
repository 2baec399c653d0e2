"""`momo data statement`: compare the statement, the messages and the payments, and list the differences."""

import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import Asked, FakeApi, Says, ok

PAYMENTS = "/local/v1/export/payments"
FILE = """\
F_ID,TRANSACTION DATE,AMOUNT,BAL BEFORE,BAL AFTER
93214500001,2026-11-20 08:00:00,25.00,100.00,125.00
93214500002,2026-11-20 09:00:00,9.50,125.00,134.50
93214500003,2026-11-20 10:00:00,3.00,134.50,131.50
"""
ROW: dict[str, Any] = {
    "telco_transaction_id": "93214500009",
    "timestamp": "2026-11-20T08:30:00.000Z",
    "amount": "800.00",
    "line": "+233244124567",
    "reference": samples.REF,
    "message_id": samples.MESSAGE,
    "test": False,
}
NOTHING = dict.fromkeys(("told_amount", "reference", "review_id", "message_id", "claimed_by"))


def answer(asked: Asked) -> Says:
    """Answer that every entry but the second one agrees."""
    if "note" in asked.body:
        return ok({"entries": [], "noted": True})
    other = {"finding": "amount", "told_amount": "9.00"}
    return ok(
        {
            "entries": [
                {**NOTHING, "finding": "agrees", **(other if one["id"].endswith("2") else {})}
                for one in asked.body["entries"]
            ],
            "noted": False,
        }
    )


@pytest.fixture
def file(tmp_path: Path, api: FakeApi) -> Path:
    api.on("POST", wire.Path.LOCAL_STATEMENT, answer)
    rows = [ROW, {**ROW, "telco_transaction_id": "93214500001"}, {**ROW, "line": "+233201234567"},
            {**ROW, "timestamp": "2026-11-20T09:00:01.000Z"}]  # fmt: skip
    api.on("GET", PAYMENTS, ok(rows, meta={"next": None}))
    path = tmp_path / "november.csv"
    path.write_text(FILE)
    return path


def test_it_names_what_differs_and_what_to_type(file: Path, api: FakeApi, momo: Momo) -> None:
    ran = momo("data", "statement", str(file), "--line", "0244124567", "-o", "table", COLUMNS="200")
    assert ran.code == 6
    lines = ran.out.splitlines()
    assert lines[0] == "1 of 2 payments on the statement agree; 2 differences"
    assert lines[3].split("  ")[0] == "✗ OTHER AMOUNT"
    assert lines[4].startswith("✗ NOT ON STATEMENT")
    assert lines[4].endswith(f"800.00  momo tx show {samples.REF}")
    assert next(call.body for call in api.asked if call.method == "POST") == {
        "line": "+233244124567",
        "entries": [{"id": "93214500001", "amount_minor": 2500}, {"id": "93214500002", "amount_minor": 950}],
    }


def test_the_same_file_says_the_same_and_a_dry_run_notes_nothing(file: Path, api: FakeApi, momo: Momo) -> None:
    first = momo("data", "statement", str(file), "--json")
    assert first.json["data"]["noted"]
    assert first.json["data"]["left_the_wallet"] == 1
    again = momo("data", "statement", str(file), "--dry-run", "--json")
    assert again.json["data"]["findings"] == first.json["data"]["findings"]
    notes = [call.body["note"] for call in api.asked if call.body and "note" in call.body]
    assert [note["agrees"] for note in notes] == [1]


def test_where_nothing_differs_it_is_0(file: Path, api: FakeApi, momo: Momo) -> None:
    api.on("GET", PAYMENTS, ok([], meta={"next": None}))
    file.write_text("\n".join(FILE.splitlines()[:2]) + "\n")
    ran = momo("data", "statement", str(file))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "1 of 1 payments on the statement agree. Nothing differs.\n"


def test_a_table_that_nobody_knows_says_which_columns_it_has(tmp_path: Path, api: FakeApi, momo: Momo) -> None:
    path = tmp_path / "other.csv"
    path.write_text("Ref,Value\nAB1234,5.00\n")
    ran = momo("data", "statement", str(path))
    assert ran.code == 2
    assert "--column id=NAME --column amount=NAME. The columns are: Ref, Value" in ran.err
    api.on("POST", wire.Path.LOCAL_STATEMENT, answer)
    ran = momo("data", "statement", str(path), "--column", "id=Ref", "--column", "amount=Value")
    assert (ran.code, ran.out) == (0, "")
    assert "were not searched" in ran.err
    assert momo("data", "statement", str(tmp_path / "none.csv")).code == 2


@pytest.mark.parametrize(
    ("more", "told"), [(1, "1 line could not be read: 5."), (2, "2 lines could not be read: 5, 6.")]
)
def test_lines_that_cannot_be_read_are_counted_and_named(more: int, told: str, file: Path, momo: Momo) -> None:
    file.write_text(FILE + "?,2026-11-20 11:00:00,x,,\n" * more)
    ran = momo("data", "statement", str(file), "-o", "table")
    assert (ran.code, told in ran.err) == (6, True)


WALLET = f"{wire.Path.PAYMENT_METHODS}/{samples.METHOD}/wallet"


@pytest.mark.parametrize("answer_of", [samples.WALLET, {**samples.WALLET, "settled": False}])
def test_the_balance_after_the_last_row_is_a_proof_when_asked_for(
    file: Path, api: FakeApi, momo: Momo, answer_of: dict[str, Any]
) -> None:
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    api.on("POST", WALLET, ok(answer_of))
    password = file.with_name("pw.txt")
    password.write_text("correct horse\n")
    command = ("data", "statement", str(file), "--line", "0244124567", "--json")
    plain = momo(*command)
    assert plain.json["data"]["proof"] is None
    assert all(call.path != WALLET for call in api.asked)
    ran = momo(*command, "--prove", "--password-file", str(password))
    assert ran.json["data"]["proof"]["settled"] is answer_of["settled"]
    assert next(call.body for call in api.asked if call.path == WALLET) == {
        "balance": "131.50",
        "at": "2026-11-20T10:00:00.000Z",
        "statement_from": "2026-11-20T08:00:00.000Z",
        "password": "correct horse",
    }


@pytest.mark.parametrize("how", ["no line", "dry", "no balance"])
def test_a_proof_needs_a_number_and_a_certain_balance(file: Path, api: FakeApi, momo: Momo, how: str) -> None:
    if how == "no balance":
        file.write_text(FILE.replace("131.50", ""))
    line = () if how == "no line" else ("--line", "0244124567")
    dry = ("--dry-run",) if how == "dry" else ()
    assert momo("data", "statement", str(file), *line, *dry, "--prove").code == 2
    assert api.asked == []


@pytest.mark.parametrize(("answer_typed", "proves"), [(b"y\n", True), (b"\n", False)])
def test_a_person_at_a_terminal_is_offered_the_proof(
    file: Path, api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch, answer_typed: bytes, proves: bool
) -> None:
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([samples.METHOD_ROW]))
    api.on("POST", WALLET, ok(samples.WALLET))
    password = file.with_name("pw.txt")
    password.write_text("correct horse\n")
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        hand.write(answer_typed)
        line = ("--line", "0244124567", "--password-file", str(password))
        ran = momo("data", "statement", str(file), *line, "-o", "table")
    assert "The statement ends with 131.50 at 2026-11-20 10:00." in ran.err
    assert any(call.path == WALLET for call in api.asked) is proves
