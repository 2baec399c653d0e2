"""POST /v1/transactions/initialize: every field, every refusal."""

import asyncio
import json
import re
from typing import Any

import httpx

from daemon.core.access.callers import KeyKind
from daemon.core.inputs import PhoneIdentity
from daemon.flows.lines import modems
from daemon.flows.payments import cancel_expire
from daemon.wire import Mode
from tests.fakes.api import PAY_TO, REQUEST_ID, FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import mtn
from tests.fakes.shop import TELECEL_IMSI
from tests.fakes.validation_errors import wrong

PATH = "/v1/transactions/initialize"
PLAIN = {"amount": "25.00", "phone_number": "0241234567"}
NOT_PUBLIC = ["checkout_url is not public: set public_base_url under [http] in config.toml"]


async def post(client: httpx.AsyncClient, body: Any, **headers: str) -> httpx.Response:
    return await client.post(PATH, json=body, headers=headers)


async def test_two_headers_that_differ_are_a_conflict(api: FakeApi) -> None:
    twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await api.live.post(PATH, json=PLAIN, headers=twice)
    conflict = answer.status_code, answer.json()["error"]["code"]
    assert conflict == (422, "IDEMPOTENCY_KEY_CONFLICT")
    same = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
    assert (await api.live.post(PATH, json=PLAIN, headers=same)).status_code == 201


async def test_the_plain_request_is_201_with_every_field_of_the_response(api: FakeApi) -> None:
    answer = await post(api.live, PLAIN)
    body = answer.json()
    data = body["data"]
    assert answer.status_code == 201
    assert re.fullmatch(r"svc_trx_[0-9a-f]{32}", data["reference"])
    assert re.fullmatch(r"[2-9A-HJKMNP-Z]{6}", data["svc_code"])
    assert re.fullmatch(r"[0-9A-Za-z]{22}", data["public_slug"])
    assert body == {
        "success": True,
        "data": {
            "reference": data["reference"],
            "svc_code": data["svc_code"],
            "public_slug": data["public_slug"],
            "amount": "25.00",
            "currency": "GHS",
            "status": "PENDING",
            "expires_at": "2026-11-22T08:00:30.000Z",
            "created_at": "2026-11-21T08:00:30.000Z",
            "payer_sms_sent": True,
            "checkout_url": f"http://127.0.0.1:8420/pay/{data['public_slug']}",
            "pay_to": [PAY_TO],
            "client_reference": None,
        },
        "meta": {"request_id": answer.headers["x-request-id"], "idempotency_key": None, "warnings": NOT_PUBLIC},
    }
    assert re.fullmatch(REQUEST_ID, answer.headers["x-request-id"])


async def test_every_field_is_kept(api: FakeApi) -> None:
    body = {
        "amount": "12.5",
        "phone_number": "+233241234567",
        "currency": "GHS",
        "customer_name": " Kofi Boateng ",
        "description": "two\nlines",
        "webhook_url": "https://shop.example/hook",
        "redirect_url": "https://shop.example/thanks?o=1",
        "idempotency_key": "order-1",
        "client_reference": "order/1",
        "meta": {"vat": 1.10, "name": "Akɔsua"},
        "expires_in_hours": 2,
        "expected_telco_transaction_id": " 93214500001 ",
        "expected_payer_phone": "0201000456",
        "send_sms_to_payer": False,
    }
    answer = await post(api.live, body)
    assert answer.status_code == 201
    assert answer.json()["meta"]["idempotency_key"] == "order-1"
    row = await api.shop.transaction(answer.json()["data"]["reference"])
    assert (
        row.expected_minor,
        row.phone_number,
        row.customer_name,
        row.description,
        row.webhook_url,
        row.redirect_url,
        row.client_reference,
        row.meta,
        row.expires_at,
        row.expected_telco_transaction_id,
        row.expected_payer_phone,
        row.send_sms_to_payer,
        row.created_with,
        row.mode,
    ) == (
        1250,
        "+233241234567",
        "Kofi Boateng",
        "two\nlines",
        "https://shop.example/hook",
        "https://shop.example/thanks?o=1",
        "order/1",
        '{"vat":1.1,"name":"Akɔsua"}',
        row.created_at + 2 * 3_600_000_000,
        "93214500001",
        "+233201000456",
        False,
        "secret",
        Mode.LIVE,
    )


LONG = "x" * 101


