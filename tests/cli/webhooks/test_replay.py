"""Replay at the command line: its plan, windows of a month, and the wait for the deliveries."""

import io
from typing import Any

import pytest

from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.webhooks.test_deliveries import ENDPOINT, HOOK, documents, sent
from tests.fakes.fake_api import FakeApi, Says, ok, refusal


def replay(momo: Momo, *flags: str) -> Any:
    return momo("replay", "--endpoint", ENDPOINT, *flags)


def test_replay_tells_what_it_did_with_each(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    ran = replay(momo, "--from", "today", "--yes", "-o", "table")
    assert ran.out.splitlines() == [
        "5 payments queued.",
        "  209 are delivered already",
        "  1 were reversed by the network",
    ]
    assert sent(api) == [
        (
            ApiPath.REPLAY,
            {"endpoint_id": ENDPOINT, "from": "2026-11-20T00:00:00.000Z", "to": "2026-11-20T09:18:00.000Z"},
        )
    ]


def test_a_plan_is_shown_first_and_no_is_10(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    api.on("GET", HOOK, ok(samples.ENDPOINT))
    api.on("POST", ApiPath.REPLAY, Says({**samples.REPLAYED, "dry_run": True}))
    stdin = io.StringIO("n\n")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    ran = replay(momo, "--from", "today", "-o", "table")
    assert ran.code == 10
    assert "Replay to https://shop.example/hook, today 00:00 to today 09:18:\n" in ran.err
    assert "5 payments will be sent.\n" in ran.err
    assert [body["dry_run"] for _path, body in sent(api)] == [True]


def test_a_plan_of_nothing_asks_nothing_and_says_so(api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    api.on("GET", HOOK, ok(samples.ENDPOINT))
    none = {**samples.REPLAYED, "enqueued": 0, "dry_run": True}
    api.on("POST", ApiPath.REPLAY, Says(none))
    stdin = io.StringIO("")
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    ran = replay(momo, "--from", "today", "-o", "table")
    assert (ran.code, ran.out) == (0, "Nothing to send.\n")


def test_a_script_is_not_asked(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    ran = replay(momo, "--from", "25h", "--json")
    assert (ran.code, ran.json) == (0, samples.REPLAYED)


def test_each_flag_is_sent(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    replay(momo, "--from", "25h", "--dry-run", "--without-failed", "--include-historical")
    ((_path, body),) = sent(api)
    assert (body["dry_run"], body["include_failed"], body["include_historical"]) == (True, False, True)


def test_more_than_one_call_takes_is_9_unless_it_goes_on(api: FakeApi, momo: Momo) -> None:
    more = {**samples.REPLAYED, "has_more": True, "next_cursor": "abc"}
    api.on("POST", ApiPath.REPLAY, Says(more))
    ran = replay(momo, "--from", "25h")
    assert ran.code == 9
    assert "add --chunk" in ran.err
    api.on("POST", ApiPath.REPLAY, Says(more), Says(samples.REPLAYED))
    ran = replay(momo, "--from", "25h", "--chunk", "--json")
    assert ran.code == 0
    assert [line.get("enqueued") for line in documents(ran.out)] == [5, 5, None]
    assert sent(api)[-1][1]["cursor"] == "abc"


def test_a_long_window_is_cut_into_months(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    assert replay(momo, "--from", "70d", "--chunk").code == 0
    windows = [(body["from"], body["to"]) for _path, body in sent(api)]
    assert windows == [
        ("2026-09-11T09:18:00.000Z", "2026-10-12T09:18:00.000Z"),
        ("2026-10-12T09:18:00.000Z", "2026-11-12T09:18:00.000Z"),
        ("2026-11-12T09:18:00.000Z", "2026-11-20T09:18:00.000Z"),
    ]


def test_waiting_says_what_came_of_them(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    pending, failed = {**samples.GAP, "state": "pending"}, {**samples.GAP, "state": "failed"}
    api.on("GET", ApiPath.GAP, ok([pending, failed]), ok([failed]))
    ran = replay(momo, "--from", "25h", "--wait", "--json")
    assert ran.code == 9
    assert {name: ran.json[name] for name in ("delivered", "failed", "waiting")} == {
        "delivered": 4,
        "failed": 1,
        "waiting": 0,
    }
    assert len(naps) == 1


def test_a_wait_that_runs_out_is_8(api: FakeApi, momo: Momo, naps: list[float]) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    api.on("GET", ApiPath.GAP, ok([{**samples.GAP, "state": "pending"}]))
    assert replay(momo, "--from", "25h", "--wait", "--timeout", "2s").code == 8
    assert sum(naps) == 2


def test_a_window_that_is_too_large_names_the_way_out(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, refusal(422, "REPLAY_WINDOW_TOO_LARGE"))
    ran = replay(momo, "--from", "60d")
    assert ran.code == 5
    assert "--chunk" in ran.err


def test_for_cron_it_says_nothing_when_all_is_queued_and_why_in_two_lines_when_not(api: FakeApi, momo: Momo) -> None:
    api.on("POST", ApiPath.REPLAY, Says(samples.REPLAYED))
    ran = replay(momo, "--from", "25h", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert replay(momo, "--from", "25h", "--quiet", "-o", "plain").out != ""
    assert replay(momo, "--from", "25h", "--quiet", "--json").json == samples.REPLAYED
    api.on("POST", ApiPath.REPLAY, Says({**samples.REPLAYED, "dry_run": True}))
    assert replay(momo, "--from", "25h", "--quiet", "--dry-run").out != ""
    api.on("POST", ApiPath.REPLAY, Says({**samples.REPLAYED, "has_more": True}))
    ran = replay(momo, "--from", "25h", "--quiet")
    assert (ran.code, ran.out) == (9, "")
    first, after = ran.err.splitlines()
    assert first == "error: there is more than one call takes: repeat it, or add --chunk"
    assert after.split() == ["next:", *f"momo deliveries list --endpoint {ENDPOINT}".split()]
