"""Refusals that need a rare state: each over HTTP, with its extras."""

import asyncio
from typing import Any

import httpx

from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn

ID = "93214500001"
INITIALIZE = "/v1/transactions/initialize"


def refused(answer: httpx.Response) -> tuple[int, str, dict[str, Any]]:
    """Return the status, the code, and the extras, which must be the same in both places."""
    body = answer.json()
    for_people = ("message", "hint", "doc_url")
    error = {name: value for name, value in body["error"].items() if name not in for_people}
    code = error.pop("code")
    assert error == {name: each for name, each in body.items() if name not in ("success", "error", "meta")}
    assert body["error"]["hint"]
    return answer.status_code, code, error


async def test_a_second_call_with_a_key_waits_and_then_gives_up(api: FakeApi) -> None:
    api.application._service.inflight._wait_s = 0.05
    api.resolver.answers = asyncio.Event()
    body = {"amount": "25.00", "phone_number": "0241234567", "webhook_url": "https://shop.example/x"}
    key = {"Idempotency-Key": "k1"}
    first = asyncio.create_task(api.live.post(INITIALIZE, json=body, headers=key))
    while not api.resolver.asked:  # noqa: ASYNC110 -- a look-up has no event
        await asyncio.sleep(0.01)
    second = await api.live.post(INITIALIZE, json=body, headers=key)
    assert refused(second) == (409, "IDEMPOTENCY_IN_PROGRESS", {})
    api.resolver.answers.set()
    assert (await first).status_code == 201
    third = await api.live.post(INITIALIZE, json=body, headers=key)
    assert third.headers["Idempotency-Replayed"] == "true"


async def test_one_id_of_two_networks_needs_a_provider(api: FakeApi) -> None:
    request = await api.shop.request()
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    columns = await api.shop.values("SELECT name FROM pragma_table_info('payments')")
    changed = {"seq": "NULL", "id": "'other'", "provider": "'momo_telecel'"}
    picked = ", ".join(changed.get(name, name) for name in columns)
    await api.shop.env.store.write(lambda tx: tx.run(f"INSERT INTO payments SELECT {picked} FROM payments"))
    path = f"/v1/transactions/{request.reference}/reconcile"
    assert refused(await api.live.post(path, json={"transaction_id": ID})) == (
        422,
        "AMBIGUOUS_TRANSACTION_ID",
        {"providers": ["momo_mtn", "momo_telecel"]},
    )
    named = {"transaction_id": ID, "provider": "momo_mtn"}
    assert (await api.live.post(path, json=named)).status_code == 200


async def test_a_payment_that_was_taken_back_cannot_be_approved(api: FakeApi) -> None:
    request = await api.shop.request(expected_payer_phone="+233241234567")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    (review_id,) = await api.shop.values("SELECT id FROM reviews")
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1000"))
    answer = await api.live.post(f"/v1/reviews/{review_id}/approve")
    assert refused(answer) == (409, "PAYMENT_REVERSED", {"reversed_at": "1970-01-01T00:00:00.001Z"})
