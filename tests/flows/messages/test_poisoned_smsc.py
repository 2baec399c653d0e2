"""One rejection heals a line whose owner had approved a forgery through a foreign SMSC (trust.md, rule 6)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.core.inputs import CallMeta
from daemon.core.model import Review
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Trust
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, Receipt, mtn
from tests.fakes.shop import OWNER, FakeShop

FOREIGN = "+447000000001"
META = CallMeta("r")


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a known wallet balance of GHS 900.00, where no break pays before it is confirmed."""
    made = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    await made.begin_chain(90_000)
    yield made
    made.close()


def receipt(shop: FakeShop, number: int, amount_minor: int, balance_minor: int) -> Receipt:
    sent_at = from_us(shop.clock.now_us()) - timedelta(seconds=1)
    telco_id = str(93_214_500_000 + number)
    return mtn(
        amount_minor, "KOFI ANTWI BADU", balance_minor, "food", telco_id, sent_at=sent_at,
        concatenation=number,
    )  # fmt: skip


async def say(
    shop: FakeShop, number: int, amount_minor: int, balance_minor: int, smsc: str = MTN_SMSC
) -> MessageState:
    """Let a receipt come in now."""
    made = receipt(shop, number, amount_minor, balance_minor)
    taken = await shop.read_pdus(
        encode_deliver(MTN_SENDER, made.text, made.sent_at, smsc=smsc, reference=number)
    )
    assert taken.faults == ()
    return taken.concluded[0][1]


async def open_reviews(shop: FakeShop) -> list[Review]:
    return await shop.rows(Review, "reviews", "state = 'open'")


async def be_fooled(shop: FakeShop) -> None:
    """Read a forgery whose balance joins, and approve it: its SMSC is home now."""
    shop.clock.advance(120)
    await say(shop, 1, 1_000, 91_000, FOREIGN)
    [asked] = await open_reviews(shop)
    approval = review.Approval(confirmed=True)
    await review.approve(shop.env, OWNER, asked.id, approval, meta=META)
    shop.clock.advance(100)


@pytest.mark.parametrize("forged", [1, 15])
async def test_genuine_receipts_take_the_places_of_the_forged_ones(
    shop: FakeShop, forged: int
) -> None:
    await be_fooled(shop)
    assert await say(shop, 2, 500, 90_500) is MessageState.HELD, "the forgery is in the way"
    shop.clock.advance(10)
    assert await say(shop, 3, 500, 91_000) is MessageState.HELD
    for number in range(forged):
        shop.clock.advance(2)
        await say(shop, 4 + number, 700, 91_000 + 700 * (number + 1), FOREIGN)
    shop.clock.advance(5)
    assert await say(shop, 30, 50_000, 500_000, FOREIGN) is MessageState.HELD
    asked = (await open_reviews(shop))[-1]
    await review.reject(shop.env, OWNER, asked.id, "forged", meta=META)
    assert await open_reviews(shop) == []
    chain = "SELECT standing, position FROM line_balances WHERE smsc = '{}' ORDER BY seq"
    assert await shop.values(chain.format(MTN_SMSC)) == [("accepted", 1), ("accepted", 2)]
    lost = await shop.values(chain.format(FOREIGN))
    assert set(lost) == {("refuted", None)}
    assert await say(shop, 31, 100, 91_100) is MessageState.PAYMENT
