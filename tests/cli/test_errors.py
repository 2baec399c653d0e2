"""The table of errors is complete, and every command in it is valid."""

import ast
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.exceptions import TyperException

from daemon.error_table import ERRORS as SPECS
from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import ERRORS, Failure, as_clause, document, exit_code_of, next_of
from momo_cli.flags import lift
from momo_cli.frame.tree import root
from momo_cli.show.answer import Call
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, ok, refusal
from tests.house.markdown import ROOT

PLACEHOLDER = re.compile(r"(?<![\w.$])[A-Z][A-Z_]+(?![\w])")
"""A word that stands for a value."""
NOT_TYPED = (
    "momo config set backup.also_to /media/STICK/momo",
    "momo tx list --status PENDING",
    "momo config set http.public_base_url https://HUB-NAME:8420",
    'momo lines add NUMBER --name "NAME" --sim ',
    'momo lines add NUMBER --name "NAME" --sim zte-front:1',
)
"""A setting that the step of setup explains, a status of the API, and names that only the shop knows."""


def parses(command: str) -> bool:
    """Return whether the command line is a valid one of `momo`, without running it."""
    program, *words = shlex.split(command)
    assert program == "momo"
    flags, rest = lift(words, {})
    if flags.version or rest == ["help"]:
        return True
    try:
        found = root().main(args=rest, prog_name="momo", standalone_mode=False)
    except TyperException:
        return False
    return isinstance(found, Call) or found == 0


def test_every_error_code_has_a_row() -> None:
    assert set(ERRORS) == set(ErrorCode)


@each("code", ErrorCode)
def test_every_next_command_is_taken_by_the_program(code: ErrorCode) -> None:
    facts = {"command": "init", "slot": "0"}
    commands = next_of(Failure(code, facts=facts))
    assert commands
    assert all(map(parses, commands)), commands
    assert not any(map(PLACEHOLDER.search, commands)), commands


def hints() -> Iterator[tuple[str, str]]:
    """Yield each text of the program that is a command, with the place where it is written."""
    for path in sorted((ROOT / "momo_cli").rglob("*.py")):
        if path.name in ("topics.py", "reference.py"):
            continue  # help pages, which show forms
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if not isinstance(node, ast.expr):
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [one.value for one in parts if isinstance(one, ast.Constant)]
            if texts and isinstance(texts[0], str) and texts[0].startswith("momo "):
                yield f"{path.name}:{node.lineno}", " ".join(map(str, texts))


def test_no_command_to_type_next_has_a_placeholder() -> None:
    found = list(hints())
    assert len(found) > 100
    wrong = [(place, text) for place, text in found if PLACEHOLDER.search(text)]
    assert not [one for one in wrong if one[1] not in NOT_TYPED], wrong


@each("code", ErrorCode)
def test_exit_codes_are_published(code: ErrorCode) -> None:
    assert ERRORS[code].exit_code in {row.code for row in exit_codes.EXIT_CODES}


def test_exit_codes_are_unique() -> None:
    assert len({row.code for row in exit_codes.EXIT_CODES}) == len(exit_codes.EXIT_CODES)


@each(
    ("status", "expected"),
    [(400, 2), (405, 2), (413, 2), (415, 2), (401, 4), (403, 4), (429, 4), (404, 3), (409, 5),
     (422, 5), (500, 1), (503, 7), (418, 1)],
)  # fmt: skip
def test_unknown_code_goes_by_its_http_status(status: int, expected: int) -> None:
    assert exit_code_of(Failure("FROM_THE_FUTURE", http_status=status)) == expected


def test_hints_are_filled_and_quoted_from_what_is_known() -> None:
    body = {"success": False, "error": {"code": "X", "message": "m", "provider": "a; rm -rf /"}}
    facts = {"reference": "R", "transaction_id": "0012"}
    failure = Failure(ErrorCode.AMBIGUOUS_TRANSACTION_ID, body=body, facts=facts)
    assert next_of(failure) == ["momo reconcile R 0012 --provider 'a; rm -rf /'"]
    # A command with a missing value cannot be run, so the hint names the command that shows the value.
    failure.facts.pop("transaction_id")
    assert next_of(failure) == ["momo messages list --since 24h"]


