"""GET /v1/reviews and one of them, over HTTP."""

import json
from typing import Any

from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import Mode, Scope
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.reviews import ask_about_newest
from tests.fakes.shop import METHOD_ID
from tests.fakes.validation_errors import wrong_fields

ID = "93214500001"
STRANGER = "MobileMony"


async def held(api: FakeApi) -> str:
    """Make a review: the order expects a payer, and the receipt names no number."""
    request = await api.shop.request(2500, expected_payer_phone="+233241234567")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    return request.reference


async def forged(api: FakeApi, reference: str = "food", telco_id: str = "93214500002") -> None:
    """Let a stranger send a forged receipt."""
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, reference, telco_id)
    pdus = encode_deliver(STRANGER, text, STARTED, smsc=MTN_SMSC, reference=9)
    await api.shop.read_pdus(pdus)
    await ask_about_newest(api.shop)


async def reviews(api: FakeApi, query: str = "") -> list[dict[str, Any]]:
    answer = await api.live.get(f"/v1/reviews{query}")
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


async def test_a_held_payment_is_shown_with_all_its_evidence(api: FakeApi) -> None:
    reference = await held(api)
    [listed] = await reviews(api)
    shown = (await api.live.get(f"/v1/reviews/{listed['id']}")).json()["data"]
    assert shown == listed
    message, payment, request = shown["message"], shown["payment"], shown["request"]
    assert {name: shown[name] for name in ("reason", "state", "summary", "amount", "currency")} == {
        "reason": "payer_unknown",
        "state": "open",
        "summary": "payer's number not on the receipt",
        "amount": "25.00",
        "currency": "GHS",
    }
    assert shown["why"]
    assert shown["what_to_do"]
    assert (shown["needs_password"], shown["test"]) == (False, False)
    assert (shown["decided_at"], shown["decided_by"], shown["notes"]) == (None, None, None)
    assert (message["sender"], message["expected_senders"]) == ("MobileMoney", ["MobileMoney"])
    assert (message["smsc"], message["trusted"], message["state"]) == (MTN_SMSC, True, "held")
    assert message["reasons"] == ["payer_unknown"]
    assert message["fields"]["transaction_id"] == ID
    assert "body" not in message
    assert shown["line"] == {
        "payment_method_id": METHOD_ID,
        "phone_number": "+233244124567",
        "account_name": "Ama",
        "provider": "momo_mtn",
    }
    assert shown["sim"]["slot_index"] == 0
    assert (payment["transaction_id"], payment["balance"], payment["standing"]) == (
        ID,
        "900.00",
        "review",
    )
    assert payment["payer"] == {"phone_number": None, "name": "KOFI ANTWI BADU"}
    assert payment["payer_source"] == {"phone_number": None, "name": "receipt"}
    assert (request["reference"], request["status"]) == (reference, "MANUAL_REVIEW")
    assert request["expected_payer_phone"] == "+233241234567"
    assert [order["reference"] for order in shown["orders_named"]] == [reference]
    assert (shown["other_payment"], shown["details"]) == (None, {})


async def test_a_message_that_nobody_trusts_is_shown_with_what_it_pretends(api: FakeApi) -> None:
    order = await api.shop.request(70_000)
    await forged(api, order.svc_code or "")
    [shown] = await reviews(api)
    assert (shown["reason"], shown["amount"], shown["payment"], shown["request"]) == (
        "unknown_sender",
        "700.00",
        None,
        None,
    )
    assert shown["needs_password"] is True
    assert (shown["message"]["sender"], shown["message"]["sender_type"]) == (
        STRANGER,
        "alphanumeric",
    )
    assert shown["message"]["expected_senders"] == ["MobileMoney"]
    assert shown["details"] == {"doubts": ["sender_not_of_network"]}
    assert [one["reference"] for one in shown["orders_named"]] == [order.reference]


async def test_two_payments_with_one_id_are_shown_side_by_side(api: FakeApi) -> None:
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", ID))
    await api.shop.read(mtn(9900, "KOFI ANTWI BADU", 90_000, "food", ID, concatenation=3))
    [shown] = await reviews(api)
    assert (shown["reason"], shown["amount"]) == ("id_conflict", "99.00")
    assert (shown["payment"], shown["other_payment"]["amount"]) == (None, "25.00")


