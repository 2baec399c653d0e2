"""Every command in every situation: the exit code, and exactly one JSON document on stdout."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from daemon import wire
from momo_cli.commands import COMMANDS
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

TX = f"/v1/transactions/{samples.REF}"
REVIEW = f"/v1/reviews/{samples.REVIEW['id']}"
ENDPOINT = f"/v1/open-collections/endpoints/{samples.ENDPOINT['id']}"
METHOD = f"/v1/payment-methods/{samples.METHOD}"
CLAIMED = Says(
    {"success": True, "claimed": 0, "dry_run": False, "from": None, "to": None},
)
MODEM = f"/local/v1/modems/{samples.DEVICE}"
KEY = f"/v1/keys/{samples.KEY['id']}"
DELIVERY = f"/v1/open-collections/deliveries/{samples.DELIVERY['id']}"
LETTER = f"/v1/webhooks/dead-letters/{samples.DEAD_LETTER['id']}"
DECIDED = ok({**samples.REVIEW, "state": "approved"}, transaction=samples.ONE)
NO_MONEY = {**samples.REPORT, "sheets": []}
EMPTY_LINES = {"ready": True, "unplaced_payments": 0, "phones": []}


@dataclass(frozen=True, slots=True)
class Case:
    """One command line, the call that it makes, and the good and empty answers."""

    argv: tuple[str, ...]
    call: tuple[str, str]
    good: Says
    empty: Says | None = None


CASES = {
    "init": Case(
        ("init", "12.50", "--phone", "0244124567"),
        ("POST", wire.Path.INITIALIZE),
        Says({"success": True, "data": samples.CREATED, "meta": {}}, 201),
    ),
    "reconcile": Case(
        ("reconcile", samples.REF, "0000012345"),
        ("POST", f"{TX}/reconcile"),
        ok(samples.RECONCILED),
    ),
    "tx list": Case(
        ("tx", "list"),
        ("GET", wire.Path.TRANSACTIONS),
        ok([samples.PAID], pagination=samples.PAGE),
        ok([], pagination={**samples.PAGE, "total": 0}),
    ),
    "tx show": Case(("tx", "show", samples.REF), ("GET", TX), samples.one("PENDING")),
    "tx cancel": Case(
        ("tx", "cancel", samples.REF), ("POST", f"{TX}/cancel"), samples.one("CANCELLED")
    ),
    "tx wait": Case(("tx", "wait", samples.REF), ("GET", TX), samples.one("SUCCESS")),
    "review list": Case(
        ("review", "list"), ("GET", wire.Path.REVIEWS), ok([samples.REVIEW]), ok([])
    ),
    "review show": Case(
        ("review", "show", samples.REVIEW["id"]), ("GET", REVIEW), ok(samples.REVIEW)
    ),
    "review approve": Case(
        ("review", "approve", samples.REVIEW["id"]), ("POST", f"{REVIEW}/approve"), DECIDED
    ),
    "review reject": Case(
        ("review", "reject", samples.REVIEW["id"], "--notes", "no such money"),
        ("POST", f"{REVIEW}/reject"),
        DECIDED,
    ),
    "payers list": Case(
        ("payers", "list"), ("GET", wire.Path.APPROVED_PAYERS), ok([samples.PAYER]), ok([])
    ),
    "payers revoke": Case(
        ("payers", "revoke", samples.PAYER["id"]),
        ("DELETE", f"/v1/approved-payers/{samples.PAYER['id']}"),
        ok({**samples.PAYER, "state": "revoked"}),
    ),
    "messages list": Case(
        ("messages", "list"), ("GET", wire.Path.LOCAL_MESSAGES), ok([samples.MESSAGE_ROW]), ok([])
    ),
    "messages show": Case(
        ("messages", "show", samples.MESSAGE),
        ("GET", f"/local/v1/messages/{samples.MESSAGE}"),
        ok(samples.MESSAGE_ROW),
    ),
    "messages reparse": Case(
        ("messages", "reparse", "--all-unparsed"),
        ("POST", wire.Path.LOCAL_REPARSE),
        ok(samples.REPARSED),
        ok({**samples.REPARSED, "read": [], "counts": {}}),
    ),
    "templates list": Case(
        ("templates", "list"), ("GET", wire.Path.LOCAL_TEMPLATES), ok(samples.TEMPLATES)
    ),
    "templates confirm": Case(
        ("templates", "confirm", samples.MESSAGE, "--undo"),
        ("POST", f"/local/v1/messages/{samples.MESSAGE}/confirm-wording"),
        ok(samples.CONFIRMED),
    ),
    "today": Case(("today",), ("GET", wire.Path.LOCAL_REPORT), ok(samples.REPORT), ok(NO_MONEY)),
    "report": Case(
        ("report", "--yesterday"), ("GET", wire.Path.LOCAL_REPORT), ok(samples.REPORT), ok(NO_MONEY)
    ),
    "status": Case(("status",), ("GET", wire.Path.LOCAL_STATUS), ok(samples.STATUS), ok({})),
    "lines": Case(("lines",), ("GET", wire.Path.LINES), ok(samples.LINES), ok(EMPTY_LINES)),
    "modems list": Case(
        ("modems", "list"), ("GET", wire.Path.LOCAL_MODEMS), ok([samples.MODEM]), ok([])
    ),
    "modems show": Case(("modems", "show", "zte-front"), ("GET", MODEM), ok(samples.MODEM)),
    "modems test": Case(
        ("modems", "test", "zte-front"),
        ("POST", f"{MODEM}/test"),
        ok({**samples.MODEM, "answered": True, "took_ms": 42}),
    ),
    "modems name": Case(
        ("modems", "name", "zte-front", "till"),
        ("PATCH", MODEM),
        ok({**samples.MODEM, "name": "till"}),
    ),
    "sims list": Case(("sims", "list"), ("GET", wire.Path.SIMS), ok(samples.SIMS), ok([])),
    "sims assign": Case(
        ("sims", "assign", "zte-front:0", "--method", samples.METHOD),
        ("PATCH", f"/v1/payment-methods/{samples.METHOD}"),
        ok(samples.METHOD_ROW),
    ),
    "sims acknowledge": Case(
        ("sims", "acknowledge", "zte-front:0"),
        ("POST", wire.Path.LOCAL_SIM_UNTOLD),
        ok(samples.KNOWN),
        ok([]),
    ),
    "methods add": Case(
        ("methods", "add", "--provider", "momo_mtn", "--phone", "0244124567", "--name", "Ama"),
        ("POST", wire.Path.PAYMENT_METHODS),
        Says({"success": True, "data": samples.METHOD_ROW}, 201),
    ),
    "methods list": Case(
        ("methods", "list"), ("GET", wire.Path.PAYMENT_METHODS), ok([samples.METHOD_ROW]), ok([])
    ),
    "methods show": Case(
        ("methods", "show", samples.METHOD), ("GET", METHOD), ok(samples.METHOD_ROW)
    ),
    "methods update": Case(
        ("methods", "update", samples.METHOD, "--sim", "none"),
        ("PATCH", METHOD),
        ok(samples.METHOD_ROW),
    ),
    "methods remove": Case(
        ("methods", "remove", samples.METHOD, "--yes"), ("DELETE", METHOD), ok(samples.METHOD_ROW)
    ),
    "claim": Case(("claim", samples.METHOD), ("POST", f"{METHOD}/claim-unplaced"), CLAIMED),
    "endpoints add": Case(
        ("endpoints", "add", "https://shop.example/hook"),
        ("POST", wire.Path.ENDPOINTS),
        Says({"success": True, "data": samples.ENDPOINT, "secret": "whsec_x"}, 201),
    ),
    "endpoints list": Case(
        ("endpoints", "list"), ("GET", wire.Path.ENDPOINTS), ok([samples.ENDPOINT]), ok([])
    ),
    "endpoints show": Case(
        ("endpoints", "show", samples.ENDPOINT["id"]), ("GET", ENDPOINT), ok(samples.ENDPOINT)
    ),
    "endpoints update": Case(
        ("endpoints", "update", samples.ENDPOINT["id"], "--description", "shop"),
        ("PUT", ENDPOINT),
        ok(samples.ENDPOINT),
    ),
    "endpoints pause": Case(
        ("endpoints", "pause", samples.ENDPOINT["id"]),
        ("PUT", ENDPOINT),
        ok({**samples.ENDPOINT, "is_active": False}),
    ),
    "endpoints resume": Case(
        ("endpoints", "resume", samples.ENDPOINT["id"]), ("PUT", ENDPOINT), ok(samples.ENDPOINT)
    ),
    "endpoints delete": Case(
        ("endpoints", "delete", samples.ENDPOINT["id"], "--yes"),
        ("DELETE", ENDPOINT),
        Says({"success": True, "deleted": True, "undelivered": 0}),
    ),
    "deliveries list": Case(
        ("deliveries", "list"), ("GET", wire.Path.DELIVERIES), ok([samples.DELIVERY]), ok([])
    ),
    "simulate payment": Case(
        ("simulate", "payment", "--amount", "5"),
        ("POST", wire.Path.TEST_PAYMENTS),
        ok(samples.SIMULATED),
    ),
    "deliveries show": Case(
        ("deliveries", "show", samples.DELIVERY["id"]), ("GET", DELIVERY), ok(samples.DELIVERED)
    ),
    "deliveries attempts": Case(
        ("deliveries", "attempts", samples.DELIVERY["id"]),
        ("GET", f"{DELIVERY}/attempts"),
        ok([samples.ATTEMPT]),
        ok([]),
    ),
    "deliveries curl": Case(
        ("deliveries", "curl", samples.DELIVERY["id"]),
        ("POST", f"/local/v1/deliveries/{samples.DELIVERY['id']}/signed"),
        ok(samples.SIGNED),
    ),
    "deliveries redeliver": Case(
        ("deliveries", "redeliver", samples.DELIVERY["id"]),
        ("POST", f"{DELIVERY}/redeliver"),
        ok({**samples.DELIVERY, "status": "pending", "run": 2}),
    ),
    "dead-letters list": Case(
        ("dead-letters", "list"),
        ("GET", wire.Path.DEAD_LETTERS),
        ok([samples.DEAD_LETTER]),
        ok([]),
    ),
    "dead-letters show": Case(
        ("dead-letters", "show", samples.DEAD_LETTER["id"]),
        ("GET", LETTER),
        ok(samples.DEAD_LETTER),
    ),
    "dead-letters replay": Case(
        ("dl", "replay", samples.DEAD_LETTER["id"]),
        ("POST", f"{LETTER}/replay"),
        ok(samples.DEAD_LETTER, delivery=samples.DELIVERY),
    ),
    "replay": Case(
        ("replay", "--endpoint", samples.ENDPOINT["id"], "--from", "-25h", "--yes"),
        ("POST", wire.Path.REPLAY),
        Says(samples.REPLAYED),
    ),
    "endpoints test": Case(
        ("endpoints", "test", samples.ENDPOINT["id"]),
        ("POST", f"{ENDPOINT}/test"),
        Says({"success": True, "status_code": 200, "response_body": "ok", "message": "200."}),
    ),
    "notices list": Case(
        ("notices", "list"), ("GET", wire.Path.LOCAL_NOTICES), ok([samples.NOTICE]), ok([])
    ),
    "notices seen": Case(
        ("notices", "seen"), ("POST", wire.Path.LOCAL_NOTICES_SEEN), ok({"seen": 2})
    ),
    "notices test": Case(
        ("notices", "test"), ("POST", wire.Path.LOCAL_NOTICES_TEST), ok({"queued": ["email"]})
    ),
    "notices password": Case(
        ("notices", "password", "--forget"),
        ("POST", wire.Path.LOCAL_SMTP_PASSWORD),
        ok({"set": False}),
    ),
    "keys create": Case(
        ("keys", "create", "--name", "till"),
        ("POST", wire.Path.KEYS),
        Says({"success": True, "data": samples.KEY, "key": "svc_live_sk_x"}, 201),
    ),
    "keys list": Case(("keys", "list"), ("GET", wire.Path.KEYS), ok([samples.KEY]), ok([])),
    "keys show": Case(("keys", "show", samples.KEY["id"]), ("GET", KEY), ok(samples.KEY)),
    "keys revoke": Case(
        ("keys", "revoke", samples.KEY["id"], "--yes"),
        ("DELETE", KEY),
        ok({**samples.KEY, "state": "revoked"}),
    ),
    "prune": Case(
        ("prune", "--dry-run"),
        ("GET", wire.Path.LOCAL_PRUNE),
        ok(samples.PRUNABLE),
        ok({**samples.PRUNABLE, "counts": {}, "total": 0, "more": False}),
    ),
    "daemon status": Case(
        ("daemon", "status"), ("GET", wire.Path.LOCAL_STATUS), ok(samples.STATUS)
    ),
}
ELSEWHERE = {
    "deliveries gap": "test_deliveries.py",
    "listen": "test_listen.py",
    "simulate endpoint": "test_listen.py",
    "dead-letters replay-batch": "test_deliveries.py",
    "rules list": Case(
        ("rules", "list", samples.ENDPOINT["id"]),
        ("GET", f"{ENDPOINT}/rules"),
        ok([samples.RULE]),
        ok([]),
    ),
    "rules add": Case(
        ("rules", "add", samples.ENDPOINT["id"], "amount", ">=", "50"),
        ("POST", f"{ENDPOINT}/rules"),
        Says({"success": True, "data": samples.RULE}, 201),
    ),
    "rules update": Case(
        ("rules", "update", samples.ENDPOINT["id"], samples.RULE["id"], "--name", "rents"),
        ("PUT", f"{ENDPOINT}/rules/{samples.RULE['id']}"),
        ok(samples.RULE),
    ),
    "rules remove": Case(
        ("rules", "remove", samples.ENDPOINT["id"], samples.RULE["id"]),
        ("DELETE", f"{ENDPOINT}/rules/{samples.RULE['id']}"),
        Says({"success": True, "deleted": True}),
    ),
    "rules test": Case(
        ("rules", "test", "--sample", "{}"),
        ("POST", wire.Path.RULES_TEST),
        ok({"filter": None, **samples.ROUTED}),
    ),
    "routes explain": Case(
        ("routes", "explain", samples.REF),
        ("GET", f"/v1/open-collections/payments/{samples.REF}/routing"),
        ok(samples.ROUTING),
    ),
    "api": "test_api_raw.py",
    "completion": "test_completion.py",
    "sims clear": "test_sims_moves.py",
    "endpoints reveal": "test_deliveries.py",
    "endpoints rotate": "test_deliveries.py",
    "doctor": "test_doctor.py",
    "parse": "test_parse.py",
    "templates check": "test_templates.py",
    "templates learn": "test_templates.py",
    "messages sample": "test_templates.py",
    "export": "test_day_sheet.py",
    "tx watch": "test_orders.py",
    "setup": "test_setup.py",
    "backup create": "test_backup.py",
    "backup list": "test_backup.py",
    "backup verify": "test_backup.py",
    "backup prune": "test_backup.py",
    "restore": "test_backup.py",
    "verify": "test_verify.py",
    "password set": "test_keys.py",
    "sims pin": "test_sims_pin.py",
    "simulate sms": "test_simulate.py",
    **dict.fromkeys(
        [name for name in COMMANDS if name.startswith("service ")], "test_service.py"
    ),
    **dict.fromkeys([name for name in COMMANDS if name.startswith("config ")], "test_config.py"),
    "daemon run": "test_daemon.py",
    "daemon start": "test_daemon.py",
    "daemon stop": "test_daemon.py",
    "demo": "test_daemon.py",
    "help": "test_output.py",
    "version": "test_output.py",
}
EACH = pytest.mark.parametrize("name", CASES)


def test_every_command_is_in_the_matrix_or_has_its_own_tests() -> None:
    assert {*CASES, *ELSEWHERE} == set(COMMANDS)


def prepare(api: FakeApi, case: Case, answer: Says) -> None:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("GET", REVIEW, ok(samples.REVIEW))
    api.on(*case.call, answer)


@EACH
def test_good_answer_is_printed_unchanged_and_exits_0(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    ran = momo(*case.argv, "--json")
    assert (ran.code, ran.json) == (0, case.good.body)
    assert ran.out == json.dumps(case.good.body, ensure_ascii=False) + "\n"


@EACH
def test_good_answer_is_plain_in_a_pipe(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    ran = momo(*case.argv)
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err
    assert len({line.count("\t") for line in ran.out.splitlines()}) == 1


@EACH
def test_good_answer_makes_lines_for_people(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    prepare(api, case, case.good)
    ran = momo(*case.argv, "-o", "table", COLUMNS="80")
    assert ran.code == 0
    assert ran.out.strip()
    assert "\t" not in ran.out


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.empty])
def test_empty_list_is_success_and_nothing_on_stdout(name: str, api: FakeApi, momo: Momo) -> None:
    case = CASES[name]
    assert case.empty is not None
    prepare(api, case, case.empty)
    assert momo(*case.argv, "--json").json == case.empty.body
    ran = momo(*case.argv)
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
    assert ran.json["error"]["next"] == ["momo tx list"]
    assert ran.err.startswith("error: there is no such payment request  [TRANSACTION_NOT_FOUND]\n")


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
    assert momo(*case.argv).out == ""


@EACH
def test_daemon_down_is_7(name: str, momo: Momo) -> None:
    ran = momo(*CASES[name].argv, "--json")
    assert ran.code == 7
    assert ran.json["error"]["code"] == "DAEMON_DOWN"
    assert ran.json["error"]["next"] == ["momo daemon start"]
    assert "the daemon is not running" in ran.err


@EACH
def test_not_set_up_is_11_and_comes_before_7(name: str, shop: Shop, momo: Momo) -> None:
    (shop.home / wire.DATABASE_NAME).unlink()
    ran = momo(*CASES[name].argv, "--json")
    assert ran.code == 11
    assert ran.json == {
        "success": False,
        "error": {
            "code": "NOT_SET_UP",
            "message": "no shop yet on this machine",
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


@pytest.mark.parametrize(
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
        "error: a value is wrong  [VALIDATION_ERROR]\n"
        "    amount: at most 1000000.00\n"
        "    phone_number: not a phone number\n"
        "  next:  momo init --help\n"
    )
