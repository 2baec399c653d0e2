"""Operations of the Unix socket alone: status, messages, setup, shutdown."""

import json
import os
import sqlite3
from typing import Any

import httpx
import pytest

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.migrate import migrations
from daemon.wire import VERSION
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SMSC, STARTED, mtn
from tests.fakes.shop import METHOD_ID
from tests.fakes.validation_errors import wrong_fields

NOBODY = "0f3c0000-0000-4000-8000-000000000009"
LOCAL = [
    ("GET", "/local/v1/status"),
    ("GET", "/local/v1/messages"),
    ("GET", f"/local/v1/messages/{NOBODY}"),
    ("GET", "/local/v1/checkout/svc_trx_00000000000000000000000000000000"),
    ("POST", "/local/v1/shutdown"),
    ("POST", "/local/v1/setup"),
]


@each(("method", "path"), LOCAL)
async def test_none_of_it_is_on_tcp(api: FakeApi, method: str, path: str) -> None:
    answer = await api.live.request(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")
    assert api.stops == 0


@each(("method", "path"), LOCAL)
async def test_a_key_on_the_socket_has_only_its_own_rights(api: FakeApi, method: str, path: str) -> None:
    headers = {"Authorization": api.live.headers["Authorization"]}
    answer = await api.local.request(method, path, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "SESSION_REQUIRED")


async def test_the_status_is_the_whole_picture(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await api.shop.request(900)
    await api.live.post("/v1/open-collections/endpoints", json={"url": "https://shop.example/hook"})
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, str(request.svc_code), "93214500001"))
    api.shop.clock.advance(90)
    data = (await api.local.get("/local/v1/status")).json()["data"]
    lines = (await api.local.get("/v1/open-collections/lines")).json()["data"]
    endpoints = (await api.local.get("/v1/open-collections/endpoints")).json()["data"]
    assert data.pop("disk_free_bytes") == 80_000_000_000
    assert data["db"].pop("bytes") > 0
    assert data == {
        "state": "ok",
        "waiting": None,
        "problems": [],
        "message_journal": {"recovering": False, "second_folder": None, "why": None},
        "version": VERSION,
        "pid": os.getpid(),
        "uptime_s": 90,
        "http": "127.0.0.1:8420",
        "http_security": "loopback",
        "hung": [],
        "shop": {"name": "Ama Provisions", "timezone": "Africa/Accra"},
        "lines": lines,
        "today": {
            "paid": {"count": 1, "amount": "25.00", "currency": "GHS"},
            "short": {"count": 0},
            "over": {"count": 0},
            "review": 0,
            "waiting": 1,
            "unsettled": 0,
        },
        "endpoints": [{**endpoints[0], "queued": 1}],
        "messages": {"incomplete": 0},
        "queue": {"pending": 1, "retrying": 0, "failed": 0, "dead_letters": 0},
        "settings": {"problem": None, "restart": [], "unwatched": None},
        "templates": {"files": 0, "wordings": 0, "problems": []},
        "notices": {"unseen": 0, "urgent": 0},
        "phones": [],
        "db": {
            "path": api.shop.env.store.path,
            "server": None,
            "schema": len(migrations()),
            "sqlite": sqlite3.sqlite_version,
            "last_check": "ok",
            "backed_up_at": None,
        },
        "secrets": "unlocked",
        "awake": {"hold": "off", "why": None},
        "clock": {"state": "ok", "why": None, "ahead_s": None, "skew_s": -30, "witness": "messages"},
        "disk": {"room": "plenty"},
    }


