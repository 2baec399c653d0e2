"""Repeated POST /v1/transactions/initialize: idempotency keys, and transaction IDs that are expected twice."""

import asyncio
import json
from typing import Any

from daemon.flows.payments import cancel_expire
from tests.api.payments.test_initialize import PLAIN, post
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn


async def test_the_same_key_and_body_get_the_same_answer_byte_for_byte(api: FakeApi) -> None:
    first = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    api.shop.clock.advance(23 * 3600)
    again = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["x-request-id"] != first.headers["x-request-id"]


async def test_header_and_field_are_equivalent_and_order_does_not_matter(api: FakeApi) -> None:
    first = await post(api.live, {**PLAIN, "idempotency_key": "k1"})
    turned = dict(reversed(PLAIN.items()))
    again = await post(api.live, turned, **{"Idempotency-Key": "k1"})
    assert again.content == first.content


@each(
    ("body", "header", "code"),
    [
        ({**PLAIN, "idempotency_key": "a"}, "b", "IDEMPOTENCY_KEY_CONFLICT"),
        ({**PLAIN, "idempotency_key": ""}, None, "IDEMPOTENCY_KEY_INVALID"),
        ({**PLAIN, "idempotency_key": 7}, None, "IDEMPOTENCY_KEY_INVALID"),
        ({**PLAIN, "idempotency_key": "x" * 256}, None, "IDEMPOTENCY_KEY_INVALID"),
        (PLAIN, "", "IDEMPOTENCY_KEY_INVALID"),
    ],
)
async def test_each_wrong_idempotency_key_is_refused(
    api: FakeApi, body: dict[str, Any], header: str | None, code: str
) -> None:
    headers = {} if header is None else {"Idempotency-Key": header}
    answer = await post(api.live, body, **headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


async def test_another_body_under_the_same_key_is_refused(api: FakeApi) -> None:
    await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    other = await post(api.live, {**PLAIN, "amount": "26.00"}, **{"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["error"]["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_key_is_free_again_after_24_hours_and_never_was_anothers(api: FakeApi) -> None:
    first = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    for other in (api.test, api.local, await api.client(await api.key())):
        answer = await post(other, PLAIN, **{"Idempotency-Key": "k1"})
        assert answer.json()["data"]["reference"] != first.json()["data"]["reference"]
    api.shop.clock.advance(24 * 3600 - 1)
    await cancel_expire.expire(api.shop.env)
    same = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    assert same.content == first.content
    api.shop.clock.advance(1)
    await cancel_expire.expire(api.shop.env)
    later = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    assert later.json()["data"]["reference"] != first.json()["data"]["reference"]


async def test_refusals_are_not_kept(api: FakeApi) -> None:
    refused = await post(api.live, {**PLAIN, "amount": "0"}, **{"Idempotency-Key": "k1"})
    made = await post(api.live, PLAIN, **{"Idempotency-Key": "k1"})
    assert (refused.status_code, made.status_code) == (422, 201)


async def test_many_calls_at_once_with_one_key_make_one_request(api: FakeApi) -> None:
    answers = await asyncio.gather(
        *(post(api.live, PLAIN, **{"Idempotency-Key": "k1"}) for _ in range(20))
    )
    assert {answer.content for answer in answers} == {answers[0].content}
    assert {answer.status_code for answer in answers} == {201}
    assert await api.shop.values("SELECT COUNT(*) FROM transactions") == [1]


async def test_a_repeat_is_answered_even_when_its_address_has_become_private(api: FakeApi) -> None:
    body = {**PLAIN, "webhook_url": "https://shop.example/hook"}
    first = await post(api.live, body, **{"Idempotency-Key": "k1"})
    api.resolver.names["shop.example"] = ["10.0.0.1"]
    again = await post(api.live, body, **{"Idempotency-Key": "k1"})
    assert again.content == first.content
    assert (await post(api.live, body)).status_code == 422


async def test_an_id_that_already_paid_cannot_be_expected(api: FakeApi) -> None:
    first = (await post(api.live, PLAIN)).json()["data"]
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, first["svc_code"], "93214500001"))
    answer = await post(api.live, {**PLAIN, "expected_telco_transaction_id": "93214500001"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        409,
        "TRANSACTION_ID_ALREADY_USED",
    )


async def test_an_id_that_another_request_expects_is_a_wrong_field(api: FakeApi) -> None:
    body = {**PLAIN, "expected_telco_transaction_id": "93214500001"}
    assert (await post(api.live, body)).status_code == 201
    answer = await post(api.live, body)
    assert answer.status_code == 422
    assert json.loads(answer.content)["details"][0]["field"] == "expected_telco_transaction_id"


async def test_a_key_in_any_script_is_one_key_in_header_and_field(api: FakeApi) -> None:
    key = "commande-é-77"
    first = await post(api.live, {**PLAIN, "idempotency_key": key})
    headers = [(b"Idempotency-Key", key.encode())]
    again = await api.live.post("/v1/transactions/initialize", json=PLAIN, headers=headers)
    assert again.content == first.content
    assert again.json()["meta"]["idempotency_key"] == key
    both = {**PLAIN, "idempotency_key": key}
    again = await api.live.post("/v1/transactions/initialize", json=both, headers=headers)
    assert again.content == first.content
