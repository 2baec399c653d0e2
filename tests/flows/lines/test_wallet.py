"""What the wallet shows settles a line at once: a proof that did not come by SMS."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.access.callers import CallerKind
from daemon.core.errors import Refusal
from daemon.core.model import Event, Review, Transaction
from daemon.flows.lines.smscs import trust_message
from daemon.flows.lines.wallet import say_balance
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config import Config, Trust
from daemon.steps.prove import Proof, Question, Seen
from daemon.wire import ErrorCode, MessageState, TransactionStatus, TrustLevel
from parsers.times import from_us
from tests.fakes.invariants import check_invariants
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC, mtn
from tests.fakes.shop import OWNER, FakeShop

FOREIGN = "+447000000001"
KEY = replace(OWNER, kind=CallerKind.KEY, name="key:k")
PAID, HELD = MessageState.PAYMENT, MessageState.HELD


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop with a known wallet balance of GHS 900.00, where no break pays before it is confirmed."""
    made = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    await made.begin_chain(90_000)
    yield made
    made.close()
    check_invariants(tmp_path / "momo.db")


async def say(
    shop: FakeShop, number: int, amount: int, balance: int, typed: str | None = None, *, smsc: str = MTN_SMSC
) -> MessageState:
    """Let a receipt come in, two minutes after the one before."""
    shop.clock.advance(120)
    at = from_us(shop.clock.now_us()) - timedelta(seconds=1)
    made = mtn(amount, "KOFI ANTWI BADU", balance, typed or "food", str(93_214_500_000 + number), sent_at=at)
    pdus = encode_deliver(MTN_SENDER, made.text, at, smsc=smsc, reference=number)
    taken = await shop.read_pdus(pdus)
    assert taken.faults == ()
    return taken.concluded[0][1]


async def pay_out(shop: FakeShop, number: int, amount: int, balance: int) -> None:
    """Let a message come in that money left."""
    shop.clock.advance(120)
    at = from_us(shop.clock.now_us())
    text = (
        f"Payment made for GHS {amount / 100:.2f} to KOFI ANTWI. Current Balance: GHS {balance / 100:.2f}. "
        f"Available Balance: GHS {balance / 100:.2f}. Reference: x. Transaction ID: {93_214_500_000 + number}. "
        "Fee charged: GHS 0.00 Tax charged: 0."
    )
    taken = await shop.read_pdus(encode_deliver(MTN_SENDER, text, at, smsc=MTN_SMSC, reference=number))
    assert taken.concluded[0][1] is MessageState.NOT_PAYMENT


async def status(shop: FakeShop, order: Transaction) -> TransactionStatus:
    return (await shop.transaction(order.reference)).status


def outcomes(proof: Proof) -> list[str]:
    return [one.outcome for one in proof.told]


async def open_reviews(shop: FakeShop) -> list[Review]:
    return await shop.rows(Review, "reviews", "state = 'open'")


async def test_the_row_that_leads_to_the_number_pays_and_the_gap_is_told(shop: FakeShop) -> None:
    order = await shop.request(2500)
    assert await say(shop, 1, 2500, 72_500, order.svc_code) is HELD
    assert await say(shop, 2, 500, 73_000) is HELD
    assert await status(shop, order) is TransactionStatus.MANUAL_REVIEW
    proof = await shop.says(73_000)
    assert (proof.settled, proof.question, proof.untold_minor) == (True, None, -20_000)
    assert outcomes(proof) == ["paid", "paid"]
    assert str(proof.told[0].sentence) == "GHS 25.00 (93214500001) pays now."
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert await open_reviews(shop) == []
    assert await say(shop, 3, 700, 73_700) is PAID
    notices = await shop.values("SELECT type FROM events WHERE type LIKE 'notice.%'")
    assert notices == ["notice.money_missing"]
    [told] = await shop.rows(Event, "events", "type = 'wallet.proved'")
    assert json.loads(told.data)["balance_minor"] == 73_000