async def test_yesterday_is_not_today(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await api.shop.read(mtn(2400, "KOFI ANTWI BADU", 90_000, str(request.svc_code), "93214500001"))
    today = (await api.local.get("/local/v1/status")).json()["data"]["today"]
    assert today["short"] == {"count": 1, "amount": "24.00", "currency": "GHS"}
    api.shop.clock.advance(86_400)
    tomorrow = (await api.local.get("/local/v1/status")).json()["data"]["today"]
    assert tomorrow["short"] == {"count": 0}


# Messages ---------------------------------------------------------------------------------------------------


async def test_messages_are_shown_without_their_texts(api: FakeApi) -> None:
    receipt = mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001")
    await api.shop.read(receipt)
    body = (await api.local.get("/local/v1/messages")).json()
    shown = body["data"][0]
    payment_id = (await api.shop.payments())[0].id
    assert body["meta"] == {"limit": 50, "offset": 0, "total": 1}
    assert shown == {
        "id": shown["id"],
        "line": "+233244124567",
        "device_id": api.shop.source.device_id,
        "sender": "MobileMoney",
        "smsc": shown["smsc"],
        "smsc_ts": shown["smsc_ts"],
        "received_at": "2026-11-21T08:00:30.000Z",
        "state": "payment",
        "kind": shown["kind"],
        "provider": "momo_mtn",
        "fields": shown["fields"],
        "trusted": True,
        "reasons": [],
        "payment_id": payment_id,
        "slot_index": 0,
        "parts": {"total": 2, "seen": 2},
        "recovered": False,
        "source": "modem",
        "trust_level": "full",
        "synthesised": False,
        "test": False,
    }
    one = await api.local.get(f"/local/v1/messages/{shown['id']}", params={"show_body": 1})
    assert one.json() == {"success": True, "data": {**shown, "body": receipt.text}}
    listed = await api.local.get("/local/v1/messages?show_body=true")
    assert listed.json()["data"][0]["body"] == receipt.text


async def test_the_journal_says_who_was_shown_the_texts_of_sms(api: FakeApi) -> None:
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    (shown,) = (await api.local.get("/local/v1/messages")).json()["data"]
    await api.local.get(f"/local/v1/messages/{shown['id']}")
    await api.local.get("/local/v1/messages?show_body=1&state=unparsed")
    await api.local.get(f"/local/v1/messages/{NOBODY}?show_body=1")
    named = "(SELECT id FROM messages WHERE seq = message_seq)"
    noted = f"SELECT actor, mode, {named}, data FROM events WHERE type = 'messages.shown'"
    assert await api.shop.values(noted) == []
    await api.local.get("/local/v1/messages?show_body=1&line=0244124567&since=2026-11-21T08:00:30Z")
    await api.local.get(f"/local/v1/messages/{shown['id']}?show_body=1")
    (who, mode, one, listed), (*again, data) = await api.shop.values(noted)
    assert (mode, one) == ("live", None)
    assert json.loads(listed) == {
        "count": 1,
        "offset": 0,
        "state": None,
        "line": "+233244124567",
        "sender": None,
        "since": "2026-11-21T08:00:30.000Z",
    }
    assert (again, json.loads(data)) == ([who, "live", shown["id"]], {"count": 1})
    assert who.startswith("socket:")


async def test_each_filter_narrows_the_list_of_messages(api: FakeApi) -> None:
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))

    async def total(**query: Any) -> int:
        body = (await api.local.get("/local/v1/messages", params=query)).json()
        found: int = body["meta"]["total"]
        return found

    assert await total(state="payment") == 1
    assert await total(state="unparsed") == 0
    assert await total(line="0244124567") == 1
    assert await total(line=METHOD_ID) == 1
    assert await total(line=NOBODY) == 0
    assert await total(sender="mobilemoney") == 1
    assert await total(sender="MobileMoney2") == 0
    stranger = encode_deliver("+233244000111", "Payment received", STARTED, smsc=MTN_SMSC)
    await api.shop.read_pdus(stranger)
    assert await total(sender="0244000111") == await total(sender="+233244000111") == 1
    assert await total() == 2
    assert await total(since="2026-11-21T08:00:30Z", sender="MobileMoney") == 1
    assert await total(since="2026-11-21T08:00:31Z", sender="MobileMoney") == 0
    assert await total(limit=1, offset=1) == 2


@each(
    ("query", "named"),
    [
        ("state=read", "state"),
        ("line=front", "line"),
        ("since=1h", "since"),
        ("limit=0", "limit"),
        ("show_body=perhaps", "show_body"),
    ],
)
async def test_each_wrong_message_query_is_refused_by_name(api: FakeApi, query: str, named: str) -> None:
    answer = await api.local.get(f"/local/v1/messages?{query}")
    assert wrong_fields(answer) == [named]


@pytest.mark.parametrize("name", ["nonsense", NOBODY])
async def test_an_unknown_message_is_404(api: FakeApi, name: str) -> None:
    answer = await api.local.get(f"/local/v1/messages/{name}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "MESSAGE_NOT_FOUND")


# Setup and shutdown -------------------------------------------------------------------------------------------


async def setup(api: FakeApi, body: Any) -> httpx.Response:
    return await api.local.post("/local/v1/setup", json=body)


async def test_setup_through_the_daemon_makes_what_is_missing(api: FakeApi) -> None:
    answer = await setup(api, {"shop": "Other", "tz": "Africa/Lagos", "password": "x" * 10})
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert data["shop"] == {"name": "Ama Provisions", "timezone": "Africa/Accra"}
    assert (data["api_key"], data["test_api_key"]) == (None, None)
    assert data["webhook_secret"].startswith("whsec_")
    assert {step["id"]: step["status"] for step in data["steps"]} == {
        "shop": "done",
        "password": "done",
        "keys": "done",
        "webhook_secret": "done",
        "modem": "done",
    }
    again = (await setup(api, {})).json()["data"]
    assert again == {**data, "webhook_secret": None}


async def test_setup_with_check_changes_nothing(api: FakeApi) -> None:
    data = (await setup(api, {"check": True})).json()["data"]
    assert [step["status"] for step in data["steps"]].count("needs_action") == 1
    assert await api.shop.values("SELECT COUNT(*) FROM webhook_secrets") == [0]


async def test_setup_refuses_wrong_types(api: FakeApi) -> None:
    answer = await setup(api, {"shop": 1, "tz": [], "password": 7, "check": "no"})
    assert wrong_fields(answer) == ["shop", "tz", "check", "password"]


async def test_shutdown_answers_and_then_stops(api: FakeApi) -> None:
    answer = await api.local.post("/local/v1/shutdown")
    assert answer.json() == {"success": True, "data": {"status": "stopping"}}
    assert api.stops == 1


async def test_worker_that_hangs_makes_healthz_503_and_is_named_in_the_status(api: FakeApi) -> None:
    assert (await api.local.get("/healthz")).status_code == 200
    api.shop.env.heartbeat("deliver")
    api.shop.clock.advance(35)
    healthz = await api.local.get("/healthz")
    assert healthz.status_code == 503
    assert healthz.json()["data"]["hung"] == [{"worker": "deliver", "late_s": 5}]
    assert (await api.local.get("/local/v1/status")).json()["data"]["hung"] == ["deliver"]


async def test_logs_are_on_the_socket_only_and_checked(api: FakeApi) -> None:
    answer = await api.local.get("/local/v1/logs")
    assert answer.json() == {"success": True, "data": [], "meta": {"cursor": "0:0"}}
    assert (await api.local.get("/local/v1/logs?level=loud")).status_code == 422
    assert (await api.local.get("/local/v1/logs?lines=0")).status_code == 422
    assert (await api.live.get("/local/v1/logs")).status_code == 404
