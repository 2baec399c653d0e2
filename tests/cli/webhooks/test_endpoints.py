"""Add, change and delete endpoints: questions, requests, output."""

import json
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

ID = samples.ENDPOINT["id"]
ONE = f"/v1/open-collections/endpoints/{ID}"
GONE = Says({"success": True, "deleted": True, "undelivered": 3, "hint": "They are kept."})


def sent(api: FakeApi) -> list[tuple[str, Any]]:
    return [(asked.method, asked.body) for asked in api.asked if asked.method != "GET"]


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (("--url", "https://shop.example/b"), {"url": "https://shop.example/b"}),
        (("--description", ""), {"description": ""}),
        (("--no-catch-all", "--include-raw"), {"catch_all": False, "include_raw": True}),
        (("--event", "transaction.forwarded"), {"events": ["transaction.forwarded"]}),
    ],
)
def test_only_what_was_given_is_sent(api: FakeApi, momo: Momo, flags: tuple[str, ...], body: dict[str, Any]) -> None:
    api.on("PUT", ONE, ok(samples.ENDPOINT))
    assert momo("endpoints", "update", ID, *flags).code == 0
    assert sent(api) == [("PUT", body)]


def test_headers_are_added_to_those_there_are_and_one_without_a_value_goes(
    api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("Bearer 7f3a\n")
    api.on("POST", wire.Path.ENDPOINTS, Says({"success": True, "data": samples.ENDPOINT}, 201))
    flags = ("--send-header", f"Authorization: @{tmp_path / 'key'}", "--send-header", "X-Shop: a:b")
    assert momo("endpoints", "add", "https://shop.example/hook", *flags).code == 0
    headers = {"Authorization": "Bearer 7f3a", "X-Shop": "a:b"}
    assert sent(api)[-1] == ("POST", {"url": "https://shop.example/hook", "headers": headers})
    there = {**samples.ENDPOINT, "headers": {"Authorization": "***", "X-Shop": "***"}}
    api.on("GET", ONE, ok(there))
    api.on("PUT", ONE, ok(there))
    shown = momo("endpoints", "update", ID, "--send-header", "x-shop:", "--send-header", "X-New: 1", "-o", "table")
    assert sent(api)[-1] == ("PUT", {"headers": {"Authorization": "***", "X-New": "1"}})
    assert "  headers  Authorization, X-Shop\n" in shown.out
    refused = momo("endpoints", "update", ID, "--send-header", "a-secret-alone")
    assert refused.code == 2
    assert "a-secret" not in refused.err


@pytest.mark.parametrize(
    ("url", "following"),
    [
        ("http://127.0.0.1:3000/hook", "momo listen --forward-to http://127.0.0.1:3000/hook"),
        ("http://shop.example/hook", "momo endpoints add --help"),
    ],
)
@pytest.mark.parametrize("words", [("add",), ("update", ID, "--url")])
def test_an_http_address_of_this_machine_is_for_momo_listen(
    api: FakeApi, momo: Momo, words: tuple[str, ...], url: str, following: str
) -> None:
    refused = refusal(422, "URL_NOT_ALLOWED", reason="not_https")
    api.on("POST", wire.Path.ENDPOINTS, refused)
    api.on("PUT", ONE, refused)
    assert momo("endpoints", *words, url, "--json").json["error"]["next"] == [following]


@pytest.mark.usefixtures("in_process")
def test_a_private_host_leads_to_the_setting_with_its_value(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED", reason="private_address"))
    add = ("endpoints", "add", "https://till.local/hook", "--json")
    restart = "momo daemon restart"
    setting = "momo config set webhooks.allow_private_hosts"
    assert momo(*add).json["error"]["next"] == [f"{setting} till.local", restart]
    assert momo("config", "set", "webhooks.allow_private_hosts", "books.local").code == 0
    assert momo(*add).json["error"]["next"] == [f"{setting} books.local,till.local", restart]


def test_an_address_that_no_setting_can_allow_leads_to_the_help(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED", reason="malformed"))
    ran = momo("endpoints", "add", "shop.example/hook", "--json")
    assert ran.json["error"]["next"] == ["momo endpoints add --help"]


def test_a_host_without_an_address_is_a_matter_of_spelling(api: FakeApi, momo: Momo) -> None:
    why = "That address may not receive webhooks: the host's address could not be found."
    api.on("POST", wire.Path.ENDPOINTS, refusal(422, "URL_NOT_ALLOWED", why, reason="unresolvable"))
    ran = momo("endpoints", "add", "https://shpo.example/hook")
    assert ran.code == 5
    assert "Check the spelling of the host." in ran.err
    assert ran.err.splitlines()[-1] == "  next:  getent hosts shpo.example"


MADE = Says({"success": True, "data": samples.ENDPOINT, "secret": "whsec_x"}, 201)
RULES = f"{ONE}/rules"
HOOK = "https://shop.example/hook"


def test_adding_sends_what_was_given_and_leaves_the_rest_to_the_daemon(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.ENDPOINTS, MADE)
    flags = ("--no-catch-all", "--include-raw", "--event", "transaction.reversed")
    assert momo("endpoints", "add", HOOK, *flags).code == 0
    assert momo("endpoints", "add", HOOK).code == 0
    assert [body for _, body in sent(api)] == [
        {"url": HOOK, "catch_all": False, "events": ["transaction.reversed"], "include_raw": True},
        {"url": HOOK},
    ]


@pytest.mark.parametrize(("events", "told"), [(["transaction.forwarded"], True), (["transaction.reversed"], False)])
def test_adding_says_that_reversals_are_not_among_what_is_sent(
    api: FakeApi, momo: Momo, events: list[str], *, told: bool
) -> None:
    made = {"success": True, "data": {**samples.ENDPOINT, "events": events}, "secret": "s"}
    api.on("POST", wire.Path.ENDPOINTS, Says(made, 201))
    ran = momo("endpoints", "add", HOOK, "-o", "table")
    assert ("not told when the network takes a payment back" in ran.err + ran.out) is told


def test_rules_are_tried_before_the_endpoint_is_made_and_made_with_it(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.RULES_TEST, ok({"endpoints": []}))
    api.on("POST", wire.Path.ENDPOINTS, MADE)
    warned = {"warnings": ["it still takes what no rule claims"]}
    api.on("POST", RULES, Says({"success": True, "data": samples.RULE, "meta": warned}, 201))
    ran = momo(
        "endpoints", "add", HOOK, "--rule", "amount >= 50 payer.name contains 'AMA K'",
        "--rule", '{"late": true}', "--json",
    )  # fmt: skip
    first = {"amount": {"$gte": "50"}, "payer.name": {"$contains": "AMA K"}}
    assert [asked.path for asked in api.asked if asked.method == "POST"] == [
        wire.Path.RULES_TEST, wire.Path.RULES_TEST, wire.Path.ENDPOINTS, RULES, RULES,
    ]  # fmt: skip
    assert [body for _, body in sent(api)] == [
        {"sample": {}, "filter": first},
        {"sample": {}, "filter": {"late": True}},
        {"url": HOOK},
        {"filter": first},
        {"filter": {"late": True}},
    ]
    document = json.loads(ran.out)
    assert (ran.code, document["secret"]) == (0, "whsec_x")
    assert document["rules"] == [samples.RULE, samples.RULE]
    assert ran.err.count("warning: it still takes what no rule claims") == 1


@pytest.mark.parametrize("rule", ["", "amount >=", "amount ~ 5", "'amount", "{", "@nowhere.json"])
def test_a_rule_that_cannot_be_read_makes_no_endpoint(api: FakeApi, momo: Momo, rule: str) -> None:
    assert momo("endpoints", "add", HOOK, "--rule", rule).code == 2
    assert api.asked == []


def test_a_rule_that_the_daemon_does_not_understand_makes_no_endpoint(api: FakeApi, momo: Momo) -> None:
    refused = {"code": "VALIDATION_ERROR", "message": "unknown field", "details": []}
    api.on("POST", wire.Path.RULES_TEST, Says({"success": False, "error": refused}, 422))
    assert momo("endpoints", "add", HOOK, "--rule", "colour = red").code == 2
    assert [asked.path for asked in api.asked if asked.method == "POST"] == [wire.Path.RULES_TEST]


def test_a_rule_that_fails_after_all_does_not_lose_the_secret(api: FakeApi, momo: Momo) -> None:
    gone = {"code": "UNAVAILABLE", "message": "the disk is full"}
    api.on("POST", wire.Path.RULES_TEST, ok({"endpoints": []}))
    api.on("POST", wire.Path.ENDPOINTS, MADE)
    api.on("POST", RULES, Says({"success": False, "error": gone}, 503))
    ran = momo("endpoints", "add", HOOK, "--rule", "late = true", "-o", "table")
    assert ran.code == 7
    assert "whsec_x" in ran.out
    assert "a rule was not added: the disk is full" in ran.err
    assert f"""momo endpoints rules add {ID} --filter '{{"late":{{"$eq":"true"}}}}'""" in ran.err


def test_an_update_of_nothing_is_a_usage_error(momo: Momo) -> None:
    assert momo("endpoints", "update", ID).code == 2


def test_a_resume_says_how_much_will_go(api: FakeApi, momo: Momo) -> None:
    api.on("PUT", ONE, ok(samples.ENDPOINT, meta={"queued": 4}))
    ran = momo("endpoints", "resume", ID, "-o", "table")
    assert ran.out.startswith("Resumed: 4 waiting deliveries will now go.\n✓ active")
    assert sent(api) == [("PUT", {"is_active": True})]


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({"queued": 1}, "Resumed: 1 waiting delivery will now go."),
        ({"queued": 0}, "Resumed: nothing waits."),
        ({}, "It was active already."),
    ],
)
def test_a_resume_of_little_or_nothing_says_so(meta: dict[str, int], told: str, api: FakeApi, momo: Momo) -> None:
    api.on("PUT", ONE, ok(samples.ENDPOINT, meta=meta))
    assert momo("endpoints", "resume", ID, "-o", "table").out.splitlines()[0] == told


def test_a_pause_names_the_way_back(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    api.on("PUT", ONE, ok({**samples.ENDPOINT, "is_active": False}))
    ran = momo("endpoints", "pause", ID, "-o", "table")
    assert ran.out.startswith("Paused: its deliveries wait until it is resumed.\n! paused")
    assert f"momo endpoints resume {ID}" in ran.err
    assert sent(api) == [("PUT", {"is_active": False})]


def test_a_second_pause_changes_nothing_and_says_so(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**samples.ENDPOINT, "is_active": False}))
    ran = momo("endpoints", "pause", ID, "-o", "table")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "It was paused already.")
    assert sent(api) == []