async def test_the_believed_balance_is_confirmed_and_a_forged_row_is_contradicted(shop: FakeShop) -> None:
    forged = await shop.request(5_000)
    assert await say(shop, 1, 5_000, 777_700, forged.svc_code) is HELD
    assert await say(shop, 2, 500, 90_500) is PAID
    proof = await shop.says(90_500)
    assert (proof.settled, outcomes(proof)) == (True, ["contradicted"])
    assert await status(shop, forged) is TransactionStatus.PENDING
    assert len(await open_reviews(shop)) == 1, "a person may still find it genuine"
    assert await shop.values("SELECT why FROM line_balances WHERE after_minor = 777700") == ["contradicted"]


async def test_what_lies_before_an_unexplained_change_goes_on_waiting(shop: FakeShop) -> None:
    first, second = await shop.request(2500), await shop.request(700)
    # Money left without a message, twice: two rows, and the second one leads to what the wallet shows.
    assert await say(shop, 1, 2500, 72_500, first.svc_code) is HELD
    assert await say(shop, 2, 700, 60_700, second.svc_code) is HELD
    proof = await shop.says(60_700)
    assert sorted(outcomes(proof)) == ["paid", "waits"]
    assert await status(shop, second) is TransactionStatus.SUCCESS
    assert await status(shop, first) is TransactionStatus.MANUAL_REVIEW, "it may be genuine"


async def test_a_number_of_the_last_minutes_does_not_refute_what_came_after(shop: FakeShop) -> None:
    assert await say(shop, 1, 2500, 72_500) is HELD
    assert await say(shop, 2, 500, 73_000) is HELD
    proof = await shop.says(72_500)
    assert outcomes(proof) == ["paid", "paid"], "the second one follows the first"


async def test_an_earlier_balance_of_the_chain_refutes_nothing_later(shop: FakeShop) -> None:
    assert await say(shop, 1, 500, 90_500) is PAID
    assert await say(shop, 2, 2500, 777_700) is HELD
    proof = await shop.says(90_000)
    assert proof.settled
    assert await shop.values("SELECT standing FROM line_balances WHERE after_minor = 777700") == ["candidate"]


async def test_a_number_that_nothing_leads_to_is_asked_about_and_then_believed(shop: FakeShop) -> None:
    assert await say(shop, 1, 2500, 777_700) is HELD
    asked = await shop.says(80_000)
    assert (asked.settled, asked.question) == (False, Question.UNTOLD)
    assert str(asked.sentence) == (
        "Nothing that came by SMS leads to GHS 800.00; the messages say GHS 900.00. Is it so?"
    )
    assert await shop.values("SELECT balance, proved_at > 0 FROM line_trust") == [(90_000, 1)]
    proof = await shop.says(80_000, Question.UNTOLD)
    assert (proof.settled, proof.untold_minor) == (True, -10_000)
    assert await say(shop, 2, 500, 80_500) is PAID
    gaps = await shop.values("SELECT gap_minor FROM line_balances WHERE gap_minor <> 0")
    assert gaps == [-10_000], "the difference is booked as untold"
    assert len(await open_reviews(shop)) == 1, "the candidate goes on waiting"


@pytest.mark.parametrize("late_first", [True, False])
async def test_a_late_message_fills_the_gap_before_a_number_that_nothing_led_to(
    shop: FakeShop, *, late_first: bool
) -> None:
    await shop.says(80_000, Question.UNTOLD)
    if not late_first:
        assert await say(shop, 1, 500, 80_500) is PAID
    shop.clock.advance(-600)
    await pay_out(shop, 2, 10_000, 80_000)
    shop.clock.advance(600)
    if late_first:
        assert await say(shop, 1, 500, 80_500) is PAID
    assert await shop.values("SELECT gap_minor FROM line_balances WHERE gap_minor <> 0") == []


async def test_a_row_that_says_that_money_left_pays_only_after_a_yes(shop: FakeShop) -> None:
    await pay_out(shop, 1, 50_000, 20_000)
    assert await say(shop, 2, 2500, 22_500) is HELD
    asked = await shop.says(22_500)
    assert (asked.settled, asked.question) == (False, Question.LEFT)
    assert str(asked.sentence) == "Did this leave the wallet: GHS 500.00 (93214500001)?"
    assert await shop.payments() == []
    # An answer to another question is no yes to this one.
    assert (await shop.says(22_500, Question.UNTOLD)).question is Question.LEFT
    proof = await shop.says(22_500, Question.LEFT)
    assert outcomes(proof) == ["paid"]


