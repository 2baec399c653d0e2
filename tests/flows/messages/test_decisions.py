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


def receipt(
    shop: FakeShop, number: int, amount_minor: int, balance_minor: int, typed: str
) -> Receipt:
    sent_at = from_us(shop.clock.now_us()) - timedelta(seconds=1)
    telco_id = str(93_214_500_000 + number)
    return mtn(
        amount_minor, "KOFI ANTWI BADU", balance_minor, typed, telco_id, sent_at=sent_at,
        concatenation=number,
    )  # fmt: skip


async def say(
    shop: FakeShop,
    number: int,
    amount_minor: int,
    balance_minor: int,
    smsc: str = MTN_SMSC,
    typed: str = "food",
) -> MessageState:
    """Let a receipt come in now."""
    made = receipt(shop, number, amount_minor, balance_minor, typed)
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
    await review.approve(shop.env, OWNER, asked.id, approval)
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
    await review.reject(shop.env, OWNER, asked.id, "forged", confirmed=True)
    assert await open_reviews(shop) == []
    chain = "SELECT standing, position FROM line_balances WHERE smsc = '{}' ORDER BY seq"
    assert await shop.values(chain.format(MTN_SMSC)) == [("accepted", 1), ("accepted", 2)]
    lost = await shop.values(chain.format(FOREIGN))
    assert set(lost) == {("refuted", None)}
    assert await say(shop, 31, 100, 91_100) is MessageState.PAYMENT


async def flood(shop: FakeShop, count: int = 22, begin: int = 100) -> None:
    """Let guesses come in from abroad; from the 21st on they share a review."""
    for number in range(begin, begin + count):
        shop.clock.advance(20)
        state = await say(shop, number, number, 1_000_000 + 977 * number, FOREIGN)
        assert state is MessageState.HELD


async def hidden(shop: FakeShop) -> list[str]:
    """Return the held messages that neither a review of their own nor that of a flood is about."""
    return await shop.values(
        "SELECT m.id FROM messages m JOIN line_balances b ON b.message_seq = m.seq WHERE m.state = 'held' "
        "AND NOT EXISTS (SELECT 1 FROM reviews r WHERE r.message_id = m.id AND r.state = 'open') "
        "AND (b.standing <> 'held' OR b.why NOT IN ('foreign', 'doubted') OR NOT EXISTS "
        "(SELECT 1 FROM reviews r WHERE r.details LIKE '%\"group\"%' AND r.state = 'open'))"
    )


async def newest_review(shop: FakeShop) -> Review:
    return (await open_reviews(shop))[-1]


