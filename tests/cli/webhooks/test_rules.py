"""Rules at the command line: requests, output, and filters that are refused before a request."""

import json
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.each import each
from tests.fakes.fake_api import FakeApi, Says, ok

ENDPOINT = samples.ENDPOINT["id"]
RULES = f"/v1/open-collections/endpoints/{ENDPOINT}/rules"
ROUTING = f"/v1/open-collections/payments/{samples.REF}/routing"


@each(
    ("words", "filter_"),
    [
        (["amount", ">=", "50"], {"amount": {"$gte": "50"}}),
        (["amount >= 50"], {"amount": {"$gte": "50"}}),
        (["payer.name = 'AMA B' late = true"], {"payer.name": {"$eq": "AMA B"}, "late": {"$eq": "true"}}),
        (['{"late": true}'], {"late": True}),
        (["currency", "=", "GHS"], {"currency": {"$eq": "GHS"}}),
        (["late", "!=", "true"], {"late": {"$neq": "true"}}),
        (["telco.provider", "in", "mtn, at"], {"telco.provider": {"$in": ["mtn", "at"]}}),
        (["payer.name", "startswith", "AMA"], {"payer.name": {"$startsWith": "AMA"}}),
        (["payer.name", "endswith", "AMA"], {"payer.name": {"$endsWith": "AMA"}}),
        (["payer.name", "contains", "AMA"], {"payer.name": {"$contains": "AMA"}}),
        (
            ["amount", ">", "5", "amount", "<", "9", "late", "=", "false"],
            {"amount": {"$gt": "5", "$lt": "9"}, "late": {"$eq": "false"}},
        ),
        (
            ["payer.name", "contains", "a", "payer.name", "contains", "b"],
            {"payer.name": {"$contains": "a"}, "$and": [{"payer.name": {"$contains": "b"}}]},
        ),
    ],
)
def test_conditions_are_joined_by_and(api: FakeApi, momo: Momo, words: list[str], filter_: dict[str, Any]) -> None:
    api.on("POST", RULES, Says({"success": True, "data": samples.RULE}, 201))
    assert momo("endpoints", "rules", "add", ENDPOINT, *words).code == 0
    assert api.asked[-1].body == {"filter": filter_, "enabled": True}


def test_a_filter_comes_as_json_or_from_a_file(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", RULES, Says({"success": True, "data": samples.RULE}, 201))
    wanted = {"$or": [{"late": True}, {"amount": "5"}]}
    file = tmp_path / "filter.json"
    file.write_text(json.dumps(wanted))
    for given in (json.dumps(wanted), f"@{file}"):
        assert momo("endpoints", "rules", "add", ENDPOINT, "--filter", given, "--off").code == 0
        assert api.asked[-1].body == {"filter": wanted, "enabled": False}


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["amount", ">="],
        ["amount", "like", "5"],
        [""],
        ["amount >="],
        ["--filter", "{"],
        ["--filter", "@/nowhere/at/all"],
        ["--filter", "{}", "amount", ">=", "5"],
    ],
)
def test_what_is_no_filter_is_a_usage_error_and_nothing_is_sent(api: FakeApi, momo: Momo, words: list[str]) -> None:
    assert momo("endpoints", "rules", "add", ENDPOINT, *words).code == 2
    assert api.asked == []


def test_a_new_rule_says_that_catch_all_is_still_on(api: FakeApi, momo: Momo) -> None:
    said = {"warnings": ["The endpoint still takes every payment that no rule claims."]}
    api.on("POST", RULES, Says({"success": True, "data": samples.RULE, "meta": said}, 201))
    ran = momo("endpoints", "rules", "add", ENDPOINT, "amount", ">=", "50", "-o", "table")
    assert "warning: The endpoint still takes" in ran.err
    assert ran.err.endswith(f"momo endpoints update {ENDPOINT} --no-catch-all\n")
    assert ran.out.splitlines()[0] == "✓ on  rents"


def test_a_trial_lists_every_endpoint_each_rule_and_the_value_seen(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.RULES_TEST, ok({"filter": None, **samples.ROUTED}))
    ran = momo("endpoints", "rules", "test", "--sample", '{"amount":"75.00"}', "-o", "table")
    assert ran.out.splitlines() == [
        "✓ gets it  https://shop.example/hook",
        "  Its rule rents matches.",
        "  rule rents: matches",
        '    ✓ amount.$gte "50": it is "75.00"',
    ]
    assert api.asked[-1].body == {"sample": {"amount": "75.00"}}


def test_a_payment_that_nobody_claims_is_said_to_be_kept(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ROUTING, ok(samples.ROUTING))
    ran = momo("tx", "routes", samples.REF, "--today", "-o", "table")
    assert ran.out.splitlines()[-1] == "No endpoint gets it: it is stored, and can be replayed."


def test_an_unpaid_order_went_nowhere(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ROUTING, ok({**samples.ROUTING, "payment": None, "decisions": [], "today": None}))
    ran = momo("tx", "routes", samples.REF, "-o", "table")
    assert ran.out == "The transaction has no payment yet: nothing was sent.\n"
