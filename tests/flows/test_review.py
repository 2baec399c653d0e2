"""What a person decides about a doubtful payment, and everything that follows from it."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from daemon.core.access import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.model import Event, Review
from daemon.core.requests import Answer, CallMeta, Idempotency
from daemon.flows import review
from daemon.modem.pdu import encode_deliver
from daemon.wire import ErrorCode, Mode, TransactionStatus
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn, mtn_receipt
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"
PAYER = "+233241234567"
STRANGER = "+233541234567"
META = CallMeta("r")


async def pay(shop: FakeShop, typed: str | None, telco_id: str = ID, **more: Any) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), typed or "", telco_id, **more))


async def forge(shop: FakeShop, typed: str = "food", telco_id: str = "93214500009") -> None:
    """Let a stranger send what looks like a receipt."""
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, typed, telco_id)
    await shop.read_pdus(encode_deliver(STRANGER, text, STARTED, smsc=MTN_SMSC, reference=9))


async def conflict(shop: FakeShop) -> None:
    """Let a second receipt carry the first one's ID with another amount."""
    await pay(shop, "food")
    await shop.read(mtn(9900, "KOFI ANTWI BADU", 90_000, "food", ID, concatenation=3))


async def endpoint(shop: FakeShop) -> None:
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, consecutive_failures, created_at, updated_at) VALUES ('e', 'endpoint', 'live', "
            "'https://shop.example/hook', 'https://shop.example/hook', '', '[\"transaction.forwarded\"]', 1, 0, 1, 0, "
            "0, 0)"
        )
    )


async def only(shop: FakeShop) -> Review:
    [found] = await shop.rows(Review, "reviews", "state = 'open'")
    assert isinstance(found, Review)
    return found


async def approve(
    shop: FakeShop, review_id: str | None = None, *, meta: CallMeta = META, **said: Any
) -> dict[str, Any]:
    review_id = review_id or (await only(shop)).id
    return body(
        await review.approve(shop.env, OWNER, review_id, review.Approval(**said), meta=meta)
    )


async def reject(shop: FakeShop, review_id: str | None = None) -> dict[str, Any]:
    review_id = review_id or (await only(shop)).id
    return body(await review.reject(shop.env, OWNER, review_id, "not ours", meta=META))