def test_a_state_that_is_so_already_is_told_to_programs_too(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**samples.ENDPOINT, "is_active": False}))
    paused = momo("endpoints", "pause", ID, "--json")
    assert (paused.code, paused.json["data"]["status"]) == (0, "already_paused")
    api.on("PUT", ONE, ok(samples.ENDPOINT, meta={}))
    resumed = momo("endpoints", "resume", ID, "--fields", "status")
    assert (resumed.code, resumed.out) == (0, "already_active\n")


def test_an_endpoint_says_what_it_answered_when_it_failed_last(api: FakeApi, momo: Momo) -> None:
    failed = {
        "at": "2026-11-20T09:16:00.000Z",
        "response_status_code": 503,
        "error": {"code": "http_error", "message": ""},
        "diagnosis": "The receiver could not take it just now. Look at its log.",
    }
    api.on("GET", ONE, ok(samples.ENDPOINT, meta={"last_error": failed}))
    assert momo("endpoints", "show", ID, "-o", "table").out.splitlines()[-2:] == [
        "  last bad 2m ago: 503",
        "           The receiver could not take it just now. Look at its log.",
    ]


def test_the_list_says_how_much_waits_and_what_to_type_about_one_that_was_stopped(api: FakeApi, momo: Momo) -> None:
    stopped = {**samples.ENDPOINT, "is_active": False, "auto_paused_at": "2026-11-20T09:12:00.000Z"}
    api.on("GET", wire.Path.ENDPOINTS, ok([stopped]))
    status = {**samples.STATUS, "endpoints": [{**stopped, "queued": 14}]}
    api.on("GET", wire.Path.LOCAL_STATUS, ok(status))
    ran = momo("endpoints", "list", "-o", "table", COLUMNS="120")
    heads, _, row = ran.out.splitlines()
    assert heads.split()[:3] == ["STATE", "URL", "QUEUED"]
    assert row.split()[3] == "14"
    assert "next:  momo endpoints test shop.example\n       momo endpoints resume shop.example" in ran.err
    api.on("GET", wire.Path.LOCAL_STATUS, refusal(500, "INTERNAL_ERROR"))
    assert momo("endpoints", "list", "-o", "table").code == 0


