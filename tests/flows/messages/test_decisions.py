"""Each held receipt is in the reach of a decision, in a flood too, and one decision heals a line."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.core.model import Event, Review
from daemon.flows.lines import smscs
from daemon.flows.messages import overdue, settle_lines
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Trust
from daemon.store.journal import Notice
from daemon.wire import MessageState
from parsers.times import from_us
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, Receipt, mtn
from tests.fakes.shop import OWNER, FakeShop

FOREIGN = "+447000000001"


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a known wallet balance of GHS 900.00, where no break pays before it is confirmed."""
    made = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    await made.begin_chain(90_000)
    yield made
    made.close()


def receipt(shop: FakeShop, number: int, amount_minor: int, balance_minor: int, typed: str) -> Receipt:
    sent_at = from_us(shop.clock.now_us()) - timedelta(seconds=1)
    telco_id = str(93_214_500_000 + number)
    return mtn(amount_minor, "KOFI ANTWI BADU", balance_minor, typed, telco_id, sent_at=sent_at, concatenation=number)


async def say(
    shop: FakeShop, number: int, amount_minor: int, balance_minor: int, smsc: str = MTN_SMSC, typed: str = "food"
) -> MessageState:
    """Let a receipt come in now."""
    made = receipt(shop, number, amount_minor, balance_minor, typed)
    taken = await shop.read_pdus(encode_deliver(MTN_SENDER, made.text, made.sent_at, smsc=smsc, reference=number))
    assert taken.faults == ()
    return taken.concluded[0][1]


async def open_reviews(shop: FakeShop) -> list[Review]:
    return await shop.rows(Review, "reviews", "state = 'open'")


async def newest_review(shop: FakeShop) -> Review:
    return (await open_reviews(shop))[-1]


async def test_a_first_receipt_that_is_held_for_half_an_hour_is_told_once(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    await say(shop, 1, 5_000, 95_000)
    own = await newest_review(shop)
    assert await overdue.notify_overdue(shop.env) == 0
    shop.clock.advance(30 * 60)
    assert await overdue.notify_overdue(shop.env) == 1
    assert await overdue.notify_overdue(shop.env) == 0
    [event] = await shop.rows(Event, "events", f"type = 'notice.{Notice.RECEIPT_HELD}'")
    assert (event.message_id, json.loads(event.data)) == (own.message_id, {"review_id": own.id})
    shop.close()


async def test_a_trusted_message_makes_its_centre_home_and_judges_the_others_again(shop: FakeShop) -> None:
    balance = 90_000
    for number in range(1, 9):
        shop.clock.advance(30)
        # Money left without a message before the fifth one.
        balance += 100 + number - (5_000 if number == 5 else 0)
        assert await say(shop, number, 100 + number, balance, FOREIGN) is MessageState.HELD
    assert await open_reviews(shop) == []
    first = (await shop.values("SELECT id FROM messages WHERE state = 'held' ORDER BY seq"))[0]
    place = shop.source.device_id, shop.source.slot_index
    await smscs.trust_message(shop.env, OWNER, *place, first)
    assert len(await shop.payments()) == 4, "the rest is a row behind a gap"
    await shop.says(balance)
    assert len(await shop.payments()) == 8
    assert await say(shop, 30, 100, balance + 100, FOREIGN) is MessageState.PAYMENT


async def test_an_approval_of_what_waits_in_the_chain_is_a_proof_of_its_balance(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    assert await say(shop, 1, 5_000, 95_000) is MessageState.HELD
    await review.approve(shop.env, OWNER, (await newest_review(shop)).id, review.Approval(confirmed=True))
    assert await say(shop, 2, 500_000, 595_000) is MessageState.PAYMENT
    shop.close()


async def test_after_a_flood_each_receipt_that_still_waits_has_a_review(shop: FakeShop) -> None:
    for number in range(1, 31):
        shop.clock.advance(30)
        await say(shop, number, 500, 1_000_000 * number)
    assert len(await open_reviews(shop)) == 5
    # Money left without a message, so that what the wallet shows contradicts nothing.
    shop.clock.advance(2 * 60)
    await say(shop, 40, 500, 85_500)
    shop.clock.advance(2 * 60)
    await shop.says(85_500)
    for _ in range(2):
        await settle_lines.settle_lines(shop.env)
    waiting = await shop.values("SELECT id FROM messages WHERE state = 'held' ORDER BY seq")
    assert len(waiting) == 30
    assert [one.message_id for one in await open_reviews(shop)] == waiting
