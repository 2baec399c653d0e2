"""GET of one transaction, by its reference, its code or the caller's own reference."""

import asyncio
import threading
from typing import Any

import httpx

from daemon.store.engine import READERS
from tests.fakes.api import PAY_TO, FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

ID = "93214500001"


async def pay(shop: FakeShop, code: str, amount: int = 2500, telco_id: str = ID) -> None:
    await shop.read(mtn(amount, "KOFI ANTWI BADU", 90_000, code, telco_id))


async def references(client: httpx.AsyncClient, **query: Any) -> list[str]:
    answer = await client.get("/v1/transactions", params=query)
    assert answer.status_code == 200, answer.text
    return [item["reference"] for item in answer.json()["data"]]


async def test_a_waiting_request_by_its_reference(api: FakeApi) -> None:
    request = await api.shop.request(
        2500, customer_name="Kofi", client_reference="o-1", meta='{"a":1}'
    )
    answer = await api.live.get(f"/v1/transactions/{request.reference}")
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "data": {
            "reference": request.reference,
            "svc_code": request.svc_code,
            "status": "PENDING",
            "expected_amount": "25.00",
            "actual_amount": None,
            "difference": None,
            "difference_type": None,
            "currency": "GHS",
            "client_reference": "o-1",
            "processing_time_ms": None,
            "payer": {"phone_number": "+233241234567", "name": "Kofi"},
            "payer_source": {"phone_number": "request", "name": "request"},
            "telco": {"provider": None, "transaction_id": None, "timestamp": None},
            "meta": {"a": 1},
            "timeline": {
                "created_at": "2026-11-21T08:00:30.000Z",
                "pending_at": "2026-11-21T08:00:30.000Z",
                "processing_at": None,
                "completed_at": None,
            },
            "origin": "request",
            "test": False,
            "matched_by": None,
            "late": False,
            "rejected": False,
            "cancelled_at": None,
            "reversed_at": None,
            "settled_at": None,
            "settled_by": None,
            "settlement": None,
            "settles": None,
            "held_review_id": None,
            "pay_to": [PAY_TO],
            "merged_into": None,
        },
    }


async def test_one_request_is_found_while_all_reading_threads_are_busy_with_lists(
    api: FakeApi,
) -> None:
    request = await api.shop.request(2500)
    go_on = threading.Event()
    store = api.shop.env.store
    lists = [asyncio.ensure_future(store.read(lambda _: go_on.wait(20))) for _ in range(READERS)]
    await asyncio.sleep(0)
    try:
        for path in (request.reference, f"by-svc/{request.svc_code}"):
            answer = await api.live.get(f"/v1/transactions/{path}")
            assert answer.json()["data"]["reference"] == request.reference
        assert not any(one.done() for one in lists)
    finally:
        go_on.set()
        await asyncio.gather(*lists)


async def test_a_paid_request_by_reference_code_and_client_reference(api: FakeApi) -> None:
    request = await api.shop.request(2500, client_reference="a/b c")
    assert request.svc_code is not None
    await pay(api.shop, request.svc_code)
    by_reference = await api.live.get(f"/v1/transactions/{request.reference}")
    by_code = await api.live.get(f"/v1/transactions/by-svc/{request.svc_code.lower()}")
    by_client = await api.live.get("/v1/transactions/by-client-ref/a%2Fb%20c")
    data = by_reference.json()["data"]
    assert (data["status"], data["actual_amount"], data["difference_type"]) == (
        "SUCCESS",
        "25.00",
        "EXACT",
    )
    assert data["telco"]["transaction_id"] == ID
    assert data["telco"]["provider"] == "mtn"
    assert data["payer"] == {"phone_number": "+233241234567", "name": "KOFI ANTWI BADU"}
    assert data["payer_source"] == {"phone_number": "request", "name": "receipt"}
    assert by_code.json() == by_reference.json()
    assert by_client.json() == {**by_reference.json(), "meta": {"matches": 1}}


@each(
    "path",
    [
        "svc_trx_" + "0" * 32,
        "svc_trx_0",
        "by-svc/A7K2M9",
        "by-svc/way-too-long",
        "by-client-ref/nobody",
    ],
)
async def test_what_is_not_there_is_404(api: FakeApi, path: str) -> None:
    answer = await api.live.get(f"/v1/transactions/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TRANSACTION_NOT_FOUND")


async def test_by_client_reference_prefers_verified_then_open_then_newest(api: FakeApi) -> None:
    first = await api.shop.request(2500, client_reference="o", expires_in_hours=1)
    api.shop.clock.advance(3601)
    second = await api.shop.request(2500, client_reference="o")
    third = await api.shop.request(2500, client_reference="o")

    async def best() -> tuple[str, int]:
        body = (await api.live.get("/v1/transactions/by-client-ref/o")).json()
        return body["data"]["reference"], body["meta"]["matches"]

    assert await best() == (third.reference, 3)
    fourth = await api.shop.request(2500, client_reference="o")
    cancelled = await api.live.post(f"/v1/transactions/{fourth.reference}/cancel", json={})
    assert cancelled.status_code == 200
    assert await best() == (third.reference, 4)
    await pay(api.shop, "food")
    await api.shop.reconcile(first.reference, ID)
    assert await best() == (first.reference, 4)
    assert len({first.reference, second.reference, third.reference, fourth.reference}) == 4


async def test_a_publishable_keys_request_cannot_pose_under_a_client_reference(
    api: FakeApi,
) -> None:
    request = await api.shop.request(2500, client_reference="o")
    await api.shop.env.store.write(
        lambda tx: tx.run("UPDATE transactions SET created_with = 'publishable'")
    )
    assert (await api.live.get("/v1/transactions/by-client-ref/o")).status_code == 404
    assert (await api.live.get(f"/v1/transactions/{request.reference}")).status_code == 200


async def test_a_request_is_expired_on_read_and_in_filters_before_any_sweep(api: FakeApi) -> None:
    request = await api.shop.request(2500, expires_in_hours=1)
    api.shop.clock.advance(3600)
    single = await api.live.get(f"/v1/transactions/{request.reference}")
    assert single.json()["data"]["status"] == "EXPIRED"
    assert await references(api.live, status="EXPIRED") == [request.reference]
    assert await references(api.live, status="PENDING") == []


async def test_the_open_review_of_a_held_message_that_names_it_is_shown(api: FakeApi) -> None:
    await api.shop.begin_chain()
    request = await api.shop.request(2500)
    api.shop.limit(0)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 192_500, request.svc_code or "", ID))
    path = f"/v1/transactions/{request.reference}"
    shown = (await api.live.get(path)).json()["data"]
    [review] = (await api.live.get("/v1/reviews")).json()["data"]
    assert (shown["status"], shown["held_review_id"]) == ("MANUAL_REVIEW", review["id"])
    await api.live.post(f"/v1/reviews/{review['id']}/reject", json={"notes": "forged"})
    assert (await api.live.get(path)).json()["data"]["held_review_id"] is None
