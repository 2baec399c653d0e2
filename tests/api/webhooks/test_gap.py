"""The gap over HTTP: events that an endpoint should have and has not, and the proof that a pause loses no event."""

from typing import Any

import httpx

from daemon.core.webhooks.replay import Cursor
from daemon.wire import Mode, Scope
from tests.api.webhooks.test_redeliver import NOBODY, answered, attempt, code, endpoint
from tests.api.webhooks.test_replay import DAY, pay
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.validation_errors import wrong_fields

PATH = "/v1/open-collections/gap"
ENDPOINTS = "/v1/open-collections/endpoints"


async def gap(client: httpx.AsyncClient, target: str, **more: Any) -> httpx.Response:
    return await client.get(PATH, params={"endpoint_id": target, **DAY, **more})


async def states(api: FakeApi, target: str, **more: Any) -> list[str]:
    answer = await gap(api.live, target, **more)
    assert answer.status_code == 200, answer.text
    return [entry["state"] for entry in answer.json()["data"]]


async def test_an_entry_has_every_field(api: FakeApi) -> None:
    await pay(api, 1)
    target = await endpoint(api.live)
    body = (await gap(api.live, target)).json()
    (transaction,) = await api.shop.values("SELECT id FROM transactions")
    assert body == {
        "success": True,
        "data": [
            {
                "transaction_id": transaction,
                "reference": "svc_trx_" + transaction.replace("-", ""),
                "amount": "25.00",
                "currency": "GHS",
                "telco_transaction_id": "93214500001",
                "received_at": "2026-11-21T08:00:30.000Z",
                "state": "missing",
                "delivery_id": None,
            }
        ],
        "meta": {"limit": 100, "looked_at": 1, "delivered": 0, "missing": 1, "has_more": False, "next_cursor": None},
    }


async def test_nothing_is_lost_while_paused_provably(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await api.live.put(f"{ENDPOINTS}/{target}", json={"is_active": False})
    for number in range(3):
        await pay(api, number)
    assert await states(api, target) == ["pending"] * 3
    await api.live.put(f"{ENDPOINTS}/{target}", json={"is_active": True})
    await attempt(api, answered(200))
    await attempt(api, answered(503))
    assert sorted(await states(api, target)) == ["pending", "retrying"]
    await attempt(api, answered(200), answered(410))
    assert await states(api, target) == ["failed"]
    await api.live.post("/v1/open-collections/replay", json={"endpoint_id": target, **DAY})
    await attempt(api, answered(200))
    assert await states(api, target) == []
    meta = (await gap(api.live, target)).json()["meta"]
    assert (meta["looked_at"], meta["delivered"], meta["missing"]) == (3, 3, 0)


async def test_what_is_not_meant_for_it_is_no_gap(api: FakeApi) -> None:
    await pay(api, 1)
    other = await endpoint(api.live, catch_all=False)
    assert await states(api, other) == []
    target = await endpoint(api.live, url="https://shop.example/b")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET historical = 1"))
    assert await states(api, target, include_historical=1) == []
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET standing = 'used'"))
    assert await states(api, target) == []
    assert await states(api, target, include_historical=1) == ["missing"]
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1"))
    assert await states(api, target, include_historical=1) == []


async def test_a_long_gap_is_told_a_page_at_a_time(api: FakeApi) -> None:
    for number in range(5):
        await pay(api, number)
    target = await endpoint(api.live)
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        body = (await gap(api.live, target, **query)).json()
        found += [entry["telco_transaction_id"] for entry in body["data"]]
        if not body["meta"]["has_more"]:
            break
        query["cursor"] = body["meta"]["next_cursor"]
    assert found == [f"93214500{number:03}" for number in range(5)]


@each(
    ("changes", "named"),
    [
        ({"endpoint_id": ""}, "endpoint_id"),
        ({"endpoint_id": "1"}, "endpoint_id"),
        ({"from": ""}, "from"),
        ({"to": "tomorrow"}, "to"),
        ({"to": DAY["from"]}, "to"),
        ({"limit": 0}, "limit"),
        ({"include_historical": "perhaps"}, "include_historical"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": Cursor(NOBODY, 1, 2, 3).write()}, "cursor"),
    ],
)
async def test_each_wrong_query_is_refused_by_name(api: FakeApi, changes: dict[str, Any], named: str) -> None:
    answer = await gap(api.live, NOBODY, **changes)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong_fields(answer) == [named]


async def test_more_than_31_days_are_refused(api: FakeApi) -> None:
    answer = await gap(api.live, NOBODY, to="2026-12-22T00:00:01Z")
    assert code(answer) == (422, "REPLAY_WINDOW_TOO_LARGE")


async def test_only_who_may_look_is_answered(api: FakeApi) -> None:
    live = await endpoint(api.live)
    sandbox = await endpoint(api.test, is_sandbox=True)
    assert code(await gap(api.live, NOBODY)) == (404, "ENDPOINT_NOT_FOUND")
    assert code(await gap(api.test, live)) == (403, "LIVE_KEY_REQUIRED")
    assert (await gap(api.test, sandbox)).status_code == 200
    client = await api.client(await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ))
    assert code(await gap(client, live)) == (403, "INSUFFICIENT_SCOPE")