@pytest.mark.parametrize(("size", "shown"), [("3", "abc"), ("2k", "abcdef" * 300), ("0", "")])
def test_the_answer_of_a_test_is_shown_as_far_as_it_was_asked_for(
    size: str, shown: str, api: FakeApi, momo: Momo
) -> None:
    answer = {"success": True, "status_code": 200, "message": "200.", "response_body": "abcdef" * 300}
    api.on("POST", f"{ONE}/test", Says(answer))
    ran = momo("endpoints", "test", ID, "--body-max", size, "-o", "table", COLUMNS="9000")
    assert ran.out == "✓ 200.\n" + (f"  {shown}\n" if shown else "")


@pytest.mark.parametrize("size", ["2m", "-1", "", "k"])
def test_a_size_that_is_none_is_a_usage_error(size: str, momo: Momo) -> None:
    ran = momo("endpoints", "test", ID, f"--body-max={size}")
    assert (ran.code, "--body-max" in ran.err) == (2, True)


def test_the_host_confirms_a_deletion(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    api.on("DELETE", ONE, GONE)
    ran = momo("endpoints", "delete", ID, "--confirm", "shop.example", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ Deleted. 3 deliveries never arrived.\n")
    assert "They are kept." in ran.err


@pytest.mark.parametrize("typed", ["shop.example", "shop.example:8443", "Shop.Example:8443"])
def test_the_host_confirms_with_its_port_and_without(typed: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok({**samples.ENDPOINT, "url": "https://shop.example:8443/hook"}))
    api.on("DELETE", ONE, GONE)
    assert momo("endpoints", "delete", ID, "--confirm", typed).code == 0


def test_another_host_deletes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    ran = momo("endpoints", "delete", ID, "--confirm", "other.example")
    assert ran.code == 10
    assert sent(api) == []


def test_a_script_that_does_not_confirm_deletes_nothing(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.ENDPOINT))
    assert momo("endpoints", "delete", ID).code == 2
    assert sent(api) == []


DELIVERIES = "/v1/open-collections/deliveries"
RULE = samples.RULE["id"]
DOWN = refusal(503, "UNAVAILABLE")


@pytest.mark.parametrize("name", ["shop.example", "https://shop.example/hook", ID[:8]])
@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("endpoints show NAME", ("GET", ONE)),
        ("endpoints update NAME --description x", ("PUT", ONE)),
        ("endpoints pause NAME", ("GET", ONE)),
        ("endpoints resume NAME", ("PUT", ONE)),
        ("endpoints delete NAME --yes", ("DELETE", ONE)),
        ("endpoints test NAME", ("POST", f"{ONE}/test")),
        ("endpoints reveal NAME --password-file pw", ("POST", f"{ONE}/secret")),
        ("endpoints rotate NAME --password-file pw", ("POST", f"{ONE}/rotate-secret")),
        ("endpoints rules list NAME", ("GET", f"{ONE}/rules")),
        ("endpoints rules add NAME amount >= 5", ("POST", f"{ONE}/rules")),
        (f"endpoints rules update NAME {RULE} --enabled", ("PUT", f"{ONE}/rules/{RULE}")),
        (f"endpoints rules remove NAME {RULE}", ("DELETE", f"{ONE}/rules/{RULE}")),
        ("deliveries list --endpoint NAME", ("GET", DELIVERIES)),
        ("replay --gap --endpoint NAME", ("GET", wire.Path.GAP)),
        ("deliveries redeliver --failed --endpoint NAME", ("GET", DELIVERIES)),
        ("dead-letters list --endpoint NAME", ("GET", wire.Path.DEAD_LETTERS)),
        ("dead-letters replay --all --endpoint NAME", ("GET", wire.Path.DEAD_LETTERS)),
    ],
)
def test_an_endpoint_is_named_by_its_host_url_or_the_beginning_of_its_id(
    name: str,
    line: str,
    call: tuple[str, str],
    api: FakeApi,
    momo: Momo,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pw").write_text("a long pass phrase")
    monkeypatch.chdir(tmp_path)
    api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    api.on(*call, DOWN)
    assert momo(*line.replace("NAME", name).split()).code == 7
    asked = api.asked[-1]
    assert (asked.method, asked.path) == call
    assert asked.query.get("endpoint_id", ID) == ID


def test_an_endpoint_that_nobody_knows_is_not_guessed(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    ran = momo("endpoints", "delete", "books.example", "--yes")
    assert (ran.code, sent(api)) == (3, [])
    assert "momo endpoints list" in ran.err
