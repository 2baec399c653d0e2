"""POST /v1/transactions/{reference}/cancel, over HTTP."""

from typing import Any

import httpx

from daemon.wire import Mode, Scope
from tests.fakes.api import FakeApi
from tests.fakes.receipts import mtn


async def post(
    api: FakeApi, reference: str, client: httpx.AsyncClient | None = None, **call: Any
) -> httpx.Response:
    return await (client or api.live).post(f"/v1/transactions/{reference}/cancel", **call)


async def test_the_body_may_be_left_out(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    answer = await post(api, reference)
    assert (answer.status_code, answer.json()["data"]["status"]) == (200, "CANCELLED")
    shown = (await api.live.get(f"/v1/transactions/{reference}")).json()["data"]
    names = ("pay_to", "settled_at", "settled_by", "settlement", "settles")
    found = {"held_review_id": None, **{name: shown[name] for name in names}}
    assert shown == {**answer.json()["data"], **found}


async def test_a_reason_is_kept_and_unknown_fields_are_named(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    answer = await post(api, reference, json={"reason": "sold out\nsorry", "note": 1})
    assert answer.json()["meta"]["warnings"] == ["Unknown field `note` was ignored."]
    shown = (await api.live.get(f"/v1/transactions/{reference}/events")).json()["data"]
    [details] = [one["details"] for one in shown if one["type"] == "transaction.cancelled"]
    assert details == {"reason": "sold out\nsorry"}


async def test_wrong_bodies_change_nothing(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    for call, status, code in (
        ({"json": {"reason": 1}}, 422, "VALIDATION_ERROR"),
        ({"json": {"reason": "x" * 2001}}, 422, "VALIDATION_ERROR"),
        ({"json": []}, 400, "INVALID_JSON"),
        ({"content": b"{}"}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"json": {}, "headers": {"Idempotency-Key": ""}}, 422, "IDEMPOTENCY_KEY_INVALID"),
    ):
        answer = await post(api, reference, **call)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert (await api.shop.transaction(reference)).status == "PENDING"


async def test_a_paid_one_is_409_with_its_status(api: FakeApi) -> None:
    request = await api.shop.request(2500)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", "93214500001"))
    answer = await post(api, request.reference)
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (409, "TRANSACTION_NOT_CANCELLABLE")
    assert body["transaction_status"] == body["error"]["transaction_status"] == "SUCCESS"


async def test_the_idempotency_header_replays(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    headers = {"Idempotency-Key": "k1"}
    first = await post(api, reference, headers=headers)
    again = await post(api, reference, headers=headers)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    other = await post(api, reference, headers=headers, json={"reason": "x"})
    assert other.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_it_needs_the_write_scope_and_the_right_mode(api: FakeApi) -> None:
    reference = (await api.shop.request()).reference
    key = await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ, Scope.TRANSACTIONS_INITIALIZE)
    refused = await post(api, reference, await api.client(key))
    assert refused.json()["required_scopes"] == ["transactions:write"]
    other = await post(api, reference, api.test)
    assert other.json()["error"]["code"] == "TRANSACTION_NOT_FOUND"
    assert (await post(api, reference, api.local)).status_code == 200
    assert (await api.live.get(f"/v1/transactions/{reference}/cancel")).status_code == 405
