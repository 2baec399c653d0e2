"""Webhook endpoints over HTTP: create, list, get."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from daemon.core.json_values import timestamp
from daemon.flows.lines import modems
from daemon.runtime.config import Config, Webhooks
from daemon.store.lines import devices
from daemon.store.webhooks.endpoints import SIGNING_PURPOSE as PURPOSE
from tests.api.lines.test_payment_methods import second_phone
from tests.fakes import outbox
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong

PATH = "/v1/open-collections/endpoints"
URL = "https://shop.example/hook"


async def post(client: httpx.AsyncClient, body: Any, **headers: str) -> httpx.Response:
    return await client.post(PATH, json=body, headers=headers)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_creation_shows_the_endpoint_and_its_secret_once(api: FakeApi) -> None:
    answer = await post(api.live, {"url": URL})
    body = answer.json()
    assert answer.status_code == 201
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", body["secret"])
    assert answer.headers["cache-control"] == "no-store"
    endpoint = {
        "id": body["data"]["id"],
        "url": URL,
        "description": "",
        "is_active": True,
        "is_sandbox": False,
        "auto_paused_at": None,
        "last_success_at": None,
        "last_failure_at": None,
        "consecutive_failures": 0,
        "created_at": "2026-11-21T08:00:30.000Z",
        "updated_at": "2026-11-21T08:00:30.000Z",
        "catch_all": True,
        "events": ["transaction.forwarded"],
        "include_raw": False,
        "headers": {},
    }
    assert body == {"success": True, "data": endpoint, "secret": body["secret"]}
    one = await api.live.get(f"{PATH}/{endpoint['id']}")
    assert one.json() == {"success": True, "data": endpoint}
    assert (await api.live.get(PATH)).json() == {"success": True, "data": [endpoint], "meta": {"unclaimed_payments": 0}}


async def test_the_secret_is_kept_sealed(api: FakeApi) -> None:
    body = (await post(api.live, {"url": URL})).json()
    owner, sealed = (await api.shop.values("SELECT owner, sealed FROM webhook_secrets"))[0]
    assert owner == body["data"]["id"]
    assert body["secret"] not in sealed
    assert api.shop.env.vault.unseal(sealed, PURPOSE).decode() == body["secret"]


async def test_every_optional_field_is_kept_and_shown(api: FakeApi) -> None:
    body = {
        "url": URL,
        "description": "web shop",
        "is_sandbox": True,
        "catch_all": False,
        "events": ["transaction.completed", "transaction.forwarded"],
        "include_raw": True,
    }
    data = (await post(api.live, body)).json()["data"]
    assert {name: data[name] for name in body} == body


@each(
    ("body", "named"),
    [
        ({}, [("url", "required")]),
        ({"url": 1}, [("url", "wrong_type")]),
        ({"url": URL, "description": "x" * 201}, [("description", "too_long")]),
        ({"url": URL, "is_sandbox": "yes"}, [("is_sandbox", "wrong_type")]),
        ({"url": URL, "events": "all"}, [("events", "wrong_type")]),
        ({"url": URL, "events": []}, [("events", "out_of_range")]),
        ({"url": URL, "events": ["transaction.forwarded", "tx.made_up"]}, [("events[1]", "invalid")]),
    ],
)
async def test_each_wrong_field_is_refused_by_name(api: FakeApi, body: Any, named: list[tuple[str, str]]) -> None:
    answer = await post(api.live, body)
    assert wrong(answer) == named


async def test_an_unknown_field_is_ignored_and_named(api: FakeApi) -> None:
    body = (await post(api.live, {"url": URL, "descripton": "typo"})).json()
    assert body["meta"] == {"warnings": ["Unknown field `descripton` was ignored."]}


@each(
    ("url", "reason"),
    [
        ("http://shop.example/", "not_https"),
        ("https://inside.example/", "private_address"),
        ("https://[::1]/", "private_address"),
        ("https://unknown.example/", "unresolvable"),
        ("https://2130706433/", "invalid_host"),
    ],
)
async def test_an_address_that_may_not_be_called_is_refused_with_its_reason(
    api: FakeApi, url: str, reason: str
) -> None:
    answer = await post(api.live, {"url": url})
    assert code(answer) == (422, "URL_NOT_ALLOWED")
    assert answer.json()["reason"] == reason


async def test_a_host_that_the_settings_allow_may_be_private(tmp_path: Path) -> None:
    config = structs.replace(Config(), webhooks=Webhooks(allow_private_hosts=("localhost",)))
    async with running(tmp_path, config) as api:
        api.resolver.names["localhost"] = ["127.0.0.1"]
        assert (await post(api.live, {"url": "https://localhost:9443/"})).status_code == 201


async def test_a_second_catch_all_and_a_second_address_are_told(api: FakeApi) -> None:
    await post(api.live, {"url": URL})
    both = (await post(api.live, {"url": "https://SHOP.example:443/hook"})).json()
    assert both["meta"]["warnings"] == [
        "Another endpoint has the same address: it will get each payment twice.",
        "Another endpoint also has catch_all on: both will get every payment that no rule claims.",
    ]
    sandbox = (await post(api.live, {"url": URL, "is_sandbox": True})).json()
    assert "meta" not in sandbox


async def test_creation_is_refused_until_every_sim_has_a_number(api: FakeApi) -> None:
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payment_methods SET sim_seq = NULL"))
    answer = await post(api.live, {"url": URL})
    assert code(answer) == (409, "LINES_NOT_READY")
    assert answer.json()["sims_without_number"] == [
        {
            "device_id": api.shop.source.device_id,
            "name": answer.json()["sims_without_number"][0]["name"],
            "slot_index": 0,
            "network": "MTN",
        }
    ]


async def test_a_sim_that_is_ignored_or_not_connected_needs_no_number(api: FakeApi) -> None:
    device_id = await second_phone(api)
    refused = await post(api.live, {"url": URL})
    assert code(refused) == (409, "LINES_NOT_READY")
    [sim] = refused.json()["sims_without_number"]
    assert (sim["device_id"], sim["network"]) == (device_id, "Telecel")
    assert (await post(api.test, {"url": URL, "is_sandbox": True})).status_code == 201
    path = f"/v1/sims/{device_id}:0"
    await api.live.patch(path, json={"ignored": True})
    assert (await post(api.live, {"url": URL})).status_code == 201
    await api.live.patch(path, json={"ignored": False})
    assert code(await post(api.live, {"url": URL})) == (409, "LINES_NOT_READY")
    await modems.disconnect(api.shop.env, device_id)
    assert (await post(api.live, {"url": URL})).status_code == 201


async def test_a_sandbox_endpoint_waits_for_the_connected_sims_of_the_sandbox_only(api: FakeApi) -> None:
    now = api.shop.clock.now_us()
    await api.shop.env.store.write(lambda tx: devices.see_sandbox(tx, now))
    refused = await post(api.test, {"url": URL, "is_sandbox": True})
    assert code(refused) == (409, "LINES_NOT_READY")
    names = [sim["name"] for sim in refused.json()["sims_without_number"]]
    assert names == ["simulated-mtn", "simulated-telecel"]
    assert (await post(api.live, {"url": URL})).status_code == 201
    listener = await api.local.post("/local/v1/listen", json={})
    assert listener.status_code == 201


async def test_there_are_at_most_50(api: FakeApi) -> None:
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, "
            "catch_all, include_raw, is_active, consecutive_failures, created_at, updated_at) "
            "SELECT 'e' || i, 'endpoint', 'live', 'https://a/' || i, 'https://a/' || i, '', '[]', "
            "0, 0, 1, 0, 0, 0 FROM n"
        )
    )
    assert code(await post(api.live, {"url": URL})) == (409, "ENDPOINT_LIMIT")


async def test_a_test_key_makes_and_sees_sandbox_endpoints_only(api: FakeApi) -> None:
    live = (await post(api.live, {"url": URL})).json()["data"]
    assert code(await post(api.test, {"url": URL})) == (403, "LIVE_KEY_REQUIRED")
    made = await post(api.test, {"url": URL, "is_sandbox": True})
    assert made.status_code == 201
    seen = (await api.test.get(PATH)).json()["data"]
    assert [endpoint["id"] for endpoint in seen] == [made.json()["data"]["id"]]
    assert code(await api.test.get(f"{PATH}/{live['id']}")) == (403, "LIVE_KEY_REQUIRED")
    assert len((await api.live.get(PATH)).json()["data"]) == 2


async def test_each_endpoint_is_shown_whole_by_its_id(api: FakeApi) -> None:
    for body in ({"url": URL, "description": "shop"}, {"url": f"{URL}/2", "is_sandbox": True}):
        made = (await post(api.live, body)).json()["data"]
        answer = await api.live.get(f"{PATH}/{made['id']}")
        assert (answer.status_code, answer.json()) == (200, {"success": True, "data": made})


@pytest.mark.parametrize("name", ["nonsense", "0f3c0000-0000-4000-8000-000000000001"])
async def test_an_unknown_endpoint_is_404(api: FakeApi, name: str) -> None:
    assert code(await api.live.get(f"{PATH}/{name}")) == (404, "ENDPOINT_NOT_FOUND")


async def test_the_list_shows_the_shop_s_endpoints_and_no_implicit_one(api: FakeApi) -> None:
    made = (await post(api.live, {"url": URL})).json()["data"]
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, "
            "catch_all, include_raw, is_active, consecutive_failures, created_at, updated_at) "
            "VALUES ('0f3c0000-0000-4000-8000-000000000001', 'implicit', 'live', 'https://a/', "
            "'https://a/', '', '[]', 0, 0, 1, 0, 0, 0)"
        )
    )
    assert (await api.live.get(PATH)).json()["data"] == [made]
    answer = await api.live.get(f"{PATH}/0f3c0000-0000-4000-8000-000000000001")
    assert code(answer) == (404, "ENDPOINT_NOT_FOUND")


async def test_a_repeat_shows_the_same_secret_which_was_kept_sealed(api: FakeApi) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await post(api.live, {"url": URL}, **key)
    api.resolver.names.clear()
    again = await post(api.live, {"url": URL}, **key)
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["cache-control"] == "no-store"
    kept = (await api.shop.values("SELECT body FROM idempotency_keys"))[0]
    assert first.json()["secret"] not in kept
    api.resolver.names["other.example"] = api.resolver.names["shop.example"] = ["93.184.215.14"]
    other = await post(api.live, {"url": "https://other.example/"}, **key)
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_repeats_at_once_make_one_endpoint(api: FakeApi) -> None:
    answers = await asyncio.gather(*(post(api.live, {"url": URL}, **{"Idempotency-Key": "k1"}) for _ in range(8)))
    assert len({answer.content for answer in answers}) == 1
    assert len((await api.live.get(PATH)).json()["data"]) == 1


async def test_a_locked_vault_makes_no_endpoint(api: FakeApi) -> None:
    key = Path(api.home) / "master.key"
    key.write_bytes(b"not a key")
    key.chmod(0o600)
    answer = await post(api.live, {"url": URL})
    assert code(answer) == (503, "UNAVAILABLE")
    assert answer.headers["retry-after"] == "10"
    assert (await api.live.get(PATH)).json()["data"] == []


async def test_one_endpoint_says_what_it_answered_when_it_failed_last(api: FakeApi) -> None:
    made = (await post(api.live, {"url": URL})).json()["data"]["id"]
    other = (await post(api.live, {"url": f"{URL}/2"})).json()["data"]["id"]
    await outbox.owe(api.shop)
    mine, theirs = sorted(await outbox.lease(api.shop), key=lambda one: one.endpoint.id != made)
    await outbox.fail(api.shop, theirs, 418)
    api.shop.clock.advance(5)
    await outbox.fail(api.shop, mine, 503)
    at = timestamp(api.shop.clock.now_us())
    answer = (await api.live.get(f"{PATH}/{made}")).json()
    assert answer["data"]["last_failure_at"] == at
    said = answer["meta"]["last_error"]
    assert (said["at"], said["response_status_code"], said["error"]["code"]) == (at, 503, "http_error")
    assert said["diagnosis"].endswith(".")
    assert said["diagnosis"][0].isupper()
    theirs_said = (await api.live.get(f"{PATH}/{other}")).json()["meta"]["last_error"]
    assert theirs_said["response_status_code"] == 418


async def made(api: FakeApi, **fields: Any) -> dict[str, Any]:
    answer = await api.live.post(PATH, json={"url": URL, **fields})
    data: dict[str, Any] = answer.json()["data"]
    return data


@pytest.mark.parametrize(
    "body",
    [
        {"url": "https://shop.example/other"},
        {"description": "the new shop"},
        {"description": ""},
        {"is_active": False},
        {"catch_all": False, "include_raw": True},
        {"events": ["transaction.forwarded", "transaction.completed"]},
    ],
)
async def test_what_is_given_changes_and_the_rest_stays(api: FakeApi, body: dict[str, Any]) -> None:
    before = await made(api, description="the shop")
    answer = await api.live.put(f"{PATH}/{before['id']}", json=body)
    assert answer.json() == {"success": True, "data": {**before, **body}}
    assert (await api.live.get(f"{PATH}/{before['id']}")).json()["data"] == {**before, **body}


@each(
    ("body", "named"),
    [
        ({}, ("body", "required")),
        ({"is_sandbox": True, "url": URL}, ("is_sandbox", "invalid")),
        ({"is_active": "no"}, ("is_active", "wrong_type")),
        ({"url": ""}, ("url", "required")),
        ({"events": []}, ("events", "out_of_range")),
    ],
)
async def test_wrong_fields_change_nothing(api: FakeApi, body: dict[str, Any], named: tuple[str, str]) -> None:
    before = await made(api)
    answer = await api.live.put(f"{PATH}/{before['id']}", json=body)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong(answer) == [named]
    assert (await api.live.get(f"{PATH}/{before['id']}")).json()["data"] == before


async def test_a_private_address_is_refused(api: FakeApi) -> None:
    before = await made(api)
    answer = await api.live.put(f"{PATH}/{before['id']}", json={"url": "https://inside.example/"})
    assert code(answer) == (422, "URL_NOT_ALLOWED")


async def test_an_unknown_field_and_a_shared_address_are_warned_of(api: FakeApi) -> None:
    await made(api)
    other = await made(api, url="https://shop.example/b", catch_all=False)
    answer = await api.live.put(f"{PATH}/{other['id']}", json={"url": URL, "colour": "red"})
    assert answer.json()["meta"] == {
        "warnings": [
            "Unknown field `colour` was ignored.",
            "Another endpoint has the same address: it will get each payment twice.",
        ]
    }


async def test_a_resume_says_how_much_waits(api: FakeApi) -> None:
    endpoint = await made(api)
    await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": False})
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    answer = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert answer.json()["meta"] == {"queued": 1}
    again = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert "meta" not in again.json()


async def test_a_deletion_says_what_never_arrived_and_happens_once(api: FakeApi) -> None:
    endpoint = await made(api)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    answer = await api.live.delete(f"{PATH}/{endpoint['id']}")
    assert answer.json() == {
        "success": True,
        "deleted": True,
        "undelivered": 1,
        "hint": "They are dead letters now, and the payments are kept: replay that time to another endpoint.",
    }
    assert code(await api.live.delete(f"{PATH}/{endpoint['id']}")) == (404, "ENDPOINT_NOT_FOUND")
    put = await api.live.put(f"{PATH}/{endpoint['id']}", json={"is_active": True})
    assert code(put) == (404, "ENDPOINT_NOT_FOUND")
    assert (await api.live.get(PATH)).json()["data"] == []
    log = (await api.live.get("/v1/open-collections/deliveries")).json()["data"]
    assert [(entry["status"], entry["next_attempt_at"]) for entry in log] == [("failed", None)]


async def test_a_test_key_changes_sandbox_endpoints_only(api: FakeApi) -> None:
    live, sandbox = await made(api), await made(api, is_sandbox=True)
    for answer in (
        await api.test.put(f"{PATH}/{live['id']}", json={"description": "x"}),
        await api.test.delete(f"{PATH}/{live['id']}"),
    ):
        assert code(answer) == (403, "LIVE_KEY_REQUIRED")
    assert (await api.test.delete(f"{PATH}/{sandbox['id']}")).json() == {
        "success": True,
        "deleted": True,
        "undelivered": 0,
    }
