"""Payments from a source without an SMSC: levels `partial` and `reported` (docs/shop/sources.md)."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.inputs import ReadPart
from daemon.core.messages.trust import SmscSource
from daemon.core.model import Message, Review, Transaction
from daemon.flows.messages import ingest
from daemon.flows.messages.overdue import notify_overdue
from daemon.flows.messages.settle_lines import settle_lines
from daemon.flows.payments import review
from daemon.runtime.config import Trust
from daemon.steps.store_parts import text_parts
from daemon.store.messages import balances
from daemon.wire import MessageState, TransactionStatus, TrustLevel
from parsers.times import to_us
from tests.fakes.answers import decided
from tests.fakes.invariants import check_invariants
from tests.fakes.receipts import MTN_SMSC, STARTED, Receipt, mtn
from tests.fakes.shop import OWNER, FakeShop

STATES = MessageState


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a SIM that was in a modem with a known SMSC, and is in a HiLink stick now."""
    made = await FakeShop.make(tmp_path)
    made.source = replace(made.source, name="stick", level=TrustLevel.PARTIAL)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


def receipt(number: int, amount_minor: int, balance_minor: int, typed: str = "food") -> Receipt:
    """Make the receipt with this number in the order of the line, two minutes after the one before."""
    return mtn(
        amount_minor,
        "KOFI ANTWI BADU",
        balance_minor,
        typed,
        str(93_214_500_000 + number),
        sent_at=STARTED + timedelta(seconds=number * 120),
    )


def parts_of(made: Receipt, sender: str | None = None) -> list[ReadPart]:
    return text_parts(
        made.sender if sender is None else sender, made.text, to_us(made.sent_at), storage="local", slot=40_001
    )


async def read(shop: FakeShop, *receipts: Receipt) -> list[MessageState]:
    at = max(to_us(one.sent_at) for one in receipts)
    shop.clock.advance(max(0, at - shop.clock.now_us()) / 1_000_000)
    parts = [part for one in receipts for part in parts_of(one)]
    taken = await ingest.ingest(shop.env, shop.source, parts)
    assert taken.faults == ()
    return [state for _id, state in taken.concluded]


async def decide(shop: FakeShop, row: Review) -> dict[str, Any]:
    answer = await review.approve(shop.env, OWNER, row.id, review.Approval(confirmed=True))
    return decided(answer)


async def test_first_receipts_of_a_line_pay_within_the_limit_until_a_proof(shop: FakeShop) -> None:
    shop.trust(Trust())
    assert await read(shop, receipt(1, 15_000, 60_000)) == [STATES.PAYMENT]
    assert await read(shop, receipt(2, 15_000, 75_000)) == [STATES.HELD]
    await shop.says(75_000)
    assert await read(shop, receipt(3, 15_000, 90_000)) == [STATES.PAYMENT]
    assert len(await shop.payments()) == 3


async def test_what_joins_pays_up_to_the_daily_limit_of_a_phone(shop: FakeShop) -> None:
    shop.trust(Trust(phone_limit=100))
    await shop.begin_chain(5000)
    assert await read(shop, receipt(1, 6000, 11_000)) == [STATES.PAYMENT]
    assert await read(shop, receipt(2, 5000, 16_000)) == [STATES.HELD], "above the limit of the day"
    assert await read(shop, receipt(3, 4000, 20_000)) == [STATES.PAYMENT]
    shop.clock.advance(86_400)
    assert await read(shop, receipt(800, 9000, 29_000)) == [STATES.PAYMENT]


async def test_a_proof_gives_the_daily_limit_of_a_phone_back(shop: FakeShop) -> None:
    shop.trust(Trust(phone_limit=100))
    await shop.begin_chain(5000)
    await read(shop, receipt(1, 6000, 11_000), receipt(2, 5000, 16_000))
    await shop.says(16_000)
    assert len(await shop.payments()) == 2, "what waited is confirmed by the number"
    assert await read(shop, receipt(3, 9000, 25_000)) == [STATES.PAYMENT]