async def test_a_first_receipt_in_a_flood_has_a_review_of_its_own(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    await flood(shop)
    assert await say(shop, 1, 5_000, 95_000) is MessageState.HELD
    own = await newest_review(shop)
    assert own.reason == "first_message"
    await review.approve(shop.env, OWNER, own.id, review.Approval(confirmed=True))
    assert [payment.amount_minor for payment in await shop.payments()] == [5_000]
    shop.close()


async def test_a_doubted_receipt_of_the_chain_in_a_flood_has_a_review_of_its_own(
    shop: FakeShop,
) -> None:
    await flood(shop)
    typed = "for the rent of the second quarter and the water bill " * 4
    assert await say(shop, 1, 5_000, 95_000, typed=typed) is MessageState.HELD
    own = await newest_review(shop)
    assert own.reason == "doubtful_message"
    assert await shop.values("SELECT why FROM line_balances ORDER BY seq DESC LIMIT 1") == ["joins"]
    assert await hidden(shop) == []


async def test_a_message_of_a_flood_whose_smsc_is_home_now_has_a_review_of_its_own(
    shop: FakeShop,
) -> None:
    assert await say(shop, 1, 5_000, 95_000, FOREIGN) is MessageState.HELD
    joining = await newest_review(shop)
    await flood(shop)
    approval = review.Approval(confirmed=True)
    await review.approve(shop.env, OWNER, joining.id, approval)
    assert set(await shop.values("SELECT standing FROM line_balances")) == {
        "accepted",
        "unconfirmed",
    }
    assert await hidden(shop) == []


async def test_the_rest_of_a_flood_keeps_a_review_when_its_first_message_is_settled(
    shop: FakeShop,
) -> None:
    await say(shop, 1, 100, 700_000, FOREIGN)
    await flood(shop, 19)
    await say(shop, 2, 100, 700_100, FOREIGN)  # it opens the common review
    await flood(shop, 10, begin=200)
    shared = await newest_review(shop)
    assert '"group":11' in shared.details
    joined = (await open_reviews(shop))[0]
    await review.reject(shop.env, OWNER, joined.id, "forged", confirmed=True)
    refuted = "SELECT m.state FROM messages m JOIN line_balances b ON b.message_seq = m.seq WHERE b.standing = 'refuted'"
    assert await shop.values(refuted) == ["not_payment", "not_payment"], "one follows the other"
    following = await newest_review(shop)
    assert following.id != shared.id
    assert '"group":10' in following.details
    assert await hidden(shop) == []


async def test_a_rejection_reaches_a_message_of_the_flood_that_joins_the_rejected_one(
    shop: FakeShop,
) -> None:
    await say(shop, 1, 100, 700_000, FOREIGN)
    await flood(shop)
    await say(shop, 2, 100, 700_100, FOREIGN)
    joined = (await open_reviews(shop))[0]
    await review.reject(shop.env, OWNER, joined.id, "forged", confirmed=True)
    assert await shop.values("SELECT state FROM messages ORDER BY seq DESC LIMIT 1") == [
        "not_payment"
    ]
    assert await hidden(shop) == []


async def test_a_message_that_is_trusted_leaves_the_rest_of_its_flood_one_review(
    shop: FakeShop,
) -> None:
    await flood(shop, 32)
    shared = await newest_review(shop)
    place = shop.source.device_id, shop.source.slot_index
    await smscs.trust_message(shop.env, OWNER, *place, shared.message_id)
    groups = [one.details for one in await open_reviews(shop) if '"group"' in one.details]
    assert groups == ['{"group":11,"why":"foreign"}']
    assert await hidden(shop) == []


async def test_an_approval_that_settles_a_whole_flood_opens_no_further_reviews(
    shop: FakeShop,
) -> None:
    balance = 90_000
    for number in range(1, 41):
        shop.clock.advance(30)
        balance += 100 + number
        assert await say(shop, number, 100 + number, balance, FOREIGN) is MessageState.HELD
    first = (await open_reviews(shop))[0]
    await review.approve(shop.env, OWNER, first.id, review.Approval(confirmed=True))
    assert len(await shop.payments()) == 40
    assert await open_reviews(shop) == []
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [21]


async def test_a_message_of_a_flood_that_is_refuted_by_time_has_a_review_of_its_own(
    shop: FakeShop,
) -> None:
    await flood(shop)
    await say(shop, 1, 5_000, 95_000, FOREIGN)
    shop.clock.advance(120)
    await say(shop, 2, 700, 90_700)
    shop.clock.advance(120)
    await say(shop, 3, 700, 91_400)
    shop.clock.advance(100 * 60)
    await settle_lines.settle_lines(shop.env)
    refuted = await shop.values(
        "SELECT m.id FROM messages m JOIN line_balances b ON b.message_seq = m.seq WHERE b.standing = 'refuted'"
    )
    own = await newest_review(shop)
    assert refuted == [own.message_id]
    assert await hidden(shop) == []
    await review.reject(shop.env, OWNER, own.id, "forged", confirmed=True)
    assert await shop.values(f"SELECT state FROM messages WHERE id = '{own.message_id}'") == [
        "not_payment"
    ]


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


async def test_a_doubted_receipt_of_the_chain_is_told_and_a_decided_or_paid_one_is_not(
    shop: FakeShop,
) -> None:
    typed = "for the rent of the second quarter and the water bill " * 4
    for number, balance in ((1, 95_000), (2, 100_000)):
        assert await say(shop, number, 5_000, balance, typed=typed) is MessageState.HELD
    assert await say(shop, 3, 100, 100_100) is MessageState.PAYMENT
    first = (await open_reviews(shop))[0]
    await review.approve(shop.env, OWNER, first.id, review.Approval(confirmed=True))
    shop.clock.advance(31 * 60)
    assert await overdue.notify_overdue(shop.env) == 1
