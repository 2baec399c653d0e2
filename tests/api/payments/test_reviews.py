"""GET /v1/reviews and one of them, over HTTP."""

import json
from typing import Any

import httpx
from argon2 import PasswordHasher

from daemon.modem.codec.pdu_encode import encode_deliver
from tests.fakes.api import FakeApi
from tests.fakes.each import each
from tests.fakes.receipts import MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.reviews import ask_about_newest
from tests.fakes.shop import METHOD_ID
from tests.fakes.validation_errors import wrong, wrong_fields

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
    assert (payment["transaction_id"], payment["balance"], payment["standing"]) == (ID, "900.00", "review")
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
    assert (shown["message"]["sender"], shown["message"]["sender_type"]) == (STRANGER, "alphanumeric")
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
    ("query", "field"), [("state=closed", "state"), ("limit=0", "limit"), ("offset=-1", "offset"), ("limit=x", "limit")]
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


async def test_modes_never_meet(api: FakeApi) -> None:
    await held(api)
    [shown] = await reviews(api)
    assert (await api.local.get(f"/v1/reviews/{shown['id']}")).status_code == 200
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
    assert shown["why"] == ("The balance in the message does not follow from the balance before it.")
    assert shown["by_itself"].startswith("It pays by itself if a late message leads to its balance")
    assert shown["by_itself"].endswith("momo lines wallet NUMBER AMOUNT.")
    await api.live.post(f"/v1/reviews/{shown['id']}/reject", json={"notes": "forged"})
    [decided] = await reviews(api, "?state=all")
    assert decided["by_itself"] is None


PASSWORD = " correct horse "


async def held_decisions(api: FakeApi) -> tuple[str, str]:
    """Make a review of a trusted payment; returns its path and the order's reference."""
    request = await api.shop.request(2500, expected_payer_phone="+233241234567")
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, request.svc_code or "", ID))
    return await waiting(api), request.reference