def test_document_keeps_the_body_and_adds_to_it() -> None:
    body: dict[str, Any] = {
        "success": False,
        "error": {"code": "ALREADY_VERIFIED", "message": "m", "transaction_status": "SUCCESS"},
        "transaction_status": "SUCCESS",
        "meta": {"request_id": "req_1"},
    }
    failure = Failure("ALREADY_VERIFIED", "m", 409, body, {"reference": "R"})
    assert document(failure) == {
        "success": False,
        "error": {
            "code": "ALREADY_VERIFIED",
            "message": "m",
            "transaction_status": "SUCCESS",
            "next": ["momo tx show R"],
        },
        "transaction_status": "SUCCESS",
        "meta": {"request_id": "req_1"},
        "exit_code": 5,
    }
    assert "next" not in body["error"]


@each("code", sorted(set(ErrorCode) - set(SPECS)))
def test_a_code_that_the_daemon_does_not_explain_has_a_sentence(code: ErrorCode) -> None:
    assert ERRORS[code].sentence


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("The password is wrong.", "the password is wrong"),
        ("A number is on no SIM. Assign it.", "a number is on no SIM. Assign it."),
        ("SIM 2 has no number.", "SIM 2 has no number"),
        ("ModemManager uses it.", "ModemManager uses it"),
        ("amount: at most 100.00", "amount: at most 100.00"),
    ],
)
def test_a_message_of_the_daemon_is_shown_as_the_other_errors_are(message: str, shown: str) -> None:
    assert as_clause(message) == shown


def test_the_daemons_message_is_the_error(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, refusal(409, "FROM_THE_FUTURE", "The moon is full."))
    assert momo("lines").err.splitlines()[0] == "error: the moon is full  [FROM_THE_FUTURE]"


def test_reason_is_told_once_behind_what_happened(api: FakeApi, momo: Momo) -> None:
    said = "That address may not receive webhooks: a webhook URL starts with https://."
    api.on("POST", Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED", said))
    told = momo("endpoints", "add", "http://shop.example/hook").err.splitlines()
    assert told == [
        "error: that address may not receive webhooks: a webhook URL starts with https://  [URL_NOT_ALLOWED]",
        "  next:  momo endpoints add --help",
        "         momo config get webhooks.allow_private_hosts",
    ]


def test_wrong_id_of_an_endpoint_leads_to_their_list() -> None:
    details = [{"field": "endpoint_id", "message": "must be a UUID"}]
    failure = Failure(ErrorCode.VALIDATION_ERROR, body={"error": {"details": details}})
    assert next_of(failure) == ["momo endpoints list"]


@pytest.mark.parametrize(("typed", "asked"), [("paid", "SUCCESS"), ("Short", "PARTIAL"), ("EXPIRED", "EXPIRED")])
def test_a_status_is_given_as_the_list_shows_it(typed: str, asked: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.TRANSACTIONS, ok([], pagination=samples.PAGE))
    assert momo("tx", "list", "--status", typed).code == 0
    assert api.asked[-1].query["status"] == asked


def test_a_shop_that_is_no_branch_is_told_how_to_become_one(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LOCAL_BRANCH, refusal(409, "NOT_A_BRANCH"))
    api.on("GET", Path.LOCAL_HUB, refusal(409, "NOT_A_HUB"))
    for words in (("hub", "status"), ("hub", "status", "--wait")):
        following = momo(*words, "--json").json["error"]["next"]
        assert following == ["momo hub join --help", "momo hub init"]


@each("code", ErrorCode)
def test_the_command_that_failed_is_not_the_next_one(code: ErrorCode) -> None:
    for command in ("status", "doctor", "daemon start", "daemon status", "lines", "users list"):
        found = next_of(Failure(code, facts={"command": command, "slot": "0", "typed": command}))
        assert found
        if code is not ErrorCode.INVALID_PASSWORD:
            assert f"momo {command}" not in found
