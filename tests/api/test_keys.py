"""API keys: create, list, show, revoke; only sessions and the socket may."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from daemon.core.access.callers import parse_key
from daemon.flows.access.keys import note_key_use
from daemon.runtime.config import Config, Pages
from tests.fakes.api import FakeApi, running
from tests.fakes.each import each

DAY_S = 86_400
KEYS = "/v1/keys"
LIST = "/v1/transactions"


async def made(api: FakeApi, **body: Any) -> dict[str, Any]:
    answer = await api.local.post(KEYS, json={"name": "till", **body})
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return dict(answer.json())


def details(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    return {one["field"]: one["code"] for one in answer.json()["error"]["details"]}


async def test_a_new_key_is_shown_once_and_works(api: FakeApi) -> None:
    body = await made(api)
    key, row = body["key"], body["data"]
    assert parse_key(key)
    assert row["hint"] == f"svc_live_sk_...{key[-4:]}"
    assert (row["mode"], row["kind"], row["state"]) == ("live", "secret", "active")
    assert "keys:manage" not in row["scopes"]
    assert (await (await api.client(key)).get(LIST)).status_code == 200
    listed = await api.local.get(KEYS)
    assert key not in listed.text
    assert row["id"] in [one["id"] for one in listed.json()["data"]]
    assert (await api.local.get(f"{KEYS}/{row['id']}")).json()["data"]["id"] == row["id"]


async def test_a_key_may_do_what_its_scopes_say_and_no_more(api: FakeApi) -> None:
    body = await made(api, scopes=["transactions:read"])
    client = await api.client(body["key"])
    assert (await client.get(LIST)).status_code == 200
    refused = await client.get("/v1/open-collections/endpoints")
    assert refused.json()["error"]["required_scopes"] == ["webhooks:manage"]


async def test_a_publishable_key_may_only_initialize(api: FakeApi) -> None:
    body = await made(api, kind="publishable", mode="test")
    assert body["key"].startswith("svc_test_pk_")
    assert body["data"]["scopes"] == ["transactions:initialize"]
    refused = await (await api.client(body["key"])).get(LIST)
    assert refused.json()["error"]["code"] == "SECRET_KEY_REQUIRED"


async def test_a_key_ends_by_itself_on_its_day(api: FakeApi) -> None:
    body = await made(api, expires_in_days=2)
    client = await api.client(body["key"])
    api.shop.clock.advance(2 * DAY_S - 60)
    assert (await client.get(LIST)).status_code == 200
    api.shop.clock.advance(60)
    assert (await client.get(LIST)).status_code == 401
    seen = await api.local.get(f"{KEYS}/{body['data']['id']}")
    assert seen.json()["data"]["state"] == "expired"


async def test_a_key_ends_at_the_time_that_was_given(api: FakeApi) -> None:
    end = "2026-12-31T23:59:59.000Z"
    body = await made(api, expires_at=end)
    assert body["data"]["expires_at"] == end
    assert "meta" not in body


@each(
    ("given", "wrong"),
    [
        ({"expires_at": "2020-01-01T00:00:00Z"}, {"expires_at": "out_of_range"}),
        ({"expires_at": "2099-01-01T00:00:00Z"}, {"expires_at": "out_of_range"}),
        ({"expires_at": "tomorrow"}, {"expires_at": "invalid"}),
        ({"expires_at": "2026-12-31T00:00:00Z", "expires_in_days": 2}, {"expires_in_days": "invalid"}),
    ],
)
async def test_an_end_that_cannot_be_makes_no_key(
    api: FakeApi, given: dict[str, object], wrong: dict[str, str]
) -> None:
    assert details(await api.local.post(KEYS, json={"name": "x", **given})) == wrong


async def test_a_revoked_key_is_refused_at_once_and_stays_in_the_list(api: FakeApi) -> None:
    body = await made(api)
    client, path = await api.client(body["key"]), f"{KEYS}/{body['data']['id']}"
    assert (await client.get(LIST)).status_code == 200
    first = await api.local.delete(path)
    assert first.json()["data"]["state"] == "revoked"
    assert (await client.get(LIST)).status_code == 401
    again = await api.local.delete(path)
    assert again.json()["data"] == first.json()["data"]
    told = await api.shop.values("SELECT type FROM events WHERE type LIKE 'api_key%' ORDER BY seq")
    assert told == ["api_key.created", "api_key.revoked"]


async def test_all_that_is_wrong_is_said_at_once(api: FakeApi) -> None:
    body = {"mode": "prod", "kind": "root", "scopes": ["keys:manage", 7], "expires_in_days": 0}
    assert details(await api.local.post(KEYS, json=body)) == {
        "name": "required",
        "mode": "invalid",
        "kind": "invalid",
        "scopes[0]": "invalid",
        "scopes[1]": "invalid",
        "expires_in_days": "out_of_range",
    }
    body = {"name": "x", "kind": "publishable", "scopes": ["transactions:read"]}
    assert details(await api.local.post(KEYS, json=body)) == {"scopes": "invalid"}
    assert details(await api.local.post(KEYS, json={"name": "x", "scopes": []})) == {"scopes": "out_of_range"}


async def test_an_unknown_field_is_named_in_the_warnings(api: FakeApi) -> None:
    body = await made(api, scope="transactions:read")
    assert body["meta"]["warnings"] == ["Unknown field `scope` was ignored."]


@pytest.mark.parametrize("method", ["get", "post"])
async def test_no_key_may_manage_keys(api: FakeApi, method: str) -> None:
    answer = await api.live.request(method, KEYS)
    assert answer.json()["error"]["code"] == "SESSION_REQUIRED"


@pytest.mark.parametrize("name", ["nonsense", "6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"])
async def test_unknown_and_malformed_ids_are_not_found(api: FakeApi, name: str) -> None:
    for method in ("get", "delete"):
        answer = await api.local.request(method, f"{KEYS}/{name}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "KEY_NOT_FOUND")


async def test_last_use_is_seen_at_once_and_costs_no_write_per_call(api: FakeApi) -> None:
    body = await made(api)
    client, key_id = await api.client(body["key"]), body["data"]["id"]
    for _ in range(3):
        await client.get(LIST)
    kept = f"SELECT last_used_at FROM api_keys WHERE id = '{key_id}'"
    assert await api.shop.values(kept) == [None]
    seen = await api.local.get(f"{KEYS}/{key_id}")
    assert seen.json()["data"]["last_used_at"] is not None
    now = api.shop.clock.now_us()
    assert await note_key_use(api.shop.env) == 1
    assert await api.shop.values(kept) == [now]
    assert await note_key_use(api.shop.env) == 0


async def test_the_place_of_the_last_use_is_kept_with_its_time(api: FakeApi) -> None:
    body = await made(api)
    path, authorization = f"{KEYS}/{body['data']['id']}", {"Authorization": f"Bearer {body['key']}"}
    assert body["data"]["last_used_from"] is None
    client = await api.client(body["key"])
    await client.get(LIST)
    assert (await api.local.get(path)).json()["data"]["last_used_from"] == "127.0.0.1"
    await note_key_use(api.shop.env)
    api.shop.clock.advance(60)
    await api.local.get(LIST, headers=authorization)
    assert (await api.local.get(path)).json()["data"]["last_used_from"] == "socket"
    kept = f"SELECT last_used_from FROM api_keys WHERE id = '{body['data']['id']}'"
    assert await api.shop.values(kept) == ["127.0.0.1"], "no call costs a write"
    await note_key_use(api.shop.env)
    assert await api.shop.values(kept) == ["socket"]


async def test_behind_a_proxy_it_is_the_callers_own_address(tmp_path: Path) -> None:
    config = Config(pages=Pages(client_header="X-Forwarded-For"))
    async with running(tmp_path, config) as api:
        body = await made(api)
        client = await api.client(body["key"])
        await client.get(LIST, headers={"X-Forwarded-For": "10.9.9.9, 102.176.10.7"})
        path = f"{KEYS}/{body['data']['id']}"
        assert (await api.local.get(path)).json()["data"]["last_used_from"] == "102.176.10.7"


async def test_a_repeat_shows_the_same_key_which_was_kept_sealed(api: FakeApi) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = await api.local.post(KEYS, json={"name": "till"}, headers=headers)
    again = await api.local.post(KEYS, json={"name": "till"}, headers=headers)
    assert (first.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["cache-control"] == "no-store"
    kept = (await api.shop.values("SELECT body FROM idempotency_keys"))[0]
    assert first.json()["key"] not in kept
    assert [one["name"] for one in (await api.local.get(KEYS)).json()["data"]].count("till") == 1
    other = await api.local.post(KEYS, json={"name": "other"}, headers=headers)
    assert other.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_a_rotated_key_goes_on_until_the_overlap_is_over(api: FakeApi) -> None:
    old = await made(api, scopes=["transactions:read"], mode="test")
    path = f"{KEYS}/{old['data']['id']}"
    answer = await api.local.post(f"{path}/rotate", json={"overlap_hours": 2})
    assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
    new = answer.json()
    same = ("name", "mode", "kind", "scopes", "expires_at")
    assert [new["data"][name] for name in same] == [old["data"][name] for name in same]
    assert new["previous"]["id"] == old["data"]["id"]
    clients = [await api.client(one["key"]) for one in (old, new)]
    assert [(await one.get(LIST)).status_code for one in clients] == [200, 200]
    api.shop.clock.advance(seconds=2 * 3600)
    assert [(await one.get(LIST)).status_code for one in clients] == [401, 200]
    assert (await api.local.get(path)).json()["data"]["state"] == "expired"
    again = await api.local.post(f"{path}/rotate")
    assert (again.status_code, again.json()["error"]["code"]) == (404, "KEY_NOT_FOUND")


async def test_a_key_rotated_without_overlap_ends_at_once(api: FakeApi) -> None:
    old = await made(api, expires_in_days=30)
    api.shop.clock.advance(seconds=10 * DAY_S)
    path = f"{KEYS}/{old['data']['id']}/rotate"
    headers = {"Idempotency-Key": "k1"}
    new = await api.local.post(path, json={"overlap_hours": 0}, headers=headers)
    assert (await (await api.client(old["key"])).get(LIST)).status_code == 401
    assert (await (await api.client(new.json()["key"])).get(LIST)).status_code == 200
    assert new.json()["previous"]["state"] == "revoked"
    # It has the same lifetime as its predecessor.
    assert new.json()["data"]["expires_at"].startswith("2026-12-31")
    repeated = await api.local.post(path, json={"overlap_hours": 0}, headers=headers)
    assert repeated.content == new.content


async def test_rotating_is_for_people_and_refuses_what_it_cannot_read(api: FakeApi) -> None:
    old = await made(api)
    path = f"{KEYS}/{old['data']['id']}/rotate"
    assert details(await api.local.post(path, json={"overlap_hours": 721})) == {"overlap_hours": "out_of_range"}
    refused = await api.live.post(path, json={})
    assert refused.json()["error"]["code"] == "SESSION_REQUIRED"
    unknown = await api.local.post(f"{KEYS}/0f3c0000-0000-4000-8000-000000000009/rotate")
    assert unknown.status_code == 404
