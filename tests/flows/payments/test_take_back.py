"""A decision on a review can be taken back for 72 hours: the money is where it was, and everybody who was told is told."""

import asyncio
import json
from typing import Any

import pytest

from daemon.core.access.callers import Caller
from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US
from daemon.core.model import Event, Review
from daemon.flows.payments import cancel_expire, review, settlement
from daemon.flows.webhooks import replay
from daemon.steps.settle import Holding, add_holder
from daemon.steps.take_back import DECISION_TAKEN_BACK_US
from daemon.store.engine import Tx
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import ErrorCode, MessageState, SettlementKind, TransactionStatus
from tests.fakes.answers import decided
from tests.fakes.receipts import mtn
from tests.fakes.reviews import PAYER, approve, forge, only, pay, reject
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"


@pytest.fixture
async def shop(shop: FakeShop) -> FakeShop:
    """A shop with a known balance and an endpoint that asks for payments alone."""
    await shop.begin_chain(87_500)
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, consecutive_failures, created_at, updated_at) VALUES ('e', 'endpoint', 'live', "
            "'https://shop.example/hook', 'https://shop.example/hook', '', '[\"transaction.forwarded\"]', 1, 0, 1, 0, 0, 0)"
        )
    )
    return shop


async def undo(shop: FakeShop, review_id: str, caller: Caller = OWNER) -> dict[str, Any]:
    return decided(await review.undo(shop.env, caller, review_id))


async def refused(shop: FakeShop, review_id: str, caller: Caller = OWNER) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await review.undo(shop.env, caller, review_id)
    return caught.value


async def sent(shop: FakeShop, kind: str) -> list[Any]:
    return [json.loads(body) for body in await shop.bodies(f"event = '{kind}'")]


async def of_another_payer(shop: FakeShop) -> tuple[Any, Review]:
    """Return an order that is held, because its code came with another payer's number, and its review."""
    request = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code)
    return request, await only(shop)