@each(
    ("field", "value", "code"),
    [
        ("amount", None, "required"),
        ("amount", 25, "wrong_type"),
        ("amount", "-1.00", "invalid"),
        ("amount", "+1.00", "invalid"),
        ("amount", "1e2", "invalid"),
        ("amount", " 1.00", "invalid"),
        ("amount", "1.001", "invalid"),
        ("amount", "0.00", "invalid"),
        ("amount", "1000000.01", "invalid"),
        ("amount", "1,000", "invalid"),
        ("amount", "٢٥", "invalid"),
        ("phone_number", None, "required"),
        ("phone_number", "", "required"),
        ("phone_number", 233241234567, "wrong_type"),
        ("phone_number", "12345", "invalid"),
        ("currency", "USD", "invalid"),
        ("currency", "ghs", "invalid"),
        ("customer_name", "x" * 201, "too_long"),
        ("customer_name", "two\nlines", "invalid"),
        ("description", "x" * 501, "too_long"),
        ("description", "bell\x07", "invalid"),
        ("redirect_url", "javascript:alert(1)", "invalid"),
        ("redirect_url", "shop.example", "invalid"),
        ("redirect_url", "", "required"),
        ("webhook_url", " ", "required"),
        ("redirect_url", "http://shop.example/", "invalid"),
        ("redirect_url", "https://[:::]/", "invalid"),
        ("redirect_url", "https://user@shop.example", "invalid"),
        ("client_reference", LONG, "too_long"),
        ("meta", [1], "wrong_type"),
        ("meta", {"m": "x" * 4089}, "too_long"),
        ("meta", {"m": "₵" * 1363}, "too_long"),
        ("expires_in_hours", 0, "out_of_range"),
        ("expires_in_hours", 25, "out_of_range"),
        ("expires_in_hours", 1.5, "wrong_type"),
        ("expires_in_hours", True, "wrong_type"),
        ("expires_in_hours", "2", "wrong_type"),
        ("expected_telco_transaction_id", "no id", "invalid"),
        ("expected_payer_phone", "12", "invalid"),
        ("expected_telco_transaction_id", " ", "required"),
        ("send_sms_to_payer", "yes", "wrong_type"),
        ("expected_payer_fone", "0241234567", "unknown_field"),
    ],
)
async def test_each_wrong_field_is_422(api: FakeApi, field: str, value: Any, code: str) -> None:
    answer = await post(api.live, {**PLAIN, field: value})
    body = answer.json()
    assert answer.status_code == 422
    assert body["error"]["code"] == "VALIDATION_ERROR"
    assert [(entry["field"], entry["code"]) for entry in body["details"]] == [(field, code)]


async def test_a_wrong_number_is_answered_with_an_example(api: FakeApi) -> None:
    answer = await post(api.live, {**PLAIN, "phone_number": "0244 12"})
    said = "must be a phone number such as 0244765432 or +447700900123"
    assert answer.json()["details"][0]["message"] == said


@each(
    ("field", "value"),
    [
        ("amount", "0.01"),
        ("amount", "1000000.00"),
        ("client_reference", LONG[:-1]),
        ("meta", {"m": "x" * 4088}),
        ("meta", {"m": "₵" * 1362}),
        ("expires_in_hours", 1),
        ("expires_in_hours", 24),
    ],
)
async def test_the_smallest_and_the_largest_are_taken(api: FakeApi, field: str, value: Any) -> None:
    assert (await post(api.live, {**PLAIN, field: value})).status_code == 201


async def test_all_wrong_fields_are_named_at_once(api: FakeApi) -> None:
    answer = await post(api.live, {"amount": 1, "meta": "no", "currancy": "GHS"})
    named = wrong(answer)
    assert named == [
        ("amount", "wrong_type"),
        ("phone_number", "required"),
        ("meta", "wrong_type"),
        ("currancy", "unknown_field"),
    ]


async def test_null_is_the_same_as_absent(api: FakeApi) -> None:
    fields = ("currency", "meta", "expires_in_hours", "send_sms_to_payer", "idempotency_key")
    answer = await post(api.live, PLAIN | dict.fromkeys(fields))
    assert answer.status_code == 201


@each(
    ("url", "reason"),
    [
        ("http://shop.example/hook", "not_https"),
        ("https://user:pw@shop.example/", "userinfo"),
        ("https://shop.example/#part", "fragment"),
        ("https://127.0.0.1/hook", "private_address"),
        ("https://169.254.169.254/", "metadata_address"),
        ("https://inside.example/", "private_address"),
        ("not an address", "malformed"),
    ],
)
async def test_a_webhook_url_that_may_not_be_called_is_refused(api: FakeApi, url: str, reason: str) -> None:
    answer = await post(api.live, {**PLAIN, "webhook_url": url})
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (422, "URL_NOT_ALLOWED")
    assert body["reason"] == body["error"]["reason"] == reason


