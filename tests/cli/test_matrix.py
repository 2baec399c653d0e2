"""Every command in every situation: the exit code, and exactly one JSON document on stdout."""

import json
import re
from typing import Any

import pytest

from daemon import wire
from momo_cli.frame.command_table import COMMANDS
from momo_cli.show.wrapping import text_width
from tests.cli import samples
from tests.cli.cases import CASES, ENDPOINT, KEY, ON_SIM, REVIEW, TX, Case
from tests.cli.conftest import Momo, Shop
from tests.cli.other_cases import OTHERS
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
    assert {
        name: argv for name, argv in typed.items() if not names(" ".join(argv) + " ", name)
    } == {}


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


@each(
    ("name", "empty"),
    [(n, case.empty) for n, case in CASES.items() if isinstance(case.empty, Says)],
)
def test_empty_list_is_success_and_nothing_on_stdout(
    name: str, empty: Says, api: FakeApi, momo: Momo
) -> None:
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
    assert ran.json["error"]["next"] == [following]
    assert ran.err.startswith(
        "error: there is no transaction with that reference or code  [TRANSACTION_NOT_FOUND]\n"
    )


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
        "error": {
            "code": "NOT_SET_UP",
            "message": "there is no shop on this machine yet",
            "next": ["momo setup"],
        },
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
def test_reconcile_has_its_own_exit_codes(
    code: str, status: int, expected: int, api: FakeApi, momo: Momo
) -> None:
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
