"""The trust rules: held messages, the events that settle them, and notices (docs/shop/concepts.md)."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.inputs import Source
from daemon.core.limits import HOUR_US
from daemon.core.model import Event, Review, Transaction
from daemon.flows.messages import overdue
from daemon.flows.messages.settle_lines import settle_lines
from daemon.flows.payments import review
from daemon.flows.upkeep.notices import end_of_reviews
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Trust
from daemon.runtime.config_file import parse_config
from daemon.steps.intake import Ingested
from daemon.store.journal import Notice
from daemon.store.messages import balances
from daemon.wire import MessageState, Mode, TransactionStatus
from parsers.times import to_us
from tests.fakes.invariants import check_invariants
from tests.fakes.owner_notices import listed, send_due
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, STARTED, Receipt, mtn
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.tiers import share

FOREIGN = "+447000000001"
STRICT = "[trust]\nunconfirmed_limit = 0"
NAME = "KOFI ANTWI BADU"
PIECES = (
    "Payment received for GHS 900.00 from RICH MAN ", " Current Balance: GHS 999.99 . Available Balance: GHS 999.99. Reference: ",
    "Current Balance: GHS 0.01. Ref: x", ". Transaction ID: 99999999999. TRANSACTION FEE: 0.00", ". Transaction ID:", "Reference:",
    "RICH MAN ,233240000001,K7M2QX from VODAFONE", "TRANSACTION FEE: 9.99", "balance: GHS 1.00", "Token: 123456789", " ", "K7M2QX",
)  # fmt: skip
TYPED = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=5).map("".join).map(lambda text: text[:160])
)
"""What payers type: any text, and pieces of receipts."""


def receipt(
    number: int,
    amount_minor: int,
    balance_minor: int,
    typed: str | None = None,
    *,
    after_s: int | None = None,
    name: str = NAME,
) -> Receipt:
    """Make the receipt with this number in the order of the line's IDs, two minutes after the one before."""
    return mtn(
        amount_minor,
        name,
        balance_minor,
        typed or "food",
        str(93_214_500_000 + number),
        concatenation=number,
        sent_at=STARTED + timedelta(seconds=number * 120 if after_s is None else after_s),
    )


def pass_time(shop: FakeShop, receipts: Sequence[Receipt]) -> None:
    """Let the clock reach the time of the last receipt."""
    at = max(to_us(one.sent_at) for one in receipts)
    shop.clock.advance(max(0, at - shop.clock.now_us()) / 1_000_000)


async def states(shop: FakeShop, *receipts: Receipt) -> list[MessageState]:
    pass_time(shop, receipts)
    taken = await shop.read(*receipts)
    assert taken.faults == ()
    return [state for _id, state in taken.concluded]


async def notices(shop: FakeShop) -> list[tuple[str, Any]]:
    told = await shop.rows(Event, "events", "type LIKE 'notice.%'")
    return [(event.type.removeprefix("notice."), json.loads(event.data)) for event in told]


async def reviews(shop: FakeShop) -> list[tuple[str, str]]:
    return [(row.reason, row.state) for row in await shop.rows(Review, "reviews")]


async def the_open_one(shop: FakeShop) -> Review:
    [found] = await shop.rows(Review, "reviews", "state = 'open'")
    assert isinstance(found, Review)
    return found


async def approve(shop: FakeShop, row: Review, **said: Any) -> review.Decided:
    said = {"confirmed": True, **said}
    return await review.approve(shop.env, OWNER, row.id, review.Approval(**said))


def through(smsc: str, made: Receipt) -> tuple[str, ...]:
    """Return the parts of a receipt as they come through another SMSC."""
    reference = int(made.telco_id) % 256
    return encode_deliver(made.sender, made.text, made.sent_at, smsc=smsc, reference=reference)


