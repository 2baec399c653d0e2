"""Every command that does more than ask the daemon one thing, in every situation: its rows are in `other_cases.py`."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from daemon import wire
from momo_cli import exit_codes
from tests.cli.cases import CASES
from tests.cli.conftest import Momo, Ran, Shop
from tests.cli.other_cases import NO_SHOP, OTHERS, Cell, Elsewhere, Other
from tests.fakes.api_rows import functions
from tests.fakes.daemon_program import FakeProgram
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi

pytestmark = pytest.mark.usefixtures("sample_folder")
COLUMNS = ("empty", "missing", "refused")


def tried(column: str) -> list[tuple[str, Cell]]:
    """Return the names and cells of the rows that have this situation."""
    cells = ((name, getattr(row, column)) for name, row in OTHERS.items())
    return [(name, cell) for name, cell in cells if isinstance(cell, Cell)]


def ending(column: str) -> list[tuple[str, int]]:
    """Return the rows that end with a known code in this situation."""
    codes = ((name, getattr(row, column)) for name, row in OTHERS.items())
    return [(name, code) for name, code in codes if isinstance(code, int)]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> FakeProgram:
    """Put the fake program in the place of every other program."""
    fake = FakeProgram()
    monkeypatch.setattr("subprocess.run", fake.run)
    monkeypatch.setattr("os.execve", fake.become)
    return fake


@pytest.fixture
def situation(api: FakeApi, program: FakeProgram) -> Callable[..., tuple[str, ...]]:
    """Return a function that prepares a row's situation and returns the command line for it."""

    def make(name: str, cell: Cell | None = None) -> tuple[str, ...]:
        row = OTHERS[name]
        api.script.clear()
        program.says = row.program | (cell.program if cell else {})
        for (method, path), answer in (row.api | (cell.api if cell else {})).items():
            api.on(method, path, answer)
        return (cell.argv if cell else ()) or row.argv

    return make


def documents(out: str, *, stream: bool) -> list[Any]:
    """Return the JSON documents on stdout: one, or one a line for a stream."""
    assert out.endswith("\n") or not out
    found = [json.loads(line) for line in out.splitlines()]
    assert stream or len(found) == 1
    return found


@pytest.mark.usefixtures("naps")
@each(("name", "code"), ending("good"))
def test_other_commands_answer_with_one_document_and_nothing_on_stderr(
    name: str, code: int, situation: Callable[..., tuple[str, ...]], momo: Momo
) -> None:
    argv = situation(name)
    ran = momo(*argv, "--json", "-q")
    assert (ran.code, ran.err) == (code, ""), ran
    found = documents(ran.out, stream=OTHERS[name].stream)
    assert found[0].get("success", True) is True
    plain = momo(*argv, "-q")
    assert (plain.code, plain.err) == (code, "")
    assert "\x1b" not in plain.out


@pytest.mark.usefixtures("naps")
@each(("name", "cell"), tried("empty"))
def test_other_commands_with_nothing_to_show_are_0_and_say_so_on_stderr(
    name: str, cell: Cell, situation: Callable[..., tuple[str, ...]], momo: Momo
) -> None:
    argv = situation(name, cell)
    assert cell.code == 0
    assert momo(*argv, "--json", "-q").code == 0
    ran = momo(*argv)
    assert (ran.code, ran.out, ran.err.count("\n")) == (0, "", 1), ran
    assert momo(*argv, "-q").err == ""


@pytest.mark.usefixtures("naps")
@each(
    ("name", "cell"), [*tried("missing"), *tried("refused")],
)  # fmt: skip
def test_other_commands_that_cannot_say_why_with_their_code_on_both_sides(
    name: str, cell: Cell, situation: Callable[..., tuple[str, ...]], momo: Momo
) -> None:
    argv = situation(name, cell)
    ran = momo(*argv, "--json", "-q")
    # Findings have their reason on stderr too, for cron's mail.
    assert (ran.code, ran.err if cell.code != exit_codes.FINDINGS else "") == (cell.code, ""), ran
    found = documents(ran.out, stream=OTHERS[name].stream)
    plain = momo(*argv, "-q")
    assert plain.code == cell.code
    if not cell.error:  # the command succeeded, and the exit code is its finding
        assert cell.code in (exit_codes.FINDINGS, exit_codes.PARTIAL)
        return
    assert found[-1]["success"] is False
    assert (found[-1]["exit_code"], found[-1]["error"]["code"]) == (cell.code, cell.error)
    assert all(command.startswith("momo ") for command in found[-1]["error"]["next"])
    assert plain.out == ""
    first, second = plain.err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("  next:  momo ")


@pytest.mark.usefixtures("naps")
@each(("name", "code"), ending("down"))
def test_other_commands_without_a_daemon(
    name: str, code: int, program: FakeProgram, momo: Momo
) -> None:
    row = OTHERS[name]
    program.says = dict(row.program)
    ends(momo(*row.argv, "--json", "-q"), code, "DAEMON_DOWN" if code == 7 else "", row)


@pytest.mark.usefixtures("naps")
@each(("name", "code"), ending("unset"))
def test_other_commands_without_a_shop(
    name: str, code: int, shop: Shop, program: FakeProgram, momo: Momo
) -> None:
    row = OTHERS[name]
    (shop.home / wire.DATABASE_NAME).unlink(missing_ok=True)
    program.says = {verb: NO_SHOP if code == 11 else said for verb, said in row.program.items()}
    ends(momo(*row.argv, "--json", "-q"), code, "NOT_SET_UP" if code == 11 else "", row)


def ends(ran: Ran, code: int, error: str, row: Other) -> None:
    """Check the exit code of a run, and the error in its document."""
    assert (ran.code, ran.err) == (code, ""), ran
    found = documents(ran.out, stream=row.stream)
    if code:
        assert found[-1]["exit_code"] == code
        assert found[-1]["error"]["code"] == error or not error


def test_every_situation_that_is_tried_elsewhere_names_a_test_that_is_there() -> None:
    for name, row in OTHERS.items():
        for column in (field.name for field in fields(row)):
            cell = getattr(row, column)
            if isinstance(cell, Elsewhere):
                file, _, test = cell.test.partition("::")
                assert test in functions(file), f"{name}, {column}: {cell.test}"


def test_every_situation_that_there_is_not_says_why_in_a_sentence() -> None:
    cells = [(name, getattr(row, column)) for name, row in OTHERS.items() for column in COLUMNS]
    cells += [(name, case.empty) for name, case in CASES.items()]
    for name, cell in cells:
        assert not isinstance(cell, str) or len(cell.split()) > 3, name