async def test_an_emptied_wallet_proves_no_receipt(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    assert await say(shop, 1, 50, 50) is HELD
    proof = await shop.says(50)
    assert (proof.settled, outcomes(proof)) == (True, [])
    assert await shop.payments() == []
    shop.close()


async def row_with_a_forged_end(shop: FakeShop) -> list[Review]:
    """Let a genuine receipt wait in a row, the owner empty the wallet, and forged receipts continue the row; return the reviews."""
    assert await say(shop, 1, 2500, 22_500) is HELD
    await pay_out(shop, 2, 22_450, 50)
    assert await say(shop, 3, 500_000, 500_050) is HELD
    assert await say(shop, 4, 100, 500_150) is HELD
    return await open_reviews(shop)


async def test_an_approval_confirms_nothing_that_came_after_the_message(shop: FakeShop) -> None:
    genuine, *_ = await row_with_a_forged_end(shop)
    await review.approve(shop.env, OWNER, genuine.id, review.Approval(confirmed=True))
    assert [one.amount_minor for one in await shop.payments()] == [2500]
    first, second = await open_reviews(shop)
    await review.reject(shop.env, OWNER, first.id, "not in the wallet", confirmed=True)
    await review.reject(shop.env, OWNER, second.id, "not in the wallet", confirmed=True)
    assert await say(shop, 5, 100, 150) is HELD, "what joins an emptied wallet counts to the bound"
    assert len(await shop.payments()) == 1


@pytest.mark.parametrize("chosen", [1, 2])
async def test_a_rejection_refutes_nothing_that_came_before_the_message(shop: FakeShop, chosen: int) -> None:
    reviews = await row_with_a_forged_end(shop)
    decided = await review.reject(shop.env, OWNER, reviews[chosen].id, "not in the wallet", confirmed=True)
    assert decided.settled == 2 - chosen, "what came after it follows from it"
    assert [one.id for one in await open_reviews(shop)] == [one.id for one in reviews[:chosen]]
    await review.approve(shop.env, OWNER, reviews[0].id, review.Approval(confirmed=True))
    assert [one.amount_minor for one in await shop.payments()] == [2500]


async def test_an_approval_in_a_row_from_before_a_proof_pays_what_led_to_the_message(shop: FakeShop) -> None:
    genuine, *_ = await row_with_a_forged_end(shop)
    assert (await shop.says(77_700, Question.UNTOLD)).settled
    await review.approve(shop.env, OWNER, genuine.id, review.Approval(confirmed=True))
    assert [one.amount_minor for one in await shop.payments()] == [2500]
    assert await shop.values("SELECT balance FROM line_trust") == [77_700]


async def test_doubtful_messages_that_lead_exactly_to_the_number_pay_after_a_yes(shop: FakeShop) -> None:
    order = await shop.request(2500)
    assert await say(shop, 1, 2500, 92_500, order.svc_code, smsc=FOREIGN) is HELD
    assert await say(shop, 2, 500, 93_000, smsc=FOREIGN) is HELD
    assert await say(shop, 3, 90_000, 999_000, smsc=FOREIGN) is HELD
    asked = await shop.says(93_000)
    assert (asked.settled, asked.question) == (False, Question.FOUND)
    assert "2 messages" in str(asked.sentence)
    assert "GHS 30.00 came in" in str(asked.sentence)
    proof = await shop.says(93_000, Question.FOUND)
    assert outcomes(proof) == ["paid", "paid"]
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert await shop.values("SELECT source FROM sim_smscs WHERE smsc = '+447000000001'") == ["noticed"], (
        "two messages of one day make no centre home"
    )


async def test_doubtful_messages_fill_an_older_gap_that_they_fit_from_both_sides(shop: FakeShop) -> None:
    order = await shop.request(2500)
    assert await say(shop, 1, 500, 90_500) is PAID
    assert await say(shop, 2, 2500, 93_000, order.svc_code, smsc=FOREIGN) is HELD
    assert await say(shop, 3, 700, 93_650, smsc=FOREIGN) is HELD, "it fits on neither side"
    assert await say(shop, 4, 100, 93_100) is HELD
    await shop.says(93_100)
    asked = await shop.says(93_100)
    assert (asked.settled, asked.question) == (True, Question.FOUND)
    assert "1 message" in str(asked.sentence)
    assert await status(shop, order) is TransactionStatus.PENDING
    proof = await shop.says(93_100, Question.FOUND)
    assert (proof.question, outcomes(proof)) == (None, ["paid"])
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert (await shop.says(93_100)).question is None


async def test_an_older_message_that_a_person_accepts_does_not_move_a_proved_balance(shop: FakeShop) -> None:
    assert await say(shop, 1, 500, 70_000, smsc=FOREIGN) is HELD
    assert await say(shop, 2, 500, 60_000, smsc=FOREIGN) is HELD
    shop.clock.advance(3_600)
    await shop.says(90_000)
    [older] = await shop.values("SELECT id FROM messages WHERE body LIKE '%93214500001%'")
    where = shop.source.device_id, shop.source.slot_index
    await trust_message(shop.env, OWNER, *where, older)
    assert len(await shop.payments()) == 1
    assert await say(shop, 3, 500, 90_500) is PAID
    assert await shop.values("SELECT live_rows FROM line_trust") == [0], "what came before is no rival"


async def test_a_centre_is_home_after_five_messages_on_two_days_that_proofs_confirmed(shop: FakeShop) -> None:
    balance = 90_000
    for number in range(1, 7):
        balance += 500
        assert await say(shop, number, 500, balance, smsc=FOREIGN) is HELD
        if number in {3, 6}:
            await shop.says(balance, Question.FOUND)
            shop.clock.advance(86_400)
    assert await shop.values("SELECT source FROM sim_smscs WHERE smsc = '+447000000001'") == ["proved"]
    assert await say(shop, 9, 500, balance + 500, smsc=FOREIGN) is PAID


async def test_money_that_was_paid_and_that_the_wallet_does_not_hold_is_a_strike(shop: FakeShop) -> None:
    shop.trust(Trust())
    assert await say(shop, 1, 5_000, 777_700) is PAID
    shop.clock.advance(120)
    await shop.says(90_000)
    told = await shop.values("SELECT type FROM events WHERE type LIKE 'notice.%'")
    assert "notice.money_contradicted" in told
    assert await say(shop, 2, 100, 555_500) is HELD, "for seven days nothing pays that breaks"
    assert await say(shop, 3, 100, 90_100) is PAID
    shop.clock.advance(7 * 86_400)
    assert await say(shop, 4, 100, 444_400) is PAID


async def test_a_proof_gives_back_only_what_it_confirmed(shop: FakeShop) -> None:
    shop.trust(Trust())
    assert await say(shop, 1, 15_000, 515_000) is PAID
    assert await say(shop, 2, 4_000, 94_000) is PAID
    shop.clock.advance(120)
    await shop.says(94_000)
    shop.trust(Trust(unconfirmed_limit=200))
    await shop.env.store.write(lambda tx: tx.run("UPDATE line_trust SET strike_until = 0"))
    assert await say(shop, 3, 6_000, 333_300) is HELD, "GHS 150.00 of the day stay used"
    assert await say(shop, 4, 5_000, 222_200) is PAID


async def test_two_numbers_that_contradict_each_other_are_two_questions(shop: FakeShop) -> None:
    await shop.says(80_000, Question.UNTOLD)
    again = await shop.says(95_000)
    assert (again.settled, again.question) == (False, Question.UNTOLD)
    assert "GHS 800.00" in str(again.sentence)


async def test_the_same_number_twice_does_nothing_twice(shop: FakeShop) -> None:
    assert await say(shop, 1, 2500, 72_500) is HELD
    assert outcomes(await shop.says(72_500)) == ["paid"]
    assert outcomes(await shop.says(72_500)) == []
    assert len(await shop.payments()) == 1


async def line(shop: FakeShop) -> str:
    [found] = await shop.values("SELECT id FROM payment_methods LIMIT 1")
    return str(found)


async def test_the_first_number_of_a_line_without_messages_is_its_balance(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0)))
    proof, currency = await say_balance(shop.env, OWNER, await line(shop), "214.56")
    assert (proof.settled, currency) == (True, "GHS")
    assert await say(shop, 1, 44, 21_500) is PAID
    shop.close()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"balance": "much"}, ErrorCode.VALIDATION_ERROR),
        ({"balance": "-1.00"}, ErrorCode.VALIDATION_ERROR),
        ({"at": -16 * 60}, ErrorCode.VALIDATION_ERROR),
        ({"method_id": "00000000-0000-4000-8000-000000000000"}, ErrorCode.PAYMENT_METHOD_NOT_FOUND),
    ],
)
async def test_bad_input_is_refused_and_changes_nothing(shop: FakeShop, given: dict[str, Any], code: ErrorCode) -> None:
    at = given.get("at")
    seen = None if at is None else Seen(shop.clock.now_us() + at * 1_000_000)
    method_id = given.get("method_id") or await line(shop)
    with pytest.raises(Refusal) as refused:
        await say_balance(shop.env, OWNER, method_id, given.get("balance", "900.00"), seen=seen)
    assert refused.value.code is code
    assert await shop.values("SELECT COUNT(*) FROM events WHERE type = 'wallet.proved'") == [0]


