"""A message from another sender than the network's own opens no review: one phone cannot fill the list."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.core.model import Review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.receipts import MTN_SMSC, mtn
from tests.fakes.shop import FakeShop

STRANGER, OTHER = "MobileMony", "MobiIeMoney"


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
    made = mtn(700, "KOFI ANTWI BADU", 91_000 + number, "food", str(93_214_500_000 + number), sent_at=sent_at)
    taken = await shop.read_pdus(encode_deliver(sender, made.text, made.sent_at, smsc=MTN_SMSC, reference=number % 256))
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


async def test_a_name_beside_the_networks_own_is_listed_and_asks_nobody(shop: FakeShop) -> None:
    await flood(shop, 30)
    await flood(shop, 3, OTHER, begin=100)
    await flood(shop, 3, "+233244000001", begin=200)
    assert await open_reviews(shop) == []
    assert await states(shop) == ["held"] * 33
    assert await shop.payments() == []