async def read_foreign(shop: FakeShop, *made: Receipt) -> list[MessageState]:
    pass_time(shop, made)
    taken = await shop.read_pdus(pdu for one in made for pdu in through(FOREIGN, one))
    assert taken.faults == ()
    return [state for _id, state in taken.concluded]


async def standings(shop: FakeShop) -> list[tuple[str, str]]:
    """Return the standing and reason of each message, without the one that began the chain."""
    return await shop.values("SELECT standing, why FROM line_balances WHERE telco_id IS NOT NULL ORDER BY seq")


async def status(shop: FakeShop, request: Transaction) -> TransactionStatus:
    return (await shop.transaction(request.reference)).status


async def kinds(shop: FakeShop) -> list[str]:
    return [kind for kind, _ in await notices(shop)]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a known wallet balance of GHS 900.00 and the default settings."""
    made = await FakeShop.make(tmp_path, Config())
    await made.begin_chain(90_000)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """The same shop with `unconfirmed_limit = 0`."""
    made = await FakeShop.make(tmp_path, parse_config(STRICT))
    await made.begin_chain(90_000)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


@pytest.fixture
async def careful(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """The same shop with `unconfirmed_limit = 1`: a row of more waits."""
    made = await FakeShop.make(tmp_path, parse_config("[trust]\nunconfirmed_limit = 1"))
    await made.begin_chain(90_000)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


async def test_a_receipt_that_joins_pays_whatever_else_lies_about(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await read_foreign(shop, receipt(1, 5_000, 95_000), receipt(2, 7_000, 33_000))
    await states(shop, receipt(3, 100_000, 7_777_777))
    assert await states(shop, receipt(4, 2500, 92_500, request.svc_code)) == [MessageState.PAYMENT]
    assert await status(shop, request) is TransactionStatus.SUCCESS


async def test_a_break_pays_at_once_within_the_limit_and_waits_above_it(shop: FakeShop) -> None:
    small, large = await shop.request(15_000), await shop.request(6_000)
    assert await states(shop, receipt(1, 15_000, 70_000, small.svc_code)) == [MessageState.PAYMENT]
    assert await states(shop, receipt(2, 6_000, 76_000, large.svc_code)) == [MessageState.HELD]
    assert await status(shop, small) is TransactionStatus.SUCCESS
    assert await status(shop, large) is TransactionStatus.MANUAL_REVIEW
    held = await the_open_one(shop)
    assert (held.reason, held.transaction_id) == ("balance_break", large.id)
    details = json.loads(held.details)
    assert (details["why"], details["limit"]) == ("breaks", "200.00")
    assert await states(shop, receipt(3, 5_000, 81_000)) == [MessageState.PAYMENT], "it fits in"
    shop.clock.advance(86_400)
    more = receipt(4, 20_000, 101_000, after_s=86_400)
    assert await states(shop, more) == [MessageState.HELD], "the bound between two proofs is used up"


async def test_the_bound_is_asked_about_before_it_is_used_up(shop: FakeShop) -> None:
    await states(shop, receipt(1, 7_000, 70_000))
    assert await kinds(shop) == []
    await states(shop, receipt(2, 2_000, 50_000))
    [(kind, told)] = await notices(shop)
    assert (kind, told["left_minor"]) == (Notice.WALLET_ASKED, 11_000)
    await states(shop, receipt(3, 1_000, 40_000))
    assert await kinds(shop) == [Notice.WALLET_ASKED], "once a day"
    # The bound is the bound of a usual day, so it may have fallen below what is used, and is asked about again.
    shop.clock.advance(86_401)
    assert await states(shop, receipt(4, 500, 30_000, after_s=86_402)) == [MessageState.PAYMENT]
    assert await kinds(shop) == 2 * [Notice.WALLET_ASKED]


async def test_the_limit_is_half_of_a_usual_day_and_on_the_first_day_of_what_came_so_far(shop: FakeShop) -> None:
    balance, day = 90_000, 86_400
    for number in range(1, 41):
        balance += 2_000
        await states(shop, receipt(number, 2_000, balance))
    assert await states(shop, receipt(41, 40_100, 900_000)) == [MessageState.HELD]
    half = receipt(42, 40_000, 800_000, after_s=day)
    assert await states(shop, half) == [MessageState.PAYMENT]
    assert await states(shop, receipt(43, 1, 800_001, after_s=day + 60)) == [MessageState.HELD]


async def test_a_row_wins_when_everything_else_is_silent_and_the_missing_amount_is_told(careful: FakeShop) -> None:
    usual = [receipt(number, 100, 90_000 + number * 100) for number in range(1, 31)]
    await states(careful, *usual)
    await states(careful, *(receipt(n, 200, 50_000 + n * 200) for n in range(31, 34)))
    careful.clock.advance(200)
    assert await settle_lines(careful.env) == 0
    careful.clock.advance(3_600)
    assert await settle_lines(careful.env) == 3
    told = [(kind, told["gap_minor"]) for kind, told in await notices(careful)]
    assert told == [(Notice.MONEY_MISSING, -37_000)]
    assert await states(careful, receipt(40, 100, 56_700)) == [MessageState.PAYMENT]


async def test_with_limit_0_a_row_that_wins_by_silence_pays_when_time_has_confirmed_it(strict: FakeShop) -> None:
    await states(strict, *(receipt(number, 100, 90_000 + number * 100) for number in range(1, 31)))
    await states(strict, *(receipt(n, 100, 50_000 + n * 100) for n in range(31, 34)))
    strict.clock.advance(3_800)
    assert await settle_lines(strict.env) == 0
    assert [kind for kind, _ in await notices(strict)] == [Notice.MONEY_MISSING], "it has won"
    assert await states(strict, receipt(40, 100, 53_400)) == [MessageState.HELD]
    strict.clock.advance(2 * 86_400)
    assert await settle_lines(strict.env) == 4


async def test_a_row_does_not_win_while_anything_else_grows(strict: FakeShop) -> None:
    await states(strict, *(receipt(n, 100, 90_000 + n * 100) for n in range(1, 31)))
    await states(strict, *(receipt(n, 100, 50_000 + n * 100) for n in range(31, 34)))
    strict.clock.advance(3_600)
    await states(strict, receipt(70, 100, 777_700))
    assert await settle_lines(strict.env) == 0
    assert await standings_count(strict, "silence") == 0


async def standings_count(shop: FakeShop, why: str) -> int:
    return sum(each == why for _, each in await standings(shop))


async def test_what_wins_by_silence_pays_within_the_bound_only(shop: FakeShop) -> None:
    await states(shop, *(receipt(n, 100, 90_000 + n * 100) for n in range(1, 31)))
    row = [receipt(n, 9_000, 500_000 + n * 9_000) for n in range(31, 35)]
    assert await states(shop, *row) == [*[MessageState.PAYMENT] * 2, *[MessageState.HELD] * 2]
    shop.clock.advance(5_000)
    await settle_lines(shop.env)
    assert await standings_count(shop, "silence") == 4
    assert len(await shop.payments()) == 32
    following = receipt(90, 9_000, 500_000 + 35 * 9_000, after_s=20_000)
    assert await states(shop, following) == [MessageState.HELD], "it joins a provisional balance"


async def test_a_lull_confirms_no_row_of_large_receipts_beyond_the_bound(careful: FakeShop) -> None:
    await states(careful, *(receipt(n, 100, 90_000 + n * 100) for n in range(1, 31)))
    row = [receipt(n, 500_000, 700_000 + n * 500_000) for n in range(31, 35)]
    assert await states(careful, *row) == [MessageState.HELD] * 4
    for _ in range(8):
        careful.clock.advance(15 * 60)
        await settle_lines(careful.env)
    paid = [one.amount_minor for one in await careful.payments()]
    assert max(paid) == 100, "GHS 5,000 is above the bound, whatever the silence says"


async def test_money_that_was_paid_in_a_row_that_the_chain_passed_is_a_strike(shop: FakeShop) -> None:
    request, other = await shop.request(2500), await shop.request(30_000)
    await states(shop, receipt(1, 2500, 70_000, request.svc_code), receipt(2, 30_000, 100_000, other.svc_code))
    await states(shop, receipt(5, 100, 90_100))
    shop.clock.advance(2 * 3_600 + 60)
    await settle_lines(shop.env)
    told = [(kind, told["amount_minor"]) for kind, told in await notices(shop)]
    assert told == [(Notice.RECEIPT_SUSPECT, 2500), (Notice.RECEIPT_FORGED, 30_000), (Notice.MONEY_CONTRADICTED, 2500)]
    # A verified payment is never changed silently; the transaction of the forged receipt is pending again.
    assert await status(shop, request) is TransactionStatus.SUCCESS
    assert await status(shop, other) is TransactionStatus.PENDING
    assert await reviews(shop) == [("balance_break", "open")], "a person still looks at it"
    later = receipt(200, 100, 777_700)
    assert await states(shop, later) == [MessageState.HELD], "nothing that does not join pays now"
    await states(shop, receipt(201, 30_000, 120_100, other.svc_code))
    assert await status(shop, other) is TransactionStatus.SUCCESS


async def test_a_late_message_fills_a_gap_of_the_chain_from_either_side(shop: FakeShop) -> None:
    await states(shop, *(receipt(n, 100, 90_000 + n * 100) for n in range(1, 31)))
    # The receipts 31 to 33 are late: GHS 3.00, then a row of three that wins.
    await states(shop, *(receipt(n, 100, 90_000 + n * 100) for n in range(34, 38)))
    shop.clock.advance(5_000)
    await settle_lines(shop.env)
    for number in (31, 33, 32):
        late = receipt(number, 100, 90_000 + number * 100)
        assert await states(shop, late) == [MessageState.PAYMENT]
    gaps = "SELECT gap_minor FROM line_balances WHERE gap_minor <> 0"
    assert await shop.values(gaps) == []


async def test_a_foreign_message_is_listed_and_changes_nothing(shop: FakeShop) -> None:
    request = await shop.request(2500)
    made = receipt(1, 2500, 92_500, request.svc_code)
    assert await read_foreign(shop, made) == [MessageState.HELD]
    assert await reviews(shop) == []
    assert await status(shop, request) is TransactionStatus.PENDING
    assert await kinds(shop) == [Notice.SMSC_UNKNOWN]
    assert await shop.values("SELECT COUNT(*) FROM deliveries") == [0]
    # The genuine one with the same transaction ID is judged as if it were alone.
    assert await states(shop, made) == [MessageState.PAYMENT]
    assert await status(shop, request) is TransactionStatus.SUCCESS


async def test_one_notice_tells_of_a_foreign_smsc_and_only_if_its_balance_joins(shop: FakeShop) -> None:
    await read_foreign(shop, receipt(1, 2500, 7_000))
    assert await kinds(shop) == []
    await read_foreign(shop, receipt(2, 2500, 92_500), receipt(3, 2500, 92_500))
    assert await kinds(shop) == [Notice.SMSC_UNKNOWN]


async def test_an_id_of_another_time_is_a_doubt_and_moves_nothing(shop: FakeShop) -> None:
    await states(shop, *(receipt(n, 100, 90_000 + n * 100) for n in range(1, 5)))
    ahead = receipt(5, 100, 90_500)
    text = ahead.text.replace("93214500005", "99914500005")
    pdus = encode_deliver(MTN_SENDER, text, ahead.sent_at, smsc=MTN_SMSC, reference=5)
    pass_time(shop, [ahead])
    [(_, state)] = (await shop.read_pdus(pdus)).concluded
    assert state is MessageState.HELD
    assert await reviews(shop) == []
    assert await states(shop, receipt(6, 100, 90_500)) == [MessageState.PAYMENT]


async def test_hundreds_of_foreign_messages_open_no_review_and_hold_nothing(shop: FakeShop) -> None:
    made = [receipt(number, 100, 1_000 + number) for number in range(1, 121)]
    assert set(await read_foreign(shop, *made)) == {MessageState.HELD}
    assert await reviews(shop) == []
    assert await kinds(shop) == []
    assert await states(shop, receipt(200, 100, 90_100)) == [MessageState.PAYMENT]


async def test_a_flood_of_candidates_counts_what_joins_to_the_limit_and_gives_one_notice(shop: FakeShop) -> None:
    texts = [receipt(number, 100_000, 1_000_000 * number) for number in range(1, 41)]
    assert set(await states(shop, *texts)) == {MessageState.HELD}
    assert await kinds(shop) == [Notice.FORGERY_FLOOD]
    assert len(await reviews(shop)) == 5, "a flood opens no further reviews"
    joins = receipt(50, 15_000, 105_000)
    assert await states(shop, joins) == [MessageState.PAYMENT], "it counts to the limit"
    assert await states(shop, receipt(51, 15_000, 120_000)) == [MessageState.HELD]
    assert await shop.values("SELECT standing FROM line_balances ORDER BY seq DESC LIMIT 1") == ["accepted"]
    shop.clock.advance(86_400)
    assert await states(shop, receipt(200, 100, 120_100, after_s=90_000)) == [MessageState.PAYMENT]


async def test_the_first_message_of_a_line_pays_within_the_limit_and_else_waits(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    request = await shop.request(25_000)
    assert await states(shop, receipt(1, 25_000, 90_000, request.svc_code)) == [MessageState.HELD]
    held = await the_open_one(shop)
    assert held.reason == "balance_break"
    assert await status(shop, request) is TransactionStatus.MANUAL_REVIEW
    assert await states(shop, receipt(2, 15_000, 105_000)) == [MessageState.PAYMENT]
    assert await states(shop, receipt(3, 15_000, 120_000)) == [MessageState.HELD], "not proved yet"
    await approve(shop, held)
    assert await status(shop, request) is TransactionStatus.SUCCESS
    assert await states(shop, receipt(4, 90_000, 210_000)) == [MessageState.PAYMENT], "proved"
    shop.close()


async def test_an_emptied_wallet_is_known_to_everybody_so_what_joins_it_has_a_bound(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    await shop.begin_chain(100)
    assert await states(shop, receipt(1, 15_000, 15_100)) == [MessageState.PAYMENT]
    assert await states(shop, receipt(2, 15_000, 30_100)) == [MessageState.HELD], "the bound"
    shop.close()


async def test_a_reversal_without_a_balance_waits_for_a_person_and_marks_nothing(shop: FakeShop) -> None:
    request = await shop.request(2500)
    await states(shop, receipt(1, 2500, 92_500, request.svc_code))
    text = "Transaction 93214500001 of GHS 25.00 from KOFI ANTWI BADU has been reversed."
    for smsc in (MTN_SMSC, FOREIGN):
        sent = receipt(2, 1, 1).sent_at
        taken = await shop.read_pdus(encode_deliver(MTN_SENDER, text, sent, smsc=smsc))
        assert [state for _, state in taken.concluded] == [MessageState.HELD]
    assert await reviews(shop) == [("doubtful_message", "open")], "the home one; the other is listed"
    assert await states(shop, receipt(3, 100, 92_600)) == [MessageState.PAYMENT]
    assert (await shop.transaction(request.reference)).reversed_at is None
    await approve(shop, await the_open_one(shop))
    assert (await shop.transaction(request.reference)).reversed_at is not None


async def test_with_limit_0_a_break_never_pays_before_it_is_confirmed(strict: FakeShop) -> None:
    assert await states(strict, receipt(1, 100, 70_000)) == [MessageState.HELD]


async def test_a_late_message_that_closes_the_gap_lets_everything_pay(strict: FakeShop) -> None:
    request = await strict.request(2500)
    await states(strict, receipt(2, 2500, 93_500, request.svc_code))
    assert await status(strict, request) is TransactionStatus.MANUAL_REVIEW
    assert await states(strict, receipt(1, 1000, 91_000)) == [MessageState.PAYMENT]
    paid = await strict.transaction(request.reference)
    assert (paid.status, paid.matched_by) == (TransactionStatus.SUCCESS, "code")
    assert await reviews(strict) == [("balance_break", "superseded")]
    assert await kinds(strict) == []


async def test_a_rejection_refutes_the_whole_row_and_genuine_payments_match_again(strict: FakeShop) -> None:
    request = await strict.request(2500)
    await states(strict, receipt(1, 2500, 70_000, request.svc_code), receipt(2, 100, 70_100))
    first, _ = await strict.rows(Review, "reviews", "state = 'open'")
    answer = await review.reject(strict.env, OWNER, first.id, "no such money", confirmed=True)
    assert answer.settled == 1
    assert await status(strict, request) is TransactionStatus.PENDING
    assert await standings(strict) == [("doubtful", "person"), ("doubtful", "person")]
    assert await strict.rows(Review, "reviews", "state = 'open'") == []
    await states(strict, receipt(3, 2500, 92_500, request.svc_code))
    assert await status(strict, request) is TransactionStatus.SUCCESS


async def test_an_approval_takes_the_whole_row_and_pays_what_waits_in_it(strict: FakeShop) -> None:
    request, other = await strict.request(2500), await strict.request(100)
    await states(strict, receipt(1, 2500, 70_000, request.svc_code), receipt(2, 100, 70_100, other.svc_code))
    second = (await strict.rows(Review, "reviews", "state = 'open'"))[1]
    await approve(strict, second)
    assert await status(strict, request) is TransactionStatus.SUCCESS
    assert await status(strict, other) is TransactionStatus.SUCCESS
    assert await kinds(strict) == [Notice.MONEY_MISSING]


async def test_the_notice_about_held_payments_ends_when_none_waits_any_more(strict: FakeShop) -> None:
    await states(strict, receipt(1, 2500, 70_000), receipt(2, 100, 60_100, after_s=5000))
    await send_due(strict)
    (told,) = [row for row in await listed(strict) if row.kind == "review.opened"]
    first, second = await strict.rows(Review, "reviews", "state = 'open'")
    await review.reject(strict.env, OWNER, first.id, "not there", confirmed=True)
    await end_of_reviews(strict.env)
    assert [row.recovered_at for row in await listed(strict) if row.id == told.id] == [None]
    await approve(strict, second)
    await end_of_reviews(strict.env)
    assert [row.recovered_at for row in await listed(strict) if row.id == told.id] != [None]


async def test_an_approval_for_another_transaction_releases_the_first_one(strict: FakeShop) -> None:
    request, other = await strict.request(2500), await strict.request(2500)
    await states(strict, receipt(1, 2500, 70_000, request.svc_code))
    await approve(strict, await the_open_one(strict), reference=other.reference)
    assert await status(strict, request) is TransactionStatus.PENDING
    assert await status(strict, other) is TransactionStatus.SUCCESS


async def test_the_owners_test_payment_begins_the_chain_through_any_smsc(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, parse_config(STRICT))
    until = shop.clock.now_us() + HOUR_US
    await shop.env.store.write(lambda tx: balances.expect_test_payment(tx, shop.source.sim_key, 137, until))
    assert await read_foreign(shop, receipt(1, 138, 90_000)) == [MessageState.HELD]
    assert await read_foreign(shop, receipt(2, 137, 90_137)) == [MessageState.PAYMENT]
    assert await read_foreign(shop, receipt(3, 90_000, 180_137)) == [MessageState.PAYMENT]
    assert await shop.values("SELECT smsc FROM sim_smscs WHERE source = 'test_payment'") == [FOREIGN]
    shop.close()


@pytest.mark.parametrize(("begun", "wallet"), [(None, 92_500), (20_000, 22_500), (20_000, 92_500)])
async def test_a_receipt_that_the_test_payment_joins_from_behind_is_confirmed_by_it(
    tmp_path: Path, begun: int | None, wallet: int
) -> None:
    shop = await FakeShop.make(tmp_path, parse_config(STRICT))
    if begun is not None:
        await shop.begin_chain(begun)
    order = await shop.request(2500)
    until = shop.clock.now_us() + HOUR_US
    await shop.env.store.write(lambda tx: balances.expect_test_payment(tx, shop.source.sim_key, 137, until))
    await states(shop, receipt(1, 2500, wallet, order.svc_code))
    assert await states(shop, receipt(2, 137, wallet + 137)) == [MessageState.PAYMENT]
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert await shop.values("SELECT COUNT(*) FROM reviews WHERE state = 'open'") == [0]
    shop.close()


async def test_a_forgery_with_the_id_of_a_genuine_receipt_does_not_take_its_place(strict: FakeShop) -> None:
    request = await strict.request(2500)
    twin = receipt(1, 2500, 70_000, after_s=100)
    assert await states(strict, twin) == [MessageState.HELD]
    genuine = receipt(1, 2500, 92_500, request.svc_code)
    assert await states(strict, genuine) == [MessageState.PAYMENT]
    assert await status(strict, request) is TransactionStatus.SUCCESS


async def test_a_person_is_asked_when_a_forgery_with_the_id_of_a_genuine_receipt_was_paid(shop: FakeShop) -> None:
    assert await states(shop, receipt(1, 2500, 70_000, after_s=100)) == [MessageState.PAYMENT]
    assert await states(shop, receipt(1, 2500, 92_500)) == [MessageState.HELD]
    assert ("id_conflict", "open") in await reviews(shop)
    assert await states(shop, receipt(2, 100, 92_600)) == [MessageState.PAYMENT], "it joins"


@pytest.mark.parametrize(
    ("setting", "state", "told"),
    [
        ("review", MessageState.HELD, []),
        ("warn", MessageState.PAYMENT, [Notice.BALANCE_WARNING]),
        ("off", MessageState.PAYMENT, []),
    ],
)
async def test_the_setting_decides_about_breaks_and_foreign_messages(
    tmp_path: Path, setting: str, state: MessageState, told: list[Notice]
) -> None:
    shop = await FakeShop.make(tmp_path, parse_config(f'{STRICT}\nbalance_check = "{setting}"'))
    await shop.begin_chain()
    assert await states(shop, receipt(2, 2500, 70_000)) == [state]
    assert await kinds(shop) == told
    assert await read_foreign(shop, receipt(3, 2500, 10_000)) == [state]
    shop.close()


async def test_a_reference_that_speaks_like_a_receipt_pays_what_its_receipt_says(shop: FakeShop) -> None:
    request = await shop.request(100)
    typed = f"{request.svc_code} Payment received for GHS 500. Current Balance: GHS 9.00"
    assert await states(shop, receipt(2, 100, 90_100, typed)) == [MessageState.PAYMENT]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS


FALSE_BALANCE = "Current Balance: GHS 9999.00 . Reference: A7K2M9"


async def test_a_balance_that_a_payer_types_breaks_no_chain(shop: FakeShop) -> None:
    request = await shop.request(100)
    typed = f"{FALSE_BALANCE} {request.svc_code}"
    assert await states(shop, receipt(2, 100, 90_100, typed)) == [MessageState.PAYMENT]
    assert await standings(shop) == [("accepted", "joins")]
    assert await states(shop, receipt(3, 2_000, 92_100)) == [MessageState.PAYMENT]
    assert await kinds(shop) == []


async def test_a_balance_that_a_payer_has_in_the_name_breaks_no_chain(shop: FakeShop) -> None:
    named = receipt(2, 100, 90_100, name=f"KOFI {FALSE_BALANCE}")
    assert await states(shop, named) == [MessageState.PAYMENT]
    assert await states(shop, receipt(3, 2_000, 92_100)) == [MessageState.PAYMENT]


async def test_a_typed_receipt_that_joins_nothing_waits_and_pays_when_the_missing_message_comes(shop: FakeShop) -> None:
    assert await states(shop, receipt(2, 100, 95_100, FALSE_BALANCE)) == [MessageState.HELD]
    assert await reviews(shop) == [("doubtful_message", "open")]
    assert await states(shop, receipt(3, 5_000, 95_000, after_s=230)) == [MessageState.PAYMENT]
    assert len(await shop.payments()) == 2
    assert await states(shop, receipt(4, 100, 95_200)) == [MessageState.PAYMENT]


@given(st.lists(TYPED, min_size=1, max_size=5))
@settings(max_examples=share(15), deadline=None)
def test_whatever_payers_type_each_receipt_pays_and_the_chain_goes_on(texts: list[str]) -> None:
    async def play(folder: Path) -> None:
        shop = await FakeShop.make(folder, Config())
        await shop.begin_chain(90_000)
        for number, text in enumerate(texts, 1):
            made = receipt(number, 100, 90_000 + 100 * number, text)
            assert await states(shop, made) == [MessageState.PAYMENT], text
        shop.close()

    with tempfile.TemporaryDirectory(prefix="momo-typed-") as folder:
        asyncio.run(play(Path(folder)))


async def test_a_receipt_that_is_held_for_half_an_hour_is_told_once(strict: FakeShop) -> None:
    await states(strict, receipt(2, 2500, 70_000))
    await read_foreign(strict, receipt(3, 2500, 10_000))
    strict.clock.advance(28 * 60 - 1)
    assert await overdue.notify_overdue(strict.env) == 0
    strict.clock.advance(1)
    assert await overdue.notify_overdue(strict.env) == 1, "a foreign one is no news"
    assert await overdue.notify_overdue(strict.env) == 0
    row = (await strict.rows(Review, "reviews"))[0]
    assert await notices(strict) == [(Notice.RECEIPT_HELD, {"review_id": row.id})]


async def test_test_messages_touch_no_balance_and_no_smsc(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    source = Source(shop.source.sim_key, shop.source.device_id, 0, test=True)
    live, shop.source = shop.source, source
    breaking = [receipt(1, 1000, 90_000), receipt(2, 2500, 70_000)]
    assert await states(shop, *breaking) == [MessageState.PAYMENT, MessageState.PAYMENT]
    assert {payment.mode for payment in await shop.payments()} == {Mode.TEST}
    assert await shop.values("SELECT smsc FROM sim_smscs") == [MTN_SMSC], "the SIM's own"
    assert await shop.values("SELECT 1 FROM line_balances") == []
    shop.source = live
    shop.close()


async def test_a_fault_in_the_rules_loses_no_message(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr("daemon.steps.process_message.judge_message", broken)
    taken = await shop.read(receipt(1, 1000, 91_000))
    assert isinstance(taken, Ingested)
    assert await shop.values("SELECT COUNT(*) FROM sms_parts") == [2]
    assert await shop.values("SELECT state, reasons FROM messages ORDER BY seq DESC LIMIT 1") == [
        ("unparsed", '["internal_error"]')
    ]


def test_the_default_is_to_ask_half_of_a_usual_day_and_twice_one_on_a_phone() -> None:
    assert Config().trust == Trust(
        balance_check="review", unconfirmed_limit="auto", phone_limit="auto", phone_breaks=True
    )