async def forged_decisions(api: FakeApi) -> str:
    """Make a review of a stranger's message in a shop with a password; returns its path."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    await api.shop.env.store.write(lambda tx: tx.run("UPDATE users SET password_hash = :hash", {"hash": hashed}))
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, "food", "93214500002")
    await api.shop.read_pdus(encode_deliver("MobileMony", text, STARTED, smsc=MTN_SMSC))
    await ask_about_newest(api.shop)
    return await waiting(api)


async def waiting(api: FakeApi) -> str:
    (review_id,) = await api.shop.values("SELECT id FROM reviews WHERE state = 'open'")
    return f"/v1/reviews/{review_id}"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def test_approve_answers_with_the_review_and_the_transaction(api: FakeApi) -> None:
    path, reference = await held_decisions(api)
    answer = await api.live.post(f"{path}/approve")
    body = answer.json()
    assert answer.status_code == 200
    assert list(body) == ["success", "data", "transaction", "settled", "meta"]
    assert body["data"] == (await api.live.get(path)).json()["data"]
    shown = (await api.live.get(f"/v1/transactions/{reference}")).json()["data"]
    names = ("pay_to", "settled_at", "settled_by", "settlement", "settles")
    found = {"held_review_id": None, **{name: shown[name] for name in names}}
    assert {**body["transaction"], **found} == shown
    assert body["data"]["decided_by"].startswith("key:")
    assert code(await api.live.post(f"{path}/approve")) == (409, "REVIEW_ALREADY_DECIDED")


async def test_approve_takes_a_reference_and_notes(api: FakeApi) -> None:
    path, _reference = await held_decisions(api)
    other = await api.shop.request(2500)
    said = {"reference": f" {other.reference} ", "notes": "line\nline", "refrence": "x"}
    body = (await api.live.post(f"{path}/approve", json=said)).json()
    assert body["transaction"]["reference"] == other.reference
    assert body["data"]["notes"] == "line\nline"
    assert body["meta"]["warnings"] == ["Unknown field `refrence` was ignored."]


async def test_reject_answers_with_the_holder(api: FakeApi) -> None:
    path, reference = await held_decisions(api)
    body = (await api.live.post(f"{path}/reject", json={"notes": "not ours"})).json()
    assert (body["data"]["state"], body["data"]["request"]["reference"]) == ("rejected", reference)
    assert (body["transaction"]["origin"], body["transaction"]["rejected"]) == ("open", True)
    assert code(await api.live.post(f"{path}/reject", json={"notes": "x"})) == (409, "REVIEW_ALREADY_DECIDED")


@each(
    ("verb", "body", "named"),
    [
        ("reject", {}, [("notes", "required")]),
        ("reject", {"notes": " "}, [("notes", "required")]),
        ("reject", {"notes": 1}, [("notes", "wrong_type")]),
        ("approve", {"notes": "x" * 2001}, [("notes", "too_long")]),
        (
            "approve",
            {"reference": 1, "notes": 1, "password": 1},
            [("reference", "wrong_type"), ("notes", "wrong_type"), ("password", "wrong_type")],
        ),
    ],
)
async def test_wrong_bodies_decide_nothing(
    api: FakeApi, verb: str, body: dict[str, Any], named: list[tuple[str, str]]
) -> None:
    path, _reference = await held_decisions(api)
    answer = await api.live.post(f"{path}/{verb}", json=body)
    assert code(answer) == (422, "VALIDATION_ERROR")
    assert wrong(answer) == named
    assert await waiting(api) == path


async def test_the_list_can_be_of_live_money_alone(api: FakeApi) -> None:
    path, _reference = await held_decisions(api)
    live = (await api.local.get("/v1/reviews", params={"mode": "live"})).json()
    assert [f"/v1/reviews/{one['id']}" for one in live["data"]] == [path]
    sandbox = (await api.local.get("/v1/reviews", params={"mode": "test"})).json()
    assert sandbox["data"] == []
    assert (await api.local.get("/v1/reviews", params={"mode": "both"})).status_code == 422


async def test_an_unknown_review_is_not_decided(api: FakeApi) -> None:
    for review_id in ("nonsense", "00000000-0000-4000-8000-000000000000"):
        for verb in ("approve", "reject"):
            answer = await api.live.post(f"/v1/reviews/{review_id}/{verb}", json={"notes": "x"})
            assert code(answer) == (404, "REVIEW_NOT_FOUND")


async def test_only_the_right_mode_decides(api: FakeApi) -> None:
    path, _reference = await held_decisions(api)
    for verb in ("approve", "reject"):
        other = await api.test.post(f"{path}/{verb}", json={"notes": "x"})
        assert code(other) == (404, "REVIEW_NOT_FOUND")
    assert await waiting(api) == path


async def test_a_key_cannot_make_money_of_a_strangers_message(api: FakeApi) -> None:
    path = await forged_decisions(api)
    refused = await api.live.post(f"{path}/approve", json={"password": PASSWORD})
    assert code(refused) == (403, "SESSION_REQUIRED")
    assert await api.shop.payments() == []
    assert (await api.live.post(f"{path}/reject", json={"notes": "false"})).status_code == 200


async def test_the_owner_gives_the_password_for_a_strangers_message(api: FakeApi) -> None:
    path = await forged_decisions(api)
    missing = await api.local.post(f"{path}/approve", json={})
    assert (code(missing), missing.json()["attempts_remaining"]) == ((403, "INVALID_PASSWORD"), 5)
    wrong = await api.local.post(f"{path}/approve", json={"password": PASSWORD.strip()})
    assert (code(wrong), wrong.json()["attempts_remaining"]) == ((403, "INVALID_PASSWORD"), 4)
    right = await api.local.post(f"{path}/approve", json={"password": PASSWORD})
    assert (right.status_code, right.json()["data"]["state"]) == (200, "approved")
    assert right.json()["transaction"]["actual_amount"] == "700.00"
    (later,) = await api.shop.values("SELECT COUNT(*) FROM password_attempts")
    assert code(await api.local.post(f"{path}/approve", json={"password": "x"})) == (409, "REVIEW_ALREADY_DECIDED")
    assert await api.shop.values("SELECT COUNT(*) FROM password_attempts") == [later]


async def test_the_idempotency_header_replays_without_the_password_in_it(api: FakeApi) -> None:
    path = await forged_decisions(api)
    headers = {"Idempotency-Key": "k1"}
    said = {"notes": "seen", "password": PASSWORD}
    first = await api.local.post(f"{path}/approve", json=said, headers=headers)
    again = await api.local.post(f"{path}/approve", json={"notes": "seen"}, headers=headers)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    other = await api.local.post(f"{path}/approve", json={"notes": "x"}, headers=headers)
    assert code(other) == (422, "IDEMPOTENCY_KEY_REUSED")


async def test_the_password_is_written_nowhere(api: FakeApi) -> None:
    path = await forged_decisions(api)
    await api.local.post(f"{path}/approve", json={"password": PASSWORD + "no"})
    await api.local.post(f"{path}/approve", json={"password": PASSWORD}, headers={"Idempotency-Key": "k1"})
    dump = await api.shop.values("SELECT body || fingerprint FROM idempotency_keys")
    events = await api.shop.values("SELECT data FROM events")
    assert not any("correct horse" in text for text in (*dump, *events, str(api.log.lines)))


async def test_undo_answers_with_the_open_review_and_the_order_as_it_was(api: FakeApi) -> None:
    path, reference = await held_decisions(api)
    assert code(await api.live.post(f"{path}/undo")) == (409, "DECISION_NOT_UNDOABLE")
    await api.live.post(f"{path}/approve")
    answer = await api.live.post(f"{path}/undo", headers={"Idempotency-Key": "once"})
    assert answer.status_code == 200
    assert answer.json()["data"]["state"] == "open"
    assert answer.json()["transaction"]["reference"] == reference
    assert answer.json()["transaction"]["status"] == "MANUAL_REVIEW"
    again = await api.live.post(f"{path}/undo", headers={"Idempotency-Key": "once"})
    assert again.json()["data"] == answer.json()["data"]
    refused = (await api.live.post(f"{path}/undo")).json()["error"]
    assert (refused["code"], refused["reason"]) == ("DECISION_NOT_UNDOABLE", "open")


async def test_a_key_takes_back_no_decision_about_a_forgery(api: FakeApi) -> None:
    path = await forged_decisions(api)
    await api.local.post(f"{path}/approve", json={"password": PASSWORD})
    assert code(await api.live.post(f"{path}/undo")) == (403, "SESSION_REQUIRED")
    assert (await api.local.post(f"{path}/undo")).json()["data"]["state"] == "open"
