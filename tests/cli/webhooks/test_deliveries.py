"""Deliveries at the command line: questions, requests, output."""

import json
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.payments.test_waiting import VERIFIED, stream
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

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
        {"type": "item", "id": ID, "ok": False, "code": "DELIVERY_NOT_REDELIVERABLE", "message": "no"},
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
    meta = {"limit": 1000, "looked_at": 3, "delivered": 2, "missing": 1, "has_more": False, "next_cursor": None}
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


def test_a_list_that_is_to_be_empty_tells_cron_in_two_lines_how_many_there_are(api: FakeApi, momo: Momo) -> None:
    failed = ok([samples.DELIVERY], meta={"limit": 50, "offset": 0, "total": 214})
    api.on("GET", ApiPath.DELIVERIES, failed, ok([]))
    words = ("deliveries", "list", "--status", "failed", "--fail-if-any", "--quiet")
    ran = momo(*words)
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == (f"error: 214 failed deliveries\nnext:  momo deliveries show {samples.DELIVERY['id']}\n")
    ran = momo(*words)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_deliveries_of_one_event_are_named_with_or_without_the_prefix(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DELIVERIES, ok([]))
    for name in ("expired", "transaction.expired"):
        assert momo("deliveries", "list", "--event", name).code == 0
        assert api.asked[-1].query["event"] == "transaction.expired"
    assert momo("deliveries", "list", "--event", "paid").code == 2


def test_deliveries_of_the_sandbox_are_no_alarm_and_listed_only_when_asked_for(api: FakeApi, momo: Momo) -> None:
    api.on("GET", ApiPath.DELIVERIES, ok([]))
    momo("deliveries", "list", "--status", "failed", "--fail-if-any")
    assert api.asked[-1].query["mode"] == "live"
    for flags in ((), ("--fail-if-any",), ("--all", "--json")):
        momo("deliveries", "list", "--sandbox", *flags)
        assert api.asked[-1].query["mode"] == "test"
    momo("deliveries", "list", "--status", "failed")
    assert api.asked[-1].query["mode"] == "live"
    momo("deliveries", "list", "--endpoint", samples.DELIVERY["endpoint_id"])
    assert "mode" not in api.asked[-1].query


def test_a_delivery_of_the_sandbox_is_marked_in_the_list(api: FakeApi, momo: Momo) -> None:
    rows = [{**samples.DELIVERY, "test": True}, {**samples.DELIVERY, "test": False}]
    api.on("GET", ApiPath.DELIVERIES, ok(rows))
    out = momo("deliveries", "list", "-o", "table", COLUMNS="160").out.splitlines()
    assert [", TEST" in line for line in out[-2:]] == [True, False]


OTHER_watch = "e0e0e0e0-7d2b-4c3d-9e4f-0123456789ab"
ENDED = {
    "at": "2026-11-20T09:14:01.000Z",
    "endpoint_id": samples.ENDPOINT["id"],
    "details": {"delivery_id": ID, "event": "transaction.forwarded", "code": 200},
}
GONE = {**ENDED, "details": {"delivery_id": OTHER_watch, "event": "transaction.expired", "code": 500}}
RETRYING = {**samples.DELIVERY, "status": "retrying", "response_status_code": 503}


@pytest.fixture
def watched(api: FakeApi, naps: list[float]) -> FakeApi:
    """One delivery ends, one has been pruned, one fails repeatedly; then the daemon goes away."""
    api.on("GET", wire.Path.EVENTS,
        stream((7, "delivery.delivered", ENDED), (8, "endpoint.failing", {}), (9, "delivery.failed", GONE)),
        refusal(500, "INTERNAL_ERROR"))  # fmt: skip
    api.on("GET", ONE, ok(samples.DELIVERY))
    tries = iter([1, 1, 1])

    def retrying(asked: Asked) -> Says:
        assert (asked.query["status"], asked.query["kind"]) == ("retrying", "all")
        return ok([{**RETRYING, "attempt_count": next(tries, 2)}])

    api.on("GET", wire.Path.DELIVERIES, retrying)
    assert naps == []
    return api