async def test_a_statement_pays_a_held_receipt_and_does_not_judge_what_came_later(shop: FakeShop) -> None:
    order = await shop.request(2500)
    # Money left without a message, and the receipt after it waits.
    assert await say(shop, 1, 2500, 72_500, order.svc_code) is HELD
    shop.clock.advance(2 * 3600)
    assert await say(shop, 2, 4_000, 500_000) is HELD
    proof = await shop.says(72_500, ago_s=2 * 3600 + 120, statement_s=86_400)
    assert (proof.settled, outcomes(proof)) == (True, ["paid"])
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert [row.reason for row in await open_reviews(shop)] == ["balance_break"]
    assert await say(shop, 3, 700, 73_200) is PAID, "the balance is that of the statement"
    again = await shop.says(72_500, ago_s=2 * 3600 + 240, statement_s=86_400)
    assert (again.settled, outcomes(again)) == (True, [])


async def test_a_statement_refutes_only_what_it_covers(shop: FakeShop) -> None:
    assert await say(shop, 1, 4_000, 300_000) is HELD
    assert await say(shop, 2, 5_000, 777_700) is HELD
    assert await say(shop, 3, 500, 90_500) is PAID
    shop.clock.advance(1200)
    assert await say(shop, 4, 6_000, 888_800) is HELD
    proof = await shop.says(90_500, ago_s=1320, statement_s=180)
    assert [str(one.sentence)[:9] for one in proof.told] == ["GHS 50.00"]
    assert outcomes(proof) == ["contradicted"]


