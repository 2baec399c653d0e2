"""Cancel a transaction, and payments that come for it afterwards."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.limits import DAY_US, PRUNE_BATCH, SECOND_US
from daemon.core.model import Event
from daemon.flows.payments import cancel_expire
from daemon.flows.payments.cancel_expire import IDEMPOTENCY_US
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, TransactionStatus
from tests.fakes.receipts import STARTED, mtn
from tests.fakes.shop import OWNER, FakeShop

ID = "93214500001"


async def give_up(shop: FakeShop, reference: str, reason: str | None = None) -> cancel_expire.Cancelled:
    return await cancel_expire.cancel(shop.env, OWNER, reference, reason=reason)


async def refusal(shop: FakeShop, reference: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await give_up(shop, reference)
    return caught.value


async def pay(shop: FakeShop, typed: str | None, telco_id: str = ID, **more: Any) -> None:
    await shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, typed or "", telco_id, **more))


async def test_an_open_request_is_cancelled_and_the_journal_says_by_whom_and_why(shop: FakeShop) -> None:
    request = await shop.request()
    done = await give_up(shop, request.reference, "changed her mind")
    assert (done.transaction.status, done.changed) == ("CANCELLED", True)
    assert done.transaction.cancelled_at is not None
    [event] = await shop.rows(Event, "events", "type = 'transaction.cancelled'")
    assert (event.actor, event.transaction_id, event.data) == ("socket:0", request.id, "{}")
    assert await shop.values("SELECT transaction_id, reason FROM cancellations") == [(request.id, "changed her mind")]


async def test_an_expired_request_is_cancelled_too(shop: FakeShop) -> None:
    request = await shop.request()
    shop.clock.advance(25 * 3600)
    await give_up(shop, request.reference)
    assert (await shop.transaction(request.reference)).status is TransactionStatus.CANCELLED


async def test_cancelling_again_changes_nothing_and_says_so(shop: FakeShop) -> None:
    request = await shop.request()
    await give_up(shop, request.reference)
    first = await shop.transaction(request.reference)
    shop.clock.advance(60)
    assert not (await give_up(shop, request.reference)).changed
    assert await shop.transaction(request.reference) == first
    assert len(await shop.rows(Event, "events", "type = 'transaction.cancelled'")) == 1


async def test_a_request_held_for_a_person_is_not_cancellable(shop: FakeShop) -> None:
    request = await shop.request(expected_payer_phone="+233241234567")
    await pay(shop, request.svc_code)
    refused = await refusal(shop, request.reference)
    assert (refused.code, refused.extras) == (
        ErrorCode.TRANSACTION_NOT_CANCELLABLE,
        {"transaction_status": TransactionStatus.MANUAL_REVIEW},
    )


async def test_money_without_a_request_is_not_cancellable(shop: FakeShop) -> None:
    await pay(shop, "food")
    (holder,) = await shop.values("SELECT id FROM transactions")
    refused = await refusal(shop, "svc_trx_" + holder.replace("-", ""))
    assert refused.code is ErrorCode.TRANSACTION_NOT_CANCELLABLE


async def test_the_code_rests_for_30_days_from_the_cancellation(shop: FakeShop) -> None:
    request = await shop.request()
    shop.clock.advance(3600)
    await give_up(shop, request.reference)
    assert await shop.values("SELECT free_at FROM svc_codes") == [shop.clock.now_us() + 30 * DAY_US]


async def test_money_for_a_cancelled_request_waits_for_a_person(shop: FakeShop) -> None:
    request = await shop.request()
    await give_up(shop, request.reference)
    await pay(shop, request.svc_code)
    assert await shop.values("SELECT reason, state, transaction_id FROM reviews") == [
        ("cancelled_request", "open", request.id)
    ]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.CANCELLED
    assert [payment.standing for payment in await shop.payments()] == ["review"]
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]


async def test_money_with_the_id_that_a_cancelled_request_expected_waits_too(shop: FakeShop) -> None:
    request = await shop.request(expected_telco_transaction_id=ID)
    await give_up(shop, request.reference)
    await pay(shop, "food")
    assert await shop.values("SELECT reason, transaction_id FROM reviews") == [("cancelled_request", request.id)]


async def test_an_open_request_for_the_same_id_comes_before_a_cancelled_one(shop: FakeShop) -> None:
    first = await shop.request(expected_telco_transaction_id=ID)
    await give_up(shop, first.reference)
    second = await shop.request(expected_telco_transaction_id=ID)
    await pay(shop, "food")
    assert (await shop.transaction(second.reference)).status is TransactionStatus.SUCCESS
    assert (await shop.transaction(first.reference)).status is TransactionStatus.CANCELLED


async def test_a_person_may_vouch_for_a_cancelled_request(shop: FakeShop) -> None:
    request = await shop.request()
    await give_up(shop, request.reference)
    await pay(shop, request.svc_code)
    await shop.reconcile(request.reference, ID)
    paid = await shop.transaction(request.reference)
    assert paid.status is TransactionStatus.SUCCESS
    assert paid.cancelled_at is not None
    assert await shop.values("SELECT state FROM reviews") == ["approved"]


async def test_a_code_whose_rest_is_over_is_no_longer_the_cancelled_request(shop: FakeShop) -> None:
    request = await shop.request()
    await give_up(shop, request.reference)
    shop.clock.advance(31 * 24 * 3600)
    await pay(shop, request.svc_code, sent_at=STARTED + timedelta(days=31))
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [0]


async def test_of_a_payment_and_a_cancellation_that_race_one_wins_whole(shop: FakeShop) -> None:
    for number in range(20):
        request = await shop.request()
        telco_id = f"9321460{number:04d}"
        results = await asyncio.gather(
            give_up(shop, request.reference),
            pay(shop, request.svc_code, telco_id, concatenation=number),
            return_exceptions=True,
        )
        status = (await shop.transaction(request.reference)).status
        refused = isinstance(results[0], Refusal)
        assert status is (TransactionStatus.SUCCESS if refused else TransactionStatus.CANCELLED)
        held = await shop.values(f"SELECT COUNT(*) FROM reviews WHERE transaction_id = '{request.id}'")
        assert held == [0 if refused else 1]


async def test_only_overdue_pending_requests_expire(shop: FakeShop) -> None:
    soon = await shop.request(expires_in_hours=1)
    later = await shop.request(expires_in_hours=2)
    shop.clock.advance(3600)
    assert await cancel_expire.expire(shop.env) == 1
    assert (await shop.transaction(soon.reference)).status is TransactionStatus.EXPIRED
    assert (await shop.transaction(later.reference)).status is TransactionStatus.PENDING
    assert await shop.values("SELECT type FROM events WHERE type = 'transaction.expired'") == ["transaction.expired"]


@pytest.mark.tampers
async def test_a_held_request_does_not_expire(shop: FakeShop) -> None:
    request = await shop.request(expires_in_hours=1)
    await shop.env.store.write(
        lambda tx: tx.run(f"UPDATE transactions SET status = 'MANUAL_REVIEW' WHERE id = '{request.id}'")
    )
    shop.clock.advance(7200)
    assert await cancel_expire.expire(shop.env) == 0


async def test_more_than_one_batch_expires_in_one_call(shop: FakeShop) -> None:
    for _number in range(520):
        await shop.request(expires_in_hours=1)
    shop.clock.advance(3600)
    assert await cancel_expire.expire(shop.env) == 520


async def test_all_old_answers_are_pruned_in_one_call(shop: FakeShop) -> None:
    now = shop.clock.now_us()

    def answer(tx: Tx) -> None:
        for number in range(2 * PRUNE_BATCH + 1):
            tx.run(
                "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
                "VALUES ('live', :key, 'f', 201, '{}', 0, :now)",
                {"key": str(number), "now": now},
            )

    await shop.env.store.write(answer)
    shop.clock.advance(IDEMPOTENCY_US // SECOND_US)
    await cancel_expire.expire(shop.env)
    assert await shop.values("SELECT COUNT(*) FROM idempotency_keys") == [0]