def body(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200
    found: dict[str, Any] = json.loads(answer.body)
    return found


async def refusal(shop: FakeShop, review_id: str | None = None, **said: Any) -> Refusal:
    before = await shop.values("SELECT COUNT(*) FROM events")
    with pytest.raises(Refusal) as caught:
        await approve(shop, review_id, **said)
    assert await shop.values("SELECT COUNT(*) FROM events") == before, "a refusal changes nothing"
    return caught.value


# Approving ---------------------------------------------------------------------------------------


async def test_without_a_reference_the_held_order_is_paid(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    answer = await approve(shop, notes="she showed her phone")
    data, transaction = answer["data"], answer["transaction"]
    assert (data["state"], data["decided_by"], data["notes"]) == (
        "approved",
        "socket:0",
        "she showed her phone",
    )
    assert data["decided_at"] is not None
    assert (transaction["reference"], transaction["status"], transaction["matched_by"]) == (
        request.reference,
        "SUCCESS",
        "review",
    )
    assert data["request"]["status"] == "SUCCESS"
    assert data["payment"]["reference"] == request.reference
    assert answer["meta"] == {"request_id": "r"}
    assert [payment.standing for payment in await shop.payments()] == ["used"]
    assert await shop.values("SELECT state FROM messages") == ["payment"]
    assert await shop.values("SELECT actor, notes, claimed_minor FROM reconciliations") == [
        ("socket:0", "she showed her phone", None)
    ]


async def test_the_journal_names_the_person_the_reason_and_the_notes(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    waiting = await only(shop)
    await approve(shop, notes="seen")
    [event] = await shop.rows(Event, "events", "type = 'review.approved'")
    assert (event.actor, event.transaction_id, json.loads(event.data)) == (
        "socket:0",
        request.id,
        {"review_id": waiting.id, "reason": "payer_unknown", "notes": "seen"},
    )


async def test_with_a_reference_that_order_is_paid_and_the_held_one_waits_again(
    shop: FakeShop,
) -> None:
    held = await shop.request(2500, expected_payer_phone=PAYER)
    other = await shop.request(3000)
    await pay(shop, held.svc_code)
    answer = await approve(shop, reference=other.reference)
    assert (answer["transaction"]["reference"], answer["transaction"]["status"]) == (
        other.reference,
        "PARTIAL",
    )
    assert (answer["data"]["state"], answer["data"]["request"]["status"]) == ("approved", "PENDING")
    assert (await shop.transaction(held.reference)).held_payment_id is None


async def test_the_webhooks_of_an_approved_payment_are_owed(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(
        2500, expected_payer_phone=PAYER, webhook_url="https://own.example/hook"
    )
    await pay(shop, request.svc_code)
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    await approve(shop)
    rows = await shop.values("SELECT event, body FROM deliveries ORDER BY event")
    assert [row[0] for row in rows] == ["transaction.completed", "transaction.forwarded"]
    completed = json.loads(rows[0][1])["data"]
    assert completed["matched_by"] == "review"
    assert completed["match"]["reconciliation_id"].startswith("rec_")


async def test_an_extra_payment_is_kept_as_a_sale_of_its_own_and_forwarded(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await pay(shop, request.svc_code, "93214500002", concatenation=1)
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["origin"]) == ("extra_payment", "open")
    assert (answer["transaction"]["matched_by"], answer["transaction"]["rejected"]) == (
        "review",
        False,
    )
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert await shop.values("SELECT COUNT(*) FROM deliveries WHERE event LIKE '%forwarded'") == [2]
    assert [payment.standing for payment in await shop.payments()] == ["used", "open"]


async def test_a_late_payment_pays_the_order_that_it_is_about(shop: FakeShop) -> None:
    request = await shop.request(2500)
    shop.clock.advance(100 * 3600)
    await pay(shop, request.svc_code, sent_at=STARTED + timedelta(hours=100))
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["reference"]) == (
        "late",
        request.reference,
    )
    assert (answer["transaction"]["status"], answer["transaction"]["late"]) == ("SUCCESS", True)


async def test_money_for_a_cancelled_order_pays_it_after_all(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1")
    )
    await pay(shop, request.svc_code)
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["status"]) == (
        "cancelled_request",
        "SUCCESS",
    )
    assert answer["transaction"]["cancelled_at"] is not None


async def test_a_payment_that_names_two_orders_pays_the_one_that_is_meant(shop: FakeShop) -> None:
    first, second = await shop.request(2500), await shop.request(2500)
    await pay(shop, f"{first.svc_code} {second.svc_code}")
    assert (await only(shop)).reason == "ambiguous_code"
    answer = await approve(shop, reference=second.reference)
    assert answer["transaction"]["reference"] == second.reference
    assert (await shop.transaction(first.reference)).status is TransactionStatus.PENDING


async def test_a_payment_that_holds_the_order_becomes_an_extra_one(shop: FakeShop) -> None:
    held = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, held.svc_code)
    first = await only(shop)
    await pay(
        shop, f"{held.svc_code} {(await shop.request()).svc_code}", "93214500002", concatenation=1
    )
    [second] = await shop.rows(Review, "reviews", "reason = 'ambiguous_code'")
    await approve(shop, second.id, reference=held.reference)
    [now] = await shop.rows(Review, "reviews", f"id = '{first.id}'")
    assert (now.state, now.reason) == ("open", "extra_payment")


# Messages that made no payment --------------------------------------------------------------------


async def test_an_untrusted_message_makes_its_payment_when_the_owner_vouches(
    shop: FakeShop,
) -> None:
    await endpoint(shop)
    await forge(shop)
    assert await shop.payments() == []
    answer = await approve(shop, confirmed=True)
    [payment] = await shop.payments()
    message = answer["data"]["message"]
    assert (payment.amount_minor, payment.currency, payment.provider) == (70_000, "GHS", "momo_mtn")
    assert (payment.telco_transaction_id, payment.payer_name, payment.reference_text) == (
        "93214500009",
        "KOFI ANTWI BADU",
        "food",
    )
    assert (payment.balance_minor, payment.fee_minor, payment.standing) == (90_000, 0, "open")
    assert (payment.message_id, payment.stored_at) == (message["id"], shop.clock.now_us())
    assert payment.telco_at == int(STARTED.timestamp()) * 1_000_000
    assert (message["state"], message["trusted"]) == ("payment", False)
    assert answer["data"]["payment"]["id"] == payment.id
    assert (answer["transaction"]["origin"], answer["transaction"]["actual_amount"]) == (
        "open",
        "700.00",
    )
    assert await shop.values("SELECT event FROM deliveries") == ["transaction.forwarded"]


async def test_an_untrusted_message_pays_the_order_that_is_named(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop, request.svc_code or "")
    answer = await approve(shop, reference=request.reference, confirmed=True)
    assert (answer["transaction"]["reference"], answer["transaction"]["status"]) == (
        request.reference,
        "SUCCESS",
    )


async def test_without_the_password_an_untrusted_message_stays_what_it_is(shop: FakeShop) -> None:
    await forge(shop)
    assert (await refusal(shop)).code is ErrorCode.INVALID_PASSWORD
    assert await shop.payments() == []


async def test_a_vouched_message_makes_reconcile_find_its_id(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop)
    await approve(shop, confirmed=True)
    assert (await shop.reconcile(request.reference, "93214500009")).status == 200


async def test_an_untrusted_copy_of_a_real_payment_is_refused_by_its_id(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await forge(shop, telco_id=ID)
    refused = await refusal(shop, confirmed=True)
    assert refused.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
    [payment] = await shop.payments()
    assert refused.extras == {
        "expected_amount": None,
        "used_by_reference": request.reference,
        "payment_id": payment.id,
    }
    assert (await only(shop)).payment_id is None


async def test_of_two_payments_with_one_id_the_second_can_only_be_rejected(shop: FakeShop) -> None:
    await conflict(shop)
    refused = await refusal(shop)
    assert refused.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
    assert "GHS 25.00 already has the transaction ID" in refused.message
    answer = await reject(shop)
    assert (answer["data"]["state"], answer["transaction"]) == ("rejected", None)
    assert len(await shop.payments()) == 1


async def test_a_receipt_without_an_id_is_known_by_its_message(shop: FakeShop) -> None:
    await forge(shop)
    waiting = await only(shop)
    await shop.env.store.write(
        lambda tx: (
            tx.run(
                "UPDATE messages SET fields = json_set(fields, '$.transaction_id', NULL), trusted = 1"
            )
            + tx.run("UPDATE reviews SET reason = 'no_telco_id'")
        )
    )
    await approve(shop)
    [payment] = await shop.payments()
    assert payment.telco_id_as_read == f"sms:{waiting.message_id}"
    assert payment.telco_transaction_id == f"SMS:{waiting.message_id}".upper()
    request = await shop.request(70_000)
    assert (await shop.reconcile(request.reference, payment.telco_id_as_read)).status == 200


async def test_a_message_on_a_sim_of_no_known_network_takes_the_lines_own(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE sims SET network = NULL"))
    text = mtn_receipt(70_000, "KOFI ANTWI BADU", 90_000, "food", ID)
    await shop.read_pdus(encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=9))
    assert await shop.values("SELECT provider FROM messages") == [None]
    await shop.env.store.write(lambda tx: tx.run("UPDATE messages SET payment_method_id = NULL"))
    refused = await refusal(shop, confirmed=True)
    assert refused.code is ErrorCode.NETWORK_MISMATCH
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE messages SET payment_method_id = (SELECT id FROM payment_methods)"
        )
    )
    await approve(shop, confirmed=True)
    assert [payment.provider for payment in await shop.payments()] == ["momo_mtn"]