async def test_a_made_up_debit_moves_nothing_that_a_receipt_could_join(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(5_000)
    for number in range(1, 25):
        guess = receipt(number, 100, 20_000 + 700 * number)
        debit = guess.text.replace("Payment received for GHS 1.00 from", "Payment made for GHS 1.00 to")
        parts = text_parts(guess.sender, debit, to_us(guess.sent_at), storage="local", slot=40_001)
        await ingest.ingest(shop.env, shop.source, parts)
    assert await read(shop, receipt(30, 500_000, 520_000)) == [STATES.HELD]
    assert await shop.payments() == []


async def test_an_emptied_wallet_on_a_phone_lets_nobody_guess_above_the_bound(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(0)
    paid = [await read(shop, receipt(n, 15_000, 15_000 * n)) for n in range(1, 5)]
    assert paid == [[STATES.PAYMENT], *[[STATES.HELD]] * 3], "GHS 200 a day, until a proof"
    assert await read(shop, receipt(9, 500_000, 560_000)) == [STATES.HELD]


async def test_many_guesses_on_a_phone_pay_no_more_than_the_limits_of_a_day(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(5_000)
    for number in range(1, 12):
        await read(shop, receipt(number, 19_000, 19_000 + 1_000 * number))
    assert sum(one.amount_minor for one in await shop.payments()) <= 20_000 + 100_000


async def test_a_break_pays_within_the_limit_unless_the_setting_forbids_it(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(5000)
    assert await read(shop, receipt(1, 1000, 9000)) == [STATES.PAYMENT]
    shop.trust(Trust(phone_breaks=False))
    assert await read(shop, receipt(2, 1000, 39_000)) == [STATES.HELD]


async def test_in_a_flood_no_break_pays_and_what_joins_does(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(5000)
    for number in range(1, 24):
        await read(shop, receipt(number, 90_000, 200_000 * number))
    assert await read(shop, receipt(30, 100, 7_777)) == [STATES.HELD]
    assert await read(shop, receipt(31, 1000, 6000)) == [STATES.PAYMENT]
    told = await shop.values("SELECT type FROM events WHERE type LIKE 'notice.%'")
    assert told.count("notice.forgery_flood") == 1


async def test_a_strike_on_a_phone_lasts_for_thirty_days(shop: FakeShop) -> None:
    shop.trust(Trust())
    await shop.begin_chain(5000)
    assert await read(shop, receipt(1, 1000, 90_000)) == [STATES.PAYMENT]
    shop.clock.advance(300)
    await shop.says(5000)
    for days in (1, 29):
        shop.clock.advance(days * 86_400 - 1)
        assert await read(shop, receipt(days * 720, 100, days * 1_000_000)) == [STATES.HELD]
    shop.clock.advance(86_402)
    assert await read(shop, receipt(40_000, 100, 7_654_321)) == [STATES.PAYMENT]


async def test_messages_in_the_wrong_order_pay_when_the_missing_one_comes(shop: FakeShop) -> None:
    shop.limit(0)
    await shop.begin_chain(5000)
    assert await read(shop, receipt(3, 300, 5600)) == [STATES.HELD]
    assert await read(shop, receipt(2, 200, 5300)) == [STATES.HELD]
    assert await read(shop, receipt(1, 100, 5100)) == [STATES.PAYMENT]
    assert len(await shop.payments()) == 3
    assert await shop.rows(Review, "reviews", "state = 'open'") == []


async def test_one_approval_heals_the_line_after_a_lost_message(shop: FakeShop) -> None:
    shop.limit(0)
    await shop.begin_chain(5000)
    after_gap = [receipt(number, 100, 5900 + number * 100) for number in range(2, 8)]
    for one in after_gap:
        assert await read(shop, one) == [STATES.HELD]
    rows = await shop.rows(Review, "reviews", "state = 'open'")
    body = await decide(shop, rows[2])
    assert body["settled"] == 5
    assert len(await shop.payments()) == 6
    assert await read(shop, receipt(8, 100, 6700)) == [STATES.PAYMENT]


async def test_a_stock_of_guesses_does_not_wait_for_its_balance(shop: FakeShop) -> None:
    shop.limit(0)
    await shop.begin_chain(5000)
    guess = mtn(777, "EVE", 6777, "food", "93214500001", sent_at=STARTED - timedelta(seconds=100))
    assert await read(shop, guess) == [STATES.HELD]
    assert await read(shop, receipt(2, 1000, 6000)) == [STATES.PAYMENT]
    await settle_lines(shop.env)
    assert len(await shop.payments()) == 1


async def test_rows_with_many_gaps_pay_when_the_missing_messages_come(shop: FakeShop) -> None:
    shop.limit(0)
    await shop.begin_chain(5000)
    row = [receipt(number, 100, 5000 + number * 100) for number in range(1, 61)]
    # Posts of the app are lost repeatedly, and handed over later.
    for one in row[1::2]:
        assert await read(shop, one) == [STATES.HELD]
    shop.clock.advance(2 * 3600)
    for one in row[::2][:0:-1]:
        assert await read(shop, one) == [STATES.HELD]
    assert await shop.payments() == []
    assert await read(shop, row[0]) == [STATES.PAYMENT]
    assert len(await shop.payments()) == 60
    assert await shop.rows(Review, "reviews", "state = 'open'") == []


async def test_owners_test_payment_begins_the_chain_and_makes_no_smsc_home(shop: FakeShop) -> None:
    key = shop.source.sim_key
    await shop.env.store.write(lambda tx: balances.expect_test_payment(tx, key, 137, shop.clock.now_us() + 10**12))
    assert await read(shop, receipt(1, 137, 6137)) == [STATES.PAYMENT]
    assert await read(shop, receipt(2, 1000, 7137)) == [STATES.PAYMENT]
    known = await shop.env.store.read(lambda reader: balances.smscs(reader, key))
    assert [(one.smsc, one.source) for one in known] == [(MTN_SMSC, SmscSource.SIM)]


async def test_synthesised_part_never_counts_as_home_even_if_a_source_names_the_home_smsc(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    genuine = receipt(1, 1000, 9000)
    # The PDU of a modem, with the home SMSC, through a source of level partial.
    shop.trust(Trust(phone_breaks=False))
    assert (await shop.read(genuine)).concluded[0][1] is STATES.HELD
    for part in parts_of(genuine):
        assert part.pdu.startswith("00")
        assert part.synthesised


async def test_held_receipt_is_told_after_half_an_hour(shop: FakeShop) -> None:
    shop.limit(0)
    await shop.begin_chain(5000)
    await read(shop, receipt(1, 1000, 9000))
    shop.clock.advance(31 * 60)
    await notify_overdue(shop.env)
    assert "notice.receipt_held" in await shop.values("SELECT type FROM events")


async def test_long_names_and_odd_senders_never_become_the_networks_name(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    genuine = receipt(1, 1000, 6000)
    for sender in ("MobileMoneyX", "MobileMoney\U0001f600", "\u041cobileMoney", "+233244000000", ""):
        parts = parts_of(genuine, sender)
        taken = await ingest.ingest(shop.env, shop.source, parts)
        assert [state for _, state in taken.concluded] == [STATES.HELD], sender
    trusted = await shop.values("SELECT trusted FROM messages WHERE source IS NOT NULL")
    assert trusted == [0] * 5


async def test_same_message_handed_over_again_is_one_message(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    one = receipt(1, 1000, 6000)
    assert await read(shop, one) == [STATES.PAYMENT]
    assert await read(shop, one) == []
    [message] = await shop.rows(Message, "messages", "source IS NOT NULL")
    assert (message.source, message.level, message.synthesised) == ("stick", "partial", True)
    assert message.smsc is None
    assert await shop.values("SELECT synthesised FROM sms_parts") == [1, 1]


async def test_payment_read_by_two_sources_is_one_payment(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    one = receipt(1, 1000, 6000)
    assert await read(shop, one) == [STATES.PAYMENT]
    shop.source = replace(shop.source, name=None, level=TrustLevel.FULL)
    taken = await shop.read(one)
    assert [state for _, state in taken.concluded] == [STATES.DUPLICATE]
    assert len(await shop.payments()) == 1
    assert await shop.rows(Review, "reviews") == []


async def test_reported_messages_are_history_until_the_owner_opts_in_and_stay_it(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    shop.source = replace(shop.source, name="app", level=TrustLevel.REPORTED, history=True)
    request: Transaction = await shop.request()
    one = receipt(1, 2500, 7500, f"pay {request.svc_code}")
    assert await read(shop, one) == [STATES.HISTORICAL]
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    shop.source = replace(shop.source, history=False)
    assert await read(shop, one) == []
    assert (await shop.transaction(request.reference)).status is TransactionStatus.PENDING
    assert [row.historical for row in await shop.payments()] == [True]
    assert await shop.bodies() == []


async def test_reported_source_that_may_pay_is_judged_like_a_partial_one(shop: FakeShop) -> None:
    await shop.begin_chain(5000)
    shop.limit(0)
    shop.source = replace(shop.source, name="app", level=TrustLevel.REPORTED)
    assert await read(shop, receipt(1, 1000, 6000)) == [STATES.PAYMENT]
    assert await read(shop, receipt(2, 1000, 9000)) == [STATES.HELD]
