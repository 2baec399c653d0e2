"""An operator's decisions on doubtful payments, with all their effects."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.model import Event, Message, Review
from daemon.flows.payments import cancel_expire, review
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.payments import reviews
from daemon.wire import ErrorCode, Mode, ReviewReason, TransactionStatus
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import STARTED
from tests.fakes.reviews import ID, PAYER, approve, endpoint, forge, only, pay, refusal, reject
from tests.fakes.shop import OWNER, FakeShop


async def test_the_rest_of_an_order_paid_in_part_is_said_to_be_a_sale_of_its_own(shop: FakeShop) -> None:
    request = await shop.request(5000)
    await pay(shop, request.svc_code)
    await pay(shop, request.svc_code, "93214500002", concatenation=1)
    data = (await approve(shop))["data"]
    assert (data["reason"], data["request"]["status"]) == ("extra_payment", "PARTIAL")
    assert data["why"] == "The transaction is paid in part, and momo adds no second payment to it."
    assert data["what_to_do"].startswith(
        "If this is the rest, settle the transaction with it: momo tx settle CODE rest --payment ID."
    )


async def test_a_held_message_has_its_doubts_in_the_journal(shop: FakeShop) -> None:
    def opened(tx: Tx) -> None:
        kinds: list[dict[str, Any]] = [{"doubts": ["printed_time"]}, {"why": "breaks"}]
        reasons = (ReviewReason.DOUBTFUL_MESSAGE, ReviewReason.BALANCE_BREAK)
        for message, reason, details in zip(messages, reasons, kinds, strict=True):
            reviews.open_review(
                tx,
                review_id=message.id,
                mode=Mode.LIVE,
                reason=reason,
                message_id=message.id,
                details=details,
                now=shop.clock.now_us(),
            )

    await pay(shop, "nothing")
    await pay(shop, "nothing", "93214500002", concatenation=1)
    messages = await shop.rows(Message, "messages")
    await shop.env.store.write(opened)
    found = await shop.rows(Event, "events", "type = 'review.opened'")
    assert [json.loads(event.data) for event in found] == [
        {"reason": "doubtful_message", "doubts": ["printed_time"]},
        {"reason": "balance_break"},
    ]


async def test_without_a_reference_the_held_order_is_paid(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    answer = await approve(shop, notes="she showed her phone")
    data, transaction = answer["data"], answer["transaction"]
    assert (data["state"], data["decided_by"], data["notes"]) == ("approved", "socket:0", "she showed her phone")
    assert data["decided_at"] is not None
    assert (transaction["reference"], transaction["status"], transaction["matched_by"]) == (
        request.reference,
        "SUCCESS",
        "review",
    )
    assert data["request"]["status"] == "SUCCESS"
    assert data["payment"]["reference"] == request.reference
    assert [payment.standing for payment in await shop.payments()] == ["used"]
    assert await shop.values("SELECT state FROM messages") == ["payment"]
    assert await shop.values("SELECT actor, notes, claimed_minor FROM reconciliations") == [
        ("socket:0", "she showed her phone", None)
    ]


async def test_the_journal_names_the_person_and_the_review_which_has_the_notes(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    waiting = await only(shop)
    await approve(shop, notes="seen")
    [event] = await shop.rows(Event, "events", "type = 'review.approved'")
    assert (event.actor, event.transaction_id, json.loads(event.data)) == (
        "socket:0",
        request.id,
        {"review_id": waiting.id, "reason": "payer_unknown"},
    )
    shown, _ = await shop.env.store.read(lambda reader: journal.of_transaction(reader, request.id, limit=9, offset=0))
    [told] = [json.loads(one.data) for one in shown if one.type == "review.approved"]
    assert told == {"review_id": waiting.id, "reason": "payer_unknown", "notes": "seen"}


async def test_with_a_reference_that_order_is_paid_and_the_held_one_waits_again(shop: FakeShop) -> None:
    held = await shop.request(2500, expected_payer_phone=PAYER)
    other = await shop.request(3000)
    await pay(shop, held.svc_code)
    answer = await approve(shop, reference=other.reference)
    assert (answer["transaction"]["reference"], answer["transaction"]["status"]) == (other.reference, "PARTIAL")
    assert (answer["data"]["state"], answer["data"]["request"]["status"]) == ("approved", "PENDING")
    assert (await shop.transaction(held.reference)).held_payment_id is None


async def test_the_webhooks_of_an_approved_payment_are_owed(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500, expected_payer_phone=PAYER, webhook_url="https://own.example/hook")
    await pay(shop, request.svc_code)
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    await approve(shop)
    told = {body["type"]: body["data"] for body in map(json.loads, await shop.bodies())}
    assert sorted(told) == ["transaction.completed", "transaction.forwarded"]
    completed = told["transaction.completed"]
    assert completed["matched_by"] == "review"
    assert completed["match"]["reconciliation_id"].startswith("rec_")


async def test_an_extra_payment_is_kept_as_a_sale_of_its_own_and_forwarded(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await pay(shop, request.svc_code, "93214500002", concatenation=1)
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["origin"]) == ("extra_payment", "open")
    assert (answer["transaction"]["matched_by"], answer["transaction"]["rejected"]) == ("review", False)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert await shop.values("SELECT COUNT(*) FROM deliveries WHERE event LIKE '%forwarded'") == [2]
    assert [payment.standing for payment in await shop.payments()] == ["used", "open"]


async def test_a_late_payment_pays_the_order_that_it_is_about(shop: FakeShop) -> None:
    request = await shop.request(2500)
    shop.clock.advance(100 * 3600)
    await pay(shop, request.svc_code, sent_at=STARTED + timedelta(hours=100))
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["reference"]) == ("late", request.reference)
    assert (answer["transaction"]["status"], answer["transaction"]["late"]) == ("SUCCESS", True)


async def test_money_for_a_cancelled_order_pays_it_after_all(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET status = 'CANCELLED', cancelled_at = 1"))
    await pay(shop, request.svc_code)
    answer = await approve(shop)
    assert (answer["data"]["reason"], answer["transaction"]["status"]) == ("cancelled_request", "SUCCESS")
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
    await pay(shop, f"{held.svc_code} {(await shop.request()).svc_code}", "93214500002", concatenation=1)
    [second] = await shop.rows(Review, "reviews", "reason = 'ambiguous_code'")
    await approve(shop, second.id, reference=held.reference)
    [now] = await shop.rows(Review, "reviews", f"id = '{first.id}'")
    assert (now.state, now.reason) == ("open", "extra_payment")


async def test_a_rejected_payment_is_kept_not_forwarded_and_its_order_waits_again(shop: FakeShop) -> None:
    await endpoint(shop)
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    answer = await reject(shop)
    transaction = answer["transaction"]
    assert (transaction["origin"], transaction["rejected"], transaction["matched_by"]) == ("open", True, "none")
    assert (answer["data"]["state"], answer["data"]["notes"]) == ("rejected", "not ours")
    assert answer["data"]["request"]["status"] == "PENDING"
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    assert [event.type for event in await shop.rows(Event, "events", f"transaction_seq = {request.seq}")] == [
        "transaction.created",
        "sms.queued",
        "review.opened",
        "transaction.released",
        "review.rejected",
    ]


@pytest.mark.parametrize(("hours", "status", "told"), [(25, "EXPIRED", ["transaction.expired"]), (1, "PENDING", [])])
async def test_the_held_order_shows_as_expired_and_the_sweep_tells_of_it_when_its_time_has_passed(
    shop: FakeShop, hours: int, status: str, told: list[str]
) -> None:
    await add_endpoint(shop, events='["transaction.expired"]', catch_all=0)
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, request.svc_code)
    shop.clock.advance(hours * 3600)
    assert (await reject(shop))["data"]["request"]["status"] == status
    await cancel_expire.expire(shop.env)
    assert (await shop.transaction(request.reference)).status == status
    assert await shop.values("SELECT event FROM deliveries") == told
    journal = await shop.values(
        "SELECT t.id FROM events e JOIN transactions t ON t.seq = e.transaction_seq WHERE e.type = 'transaction.released'"
    )
    assert journal == [request.id]


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
    assert (refused.code, refused.extras) == (ErrorCode.PAYMENT_REVERSED, {"reversed_at": "1970-01-01T00:00:01.000Z"})
    assert (await reject(shop))["transaction"]["reversed_at"] == "1970-01-01T00:00:01.000Z"


async def test_the_refusals_of_reconcile(shop: FakeShop) -> None:
    held = await shop.request(2500, expected_payer_phone=PAYER)
    await pay(shop, held.svc_code)
    for reference in ("nonsense", "svc_trx_" + "0" * 32):
        assert (await refusal(shop, reference=reference)).code is ErrorCode.TRANSACTION_NOT_FOUND
    paid = await shop.request(2500)
    await pay(shop, paid.svc_code, "93214500002", concatenation=1)
    refused = await refusal(shop, reference=paid.reference)
    assert (refused.code, refused.extras["verified_by_transaction_id"]) == (ErrorCode.ALREADY_VERIFIED, "93214500002")
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE transactions SET currency = 'XOF' WHERE id = :id", {"id": held.id})
    )
    assert (await refusal(shop)).code is ErrorCode.NO_MATCHING_TRANSACTION
    assert (await only(shop)).state == "open"


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
        assert all(isinstance(one, Refusal) and one.code is ErrorCode.REVIEW_ALREADY_DECIDED for one in refused)


async def test_only_what_may_be_forged_asks_for_the_password(shop: FakeShop) -> None:
    await pay(shop, (await shop.request(2500, expected_payer_phone=PAYER)).svc_code)
    assert not await review.needs_password(shop.env, OWNER, (await only(shop)).id, None)
    assert not await review.needs_password(shop.env, OWNER, "unknown", None)