# Rejecting --------------------------------------------------------------------------------------


async def test_a_rejected_payment_is_kept_not_forwarded_and_its_order_waits_again(
    shop: FakeShop,
) -> None:
    await endpoint(shop)
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    answer = await reject(shop)
    transaction = answer["transaction"]
    assert (transaction["origin"], transaction["rejected"], transaction["matched_by"]) == (
        "open",
        True,
        "none",
    )
    assert (answer["data"]["state"], answer["data"]["notes"]) == ("rejected", "not ours")
    assert answer["data"]["request"]["status"] == "PENDING"
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    assert [
        event.type for event in await shop.rows(Event, "events", f"transaction_id = '{request.id}'")
    ] == [
        "transaction.created",
        "sms.queued",
        "review.opened",
        "transaction.released",
        "review.rejected",
    ]


async def test_the_held_order_is_expired_when_its_time_has_passed(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    shop.clock.advance(25 * 3600)
    assert (await reject(shop))["data"]["request"]["status"] == "EXPIRED"


async def test_a_rejected_payment_can_still_be_reconciled(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    holder = (await reject(shop))["transaction"]["reference"]
    await shop.reconcile(request.reference, ID)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert (await shop.transaction(holder)).merged_into == request.id


async def test_an_untrusted_message_that_is_rejected_stays_a_message(shop: FakeShop) -> None:
    await forge(shop)
    answer = await reject(shop)
    assert (answer["transaction"], answer["data"]["payment"]) == (None, None)
    assert answer["data"]["message"]["state"] == "not_payment"
    assert await shop.payments() == []


# Refusals ---------------------------------------------------------------------------------------


async def test_what_was_decided_stays_decided(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    waiting = await only(shop)
    await approve(shop)
    refused = await refusal(shop, waiting.id)
    assert (refused.code, refused.extras["review_state"], refused.extras["decided_by"]) == (
        ErrorCode.REVIEW_ALREADY_DECIDED,
        "approved",
        "socket:0",
    )
    with pytest.raises(Refusal) as caught:
        await reject(shop, waiting.id)
    assert caught.value.code is ErrorCode.REVIEW_ALREADY_DECIDED


async def test_reconcile_decides_a_review_too(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    waiting = await only(shop)
    await shop.reconcile((await shop.request()).reference, ID)
    refused = await refusal(shop, waiting.id)
    assert refused.extras["review_state"] == "used_elsewhere"


async def test_a_reversed_payment_cannot_be_approved_but_can_be_rejected(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    await shop.env.store.write(lambda tx: tx.run("UPDATE payments SET reversed_at = 1000000"))
    refused = await refusal(shop)
    assert (refused.code, refused.extras) == (
        ErrorCode.PAYMENT_REVERSED,
        {"reversed_at": "1970-01-01T00:00:01.000Z"},
    )
    assert (await reject(shop))["transaction"]["reversed_at"] == "1970-01-01T00:00:01.000Z"


async def test_the_refusals_of_reconcile(shop: FakeShop) -> None:
    held = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, held.svc_code)
    for reference in ("nonsense", "svc_trx_" + "0" * 32):
        assert (await refusal(shop, reference=reference)).code is ErrorCode.TRANSACTION_NOT_FOUND
    paid = await shop.request(2500)
    await pay(shop, paid.svc_code, "93214500002", concatenation=1)
    refused = await refusal(shop, reference=paid.reference)
    assert (refused.code, refused.extras["verified_by_transaction_id"]) == (
        ErrorCode.ALREADY_VERIFIED,
        "93214500002",
    )
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE transactions SET currency = 'XOF' WHERE id = :id", {"id": held.id}
        )
    )
    assert (await refusal(shop)).code is ErrorCode.NO_MATCHING_TRANSACTION
    assert (await only(shop)).state == "open"


@pytest.mark.tampers
async def test_live_and_test_never_meet(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    waiting = await only(shop)
    caller = Caller(CallerKind.KEY, Mode.TEST, ALL_SCOPES, "k", publishable=False, name="key:k")
    for decided in (
        review.approve(shop.env, caller, waiting.id, review.Approval(), meta=META),
        review.reject(shop.env, caller, waiting.id, "x", meta=META),
    ):
        with pytest.raises(Refusal) as caught:
            await decided
        assert caught.value.code is ErrorCode.REVIEW_NOT_FOUND
    await shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET mode = 'test'"))
    refused = await refusal(shop, reference=request.reference)
    assert refused.code is ErrorCode.TRANSACTION_NOT_FOUND


async def test_a_repeat_with_the_same_key_gets_the_same_bytes_and_needs_no_password(
    shop: FakeShop,
) -> None:
    await forge(shop)
    waiting = await only(shop)
    meta = CallMeta("r", Idempotency("scope", "key", "fingerprint"))
    assert await review.needs_password(shop.env, OWNER, waiting.id, meta)
    first = await approve(shop, waiting.id, meta=meta, confirmed=True)
    assert not await review.needs_password(shop.env, OWNER, waiting.id, meta)
    assert await approve(shop, waiting.id, meta=meta) == first


async def test_of_eight_people_who_decide_at_once_one_does(shop: FakeShop) -> None:
    for number in range(10):
        request = await shop.request(2500, expected_payer_phone=f"+23324123{number:04d}")
        await pay(shop, request.svc_code, f"9321470{number:04d}", concatenation=number)
        waiting = await only(shop)
        results = await asyncio.gather(
            *(approve(shop, waiting.id) for _ in range(4)),
            *(reject(shop, waiting.id) for _ in range(4)),
            return_exceptions=True,
        )
        refused = [result for result in results if isinstance(result, BaseException)]
        assert len(refused) == 7
        assert all(
            isinstance(one, Refusal) and one.code is ErrorCode.REVIEW_ALREADY_DECIDED
            for one in refused
        )


async def test_only_what_may_be_forged_asks_for_the_password(shop: FakeShop) -> None:
    await pay(shop, (await shop.request(2500, expected_payer_phone=PAYER)).svc_code)
    assert not await review.needs_password(shop.env, OWNER, (await only(shop)).id, META)
    assert not await review.needs_password(shop.env, OWNER, "unknown", META)
