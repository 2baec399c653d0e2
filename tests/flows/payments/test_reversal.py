"""A reversal by the network is shown everywhere and changes no status by itself."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import Refusal
from daemon.core.inputs import Source
from daemon.core.model import Event, Review, Transaction
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.journal import Notice
from daemon.wire import ErrorCode, MessageState, Mode, TransactionStatus
from tests.fakes.answers import decided
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, TELECEL_SENDER, TELECEL_SMSC, mtn, telecel
from tests.fakes.shop import OWNER, TELECEL_IMSI, FakeShop

NAME = "KOFI ANTWI BADU"
ID = "93214500001"


@pytest.fixture
async def shop(shop: FakeShop) -> FakeShop:
    """A shop with a known wallet balance of GHS 875.00."""
    await shop.begin_chain(87_500)
    return shop


async def pay(shop: FakeShop, typed: str, telco_id: str = ID, balance_minor: int = 90_000) -> list[MessageState]:
    number = int(telco_id) % 256
    taken = await shop.read(mtn(2500, NAME, balance_minor, typed, telco_id, concatenation=number))
    return [state for _id, state in taken.concluded]


async def announce(
    shop: FakeShop,
    telco_id: str = ID,
    balance_minor: int | None = 87_500,
    *,
    sender: str = MTN_SENDER,
    amount: str = "25.00",
) -> list[MessageState]:
    """Let the reversal of a payment arrive."""
    text = f"Transaction {telco_id} of GHS {amount} from {NAME} has been reversed."
    if balance_minor is not None:
        text += f" Current Balance: GHS {balance_minor // 100}.{balance_minor % 100:02d}."
    taken = await shop.read_pdus(encode_deliver(sender, text, STARTED, smsc=MTN_SMSC, reference=200))
    assert taken.faults == ()
    return [state for _id, state in taken.concluded]


async def take_back(shop: FakeShop, telco_id: str = ID, balance_minor: int = 87_500) -> None:
    """Let a reversal arrive, and a person approve it."""
    assert await announce(shop, telco_id, balance_minor) == [MessageState.HELD]
    [held] = await shop.rows(Review, "reviews", "state = 'open' AND details LIKE '%unverified%'")
    await review.approve(shop.env, OWNER, held.id, review.Approval(confirmed=True))


async def listen(shop: FakeShop, *kinds: str, mode: str = "live") -> None:
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO endpoints (id, kind, mode, url, url_normalised, description, events, catch_all, include_raw, "
            "is_active, consecutive_failures, created_at, updated_at) VALUES (:id, 'endpoint', :mode, "
            "'https://shop.example/hook', 'https://shop.example/hook', '', :events, 1, 0, 1, 0, 0, 0)",
            {"id": f"e{len(kinds)}", "mode": mode, "events": json.dumps(kinds)},
        )
    )


async def sent(shop: FakeShop, kind: str = "transaction.reversed") -> list[Any]:
    return [json.loads(body) for body in await shop.bodies(f"event = '{kind}'")]


async def notices(shop: FakeShop) -> list[str]:
    told = await shop.rows(Event, "events", "type LIKE 'notice.%'")
    return [event.type.removeprefix("notice.") for event in told]


async def holder(shop: FakeShop) -> Transaction:
    [found] = await shop.rows(Transaction, "transactions", "origin = 'open'")
    assert isinstance(found, Transaction)
    return found


async def test_a_paid_order_keeps_its_status_and_says_that_its_money_is_gone(shop: FakeShop) -> None:
    await listen(shop, "transaction.forwarded", "transaction.reversed")
    await listen(shop, "transaction.forwarded")
    request = await shop.request(2500)
    await pay(shop, request.svc_code or "")
    before = await shop.transaction(request.reference)
    await take_back(shop)
    after = await shop.transaction(request.reference)
    [payment] = await shop.payments()
    at = after.reversed_at
    assert at is not None
    assert (after.status, before.reversed_at) == (TransactionStatus.SUCCESS, None)
    assert payment.reversed_at == at
    assert await notices(shop) == [Notice.PAYMENT_REVERSED]
    # Only the endpoint with a subscription gets it, once.
    [body] = await sent(shop)
    assert body["type"] == "transaction.reversed"
    assert body["data"]["transaction_id"] == request.id
    assert body["data"]["status"] == "SUCCESS"
    assert body["data"]["reversed_at"] == "2026-11-21T08:00:00.000Z"
    assert body["data"]["reversal"] == {
        "kind": "network",
        "amount": "25.00",
        "currency": "GHS",
        "timestamp": "2026-11-21T08:00:00.000Z",
    }
    [told] = await shop.values(
        "SELECT t.id FROM events e JOIN transactions t ON t.seq = e.transaction_seq WHERE e.type = 'payment.reversed'"
    )
    assert told == request.id


async def test_the_same_reversal_again_says_nothing_new(shop: FakeShop) -> None:
    await listen(shop, "transaction.forwarded", "transaction.reversed")
    await pay(shop, "food")
    await take_back(shop)
    first = (await holder(shop)).reversed_at
    await shop.read_pdus(encode_deliver(MTN_SENDER, f"Transaction {ID} has been reversed.", STARTED, smsc=MTN_SMSC))
    [again] = await shop.rows(Review, "reviews", "state = 'open'")
    await review.approve(shop.env, OWNER, again.id, review.Approval(confirmed=True))
    assert (await holder(shop)).reversed_at == first
    assert len(await sent(shop)) == 1
    assert await notices(shop) == [Notice.PAYMENT_REVERSED]


async def test_a_payment_without_an_order_can_no_longer_be_reconciled(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await pay(shop, "food")
    await take_back(shop)
    assert (await holder(shop)).reversed_at is not None
    with pytest.raises(Refusal) as refused:
        await shop.reconcile(request.reference, ID)
    assert (refused.value.code, refused.value.extras) == (ErrorCode.NO_MATCHING_TRANSACTION, {"reason": "reversed"})


async def test_a_payment_in_review_can_no_longer_be_approved(shop: FakeShop) -> None:
    request = await shop.request(2500, expected_payer_phone="+233209999999")
    await pay(shop, request.svc_code or "")
    [row] = await shop.rows(Review, "reviews")
    await take_back(shop)
    with pytest.raises(Refusal) as refused:
        await review.approve(shop.env, OWNER, row.id, review.Approval())
    assert refused.value.code is ErrorCode.PAYMENT_REVERSED
    # No payment was verified, so no webhook reports a reversal.
    assert await sent(shop) == []
    await review.reject(shop.env, OWNER, row.id, "taken back")
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING


async def test_a_payment_that_is_not_here_yet_is_reversed_when_it_comes(shop: FakeShop) -> None:
    await listen(shop, "transaction.forwarded", "transaction.reversed")
    request = await shop.request(2500)
    await pay(shop, "food", "93214500000")
    await take_back(shop, ID)
    assert await notices(shop) == [Notice.REVERSAL_UNMATCHED]
    assert await pay(shop, request.svc_code or "", ID) == [MessageState.PAYMENT]
    late = (await shop.payments())[1]
    assert late.reversed_at is not None
    # It pays no transaction and is not forwarded.
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert len(await sent(shop, "transaction.forwarded")) == 1
    assert (await notices(shop))[-1] == Notice.PAYMENT_REVERSED


async def test_a_held_receipt_that_was_taken_back_cannot_be_approved(shop: FakeShop) -> None:
    shop.limit(0)
    await pay(shop, "food", "93214500000")
    assert await pay(shop, "food", ID, balance_minor=70_000) == [MessageState.HELD]
    await take_back(shop, ID)
    [held, *_] = await shop.rows(Review, "reviews", "state = 'open'")
    with pytest.raises(Refusal) as refused:
        await review.approve(shop.env, OWNER, held.id, review.Approval(confirmed=True))
    assert refused.value.code is ErrorCode.PAYMENT_REVERSED
    assert len(await shop.payments()) == 1


@pytest.mark.parametrize("sender", ["+233244000811", "MobileMony", "T-CASH"])
async def test_a_reversal_from_any_other_sender_takes_nothing_back(shop: FakeShop, sender: str) -> None:
    await pay(shop, "food")
    assert await announce(shop, sender=sender) == [MessageState.NOT_PAYMENT]
    assert (await holder(shop)).reversed_at is None
    assert await shop.values("SELECT COUNT(*) FROM reversals") == [0]


@pytest.fixture
async def telecel_shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path, imsi=TELECEL_IMSI)
    await made.begin_chain(87_500, "momo_telecel")
    yield made
    made.close()


async def pay_telecel(shop: FakeShop, number: int, balance_minor: int, amount_minor: int = 2500) -> None:
    await shop.read(telecel(amount_minor, NAME, balance_minor, "food", f"{number:016d}", concatenation=number))


async def take_back_telecel(
    shop: FakeShop, number: int, balance_minor: int, amount: str = "25.00"
) -> list[MessageState]:
    text = (
        f"{number:016d} Confirmed. Transaction {1:016d} of GHS{amount} from 233209000543 - {NAME} has been reversed on "
        f"{STARTED:%Y-%m-%d} at {STARTED:%H:%M:%S}. Your Telecel Cash balance is "
        f"GHS{balance_minor // 100}.{balance_minor % 100:02d}."
    )
    pdus = encode_deliver(TELECEL_SENDER, text, STARTED, smsc=TELECEL_SMSC, reference=200)
    return [state for _id, state in (await shop.read_pdus(pdus)).concluded]


async def test_a_reversal_whose_balance_fits_nothing_waits_for_a_person(telecel_shop: FakeShop) -> None:
    shop = telecel_shop
    await pay_telecel(shop, 1, 90_000)
    assert await take_back_telecel(shop, 2, 11_100) == [MessageState.HELD]
    assert (await holder(shop)).reversed_at is None
    [row] = await shop.rows(Review, "reviews")
    assert row.reason == "balance_break"
    said = review.Approval(reference=(await holder(shop)).reference, confirmed=True)
    with pytest.raises(Refusal) as refused:
        await review.approve(shop.env, OWNER, row.id, said)
    assert refused.value.code is ErrorCode.VALIDATION_ERROR
    answer = await review.approve(shop.env, OWNER, row.id, review.Approval(confirmed=True))
    assert decided(answer)["transaction"]["reversed_at"] is not None
    # It reverses a payment and makes none.
    assert len(await shop.payments()) == 1
    assert await shop.values("SELECT state FROM messages WHERE kind = 'reversal'") == ["not_payment"]


async def test_a_reversal_is_believed_when_the_message_missing_before_it_comes_and_not_when_one_goes_on(
    telecel_shop: FakeShop,
) -> None:
    shop = telecel_shop
    await pay_telecel(shop, 1, 90_000)
    # A receipt of GHS 10.00 in front of it is late.
    assert await take_back_telecel(shop, 3, 88_500) == [MessageState.HELD]
    await pay_telecel(shop, 4, 91_000)
    [row] = await shop.rows(Review, "reviews")
    assert (row.state, (await shop.payments())[0].reversed_at) == ("open", None)
    await pay_telecel(shop, 2, 91_000, 1000)
    [row] = await shop.rows(Review, "reviews")
    assert row.state == "superseded"
    assert (await shop.payments())[0].reversed_at is not None


async def test_a_reversal_of_mtn_waits_for_a_person_and_receivers_are_told_that_it_does(shop: FakeShop) -> None:
    await listen(shop, "transaction.forwarded", "transaction.reversed", "transaction.review_required")
    request = await shop.request(2500)
    await pay(shop, request.svc_code or "")
    assert await announce(shop) == [MessageState.HELD]
    assert (await shop.transaction(request.reference)).reversed_at is None
    assert await sent(shop) == []
    [told] = await sent(shop, "transaction.review_required")
    assert (told["data"]["transaction_id"], told["data"]["status"]) == (request.id, "SUCCESS")
    [row] = await shop.rows(Review, "reviews")
    assert (row.reason, row.transaction_id) == ("doubtful_message", request.id)
    await review.reject(shop.env, OWNER, row.id, "the money is still there")
    after = await shop.transaction(request.reference)
    assert (after.status, after.reversed_at) == (TransactionStatus.SUCCESS, None)


async def test_a_reversal_without_a_balance_waits_for_a_person_even_if_a_message_joins_behind_it(
    shop: FakeShop,
) -> None:
    await pay(shop, "food")
    assert await announce(shop, balance_minor=None) == [MessageState.HELD]
    await pay(shop, "food", "93214500002")  # from GHS 875.00 again, so GHS 25.00 have left
    assert (await shop.payments())[0].reversed_at is None
    [row] = await shop.rows(Review, "reviews", "state = 'open'")
    assert set(json.loads(row.details)["doubts"]) == {"wording_unverified", "reversal_without_balance"}


async def test_a_reversal_of_another_amount_than_its_payment_takes_nothing_back(telecel_shop: FakeShop) -> None:
    shop = telecel_shop
    await pay_telecel(shop, 1, 90_000)
    assert await take_back_telecel(shop, 2, 89_999, "0.01") == [MessageState.HELD]
    assert (await shop.payments())[0].reversed_at is None
    [row] = await shop.rows(Review, "reviews")
    assert json.loads(row.details)["doubts"] == ["reversal_amount"]


async def test_a_reversal_of_another_amount_reverses_no_payment_that_comes_later(telecel_shop: FakeShop) -> None:
    shop = telecel_shop
    assert await take_back_telecel(shop, 2, 87_499, "0.01") == [MessageState.NOT_PAYMENT]
    await pay_telecel(shop, 1, 89_999)
    assert (await shop.payments())[0].reversed_at is None


async def test_test_money_is_taken_back_in_test_mode_alone(shop: FakeShop) -> None:
    await pay(shop, "food")
    live = shop.source
    shop.source = Source(live.sim_key + "9", live.device_id, 0, test=True)
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO sims (sim_key, network, device_id, slot_index, present, first_seen_at, last_seen_at) "
            "VALUES (:key, 'mtn', :device, 1, 1, 0, 0)",
            {"key": shop.source.sim_key, "device": live.device_id},
        )
    )
    await announce(shop)
    assert (await holder(shop)).reversed_at is None
    await pay(shop, "food")
    by_mode = {payment.mode: payment.reversed_at for payment in await shop.payments()}
    assert by_mode[Mode.LIVE] is None
    assert by_mode[Mode.TEST] is not None
