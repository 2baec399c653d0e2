"""Made-up payments through the real parser: their outcomes, and their separation from live data."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn

PAY = "/v1/test/payments"
INIT = "/v1/transactions/initialize"
ENDPOINTS = "/v1/open-collections/endpoints"
BODY = {"amount": "25.00", "phone_number": "0244000111"}


async def order(api: FakeApi, **more: Any) -> dict[str, Any]:
    answer = await api.test.post(INIT, json={**BODY, **more})
    assert answer.status_code == 201, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def pay(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(PAY, json=body)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


@pytest.mark.parametrize("provider", ["momo_mtn", "momo_telecel"])
async def test_an_order_is_paid_by_its_code(api: FakeApi, provider: str) -> None:
    made = await order(api)
    data = await pay(api.test, reference=made["reference"], provider=provider)
    assert data["message"]["state"] == "payment"
    assert data["message"]["trusted"] is True
    assert made["svc_code"] in data["message"]["body"]
    paid = data["transaction"]
    assert (paid["reference"], paid["status"]) == (made["reference"], "SUCCESS")
    assert (paid["matched_by"], paid["test"]) == ("code", True)
    assert data["review"] is None


@pytest.mark.parametrize(
    ("amount", "status", "difference"), [("20.00", "PARTIAL", "-5.00"), ("30.00", "OVERPAID", "5.00")]
)
async def test_money_that_is_short_or_too_much_pays_in_part_or_over(
    api: FakeApi, amount: str, status: str, difference: str
) -> None:
    made = await order(api)
    paid = (await pay(api.test, reference=made["reference"], amount=amount))["transaction"]
    assert (paid["status"], paid["difference"]) == (status, difference)


async def test_a_late_payment_comes_after_its_order_expired(api: FakeApi) -> None:
    made = await order(api)
    paid = (await pay(api.test, reference=made["reference"], late=True))["transaction"]
    assert (paid["status"], paid["late"]) == ("SUCCESS", True)


async def test_a_wrong_code_pays_no_order(api: FakeApi) -> None:
    made = await order(api)
    data = await pay(api.test, reference=made["reference"], reference_text="food")
    assert data["message"]["state"] == "payment"
    assert data["transaction"]["reference"] != made["reference"]
    assert data["transaction"]["origin"] == "open"
    assert (data["request"]["reference"], data["request"]["status"]) == (made["reference"], "PENDING")
    seen = await api.test.get(f"/v1/transactions/{made['reference']}")
    assert seen.json()["data"]["status"] == "PENDING"


async def test_another_payer_is_put_before_a_person(api: FakeApi) -> None:
    made = await order(api, expected_payer_phone="0209000111")
    data = await pay(api.test, reference=made["reference"], provider="momo_telecel", payer_phone="0209000222")
    assert data["transaction"]["status"] == "MANUAL_REVIEW"
    assert data["review"]["reason"] == "payer_mismatch"
    right = await pay(api.test, reference=made["reference"], provider="momo_telecel", payer_phone="0209000111")
    assert right["transaction"]["status"] == "SUCCESS"


async def test_a_forged_receipt_is_no_payment(api: FakeApi) -> None:
    made = await order(api)
    data = await pay(api.test, reference=made["reference"], sender="+233241112222")
    assert data["message"]["state"] == "held"
    assert data["message"]["payment_id"] is None
    assert data["review"]["reason"] == "unknown_sender"
    assert data["transaction"]["status"] == "PENDING"


@each(
    ("field", "value", "code"),
    [
        ("sender", "Ama's Provisions", "invalid"),
        ("sender", "Kɔfi", "invalid"),
        ("sender", "[MoMo] {1}", "invalid"),  # brackets take the room of two letters each
        ("sent_at", "1989-12-31T23:59:59Z", "out_of_range"),
        ("sent_at", "2090-01-01T00:00:00Z", "out_of_range"),
        ("sent_at", "9999-12-31T23:59:59Z", "out_of_range"),
        ("sent_at", "0001-01-01T00:00:00+14:00", "invalid"),
    ],
)
@each("provider", ["momo_mtn", "momo_telecel"])
async def test_what_no_sms_can_hold_is_refused_by_its_field(
    api: FakeApi, provider: str, field: str, value: str, code: str
) -> None:
    body = {"amount": "5.00", "provider": provider, field: value}
    answer = await api.test.post(PAY, json=body)
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert [(one["field"], one["code"]) for one in error["details"]] == [(field, code)]


@pytest.mark.parametrize("sender", ["Aunty Ama 1", "+23324111222233344", "*170#", "T-[CASH]"])
async def test_every_sender_that_an_sms_can_have_is_taken(api: FakeApi, sender: str) -> None:
    data = await pay(api.test, amount="5.00", sender=sender)
    assert data["message"]["sender"] == sender
    assert data["message"]["state"] == "held"


async def test_any_text_can_be_tried(api: FakeApi) -> None:
    data = await pay(api.test, text="You have won a car. Call 0244000111.")
    assert data["message"]["state"] == "unparsed"
    assert data["transaction"] is None


async def test_the_same_text_in_the_same_second_is_one_message(api: FakeApi) -> None:
    first = await pay(api.test, text="Hello")
    again = await pay(api.test, text="Hello", sent_at=first["message"]["smsc_ts"])
    assert first["message"]["state"] == "unparsed"
    assert again["message"]["state"] in ("duplicate", "unparsed")


async def test_a_repeat_gets_the_same_answer_and_pays_nothing_again(api: FakeApi) -> None:
    made = await order(api)
    body, key = {"reference": made["reference"]}, {"Idempotency-Key": "k1"}
    first, again = await asyncio.gather(*(api.test.post(PAY, json=body, headers=key) for _ in range(2)))
    assert (first.status_code, first.content) == (200, again.content)
    replayed = sorted("Idempotency-Replayed" in answer.headers for answer in (first, again))
    assert replayed == [False, True]
    assert await api.shop.values("SELECT COUNT(*) FROM payments") == [1]
    assert await api.shop.values("SELECT COUNT(*) FROM messages") == [1]
    other = await api.test.post(PAY, json={**body, "amount": "9.00"}, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    # Without a key, and with another one, it is another payment.
    await pay(api.test, **body)
    await api.test.post(PAY, json=body, headers={"Idempotency-Key": "k2"})
    assert await api.shop.values("SELECT COUNT(*) FROM payments") == [3]


async def test_a_refused_payment_is_not_kept_under_its_key(api: FakeApi) -> None:
    key = {"Idempotency-Key": "k1"}
    request = await api.shop.request(2500)
    refused = await api.test.post(PAY, json={"reference": request.reference}, headers=key)
    assert refused.status_code == 404
    made = await order(api)
    paid = await api.test.post(PAY, json={"reference": made["reference"]}, headers=key)
    assert paid.json()["data"]["transaction"]["status"] == "SUCCESS"


async def test_live_sees_nothing_of_it(api: FakeApi) -> None:
    made = await order(api)
    before = await api.shop.values("SELECT last_payment_at FROM payment_methods")
    smscs = await api.shop.values("SELECT smsc FROM sim_smscs")
    await pay(api.test, reference=made["reference"])
    await pay(api.test, amount="7.00")
    assert (await api.live.get("/v1/transactions?origin=all")).json()["data"] == []
    assert (await api.live.get(f"/v1/transactions/{made['reference']}")).status_code == 404
    lines = (await api.live.get("/v1/open-collections/lines")).json()["data"]
    assert lines["unplaced_payments"] == 0
    assert [len(phone["sims"]) for phone in lines["phones"]] == [1]
    assert lines["phones"][0]["reads_payments"] is False
    assert await api.shop.values("SELECT last_payment_at FROM payment_methods") == before
    assert await api.shop.values("SELECT COUNT(*) FROM line_balances") == [0]
    assert await api.shop.values("SELECT smsc FROM sim_smscs") == smscs
    (status,) = [(await api.local.get("/local/v1/status")).json()["data"]["today"]]
    assert status["paid"]["count"] == 0


async def test_a_sandbox_endpoint_gets_the_test_payments_and_no_other_endpoint_does(api: FakeApi) -> None:
    hook = {"url": "https://shop.example/hook"}
    live = (await api.live.post(ENDPOINTS, json=hook)).json()["data"]["id"]
    practice = {**hook, "is_sandbox": True}
    sandbox = (await api.test.post(ENDPOINTS, json=practice)).json()["data"]["id"]
    await pay(api.test, amount="7.00")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    log = (await api.local.get("/v1/open-collections/deliveries")).json()["data"]
    assert [(entry["endpoint_id"], entry["test"]) for entry in log] == [(live, False), (sandbox, True)]


async def test_the_number_on_the_simulated_sim_is_named_and_never_a_live_one(api: FakeApi) -> None:
    async def named(data: dict[str, Any]) -> list[Any]:
        sql = "SELECT (SELECT id FROM payment_methods WHERE seq = payment_method_seq) FROM payments WHERE id = '{}'"
        return await api.shop.values(sql.format(data["message"]["payment_id"]))

    assert await named(await pay(api.test, amount="7.00")) == [None]
    (phone, _telecel) = (await api.test.get("/v1/payment-methods/sims")).json()["data"]
    new = {
        "provider": "momo_mtn",
        "phone_number": "0244124567",
        "account_name": "Practice",
        "sim": {"device_id": phone["device_id"], "slot_index": 0},
    }
    made = (await api.test.post("/v1/payment-methods", json=new)).json()["data"]["id"]
    assert await named(await pay(api.test, amount="7.00")) == [made]


async def test_a_live_order_is_not_in_the_sandbox(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    answer = await api.test.post(PAY, json={"reference": request.reference})
    assert answer.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"


async def test_a_live_key_may_not_and_the_socket_may(api: FakeApi) -> None:
    refused = await api.live.post(PAY, json={"amount": "1.00"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "SESSION_REQUIRED")
    assert (await pay(api.local, amount="1.00"))["message"]["test"] is True


async def test_the_socket_acts_in_the_sandbox_when_it_says_so(api: FakeApi) -> None:
    mode = {"Svc-Mode": "test"}
    made = await api.local.post(INIT, json=BODY, headers=mode)
    reference = made.json()["data"]["reference"]
    assert (await api.test.get(f"/v1/transactions/{reference}")).status_code == 200
    assert (await api.live.get(f"/v1/transactions/{reference}")).status_code == 404
    # A key has one mode: a call for the sandbox with a live key must not act on the live shop.
    for client, same, other in ((api.live, "live", "test"), (api.test, "test", "live")):
        for asked, status in ((same, 200), (other, 422), ("prod", 422)):
            answer = await client.get("/v1/transactions", headers={"Svc-Mode": asked})
            assert answer.status_code == status, (same, asked)
    wrong = await api.local.get("/v1/transactions", headers={"Svc-Mode": "prod"})
    assert wrong.json()["error"]["details"][0]["field"] == "Svc-Mode"


async def test_all_that_is_wrong_is_said_at_once(api: FakeApi) -> None:
    answer = await api.test.post(PAY, json={"provider": "momo_at", "payer_phone": "x", "sent_at": "now", "late": 1})
    assert answer.status_code == 422
    assert {one["field"] for one in answer.json()["error"]["details"]} == {
        "provider",
        "payer_phone",
        "sent_at",
        "late",
        "amount",
    }
