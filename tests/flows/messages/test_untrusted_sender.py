"""One phone cannot fill the list of reviews: the many messages of an untrusted sender share a review."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.core.model import Review
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.receipts import MTN_SMSC, mtn
from tests.fakes.shop import OWNER, FakeShop

STRANGER, OTHER = "MobileMony", "MobiIeMoney"
APPROVAL = review.Approval(confirmed=True)


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a known wallet balance of GHS 900.00."""
    made = await FakeShop.make(tmp_path)
    await made.begin_chain(90_000)
    yield made
    made.close()


async def say(shop: FakeShop, number: int, sender: str = STRANGER) -> MessageState:
    """Let a receipt come in that a phone has sent."""
    shop.clock.advance(10)
    sent_at = from_us(shop.clock.now_us()) - timedelta(seconds=1)
    made = mtn(700, "KOFI ANTWI BADU", 91_000 + number, "food", str(93_214_500_000 + number),
               sent_at=sent_at)  # fmt: skip
    taken = await shop.read_pdus(
        encode_deliver(sender, made.text, made.sent_at, smsc=MTN_SMSC, reference=number % 256)
    )
    assert taken.faults == ()
    return taken.concluded[0][1]


async def flood(shop: FakeShop, count: int, sender: str = STRANGER, begin: int = 0) -> None:
    for number in range(begin, begin + count):
        assert await say(shop, number, sender) is MessageState.HELD


async def open_reviews(shop: FakeShop) -> list[Review]:
    return await shop.rows(Review, "reviews", "state = 'open'")


async def states(shop: FakeShop) -> list[str]:
    return await shop.values(
        "SELECT state FROM messages WHERE sender LIKE 'Mobi%' AND provider IS NOT NULL AND body <> '' ORDER BY seq"
    )


async def test_from_the_21st_message_of_a_sender_on_they_share_a_review(shop: FakeShop) -> None:
    await flood(shop, 300)
    opened = await open_reviews(shop)
    assert len(opened) == 21
    assert json.loads(opened[-1].details)["group"] == 280
    assert await states(shop) == ["held"] * 300


async def test_another_sender_has_reviews_of_its_own(shop: FakeShop) -> None:
    await flood(shop, 25)
    await flood(shop, 3, OTHER, begin=100)
    assert len(await open_reviews(shop)) == 24


async def test_messages_of_many_hours_have_reviews_of_their_own(shop: FakeShop) -> None:
    for number in range(30):
        shop.clock.advance(600)
        await say(shop, number)
    assert len(await open_reviews(shop)) == 30


async def test_one_rejection_rejects_all_that_share_a_review(shop: FakeShop) -> None:
    await flood(shop, 50)
    await flood(shop, 2, OTHER, begin=100)
    shared = (await open_reviews(shop))[20]
    answer = await review.reject(shop.env, OWNER, shared.id, "forged", confirmed=True)
    assert answer.settled == 29
    assert await states(shop) == ["held"] * 20 + ["not_payment"] * 30 + ["held"] * 2
    assert len(await open_reviews(shop)) == 22
    assert await shop.payments() == []


async def test_after_an_approval_the_others_share_the_review_of_the_next_one(
    shop: FakeShop,
) -> None:
    await flood(shop, 25)
    shared = (await open_reviews(shop))[-1]
    await review.approve(shop.env, OWNER, shared.id, APPROVAL)
    assert [payment.amount_minor for payment in await shop.payments()] == [700]
    following = (await open_reviews(shop))[-1]
    assert following.message_id != shared.message_id
    assert json.loads(following.details)["group"] == 4
    await review.reject(shop.env, OWNER, following.id, "forged", confirmed=True)
    assert await states(shop) == ["held"] * 20 + ["payment"] + ["not_payment"] * 4


async def test_texts_from_a_number_are_listed_and_ask_nobody(shop: FakeShop) -> None:
    await flood(shop, 30, "+233244000001")
    assert await open_reviews(shop) == []
    assert await shop.payments() == []
