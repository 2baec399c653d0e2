"""Deliveries at the command line: questions, requests, output."""

import json
from typing import Any

import pytest

from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

ID = samples.DELIVERY["id"]
LETTER = samples.DEAD_LETTER["id"]
OTHER = "00000000-0000-4000-8000-000000000001"
ENDPOINT = samples.ENDPOINT["id"]
ONE = f"/v1/open-collections/deliveries/{ID}"
HOOK = f"/v1/open-collections/endpoints/{ENDPOINT}"


def sent(api: FakeApi) -> list[tuple[str, Any]]:
    return [(asked.path, asked.body) for asked in api.asked if asked.method == "POST"]


def documents(out: str) -> list[Any]:
    return [json.loads(line) for line in out.splitlines()]


def test_show_tells_where_it_went_and_each_attempt(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ONE, ok(samples.DELIVERED))
    api.on("GET", f"{ONE}/attempts", ok([samples.ATTEMPT]))
    ran = momo("deliveries", "show", ID, "--attempts", "--payload", "-o", "table")
    assert "  to       https://shop.example/hook\n" in ran.out
    assert "run 1 try 1  503 in 143 ms — try later\n" in ran.out
    assert ran.out.endswith('"type":"transaction.forwarded"}\n')
    assert f"momo deliveries redeliver {ID}" in ran.err


def test_redelivering_several_goes_on_after_a_refusal_and_sums_up(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{ONE}/redeliver", refusal(409, "DELIVERY_NOT_REDELIVERABLE", "no"))
    api.on("POST", f"/v1/open-collections/deliveries/{OTHER}/redeliver", ok(samples.DELIVERY))
    ran = momo("deliveries", "redeliver", ID, OTHER, "--json")
    assert ran.code == 9
    assert documents(ran.out) == [
        {
            "type": "item",
            "id": ID,
            "ok": False,
            "code": "DELIVERY_NOT_REDELIVERABLE",
            "message": "no",
        },
        {"type": "item", "id": OTHER, "ok": True, "code": None, "message": None},
        {"type": "summary", "requested": 2, "requeued": 1, "failed": 1},
    ]
    keys = [asked.headers["idempotency-key"] for asked in api.asked]
    assert len(set(keys)) == 2


def test_every_failed_one_of_an_endpoint_oldest_first(api: FakeApi, momo: Momo) -> None:
    failed = [{**samples.DELIVERY, "id": OTHER}, {**samples.DELIVERY, "id": ID}]
    api.on("GET", ApiPath.DELIVERIES, ok(failed))
    api.on("POST", f"{ONE}/redeliver", ok(samples.DELIVERY))
    api.on("POST", f"/v1/open-collections/deliveries/{OTHER}/redeliver", ok(samples.DELIVERY))
    flags = ("--failed", "--endpoint", ENDPOINT)
    plan = momo("deliveries", "redeliver", *flags, "--dry-run", "--plain")
    assert (plan.code, len(plan.out.splitlines()), sent(api)) == (0, 2, [])
    ran = momo("deliveries", "redeliver", *flags)
    assert ran.code == 0
    assert [path for path, _body in sent(api)] == [
        f"{ONE}/redeliver",
        f"/v1/open-collections/deliveries/{OTHER}/redeliver",
    ]
    assert api.asked[0].query["status"] == "failed"


@pytest.mark.parametrize(
    "flags", [(), (ID, "--failed"), ("--failed",), (ID, "--endpoint", ENDPOINT), (ID, "--dry-run")]
)
def test_redeliver_must_know_which(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("deliveries", "redeliver", *flags).code == 2


def test_a_gap_is_6_and_none_is_0(api: FakeApi, momo: Momo) -> None:
    meta = {
        "limit": 1000,
        "looked_at": 3,
        "delivered": 2,
        "missing": 1,
        "has_more": False,
        "next_cursor": None,
    }
    flags = ("replay", "--gap", "--endpoint", ENDPOINT)
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=meta))
    ran = momo(*flags, "-o", "table")
    assert ran.code == 6
    assert "1 payments are not delivered" in ran.out
    assert "✗ never sent" in ran.out
    assert f"next:  momo replay --endpoint {ENDPOINT} --from 2026-11-19T09:18:00.000Z" in ran.err
    assert momo(*flags, "--quiet").code == 6
    api.on("GET", ApiPath.GAP, ok([], meta={**meta, "delivered": 3, "missing": 0}))
    ran = momo(*flags)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "No gap: all of 3 payments for it are delivered.\n"


def test_a_long_gap_is_never_cut_off_silently(api: FakeApi, momo: Momo) -> None:
    more = {"looked_at": 1, "has_more": True, "next_cursor": "abc"}
    last = {"looked_at": 1, "has_more": False, "next_cursor": None}
    flags = ("replay", "--gap", "--endpoint", ENDPOINT)
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=more))
    assert "There are more: add --all." in momo(*flags).err
    api.on("GET", ApiPath.GAP, ok([samples.GAP], meta=more), ok([samples.GAP], meta=last))
    ran = momo(*flags, "--all", "--json")
    assert ran.code == 6
    assert [line["type"] for line in documents(ran.out)] == ["item", "item", "summary"]
    assert api.asked[-1].query["cursor"] == "abc"


def test_a_list_that_is_to_be_empty_tells_cron_in_two_lines_how_many_there_are(
    api: FakeApi, momo: Momo
) -> None:
    failed = ok([samples.DELIVERY], meta={"limit": 50, "offset": 0, "total": 214})
    api.on("GET", ApiPath.DELIVERIES, failed, ok([]))
    words = ("deliveries", "list", "--status", "failed", "--fail-if-any", "--quiet")
    ran = momo(*words)
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == (
        f"error: 214 failed deliveries\nnext:  momo deliveries show {samples.DELIVERY['id']}\n"
    )
    ran = momo(*words)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_deliveries_of_one_event_are_named_with_or_without_the_prefix(
    api: FakeApi, momo: Momo
) -> None:
    api.on("GET", ApiPath.DELIVERIES, ok([]))
    for name in ("expired", "transaction.expired"):
        assert momo("deliveries", "list", "--event", name).code == 0
        assert api.asked[-1].query["event"] == "transaction.expired"
    assert momo("deliveries", "list", "--event", "paid").code == 2


def test_deliveries_of_the_sandbox_are_no_alarm(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DELIVERIES, ok([]))
    momo("deliveries", "list", "--status", "failed", "--fail-if-any")
    assert api.asked[-1].query["mode"] == "live"
    for flags in ((), ("--fail-if-any",), ("--all", "--json")):
        momo("deliveries", "list", "--sandbox", *flags)
        assert api.asked[-1].query["mode"] == "test"
    momo("deliveries", "list", "--status", "failed")
    assert "mode" not in api.asked[-1].query


def test_a_delivery_of_the_sandbox_is_marked_in_the_list(api: FakeApi, momo: Momo) -> None:
    rows = [{**samples.DELIVERY, "test": True}, {**samples.DELIVERY, "test": False}]
    api.on("GET", ApiPath.DELIVERIES, ok(rows))
    out = momo("deliveries", "list", "-o", "table", COLUMNS="160").out.splitlines()
    assert [", TEST" in line for line in out[-2:]] == [True, False]
