"""A message of the wallet that comes late, through the whole intake: what is held ends by itself (decisions.md section 4)."""

from datetime import timedelta

import pytest

from daemon.core.model import Delivery, Event, Review, Transaction
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.journal import Notice
from daemon.wire import MessageState, TransactionStatus
from tests.fakes.outbox import add_endpoint
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, Receipt, mtn
from tests.fakes.shop import FakeShop

FIRST_ID = 93_214_500_000


def receipt(
    minute: int, amount_minor: int, balance_minor: int, typed: str | None = None
) -> Receipt:
    """Make a receipt that the network sent in this minute; its ID stands in that order."""
    return mtn(
        amount_minor,
        "KOFI ANTWI BADU",
        balance_minor,
        typed or "food",
        str(FIRST_ID + minute),
        concatenation=minute,
        sent_at=STARTED + timedelta(minutes=minute),
    )


def cash_out(
    minute: int,
    amount_minor: int,
    balance_minor: int,
    *,
    sent_in_minute: int | None = None,
    smsc: str = MTN_SMSC,
) -> tuple[str, ...]:
    """Make the message of money that left the wallet in this minute."""
    text = (
        f"Payment made for GHS {amount_minor / 100:.2f} to AKUA FREMA Current Balance: GHS "
        f"{balance_minor / 100:.2f} . Available Balance: GHS {balance_minor / 100:.2f}. Reference: 1. "
        f"Transaction ID: {FIRST_ID + minute}. Fee charged: GHS0.00 Tax charged: 0.00."
    )
    sent_at = STARTED + timedelta(minutes=minute if sent_in_minute is None else sent_in_minute)
    return encode_deliver(MTN_SENDER, text, sent_at, smsc=smsc, reference=100 + minute)


async def standings(shop: FakeShop) -> list[str]:
    return await shop.values("SELECT standing FROM line_balances ORDER BY at")


async def told(shop: FakeShop) -> list[str]:
    events = await shop.rows(Event, "events", "type LIKE 'notice.%'")
    return [event.type.removeprefix("notice.") for event in events]


async def a_held_payment_behind_a_suspect_one(shop: FakeShop) -> Transaction:
    """The cash-out is not here yet: the receipt of minute 9 skips that of minute 2, and that of minute 3 is held."""
    await add_endpoint(shop)
    request = await shop.request(2500)
    await shop.read(receipt(1, 1000, 90_000), receipt(2, 1000, 91_000), receipt(9, 100, 90_100))
    late = await shop.read(receipt(3, 2500, 93_500, request.svc_code))
    assert [state for _id, state in late.concluded] == [MessageState.HELD]
    assert await standings(shop) == ["accepted", "suspect", "held", "accepted"]
    [held] = await shop.rows(Review, "reviews")
    assert (held.reason, held.state) == ("balance_break", "open")
    waiting = await shop.transaction(request.reference)
    assert waiting.status is TransactionStatus.MANUAL_REVIEW
    return request


async def test_a_late_cash_out_ends_the_hold_and_takes_the_suspicion_back(shop: FakeShop) -> None:
    request = await a_held_payment_behind_a_suspect_one(shop)
    await shop.read_pdus(cash_out(5, 3500, 90_000))
    assert await standings(shop) == ["accepted"] * 5
    assert await told(shop) == [Notice.RECEIPT_SUSPECT, Notice.RECEIPT_RESTORED]
    paid = await shop.transaction(request.reference)
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "code")
    [review] = await shop.rows(Review, "reviews")
    assert (review.state, review.decided_by) == ("superseded", "momo")
    # It comes once more, as some networks send everything twice: nothing is paid or owed again.
    await shop.read_pdus(cash_out(5, 3500, 90_000))
    paying = [payment for payment in await shop.payments() if payment.amount_minor == 2500]
    assert len(paying) == 1
    owed = await shop.rows(Delivery, "deliveries", f"transaction_id = '{request.id}'")
    assert [delivery.event for delivery in owed] == [
        "transaction.forwarded",
        "transaction.completed",
    ]


async def test_every_order_that_waits_for_a_late_cash_out_is_paid(shop: FakeShop) -> None:
    first, second = await shop.request(2500), await shop.request(1000)
    await shop.read(receipt(1, 1000, 90_000), receipt(9, 100, 90_100))
    await shop.read(receipt(2, 2500, 92_500, first.svc_code))
    await shop.read(receipt(3, 1000, 93_500, second.svc_code))
    assert await standings(shop) == ["accepted", "held", "held", "accepted"]
    await shop.read_pdus(cash_out(5, 3500, 90_000))
    for request in (first, second):
        paid = await shop.transaction(request.reference)
        assert paid.status is TransactionStatus.SUCCESS
    assert [row.state for row in await shop.rows(Review, "reviews")] == ["superseded"] * 2
    assert await told(shop) == []


@pytest.mark.parametrize(
    "forged",
    [
        cash_out(5, 3500, 90_000, smsc="+447000000001"),
        cash_out(5, 3500, 90_000, sent_in_minute=30),
        cash_out(5, 3400, 90_100),
    ],
    ids=["of an unknown service centre", "sent when all was seen", "joins one side"],
)
async def test_what_a_forger_can_send_lets_nothing_go(
    shop: FakeShop, forged: tuple[str, ...]
) -> None:
    request = await a_held_payment_behind_a_suspect_one(shop)
    await shop.read_pdus(forged)
    await shop.read(receipt(40, 100, 90_200))
    assert (await standings(shop)).count("accepted") == 3
    assert await told(shop) == [Notice.RECEIPT_SUSPECT]
    waiting = await shop.transaction(request.reference)
    assert waiting.status is TransactionStatus.MANUAL_REVIEW
    [review] = await shop.rows(Review, "reviews")
    assert review.state == "open"
