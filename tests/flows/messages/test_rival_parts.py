"""Parts of long messages among parts that strangers send under the network's name (docs/shop/concepts.md)."""

from datetime import datetime, timedelta
from itertools import permutations

import pytest

from daemon.core.model import Review, Transaction
from daemon.flows.messages.settle_lines import assemble_parts
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Trust
from daemon.wire import MessageState, TransactionStatus
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, mtn_receipt
from tests.fakes.shop import OWNER, FakeShop

FOREIGN = "+447000000001"
NEIGHBOUR = "+233240000042"
"""It differs from the SIM's own SMSC in the last two digits only, so it is home."""
LONG_NAME = "KOFI ANTWI BADU MENSAH BONSU ADJEI AGYEMANG OPOKU WARE"
FORGED_END = " GHS 1.00. Reference: {code}. Transaction ID: 93214500009. TRANSACTION FEE: 0.00"


@pytest.fixture
async def shop(shop: FakeShop) -> FakeShop:
    """A shop with a known wallet balance of GHS 900.00."""
    await shop.begin_chain()
    return shop


def parts(
    shop: FakeShop,
    code: str | None,
    number: int = 1,
    *,
    reference: int = 7,
    smsc: str = MTN_SMSC,
    at: datetime = STARTED,
) -> tuple[str, str]:
    """Return the two parts of a genuine receipt of GHS 25.00."""
    balance = shop.wallet(2500)
    text = mtn_receipt(2500, "KOFI ANTWI BADU", balance, code or "food", str(93_214_500_000 + number))
    first, second = encode_deliver(MTN_SENDER, text, at, smsc=smsc, reference=reference)
    return first, second


def forged_end(code: str | None = "K7RHDM", *, reference: int = 7, smsc: str = MTN_SMSC, seconds: float = 0) -> str:
    """Return part 2 of 2 of a made-up receipt."""
    text = "x" * 153 + FORGED_END.format(code=code)
    at = STARTED + timedelta(seconds=seconds)
    return encode_deliver(MTN_SENDER, text, at, smsc=smsc, reference=reference)[1]


async def states(shop: FakeShop) -> list[str]:
    """Return the state of each message but the one that began the chain, in order of arrival."""
    return await shop.values("SELECT state FROM messages WHERE body IS NULL OR body <> '' ORDER BY seq")


async def status(shop: FakeShop, request: Transaction) -> TransactionStatus:
    return (await shop.transaction(request.reference)).status


async def after_six_seconds(shop: FakeShop) -> int:
    shop.clock.advance(6)
    return await assemble_parts(shop.env)


async def test_message_of_as_many_parts_as_there_can_be_is_put_together(shop: FakeShop) -> None:
    pdus = encode_deliver("+233200000001", "long " * 7_800, STARTED, smsc=MTN_SMSC, reference=7)
    assert len(pdus) == 255
    await shop.read_pdus(pdus)
    await after_six_seconds(shop)
    assert [len(one) for one in await shop.values("SELECT body FROM messages WHERE body <> ''")] == [39_000]


async def test_one_part_for_each_reference_from_abroad_changes_nothing(shop: FakeShop) -> None:
    mine, theirs = await shop.request(), await shop.request()
    poison = [forged_end(theirs.svc_code, reference=number, smsc=FOREIGN) for number in range(256)]
    await shop.read_pdus(poison)
    await shop.read_pdus(parts(shop, mine.svc_code))
    assert await status(shop, mine) is TransactionStatus.SUCCESS
    await shop.read_pdus(poison)
    for number in range(2, 6):
        await shop.read_pdus(parts(shop, None, number, reference=number))
    assert len(await shop.payments()) == 5
    assert await status(shop, theirs) is TransactionStatus.PENDING
    assert await after_six_seconds(shop) == 0
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [0]