async def test_a_statement_of_before_the_balance_moved_on_does_not_move_it_back(shop: FakeShop) -> None:
    order = await shop.request(2500)
    assert await say(shop, 1, 2500, 72_500, order.svc_code) is HELD
    shop.clock.advance(1200)
    assert await say(shop, 2, 500, 90_500) is PAID
    proof = await shop.says(72_500, ago_s=1320, statement_s=86_400)
    assert outcomes(proof) == ["paid"]
    assert await status(shop, order) is TransactionStatus.SUCCESS
    assert await say(shop, 3, 700, 91_200) is PAID


async def test_a_statement_that_no_message_leads_to_changes_nothing(shop: FakeShop) -> None:
    assert await say(shop, 1, 2500, 72_500) is HELD
    for balance in (72_501, 73_000, 90_000):
        proof = await shop.says(balance, Question.UNTOLD, ago_s=30, statement_s=86_400)
        assert (proof.settled, proof.question, outcomes(proof)) == (False, None, [])
    assert len(await open_reviews(shop)) == 1
    assert await shop.values("SELECT COUNT(*) FROM events WHERE type = 'wallet.proved'") == [0]


async def test_a_statement_does_not_free_of_limits_what_follows_its_last_row(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(trust=Trust(unconfirmed_limit=0, phone_limit=100)))
    shop.source = replace(shop.source, level=TrustLevel.PARTIAL)
    await shop.begin_chain(90_000)
    assert await say(shop, 1, 2_500, 72_500) is HELD
    shop.clock.advance(1200)
    assert await say(shop, 2, 50_000, 122_500) is HELD
    assert await say(shop, 3, 1_000, 123_500) is HELD
    proof = await shop.says(72_500, ago_s=1440, statement_s=86_400)
    assert outcomes(proof) == ["paid"]
    states = await shop.values("SELECT state FROM messages ORDER BY seq")
    assert states[-3:] == ["payment", "held", "payment"], "they join, and count to the limit"
    shop.close()