async def test_an_approval_that_is_taken_back_leaves_the_order_as_it_was_and_tells_who_was_told(shop: FakeShop) -> None:
    request, held = await of_another_payer(shop)
    await approve(shop, held.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    answer = await undo(shop, held.id)
    after = await shop.transaction(request.reference)
    assert after.status is TransactionStatus.MANUAL_REVIEW
    assert (after.payment_id, after.completed_at, after.matched_by) == (None, None, None)
    assert after.reversed_at is None
    again = await only(shop)
    assert (again.id, again.decided_by, again.payment_id) == (held.id, None, held.payment_id)
    assert answer["data"]["state"] == "open"
    [told] = await sent(shop, "transaction.reversed")
    assert told["data"]["reversal"] == {
        "kind": "decision_taken_back",
        "amount": "25.00",
        "currency": "GHS",
        "timestamp": told["timestamp"],
    }
    assert (told["data"]["transaction_id"], told["data"]["reversed_at"]) == (request.id, None)
    assert told["data"]["status"] == "MANUAL_REVIEW"
    [entry] = await shop.rows(Event, "events", "type = 'review.taken_back'")
    assert (entry.actor, json.loads(entry.data)["decided_by"]) == (OWNER.name, OWNER.name)


async def test_a_second_verification_is_told_again_under_an_id_of_its_own(shop: FakeShop) -> None:
    request, held = await of_another_payer(shop)
    await approve(shop, held.id)
    for _ in range(2):
        await undo(shop, held.id)
        shop.clock.advance(1)
        await approve(shop, held.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    forwarded = await sent(shop, "transaction.forwarded")
    assert len({body["webhook_id"] for body in forwarded}) == 3
    assert {body["data"]["transaction_id"] for body in forwarded} == {request.id}
    revisions = await shop.values("SELECT revision FROM deliveries WHERE event = 'transaction.forwarded' ORDER BY seq")
    assert revisions == [0, 1, 2]
    assert len(await sent(shop, "transaction.reversed")) == 2


async def _replayed(shop: FakeShop) -> dict[str, int]:
    now = shop.clock.now_us()
    asked = replay.ReplayRequest("e", now - DAY_US, now + DAY_US)
    return {str(what): count for what, count in (await replay.replay(shop.env, OWNER, asked)).counts.items() if count}


async def test_a_replay_looks_at_the_verification_that_counts_now(shop: FakeShop) -> None:
    """The first one arrived and was taken back; the second one failed, so the endpoint lacks it."""
    _request, held = await of_another_payer(shop)
    await approve(shop, held.id)
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE deliveries SET status = 'delivered', delivered_at = 1, next_attempt_at = NULL")
    )
    await undo(shop, held.id)
    shop.clock.advance(1)
    await approve(shop, held.id)
    assert await _replayed(shop) == {"skipped_in_flight": 1}
    await shop.env.store.write(
        lambda tx: tx.run(
            "UPDATE deliveries SET status = 'failed', failed_at = 1, next_attempt_at = NULL WHERE revision = 1"
        )
    )
    assert await _replayed(shop) == {"again": 1}
    queued = "SELECT revision FROM deliveries WHERE next_attempt_at IS NOT NULL AND event = 'transaction.forwarded'"
    assert await shop.values(queued) == [1]


async def test_a_replay_sends_a_second_verification_that_the_endpoint_did_not_get(shop: FakeShop) -> None:
    """Its rules claimed the payment the first time, not the second time, and claim it now."""
    _request, held = await of_another_payer(shop)
    await approve(shop, held.id)
    await undo(shop, held.id)
    shop.clock.advance(1)
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET catch_all = 0"))
    await approve(shop, held.id)
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET catch_all = 1"))
    assert await _replayed(shop) == {"new": 1}
    forwarded = await sent(shop, "transaction.forwarded")
    assert len({body["webhook_id"] for body in forwarded}) == 2


async def test_a_payment_that_becomes_a_sale_of_its_own_after_that_is_told_again(shop: FakeShop) -> None:
    request, held = await of_another_payer(shop)
    await approve(shop, held.id)
    await undo(shop, held.id)
    now = shop.clock.now_us()

    def keep(tx: Tx) -> None:
        """Do what an approval does when another payment has paid the order meanwhile."""
        reviews.close(tx, held.id, "approved", by=OWNER.name, now=now)
        transactions.release(tx, request.id)
        payments.set_standing(tx, held.payment_id or "", "open")
        payment = payments.get(tx, held.payment_id or "")
        assert payment is not None
        add_holder(tx, shop.env.outbox, payment, Holding(), now)

    await shop.env.store.write(keep)
    assert len(await sent(shop, "transaction.forwarded")) == 2


async def test_a_payment_kept_without_an_order_is_free_again(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await pay(shop, request.svc_code, "93214500002", concatenation=2)
    held = await only(shop)
    answer = await approve(shop, held.id)
    holder = answer["transaction"]["reference"]
    await undo(shop, held.id)
    [told] = await sent(shop, "transaction.reversed")
    assert told["data"]["reference"] == holder
    other = await shop.request(2500)
    await approve(shop, held.id, reference=other.reference)
    assert (await shop.transaction(other.reference)).status is TransactionStatus.SUCCESS
    assert [body["data"]["reference"] for body in await sent(shop, "transaction.forwarded")] == [
        request.reference,
        holder,
        other.reference,
    ]


async def test_a_suggestion_that_was_taken_is_a_sale_of_its_own_again(shop: FakeShop) -> None:
    request = await shop.request(30_000)
    await pay(shop, request.svc_code)
    near = await only(shop)
    await approve(shop, near.id, reference=request.reference)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PARTIAL
    await undo(shop, near.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    [payment] = await shop.payments()
    assert (payment.standing, (await only(shop)).id) == ("open", near.id)
    assert await shop.values("SELECT COUNT(*) FROM transactions WHERE origin = 'open' AND merged_into IS NULL") == [1]


async def test_a_forged_message_that_was_approved_counts_nowhere_afterwards(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop, request.svc_code or "", ID)
    held = await only(shop)
    await approve(shop, held.id, reference=request.reference, confirmed=True)
    await undo(shop, held.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    with pytest.raises(Refusal) as nothing:
        await shop.reconcile(request.reference, ID)
    assert nothing.value.code is ErrorCode.NO_MATCHING_TRANSACTION
    # The genuine payment with that ID is not in its way.
    await pay(shop, "food", ID)
    assert [one.standing for one in await shop.payments()] == ["withdrawn", "open"]
    with pytest.raises(Refusal) as taken:
        await approve(shop, held.id, confirmed=True)
    assert taken.value.code is ErrorCode.TRANSACTION_ID_ALREADY_USED


async def test_a_message_can_be_approved_again_and_makes_the_same_payment(shop: FakeShop) -> None:
    request = await shop.request(70_000)
    await forge(shop, "food", ID)
    held = await only(shop)
    await approve(shop, held.id, confirmed=True)
    await undo(shop, held.id)
    await approve(shop, held.id, reference=request.reference, confirmed=True)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert len(await shop.payments()) == 1


async def test_a_name_that_the_approval_approved_is_revoked(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone=PAYER)
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), request.svc_code or "", ID))
    held = await only(shop)
    assert held.reason == "payer_unknown"
    await approve(shop, held.id)
    await undo(shop, held.id)
    assert await shop.values("SELECT COUNT(*) FROM approved_payers WHERE revoked_at IS NULL") == [0]


async def test_another_payment_that_waited_for_the_order_waits_again(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code)
    first = await only(shop)
    await pay(shop, "food", "93214500002", concatenation=2)
    await forge(shop, request.svc_code or "", "93214500003")
    [forged] = await shop.rows(Review, "reviews", "reason = 'unknown_sender'")
    await approve(shop, forged.id, reference=request.reference, confirmed=True)
    await undo(shop, forged.id)
    after = await shop.transaction(request.reference)
    assert (after.status, after.held_payment_id) == (TransactionStatus.MANUAL_REVIEW, first.payment_id)
    [rival] = await shop.rows(Review, "reviews", f"id = '{first.id}'")
    assert rival.reason == first.reason


async def test_an_order_that_has_expired_meanwhile_expires(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, "food")
    await forge(shop, request.svc_code or "", "93214500003")
    [forged] = await shop.rows(Review, "reviews", "state = 'open'")
    await approve(shop, forged.id, reference=request.reference, confirmed=True)
    shop.clock.advance(30 * 3600)
    await undo(shop, forged.id)
    await cancel_expire.expire(shop.env)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.EXPIRED


async def test_a_rejection_that_is_taken_back_judges_the_payment_as_if_it_came_now(shop: FakeShop) -> None:
    request, held = await of_another_payer(shop)
    await reject(shop, held.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    await undo(shop, held.id)
    again = await only(shop)
    assert again.id != held.id
    assert (again.reason, again.transaction_id) == (held.reason, request.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.MANUAL_REVIEW
    await approve(shop, again.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


async def test_a_rejected_message_is_judged_again_and_its_money_can_still_be_accepted(shop: FakeShop) -> None:
    shop.limit(0)
    request = await shop.request(2500)
    receipt = mtn(2500, "KOFI ANTWI BADU", 70_000, request.svc_code or "", ID)
    await shop.read(receipt)
    held = await only(shop)
    await reject(shop, held.id)
    assert await shop.values("SELECT state FROM messages WHERE kind = 'payment_received'") != []
    await undo(shop, held.id)
    again = await only(shop)
    assert await shop.values(f"SELECT state FROM messages WHERE id = '{held.message_id}'") == [MessageState.HELD]
    await approve(shop, again.id, confirmed=True)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


async def test_a_rejected_message_from_a_stranger_is_held_again(shop: FakeShop) -> None:
    await forge(shop, "food", ID)
    held = await only(shop)
    await reject(shop, held.id)
    await undo(shop, held.id)
    assert await shop.values("SELECT state FROM messages ORDER BY seq DESC LIMIT 1") == ["held"]


async def test_what_cannot_be_taken_back_is_told_with_its_reason(shop: FakeShop) -> None:
    _, held = await of_another_payer(shop)
    assert (await refused(shop, held.id)).extras["reason"] == "open"
    await reject(shop, held.id)
    await undo(shop, held.id)
    twice = await refused(shop, held.id)
    assert (twice.code, twice.extras["reason"]) == (ErrorCode.DECISION_NOT_UNDOABLE, "taken_back")
    again = await only(shop)
    await reject(shop, again.id)
    shop.clock.advance(DECISION_TAKEN_BACK_US / 1_000_000 + 1)
    assert (await refused(shop, again.id)).extras["reason"] == "too_late"
    assert (await refused(shop, "01a1fd1f-0130-7791-9f6a-f1d8303e61cd")).code is (ErrorCode.REVIEW_NOT_FOUND)


async def test_a_rejected_payment_that_was_reconciled_since_stays_where_it_is(shop: FakeShop) -> None:
    _, held = await of_another_payer(shop)
    await reject(shop, held.id)
    other = await shop.request(2500)
    await shop.reconcile(other.reference, ID)
    found = await refused(shop, held.id)
    assert (found.extras["reason"], found.extras["used_by_reference"]) == ("reconciled", other.reference)
    assert (await shop.transaction(other.reference)).status is TransactionStatus.SUCCESS


async def test_an_approved_payment_that_paid_another_order_since_stays_where_it_is(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await pay(shop, request.svc_code, "93214500002", concatenation=2)
    held = await only(shop)
    await approve(shop, held.id)
    other = await shop.request(2500)
    shop.clock.advance(5)
    await shop.reconcile(other.reference, "93214500002")
    assert (await refused(shop, held.id)).extras["reason"] == "reconciled"


async def test_two_persons_at_once_take_a_decision_back_once(shop: FakeShop) -> None:
    _, held = await of_another_payer(shop)
    await approve(shop, held.id)
    done = await asyncio.gather(*(review.undo(shop.env, OWNER, held.id) for _ in range(2)), return_exceptions=True)
    assert sum(isinstance(one, Refusal) for one in done) == 1
    assert len(await sent(shop, "transaction.reversed")) == 1


async def in_conflict(shop: FakeShop) -> tuple[Any, Review]:
    """Return an order that a payment has paid, and the review of a message with its ID and another amount."""
    request = await shop.request(2500)
    await pay(shop, request.svc_code)
    await shop.read(mtn(9900, "ESI", shop.wallet(9900), "food", ID, concatenation=7))
    held = await only(shop)
    assert held.reason == "id_conflict"
    return request, held


async def test_a_conflict_of_ids_can_be_decided_for_the_second_message(shop: FakeShop) -> None:
    request, held = await in_conflict(shop)
    await approve(shop, held.id, confirmed=True)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    [told] = await sent(shop, "transaction.reversed")
    assert told["data"]["reference"] == request.reference
    first, second = await shop.payments()
    assert (first.standing, second.standing, second.amount_minor) == ("withdrawn", "open", 9900)


async def test_a_conflict_that_was_decided_wrongly_can_be_taken_back(shop: FakeShop) -> None:
    request, held = await in_conflict(shop)
    await approve(shop, held.id, confirmed=True)
    shop.clock.advance(60)
    await undo(shop, held.id)
    first, second = await shop.payments()
    assert (first.standing, second.standing) == ("used", "withdrawn")
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert (await only(shop)).id == held.id


async def test_a_conflict_of_ids_can_be_decided_for_the_first_payment(shop: FakeShop) -> None:
    request, held = await in_conflict(shop)
    await reject(shop, held.id)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert [one.standing for one in await shop.payments()] == ["used"]


async def settle(shop: FakeShop, reference: str, payment: str | None = None) -> None:
    kind = SettlementKind.REST_RECEIVED
    await settlement.settle(shop.env, OWNER, reference, settlement.SettlementRequest(kind, payment))


async def test_an_approval_of_an_order_that_was_settled_since_stays_until_that_is_taken_back(shop: FakeShop) -> None:
    request = await shop.request(4000, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code)
    held = await only(shop)
    await approve(shop, held.id)
    await settle(shop, request.reference)
    found = await refused(shop, held.id)
    assert (found.extras["reason"], found.extras["used_by_reference"]) == ("settled", request.reference)
    await settlement.take_back(shop.env, OWNER, request.reference)
    await undo(shop, held.id)
    assert (await shop.transaction(request.reference)).settled_at is None


@pytest.mark.parametrize("decide", [approve, reject])
async def test_a_decided_payment_that_settles_an_order_stays_where_it_is(shop: FakeShop, decide: Any) -> None:
    short = await shop.request(4000)
    await pay(shop, short.svc_code)
    await pay(shop, short.svc_code, "93214500002", concatenation=2)
    held = await only(shop)
    await decide(shop, held.id)
    await settle(shop, short.reference, "93214500002")
    assert (await refused(shop, held.id)).extras["reason"] == "settled"
    assert [one.standing for one in await shop.payments()] == ["used", "used"]


async def test_a_conflict_is_not_decided_against_a_payment_on_which_a_settlement_rests(shop: FakeShop) -> None:
    request = await shop.request(4000)
    await pay(shop, request.svc_code)
    await settle(shop, request.reference)
    await shop.read(mtn(9900, "ESI", shop.wallet(9900), "food", ID, concatenation=7))
    held = await only(shop)
    with pytest.raises(Refusal) as caught:
        await approve(shop, held.id, confirmed=True)
    assert caught.value.code is ErrorCode.TRANSACTION_ID_ALREADY_USED
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PARTIAL