def test_each_end_and_each_try_in_vain_is_a_line(watched: FakeApi, momo: Momo) -> None:
    ran = momo("deliveries", "watch", "--json", "--since-event", "5")
    *items, last = [json.loads(line) for line in ran.out.splitlines()]
    assert [(each["event"], each["id"], each["data"]["id"]) for each in items] == [
        ("delivery.delivered", "7", ID),
        ("delivery.failed", "9", OTHER_watch),
        ("delivery.retrying", None, ID),
    ]
    assert items[0]["data"] == samples.DELIVERY
    assert items[1]["data"]["response_status_code"] == 500
    assert (items[2]["data"]["status"], items[2]["data"]["attempt_count"]) == ("retrying", 2)
    assert (ran.code, last["error"]["code"]) == (1, "INTERNAL_ERROR")
    (first,) = [one for one in watched.asked if one.path == wire.Path.EVENTS][:1]
    assert first.headers["last-event-id"] == "5"


@pytest.mark.usefixtures("watched")
def test_a_person_sees_what_was_answered(momo: Momo) -> None:
    ran = momo("deliveries", "watch", "-o", "table", "--utc", "--status", "delivered")
    (line,) = ran.out.splitlines()
    assert line.split()[:2] == ["today", "09:14"]
    assert ("DELIVERED" in line.upper(), "200" in line, ID in line) == (True, True, True)
    assert momo("deliveries", "watch", "--endpoint", OTHER_watch, "--plain").out == ""


def test_a_status_that_there_is_not_is_refused(momo: Momo) -> None:
    for noun in ("deliveries", "tx"):
        ran = momo(noun, "watch", "--status", "gone")
        assert (ran.code, "not one of" in ran.err) == (2, True)


@pytest.mark.usefixtures("naps")
def test_a_daemon_that_cannot_serve_at_the_start_is_told_and_waited_for(api: FakeApi, momo: Momo) -> None:
    away = refusal(503, "UNAVAILABLE")
    api.on("GET", wire.Path.DELIVERIES, away)
    api.on("GET", wire.Path.EVENTS, away, away, refusal(500, "INTERNAL_ERROR"))
    ran = momo("deliveries", "watch")
    assert (ran.code, ran.err.count("the daemon cannot serve this now")) == (1, 1)


SHORT = (8, "transaction.expired", samples.SHORT)


@pytest.fixture
def desktop(tmp_path: Path, shop: Shop) -> Path:
    """A desktop with a notify-send that records its arguments."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {tmp_path}/shown\n')
    program.chmod(0o755)
    assert shop.home.is_dir()
    return folder


@pytest.mark.usefixtures("naps")
def test_only_orders_of_a_status_are_shown_and_told_to_the_desktop(api: FakeApi, momo: Momo, desktop: Path) -> None:
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED, SHORT), refusal(500, "INTERNAL_ERROR"))
    ran = momo("tx", "watch", "--status", "paid", "--notify", "--json", PATH=f"{desktop}:/usr/bin:/bin")
    *items, _ = [json.loads(line) for line in ran.out.splitlines()]
    assert [each["data"]["status"] for each in items] == ["SUCCESS"]
    assert (desktop.parent / "shown").read_text().splitlines() == [
        "--app-name=momo",
        "--",
        "momo: ✓ PAID",
        "GHS 1,012.50 · Kofi Ɔsei · 7KQ2MX",
    ]


@pytest.mark.usefixtures("naps")
def test_a_desktop_that_shows_nothing_is_said_once(api: FakeApi, momo: Momo, desktop: Path) -> None:
    events = stream(VERIFIED, SHORT), refusal(500, "INTERNAL_ERROR")
    api.on("GET", wire.Path.EVENTS, *events)
    ran = momo("tx", "watch", "--notify", PATH="/nowhere")
    assert ran.err.count("only the bell rings") == 1
    (desktop / "notify-send").write_text("#!/bin/sh\nexit 1\n")
    api.on("GET", wire.Path.EVENTS, *events)
    ran = momo("tx", "watch", "--notify", "--plain", PATH=f"{desktop}:/usr/bin:/bin")
    assert (ran.err.count("only the bell rings"), len(ran.out.splitlines())) == (1, 2)