async def test_the_held_message_that_has_the_same_id_is_shown_beside(api: FakeApi) -> None:
    api.shop.limit(0)
    # The first message of the line begins the chain, and its payment waits.
    await api.shop.read(mtn(2500, "AMA SERWAA", 500_000, "food", ID, concatenation=2))
    await api.shop.read(mtn(9900, "YAW OWUSU", 700_000, "food", ID, concatenation=3))
    held, conflict = sorted(await reviews(api), key=lambda one: str(one["reason"]))
    assert (held["reason"], held["other_message"]) == ("balance_break", None)
    assert (conflict["reason"], conflict["other_payment"]) == ("id_conflict", None)
    assert conflict["other_message"]["id"] == held["message"]["id"]
    assert conflict["other_message"]["fields"]["payer_name"] == "AMA SERWAA"


async def test_newest_come_first_and_pages_follow_each_other(api: FakeApi) -> None:
    await held(api)
    await forged(api)
    assert [one["reason"] for one in await reviews(api)] == ["unknown_sender", "payer_unknown"]
    answer = (await api.live.get("/v1/reviews?limit=1&offset=1")).json()
    assert [one["reason"] for one in answer["data"]] == ["payer_unknown"]
    assert answer["meta"] == {"limit": 1, "offset": 1, "total": 2}


async def test_decided_ones_are_listed_only_when_asked_for(api: FakeApi) -> None:
    reference = await held(api)
    await api.shop.reconcile(reference, ID)
    assert await reviews(api) == []
    [shown] = await reviews(api, "?state=all")
    assert (shown["state"], shown["decided_by"]) == ("approved", "socket:0")
    assert shown["payment"]["reference"] == reference


@each(
    ("query", "field"),
    [
        ("state=closed", "state"),
        ("limit=0", "limit"),
        ("offset=-1", "offset"),
        ("limit=x", "limit"),
    ],
)
async def test_each_wrong_query_is_refused_by_name(api: FakeApi, query: str, field: str) -> None:
    answer = await api.live.get(f"/v1/reviews?{query}")
    assert wrong_fields(answer) == [field]
    large = await api.live.get("/v1/reviews?limit=201")
    assert large.json()["meta"]["warnings"] == ["`limit` was lowered to 200."]


async def test_an_unknown_review_is_404(api: FakeApi) -> None:
    for review_id in ("nonsense", "00000000-0000-4000-8000-000000000000"):
        answer = await api.live.get(f"/v1/reviews/{review_id}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "REVIEW_NOT_FOUND")


async def test_they_need_the_write_scope_and_modes_never_meet(api: FakeApi) -> None:
    await held(api)
    [shown] = await reviews(api)
    key = await api.key(Mode.LIVE, Scope.TRANSACTIONS_READ)
    for path in ("/v1/reviews", f"/v1/reviews/{shown['id']}"):
        refused = await (await api.client(key)).get(path)
        assert refused.json()["required_scopes"] == ["transactions:write"]
        assert (await api.local.get(path)).status_code == 200
    assert (await api.test.get("/v1/reviews")).json()["data"] == []
    assert (await api.test.get(f"/v1/reviews/{shown['id']}")).status_code == 404


async def test_the_text_of_the_message_is_not_part_of_it(api: FakeApi) -> None:
    await held(api)
    assert "Payment received for" not in json.dumps(await reviews(api))


async def test_a_message_that_breaks_the_balance_says_what_releases_it(api: FakeApi) -> None:
    api.shop.limit(0)
    await api.shop.begin_chain()
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 192_500, "food", ID))
    [shown] = await reviews(api)
    assert shown["why"] == (
        "The balance in the message does not follow from the balance before it."
    )
    assert shown["by_itself"].startswith("It pays by itself if a late message leads to its balance")
    assert shown["by_itself"].endswith("momo lines wallet NUMBER AMOUNT.")
    await api.live.post(f"/v1/reviews/{shown['id']}/reject", json={"notes": "forged"})
    [decided] = await reviews(api, "?state=all")
    assert decided["by_itself"] is None