@pytest.mark.parametrize("smsc", [FOREIGN, "+44233240000099", "+4423324000009", None])
async def test_a_part_through_a_foreign_centre_never_joins_one_through_a_home_one(
    shop: FakeShop, smsc: str | None
) -> None:
    first, _ = parts(shop, "food")
    end = encode_deliver(MTN_SENDER, "x" * 153 + FORGED_END.format(code="x"), STARTED, smsc=smsc, reference=7)[1]
    await shop.read_pdus([first, end])
    await after_six_seconds(shop)
    assert await states(shop) == ["incomplete", "incomplete"]
    assert await shop.payments() == []


async def test_parts_through_two_home_centres_are_one_message(shop: FakeShop) -> None:
    request = await shop.request()
    text = mtn_receipt(2500, "KOFI ANTWI BADU", shop.wallet(2500), request.svc_code or "", "93214500001")
    first, _ = encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=7)
    _, second = encode_deliver(MTN_SENDER, text, STARTED, smsc=NEIGHBOUR, reference=7)
    await shop.read_pdus([first, second])
    assert await status(shop, request) is TransactionStatus.SUCCESS


async def test_parts_through_one_foreign_centre_are_one_doubtful_message(shop: FakeShop) -> None:
    taken = await shop.read_pdus(parts(shop, "food", smsc=FOREIGN))
    assert [state for _id, state in taken.concluded] == [MessageState.HELD]
    assert await shop.values("SELECT standing, why FROM line_balances ORDER BY seq DESC LIMIT 1") == [
        ("doubtful", "foreign")
    ]


@pytest.mark.parametrize(("minutes", "joins"), [(15, True), (15.1, False)])
async def test_parts_of_one_message_bear_times_within_15_minutes(
    shop: FakeShop, minutes: float, *, joins: bool
) -> None:
    first, _ = parts(shop, "food")
    shop.wallet(-2500)
    shop.clock.advance(minutes * 60)
    _, second = parts(shop, "food", at=STARTED + timedelta(minutes=minutes))
    await shop.read_pdus([first, second])
    assert await after_six_seconds(shop) == int(joins)
    assert (await states(shop))[0] == ("payment" if joins else "incomplete")


async def test_swapped_parts_wait_six_seconds_for_rivals(shop: FakeShop) -> None:
    request = await shop.request()
    first, second = parts(shop, request.svc_code)
    await shop.read_pdus([second])
    shop.clock.advance(1)
    await shop.read_pdus([first])
    assert await status(shop, request) is TransactionStatus.PENDING
    shop.clock.advance(5.9)
    assert await assemble_parts(shop.env) == 0
    shop.clock.advance(0.1)
    assert await assemble_parts(shop.env) == 1
    assert await status(shop, request) is TransactionStatus.SUCCESS
    assert await assemble_parts(shop.env) == 0


async def test_swapped_parts_wait_no_longer_when_the_clock_was_ahead_and_is_put_right(shop: FakeShop) -> None:
    first, second = parts(shop, (await shop.request()).svc_code)
    await shop.read_pdus([second])
    shop.clock.advance(1)
    await shop.read_pdus([first])
    shop.clock.jump(-26 * 3600)
    assert await after_six_seconds(shop) == 1


@pytest.mark.parametrize(("seconds", "apart"), [(6, 0), (600, 50)])
async def test_parts_in_their_order_count_at_once(shop: FakeShop, seconds: float, apart: float) -> None:
    request = await shop.request()
    first, _ = parts(shop, request.svc_code)
    shop.wallet(-2500)
    _, second = parts(shop, request.svc_code, at=STARTED + timedelta(seconds=apart))
    await shop.read_pdus([first])
    shop.clock.advance(seconds)
    await shop.read_pdus([second])
    assert await status(shop, request) is TransactionStatus.SUCCESS


async def test_a_code_in_another_part_than_the_balance_counts_to_the_limit_until_a_message_joins(
    shop: FakeShop,
) -> None:
    shop.limit(20)
    requests = [await shop.request() for _ in range(2)]
    for number, request in enumerate(requests):
        text = mtn_receipt(2500, LONG_NAME, shop.wallet(2500), request.svc_code or "", f"9321450000{number}")
        pdus = encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=40 + number)
        assert len(pdus) == 2
        await shop.read_pdus(pdus)
        expected = TransactionStatus.MANUAL_REVIEW
        assert await status(shop, request) is expected, "GHS 25.00 are above the limit"
    assert await status(shop, requests[0]) is TransactionStatus.SUCCESS, "the next one joined it"


