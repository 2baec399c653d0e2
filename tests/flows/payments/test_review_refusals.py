"""Reject a doubtful payment, and refused or repeated decisions."""

import asyncio
import json

import pytest

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.model import Event
from daemon.flows.payments import cancel_expire, review
from daemon.wire import ErrorCode, Mode, TransactionStatus
from tests.fakes import answers
from tests.fakes.outbox import add_endpoint
from tests.fakes.reviews import (
    ID,
    PAYER,
    approve,
    endpoint,
    forge,
    only,
    pay,
    refusal,
    reject,
)
from tests.fakes.shop import OWNER, FakeShop


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
        event.type for event in await shop.rows(Event, "events", f"transaction_seq = {request.seq}")
    ] == [
        "transaction.created",
        "sms.queued",
        "review.opened",
        "transaction.released",
        "review.rejected",
    ]


@pytest.mark.parametrize(
    ("hours", "status", "told"), [(25, "EXPIRED", ["transaction.expired"]), (1, "PENDING", [])]
)
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
        review.approve(shop.env, caller, waiting.id, review.Approval()),
        review.reject(shop.env, caller, waiting.id, "x"),
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
    claim = Idempotency("scope", "key", "fingerprint")

    async def call(*, confirmed: bool) -> HttpAnswer:
        said = review.Approval(confirmed=confirmed)
        return await answers.answered(
            claim,
            lambda keep: review.approve(shop.env, OWNER, waiting.id, said, keep=keep),
            lambda done: json.dumps(answers.decided(done)),
        )

    assert await review.needs_password(shop.env, OWNER, waiting.id, claim)
    first = await call(confirmed=True)
    assert not await review.needs_password(shop.env, OWNER, waiting.id, claim)
    second = await call(confirmed=False)
    assert (second.body, second.replayed) == (first.body, True)


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
    assert not await review.needs_password(shop.env, OWNER, (await only(shop)).id, None)
    assert not await review.needs_password(shop.env, OWNER, "unknown", None)
