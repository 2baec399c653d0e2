"""Every command in every situation: the exit code, and exactly one JSON document on stdout."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from daemon import wire
from momo_cli import exit_codes
from momo_cli.frame.command_table import COMMANDS
from momo_cli.show.wrapping import text_width
from tests.cli import samples
from tests.cli.cases import CASES, ENDPOINT, KEY, ON_SIM, REVIEW, TX, Case
from tests.cli.conftest import Momo, Ran, Shop
from tests.cli.other_cases import NO_SHOP, OTHERS, Cell, Elsewhere, Other
from tests.fakes.api_rows import functions
from tests.fakes.daemon_program import FakeProgram
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

pytestmark = pytest.mark.usefixtures("sample_folder")
AS_IT_IS = ("api", "deliveries curl", "phones rotate-key")
"""Commands that print text unchanged, for copying or from another program."""
EACH = each("name", CASES)


def test_every_command_has_a_row_of_the_matrix() -> None:
    assert not CASES.keys() & OTHERS.keys()
    assert {name.partition(" --")[0] for name in (*CASES, *OTHERS)} == set(COMMANDS)


def test_every_row_types_the_command_that_it_is_named_after() -> None:
    typed = {name: case.argv for name, case in CASES.items()}
    typed |= {name: row.argv for name, row in OTHERS.items()}
    assert {name: argv for name, argv in typed.items() if not names(" ".join(argv) + " ", name)} == {}


def names(line: str, command: str) -> bool:
    """Return whether a command line begins with a command, or with its short words."""
    return line.startswith((f"{command} ", command.replace("dead-letters", "dl") + " "))


def prepare(api: FakeApi, case: Case, answer: Says) -> None:
    api.script.clear()
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("GET", REVIEW, ok(samples.REVIEW))
    api.on("GET", ENDPOINT, ok(samples.ENDPOINT))
    api.on("GET", KEY, ok(samples.KEY))
    api.on("GET", f"/v1/approved-payers/{samples.PAYER['id']}", ok(samples.PAYER))
    api.on("GET", wire.Path.PAYMENT_METHODS, ok([ON_SIM]))
    api.on("GET", wire.Path.LOCAL_BRANCH, ok(samples.LINK))
    api.on(*case.call, answer)


@EACH
def test_good_answer_is_printed_unchanged_and_exits_0(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    ran = momo(*case.argv, "--json")
    assert (ran.code, ran.json) == (0, case.printed)
    if not case.states:
        assert ran.out == json.dumps(case.good.body, ensure_ascii=False) + "\n"


@EACH
def test_good_answer_is_plain_in_a_pipe(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    ran = momo(*case.argv, "-q")
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    assert len({line.count("\t") for line in ran.out.splitlines()}) <= 1
    read = name in ("status", "today", "report", "doctor", "lines status", "tx show", "review show")
    if read:
        assert ran.out == momo(*case.argv, "-q", "-o", "table", "--no-color").out
    elif "\t" in ran.out:
        head, *rows = ran.out.splitlines()
        assert re.fullmatch(r"[a-z_0-9\t]+", head)
        assert rows == momo(*case.argv, "--plain", "-q").out.splitlines()


@EACH
def test_good_answer_makes_lines_for_people(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    shown = {width: momo(*case.argv, "-o", "table", COLUMNS=width) for width in ("40", "80", "200")}
    assert {ran.code for ran in shown.values()} == {0}
    assert all(ran.out.strip() for ran in shown.values())
    for columns, ran in shown.items() if name not in AS_IT_IS else ():
        wide = [line for line in ran.out.splitlines() if text_width(line) > int(columns)]
        # A word longer than the line stays whole, so that it can be copied.
        assert not [line for line in wide if len(line.split()) > 1], columns
    assert "\t" not in shown["80"].out
    ascii_only = momo(*case.argv, "-o", "table", COLUMNS="80", LANG="C")
    assert not set("✓✗…—·→─") & set(ascii_only.out + ascii_only.err)


@each(("name", "empty"), [(n, case.empty) for n, case in CASES.items() if isinstance(case.empty, Says)])
def test_empty_list_is_success_and_nothing_on_stdout(name: str, empty: Says, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, empty)
    assert momo(*case.argv, "--json").json == empty.body
    ran = momo(*case.argv, "--plain")
    assert ran.code == 0
    if name != "status":
        assert ran.out == ""
        assert ran.err.count("\n") == 1
    assert momo(*case.argv, "-q").err == ""


@EACH
def test_not_found_is_3_or_for_reconcile_5(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, refusal(404, "TRANSACTION_NOT_FOUND"))
    ran = momo(*case.argv, "--json")
    assert ran.code == ran.json["exit_code"] == (5 if name == "reconcile" else 3)
    following = "momo doctor" if name == "tx list" else "momo tx list"
    # What is simulated is of the sandbox, and so is the list.
    assert ran.json["error"]["next"] == [f"{following} --sandbox" if name.startswith("simulate") else following]
    assert ran.err.startswith("error: there is no transaction with that reference or code  [TRANSACTION_NOT_FOUND]\n")


@EACH
def test_refusal_is_5_with_the_body_of_the_api(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    answer = refusal(409, "LINES_NOT_READY", sims_without_number=[{"slot_index": 1}])
    prepare(api, case, answer)
    ran = momo(*case.argv, "--json")
    assert ran.code == 5
    document = ran.json
    next_commands = document["error"].pop("next")
    assert document.pop("exit_code") == 5
    assert document == answer.body
    assert all(command.startswith("momo ") for command in next_commands)
    assert momo(*case.argv, "--json", "-q").err == ""
    out = momo(*case.argv).out
    assert (json.loads(out) == answer.body) if name == "api" else out == ""


@EACH
def test_daemon_down_is_7(name: str, momo: Momo) -> None:
    ran = momo(*CASES[name].argv, "--json")
    assert ran.code == 7
    assert ran.json["error"]["code"] == "DAEMON_DOWN"
    assert ran.json["error"]["next"] == ["momo daemon start"]
    assert "the daemon is not running" in ran.err


@EACH
def test_not_set_up_is_11_and_comes_before_7(name: str, shop: Shop, momo: Momo) -> None:
    (shop.home / wire.DATABASE_NAME).unlink(missing_ok=True)
    ran = momo(*CASES[name].argv, "--json")
    assert ran.code == 11
    assert ran.json == {
        "success": False,
        "error": {"code": "NOT_SET_UP", "message": "there is no shop on this machine yet", "next": ["momo setup"]},
        "exit_code": 11,
    }


@EACH
def test_quiet_failure_is_one_error_line_and_one_next_line(name: str, momo: Momo) -> None:
    ran = momo(*CASES[name].argv, "-q")
    first, second = ran.err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("  next:  momo ")
    assert ran.out == ""


@each(
    ("code", "status", "expected"),
    [
        ("TRANSACTION_NOT_FOUND", 404, 5),
        ("ROUTE_NOT_FOUND", 404, 5),
        ("NO_MATCHING_TRANSACTION", 404, 3),
        ("TRANSACTION_ID_ALREADY_USED", 409, 5),
        ("ALREADY_VERIFIED", 409, 5),
        ("AMOUNT_MISMATCH", 422, 5),
        ("AMBIGUOUS_TRANSACTION_ID", 422, 5),
        ("IDEMPOTENCY_IN_PROGRESS", 409, 5),
        ("VALIDATION_ERROR", 422, 2),
        ("INVALID_JSON", 400, 2),
        ("TOO_MANY_ATTEMPTS", 429, 4),
        ("UNAVAILABLE", 503, 7),
        ("INTERNAL_ERROR", 500, 1),
        ("A_NEWER_REFUSAL", 422, 5),
    ],
)
def test_reconcile_has_its_own_exit_codes(code: str, status: int, expected: int, api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{TX}/reconcile", refusal(status, code))
    assert momo("reconcile", samples.REF, "0000012345", "--json").code == expected


def test_details_of_a_wrong_value_are_told_field_by_field(api: FakeApi, momo: Momo) -> None:
    details: list[dict[str, Any]] = [
        {"field": "amount", "code": "too_large", "message": "at most 1000000.00"},
        {"field": "phone_number", "code": "invalid", "message": "not a phone number"},
    ]
    api.on("POST", wire.Path.INITIALIZE, refusal(422, "VALIDATION_ERROR", details=details))
    ran = momo("init", "12", "--phone", "0")
    assert ran.code == 2
    assert ran.err == (
        "error: 2 values are wrong  [VALIDATION_ERROR]\n"
        "    amount: at most 1000000.00\n"
        "    phone_number: not a phone number\n"
        "  next:  momo init --help\n"
    )


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
    # The ModemManager of this machine is no part of the test.
    there = {"PATH": ""} if name == "phones release" else {}
    ran = momo(*argv, "--json", "-q", **there)
    assert (ran.code, ran.err) == (code, ""), ran
    found = documents(ran.out, stream=OTHERS[name].stream)
    assert found[0].get("success", True) is True
    plain = momo(*argv, "-q", **there)
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
@each(("name", "cell"), [*tried("missing"), *tried("refused")])
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
def test_other_commands_without_a_daemon(name: str, code: int, program: FakeProgram, momo: Momo) -> None:
    row = OTHERS[name]
    program.says = dict(row.program)
    ends(momo(*row.argv, "--json", "-q"), code, "DAEMON_DOWN" if code == 7 else "", row)


@pytest.mark.usefixtures("naps")
@each(("name", "code"), ending("unset"))
def test_other_commands_without_a_shop(name: str, code: int, shop: Shop, program: FakeProgram, momo: Momo) -> None:
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