@pytest.mark.parametrize("forged_first", [True, False])
async def test_of_rivals_the_part_of_the_same_moment_counts_after_six_seconds(
    shop: FakeShop, *, forged_first: bool
) -> None:
    mine, theirs = await shop.request(), await shop.request()
    first, second = parts(shop, mine.svc_code)
    forged = forged_end(theirs.svc_code, seconds=-70)
    await shop.read_pdus([forged, first, second] if forged_first else [first, forged, second])
    assert await shop.payments() == []
    assert await after_six_seconds(shop) == 1
    assert await status(shop, mine) is TransactionStatus.SUCCESS
    assert await status(shop, theirs) is TransactionStatus.PENDING
    assert sorted(await states(shop)) == ["incomplete", "payment"]


async def test_rivals_of_the_same_half_minute_are_for_a_person(shop: FakeShop) -> None:
    mine, theirs = await shop.request(), await shop.request()
    first, second = parts(shop, mine.svc_code)
    await shop.read_pdus([second, forged_end(theirs.svc_code, seconds=10), first])
    assert await after_six_seconds(shop) == 1
    assert await shop.payments() == []
    [row] = await shop.rows(Review, "reviews")
    assert row.reason == "ambiguous_parts"
    assert {await status(shop, one) for one in (mine, theirs)} == {TransactionStatus.PENDING}
    # The part of the same moment is the one shown, and the person can confirm it.
    said = review.Approval(mine.reference, confirmed=True)
    await review.approve(shop.env, OWNER, row.id, said)
    assert await status(shop, mine) is TransactionStatus.SUCCESS
    assert await after_six_seconds(shop) == 0


async def test_a_rival_part_that_comes_after_the_message_was_paid_asks_a_person(shop: FakeShop) -> None:
    mine, theirs = await shop.request(), await shop.request()
    first, second = parts(shop, mine.svc_code)
    await shop.read_pdus([first, forged_end(theirs.svc_code)])
    assert len(await shop.payments()) == 1
    await shop.read_pdus([second])
    assert await after_six_seconds(shop) == 1
    [row] = await shop.rows(Review, "reviews", "state = 'open' AND reason = 'ambiguous_parts'")
    await review.approve(shop.env, OWNER, row.id, review.Approval(mine.reference, confirmed=True))
    assert await status(shop, mine) is TransactionStatus.SUCCESS


async def test_after_the_wrong_pairing_is_rejected_the_other_one_is_judged(shop: FakeShop) -> None:
    shop.limit(0)
    mine, theirs = await shop.request(), await shop.request()
    first, second = parts(shop, mine.svc_code)
    forged = forged_end(theirs.svc_code, seconds=1)
    await shop.read_pdus([forged, second, first])
    assert await after_six_seconds(shop) == 1
    [row] = await shop.rows(Review, "reviews", "state = 'open'")
    text = (await shop.values(f"SELECT body FROM messages WHERE id = '{row.message_id}'"))[0]
    assert (mine.svc_code or "") in text, "the nearer part is shown"
    await review.reject(shop.env, OWNER, row.id, "not mine", confirmed=True)
    again = await shop.values("SELECT state FROM messages WHERE state IN ('held', 'payment', 'unparsed')")
    assert len(again) == 1, "the other pairing is judged"