async def test_a_shop_without_internet_still_takes_orders(api: FakeApi) -> None:
    answer = await post(api.live, {**PLAIN, "webhook_url": "https://unknown.example/"})
    assert answer.status_code == 201


async def test_a_publishable_key_may_only_say_what_a_browser_may_say(api: FakeApi) -> None:
    client = await api.client(await api.key(kind=KeyKind.PUBLISHABLE))
    allowed = {
        **PLAIN,
        "customer_name": "Kofi",
        "description": "bread",
        "redirect_url": "https://shop.example/",
        "expires_in_hours": 1,
    }
    assert (await post(client, allowed)).status_code == 201
    refused = await post(client, {**PLAIN, "webhook_url": "https://shop.example/", "meta": {}})
    assert refused.status_code == 403
    assert refused.json()["error"] == {
        "code": "SECRET_KEY_REQUIRED",
        "message": "A publishable key may not set webhook_url, meta.",
        "hint": "Call from your server with the secret key.",
        "doc_url": "/docs/errors#SECRET_KEY_REQUIRED",
        "fields": ["webhook_url", "meta"],
    }
    assert (await client.get("/v1/transactions")).json()["error"]["code"] == "SECRET_KEY_REQUIRED"


async def test_a_test_key_makes_test_requests(api: FakeApi) -> None:
    reference = (await post(api.test, PLAIN)).json()["data"]["reference"]
    assert (await api.shop.transaction(reference)).mode is Mode.TEST
    assert (await api.live.get(f"/v1/transactions/{reference}")).status_code == 404
    assert (await api.test.get(f"/v1/transactions/{reference}")).json()["data"]["test"] is True


async def test_the_customer_is_told_every_number_in_use_and_no_other(api: FakeApi) -> None:
    """A number that was registered, taken off its SIM or removed is not told; the sandbox has its own."""

    async def told(client: httpx.AsyncClient) -> list[str]:
        made = (await post(client, PLAIN)).json()["data"]
        found = (await client.get(f"/v1/transactions/{made['reference']}")).json()["data"]
        assert made["pay_to"] == found["pay_to"]
        return [number["phone_number"] for number in made["pay_to"]]

    own = PAY_TO["phone_number"]
    assert await told(api.live) == [own]
    assert await told(api.test) == []
    body = {"provider": "momo_telecel", "phone_number": "0201000456", "account_name": "Ama"}
    registered = (await api.live.post("/v1/payment-methods", json=body)).json()["data"]
    assert await told(api.live) == [own]

    source = await modems.identify(
        api.shop.env,
        PhoneIdentity("/dev/ttyUSB1", "356938035643817", "8923302000000000098", TELECEL_IMSI, "zte", "MF823"),
    )
    sim = {"sim": {"device_id": source.device_id, "slot_index": 0}}
    address = f"/v1/payment-methods/{registered['id']}"
    assert (await api.live.patch(address, json=sim)).status_code == 200
    assert await told(api.live) == [own, "+233201000456"]
    off = {"sim": None}
    assert (await api.live.patch(address, json=off)).status_code == 200
    assert await told(api.live) == [own]
    await api.live.patch(address, json=sim)
    assert (await api.live.delete(address)).status_code == 200
    assert await told(api.live) == [own]


async def test_the_shops_own_staff_may_leave_the_number_out_and_a_key_may_not(api: FakeApi) -> None:
    path, body = "/v1/transactions/initialize", {"amount": "12.50"}
    made = await api.local.post(path, json=body)
    assert made.status_code == 201, made.text
    assert made.json()["data"]["payer_sms_sent"] is False
    shown = await api.local.get(f"/v1/transactions/{made.json()['data']['reference']}")
    assert shown.json()["data"]["payer"]["phone_number"] is None
    for client in (api.live, api.test):
        refused = await client.post(path, json=body)
        assert refused.json()["error"]["details"][0]["field"] == "phone_number"
    wrong = await api.local.post(path, json={**body, "phone_number": "12345"})
    assert wrong.status_code == 422


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
    answers = await asyncio.gather(*(post(api.live, PLAIN, **{"Idempotency-Key": "k1"}) for _ in range(20)))
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
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "TRANSACTION_ID_ALREADY_USED")


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
