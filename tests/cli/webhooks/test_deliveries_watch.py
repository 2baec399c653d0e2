"""`momo deliveries watch`, and `momo tx watch` with desktop notifications."""

import json
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.cli.payments.test_waiting import VERIFIED, stream
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, refusal

ID = samples.DELIVERY["id"]
ONE = f"/v1/open-collections/deliveries/{ID}"
OTHER = "e0e0e0e0-7d2b-4c3d-9e4f-0123456789ab"
ENDED = {
    "at": "2026-11-20T09:14:01.000Z",
    "endpoint_id": samples.ENDPOINT["id"],
    "details": {"delivery_id": ID, "event": "transaction.forwarded", "code": 200},
}
GONE = {**ENDED, "details": {"delivery_id": OTHER, "event": "transaction.expired", "code": 500}}
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
        ("delivery.failed", "9", OTHER),
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
    assert momo("deliveries", "watch", "--endpoint", OTHER, "--plain").out == ""


def test_a_status_that_there_is_not_is_refused(momo: Momo) -> None:
    for noun in ("deliveries", "tx"):
        ran = momo(noun, "watch", "--status", "gone")
        assert (ran.code, "not one of" in ran.err) == (2, True)


@pytest.mark.usefixtures("naps")
def test_a_daemon_that_cannot_serve_at_the_start_is_told_and_waited_for(
    api: FakeApi, momo: Momo
) -> None:
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
def test_only_orders_of_a_status_are_shown_and_told_to_the_desktop(
    api: FakeApi, momo: Momo, desktop: Path
) -> None:
    api.on("GET", wire.Path.EVENTS, stream(VERIFIED, SHORT), refusal(500, "INTERNAL_ERROR"))
    ran = momo(
        "tx", "watch", "--status", "paid", "--notify", "--json", PATH=f"{desktop}:/usr/bin:/bin"
    )
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
