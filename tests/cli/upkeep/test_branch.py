"""`momo hub status` and `join`: how far it is, the waiting, and the comparison with the hub."""

from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal


@pytest.fixture(autouse=True)
def _is_no_hub(api: FakeApi) -> None:
    api.on("GET", wire.Path.LOCAL_HUB, refusal(409, "NOT_A_HUB"))


def linked(**changes: Any) -> Any:
    return ok({**samples.LINK, **changes})


def test_status_says_in_one_line_whether_the_hub_has_the_same(api: FakeApi, momo: Momo) -> None:
    differs = {"agrees": False, "payments": 12, "hub_payments": 11, "days": 31, "different_days": ["2026-11-20"]}
    for compared, said in (
        (samples.LINK["compared"], "yes: 12 payments of the last 31 days"),
        (differs, "no: 12 payments of the last 31 days here, 11 at the hub; different days: 2026-11-20"),
        ({"agrees": None, "why": "no line"}, "not known: no line"),
    ):
        api.on("GET", wire.Path.LOCAL_BRANCH, linked(compared=compared))
        ran = momo("hub", "status", "-o=table")
        assert ran.code == 0
        assert said in " ".join(ran.out.split())
        assert api.asked[-1].query == {"compare": "recent"}


def test_status_waits_until_all_is_sent(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_BRANCH, linked(behind=3), linked(behind=3), linked(behind=0), linked(behind=0))
    ran = momo("hub", "status", "--wait", "--get", "data.behind")
    assert ran.out == "0\n"
    assert len(api.asked) == 5
    assert api.asked[-1].query == {"compare": "all"}


def test_the_waiting_ends_with_a_problem(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_BRANCH, linked(behind=3, problem="disputed"))
    ran = momo("hub", "status", "--wait", "-o=table")
    assert "disputed" in ran.out


def test_join_compares_on_a_terminal_once_the_history_is_sent(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_BRANCH, ok(samples.JOINED))
    api.on("GET", wire.Path.LOCAL_BRANCH, linked(behind=3), linked(behind=0))
    ran = momo("hub", "join", "https://hub.example", "7k2m9xq4", "-o=table")
    assert ran.code == 0
    assert "The hub has the same: yes: 12 payments" in " ".join(ran.out.split())
    assert momo("hub", "join", "https://hub.example", "7k2m9xq4", "--json").code == 0
    assert api.asked[-1].method == "POST"


def test_a_trial_shows_number_and_sum_of_each_day(api: FakeApi, momo: Momo) -> None:
    days = [
        {"day": f"2026-11-{20 - n}", "mode": "live", "currency": "GHS", "count": 2, "amount": "50.00"} for n in range(9)
    ]
    sandbox = {**days[0], "mode": "test", "count": 7}
    api.on("POST", wire.Path.LOCAL_BRANCH, ok({**samples.JOINED, "joined": False, "days": [sandbox, *days]}))
    ran = momo("hub", "join", "https://hub.example", "7k2m9xq4", "--dry-run", "-o=table")
    told = " ".join(ran.err.split())
    assert "By day: 2026-11-20: 2 payments of GHS 50.00 together; 2026-11-19: 2 payments" in told
    assert "2 more in -o json" in told
    assert "2026-11-13" not in told


def test_status_has_each_value_on_the_line_of_its_label(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_BRANCH, linked(behind=0))
    out = momo("hub", "status", "-o=table", COLUMNS="80").out
    assert "\n  to send         0\n" in out
    assert "\n  same as the hub yes: 12 payments of the last 31 days" in out
    assert out.startswith("  branch          kumasi\n")


def test_a_hub_that_does_not_answer_is_7_and_leads_to_its_address(api: FakeApi, momo: Momo) -> None:
    why = "The hub did not answer: nothing listens at that address."
    api.on("POST", wire.Path.LOCAL_BRANCH, refusal(502, "HUB_REFUSED", why, answered=False))
    ran = momo("hub", "join", "https://hub.example/", "7k2m9xq4", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (7, "HUB_REFUSED")
    assert ran.json["error"]["next"] == [
        "curl -I https://hub.example/healthz",
        "momo hub join https://hub.example/ 7k2m9xq4",
    ]


def test_a_wrong_word_leads_to_a_new_invitation(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_BRANCH, refusal(403, "INVITATION_INVALID"))
    ran = momo("hub", "join", "https://hub.example", "7k2m9xq4")
    assert ran.code == 5
    assert "next:  at the hub: momo hub invite NAME" in ran.err
    api.on("POST", wire.Path.LOCAL_BRANCH, refusal(502, "HUB_REFUSED"))
    ran = momo("hub", "join", "https://hub.example", "7k2m9xq4")
    assert ran.code == 5
    assert "momo hub status" not in ran.err