@pytest.mark.parametrize("seconds", [4, 45])
async def test_the_genuine_pairing_is_for_a_person_when_the_nearer_one_cannot_be_read(
    shop: FakeShop, seconds: float
) -> None:
    mine = await shop.request()
    text = mtn_receipt(2500, "KOFI ANTWI BADU", shop.wallet(2500), mine.svc_code or "", "93214500001")
    first, _ = encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=7)
    _, second = encode_deliver(MTN_SENDER, text, STARTED + timedelta(seconds=seconds), smsc=MTN_SMSC, reference=7)
    stray = encode_deliver(MTN_SENDER, "x" * 153 + " 3JTJ88.", STARTED, smsc=MTN_SMSC, reference=7)[1]
    await shop.read_pdus([stray, first, second])
    assert await after_six_seconds(shop) == 1
    assert sorted(await states(shop)) == ["held", "unparsed"]
    [row] = await shop.rows(Review, "reviews", "state = 'open'")
    assert row.reason == "ambiguous_parts"
    await review.approve(shop.env, OWNER, row.id, review.Approval(mine.reference, confirmed=True))
    assert await status(shop, mine) is TransactionStatus.SUCCESS
    await after_six_seconds(shop)
    assert len(await shop.payments()) == 1


async def test_parts_without_their_others_are_a_flood(shop: FakeShop) -> None:
    for number in range(20, 27):
        await shop.read_pdus([forged_end("food", reference=number)])
    shop.clock.advance(120)
    shop.trust(Trust(unconfirmed_limit=0))
    mine = await shop.request()
    await shop.read_pdus(parts(shop, mine.svc_code))
    assert await status(shop, mine) is TransactionStatus.MANUAL_REVIEW, "it counts to the limit"


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
async def test_a_whole_rival_message_does_not_keep_the_genuine_one_away(shop: FakeShop, order: tuple[int, ...]) -> None:
    mine = await shop.request()
    genuine = parts(shop, mine.svc_code)
    text = mtn_receipt(9900, "KOJO NARH TAGOE", 777_700, "x", "93214500009")
    at = STARTED + timedelta(seconds=70)
    forged = encode_deliver(MTN_SENDER, text, at, smsc=MTN_SMSC, reference=7)
    shop.limit(0)
    pdus = [*forged, *genuine]
    await shop.read_pdus(pdus[index] for index in order)
    await after_six_seconds(shop)
    await after_six_seconds(shop)
    assert await status(shop, mine) is TransactionStatus.SUCCESS
    assert sorted(await states(shop)) == ["held", "payment"]


async def test_what_rivals_of_one_moment_form_is_all_for_a_person(shop: FakeShop) -> None:
    mine = await shop.request()
    genuine = parts(shop, mine.svc_code)
    text = mtn_receipt(9900, "KOJO NARH TAGOE", 777_700, "x", "93214500009")
    forged = encode_deliver(MTN_SENDER, text, STARTED, smsc=MTN_SMSC, reference=7)
    await shop.read_pdus([genuine[0], forged[0]])
    shop.clock.advance(6)
    await shop.read_pdus([genuine[1], forged[1]])
    await after_six_seconds(shop)
    assert await shop.payments() == []
    assert "incomplete" not in await states(shop)


async def test_many_unjoined_home_parts_make_every_assembly_wait(shop: FakeShop) -> None:
    request = await shop.request()
    await shop.read_pdus(forged_end(reference=100 + number) for number in range(21))
    await shop.read_pdus(parts(shop, request.svc_code))
    assert await status(shop, request) is TransactionStatus.PENDING
    assert await after_six_seconds(shop) == 1
    assert await status(shop, request) is TransactionStatus.SUCCESS
    # An hour later they no longer count.
    shop.clock.advance(3600)
    await shop.read_pdus(parts(shop, None, 2, reference=8, at=STARTED + timedelta(minutes=62)))
    assert len(await shop.payments()) == 2


async def test_parts_that_are_never_completed_stay_as_they_are(shop: FakeShop) -> None:
    first, second = parts(shop, "food")
    await shop.read_pdus([first])
    await shop.read_pdus([forged_end(seconds=16 * 60), forged_end(reference=8)])
    shop.clock.advance(3600)
    assert await assemble_parts(shop.env) == 0
    assert await states(shop) == ["incomplete"] * 3
    await shop.read_pdus([second])
    assert sorted(await states(shop)) == ["incomplete", "incomplete", "payment"]
