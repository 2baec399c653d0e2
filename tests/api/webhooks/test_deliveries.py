"""The delivery log over HTTP."""

import re
from typing import Any

import httpx

from daemon.core.json_values import cursor
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.validation_errors import wrong_fields

PATH = "/v1/open-collections/deliveries"
ENDPOINTS = "/v1/open-collections/endpoints"
NOBODY = "0f3c0000-0000-4000-8000-000000000009"


async def endpoint(client: httpx.AsyncClient, **more: object) -> str:
    body = {"url": "https://shop.example/hook", **more}
    made: str = (await client.post(ENDPOINTS, json=body)).json()["data"]["id"]
    return made


async def pay(api: FakeApi, number: int) -> None:
    balance = 90_000 + number * 2500
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", balance, "food", f"9321450000{number}"))


async def test_an_entry_has_every_field(api: FakeApi) -> None:
    target = await endpoint(api.live)
    await pay(api, 1)
    answer = await api.live.get(PATH)
    body = answer.json()
    entry = body["data"][0]
    transaction_id = (await api.shop.values("SELECT id FROM transactions"))[0]
    assert answer.status_code == 200
    assert body == {
        "success": True,
        "data": [
            {
                "id": entry["id"],
                "webhook_id": entry["webhook_id"],
                "endpoint_id": target,
                "transaction_id": transaction_id,
                "status": "pending",
                "attempt_count": 0,
                "response_status_code": None,
                "response_body": None,
                "created_at": "2026-11-21T08:00:30.000Z",
                "delivered_at": None,
                "failed_at": None,
                "event": "transaction.forwarded",
                "kind": "endpoint",
                "run": 1,
                "next_attempt_at": "2026-11-21T08:00:30.000Z",
                "waiting": None,
                "error": None,
                "sequence": 1,
                "test": False,
            }
        ],
        "meta": {"limit": 50, "offset": 0, "total": 1, "next_cursor": None},
    }
    assert re.fullmatch(r"ocl_[0-9a-z]{24}", entry["webhook_id"])


async def test_the_log_is_newest_first_and_filtered(api: FakeApi) -> None:
    target = await endpoint(api.live)
    for number in range(1, 4):
        await pay(api, number)
    await api.shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, delivered_at = 1 WHERE seq = 2"
        )
    )

    async def sequences(**query: Any) -> tuple[list[int], int]:
        body = (await api.live.get(PATH, params=query)).json()
        return [entry["sequence"] for entry in body["data"]], body["meta"]["total"]

    assert await sequences() == ([3, 2, 1], 3)
    assert await sequences(limit=1, offset=1) == ([2], 3)
    assert await sequences(status="delivered") == ([2], 1)
    assert await sequences(status="failed") == ([], 0)
    assert await sequences(endpoint_id=target) == ([3, 2, 1], 3)
    assert await sequences(endpoint_id=NOBODY) == ([], 0)
    assert await sequences(offset=9) == ([], 3)


async def test_a_walk_by_cursor_neither_repeats_nor_skips_when_new_deliveries_are_made(api: FakeApi) -> None:
    await endpoint(api.live)
    for number in range(1, 5):
        await pay(api, number)
    first = (await api.live.get(f"{PATH}?limit=3")).json()
    await pay(api, 5)
    after = first["meta"]["next_cursor"]
    rest = (await api.live.get(f"{PATH}?limit=3&after={after}")).json()
    seen = [entry["sequence"] for entry in (*first["data"], *rest["data"])]
    assert seen == [4, 3, 2, 1]
    assert rest["meta"] == {"limit": 3, "offset": 0, "total": 5, "next_cursor": None}


async def test_those_of_a_requests_own_webhook_are_shown_with_kind_all(api: FakeApi) -> None:
    request = await api.shop.request(2500, webhook_url="https://shop.example/own")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, str(request.svc_code), "93214500001"))
    assert (await api.live.get(PATH)).json()["meta"]["total"] == 0
    entry = (await api.live.get(PATH, params={"kind": "all"})).json()["data"][0]
    assert (entry["kind"], entry["event"]) == ("implicit", "transaction.completed")


async def test_a_paused_endpoints_entries_say_what_they_wait_for(api: FakeApi) -> None:
    await endpoint(api.live)
    await pay(api, 1)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET is_active = 0"))
    entry = (await api.live.get(PATH)).json()["data"][0]
    assert (entry["waiting"], entry["next_attempt_at"]) == ("endpoint_paused", None)


async def test_a_test_key_sees_sandbox_deliveries_only(api: FakeApi) -> None:
    await endpoint(api.live)
    await pay(api, 1)
    assert (await api.test.get(PATH)).json()["data"] == []
    assert (await api.local.get(PATH)).json()["meta"]["total"] == 1


@each(
    ("query", "named"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("offset=-1", "offset"),
        ("status=sent", "status"),
        ("endpoint_id=1", "endpoint_id"),
        ("kind=some", "kind"),
        ("after=7", "after"),
        ("after=WzEsMl0", "after"),  # a position in the dead letters
        (f"after={cursor(10**30)}", "after"),
        ("after=" + "A" * 301, "after"),
    ],
)
async def test_each_wrong_query_is_refused_by_name(api: FakeApi, query: str, named: str) -> None:
    answer = await api.live.get(f"{PATH}?{query}")
    assert wrong_fields(answer) == [named]


async def test_a_limit_that_is_too_large_is_lowered_and_told(api: FakeApi) -> None:
    meta = (await api.live.get(f"{PATH}?limit=500")).json()["meta"]
    assert meta == {
        "limit": 200,
        "offset": 0,
        "total": 0,
        "next_cursor": None,
        "warnings": ["`limit` was lowered to 200."],
    }
