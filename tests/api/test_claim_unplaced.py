"""claim-unplaced: assign the payments that a SIM received before it had a number."""

from typing import Any

from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn
from tests.fakes.shop import METHOD_ID

METHOD = f"/v1/payment-methods/{METHOD_ID}"
CLAIM = f"{METHOD}/claim-unplaced"
UNKNOWN = "/v1/payment-methods/6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f99/claim-unplaced"


async def pay(api: FakeApi, telco_id: str) -> None:
    balance = api.shop.wallet(2500)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", balance, "food", telco_id))


async def move(api: FakeApi, *, on: bool) -> None:
    sim = {"device_id": api.shop.source.device_id, "slot_index": 0} if on else None
    answer = await api.live.patch(METHOD, json={"sim": sim})
    assert answer.status_code == 200, answer.text


async def unplaced(api: FakeApi) -> int:
    lines = await api.live.get("/v1/open-collections/lines")
    count: int = lines.json()["data"]["unplaced_payments"]
    return count


async def shop_with_two_unplaced(api: FakeApi) -> None:
    await pay(api, "93214500001")
    await move(api, on=False)
    await pay(api, "93214500002")
    api.shop.clock.advance(60)
    await pay(api, "93214500003")
    await move(api, on=True)


async def test_claim_takes_the_unplaced_ones_and_leaves_the_others(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    before = await api.shop.payments()
    body: dict[str, Any] = (await api.live.post(CLAIM)).json()
    assert (body["success"], body["claimed"], body["dry_run"]) == (True, 2, False)
    assert body["from"] < body["to"]
    after = await api.shop.payments()
    assert [payment.payment_method_id for payment in before] == [METHOD_ID, None, None]
    assert [payment.payment_method_id for payment in after] == [METHOD_ID] * 3
    assert await unplaced(api) == 0
    assert (await api.live.post(CLAIM)).json() == {
        "success": True,
        "claimed": 0,
        "dry_run": False,
        "from": None,
        "to": None,
    }
    told = await api.shop.values("SELECT data FROM events WHERE type = 'payment_method.claimed'")
    assert len(told) == 1


async def test_a_dry_run_says_what_would_be_claimed_and_changes_nothing(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    body = (await api.live.post(CLAIM, json={"dry_run": True})).json()
    assert (body["claimed"], body["dry_run"]) == (2, True)
    assert body["amounts"] == [{"currency": "GHS", "amount": "50.00"}]
    assert [row["telco_transaction_id"] for row in body["payments"]] == ["93214500002", "93214500003"]
    assert body["payments"][0] == {
        "telco_transaction_id": "93214500002",
        "amount": "25.00",
        "currency": "GHS",
        "payer": {"phone_number": None, "name": "KOFI ANTWI BADU"},
        "payer_source": {"phone_number": None, "name": "receipt"},
        "received_at": body["from"],
    }
    assert await unplaced(api) == 2


async def test_who_may_not_read_payments_learns_their_number_only(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    made = await api.local.post("/v1/keys", json={"name": "till", "scopes": ["payment_methods:manage"]})
    bearer = {"Authorization": f"Bearer {made.json()['key']}"}
    body = (await api.live.post(CLAIM, headers=bearer, json={"dry_run": True})).json()
    assert set(body) == {"success", "claimed", "dry_run", "from", "to"}
    assert body["claimed"] == 2


async def test_a_claim_that_is_repeated_after_a_lost_answer_says_again_what_was_claimed(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    key = {"Idempotency-Key": "monday"}
    first = await api.live.post(CLAIM, headers=key)
    again = await api.live.post(CLAIM, headers=key)
    assert (first.json()["claimed"], again.content) == (2, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"
    other = await api.live.post(CLAIM, headers=key, json={"dry_run": True})
    assert other.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_claim_delivers_nothing_by_itself(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    before = await api.shop.values("SELECT COUNT(*) FROM deliveries")
    await api.live.post(CLAIM)
    assert await api.shop.values("SELECT COUNT(*) FROM deliveries") == before


async def test_only_the_last_30_days_count(api: FakeApi) -> None:
    await shop_with_two_unplaced(api)
    api.shop.clock.advance(30 * 86_400 - 30)
    assert (await api.live.post(CLAIM)).json()["claimed"] == 1


async def test_a_number_with_no_sim_can_claim_nothing(api: FakeApi) -> None:
    await move(api, on=False)
    answer = await api.live.post(CLAIM)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "METHOD_HAS_NO_SIM")


async def test_unknown_numbers_are_refused_and_live_ones_to_test_keys(api: FakeApi) -> None:
    for path in (UNKNOWN, "/v1/payment-methods/nonsense/claim-unplaced"):
        answer = await api.live.post(path)
        assert answer.json()["error"]["code"] == "PAYMENT_METHOD_NOT_FOUND"
    assert (await api.test.post(CLAIM)).json()["error"]["code"] == "PAYMENT_METHOD_NOT_FOUND"


async def test_a_deleted_number_is_gone_and_its_payments_keep_their_name(api: FakeApi) -> None:
    await pay(api, "93214500001")
    gone = await api.live.delete(METHOD)
    assert gone.status_code == 200
    assert gone.json()["data"]["is_active"] is False
    assert gone.json()["data"]["sim"] is None
    assert (await api.live.get("/v1/payment-methods")).json()["data"] == []
    for method in ("get", "delete"):
        answer = await api.live.request(method, METHOD)
        assert answer.json()["error"]["code"] == "PAYMENT_METHOD_NOT_FOUND"
    (payment,) = await api.shop.payments()
    assert payment.payment_method_id == METHOD_ID
    # The same number can be registered again, and the SIM is free.
    again = await api.live.post(
        "/v1/payment-methods",
        json={
            "provider": "momo_mtn",
            "phone_number": "0244124567",
            "account_name": "Ama",
            "sim": {"device_id": api.shop.source.device_id, "slot_index": 0},
        },
    )
    assert again.status_code == 201, again.text
    assert again.json()["data"]["id"] != METHOD_ID
