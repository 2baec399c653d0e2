"""Unconfirmed wordings: messages are held until an operator confirms one. Also: reading old messages again."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import MomoError, Refusal
from daemon.core.model import Event, Message, Review
from daemon.flows.messages import ingest, overdue
from daemon.flows.payments import review
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.steps import rejudge
from daemon.store.messages import balances
from daemon.store.messages.messages import all_confirmed
from daemon.wire import MessageState, ReviewReason, TransactionStatus
from parsers.times import from_us
from tests.fakes.receipts import MTN_SENDER, MTN_SMSC
from tests.fakes.shop import METHOD_ID, OWNER, FakeShop

AT_IMSI = "620030000000012"
AT_SENDER = "AT Money"
TEMPLATE = """
[[wording]]
name = "receipt_2027"
network = "mtn"
kind = "payment_received"
text = "You got {amount} from {payer_name}. Wallet: {balance}. Note: {reference}. Token: {transaction_id}. Thanks for using MoMo."
[[wording.sample]]
text = "You got GHS 70.00 from ESI NAANA QUANSAH. Wallet: GHS 628.92. Note: Q4T9WD. Token: 85614800061. Thanks for using MoMo."
"""


def at_text(code: str | None, telco_id: str, balance_minor: int) -> str:
    balance = f"{balance_minor // 100}.{balance_minor % 100:02d}"
    return (
        f"You have received GHS 25.00 from 0261000654 KOBINA ESHUN. Your AT Money balance is GHS {balance}. Reference: "
        f"{code}. Trans ID: {telco_id}."
    )


def own_text(code: str | None, telco_id: str, balance_minor: int) -> str:
    balance = f"{balance_minor // 100}.{balance_minor % 100:02d}"
    return f"You got GHS 25.00 from KOFI ANTWI. Wallet: GHS {balance}. Note: {code}. Token: {telco_id}. Thanks for using MoMo."


async def receive(shop: FakeShop, sender: str, text: str) -> Message:
    """Let the SIM get a message, and return it as it was concluded."""
    pdus = encode_deliver(
        sender, text, from_us(shop.clock.now_us()), smsc=shop.smsc, reference=shop.clock.now_us() // 1_000_000 % 256
    )
    shop.clock.advance(seconds=60)
    await shop.read_pdus(pdus)
    rows: list[Message] = await shop.rows(Message, "messages")
    return rows[-1]


def put_template(shop: FakeShop, folder: Path, text: str = TEMPLATE) -> None:
    (folder / "mtn.toml").write_text(text)
    shop.env.own_wordings.folder = folder
    shop.env.own_wordings.read_again()


@pytest.fixture
async def mtn(tmp_path: Path) -> AsyncIterator[FakeShop]:
    shop = await FakeShop.make(tmp_path)
    await shop.begin_chain()
    yield shop
    shop.close()


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[FakeShop]:
    shop = await FakeShop.make(tmp_path, imsi=AT_IMSI, line=False)
    await shop.put_number("momo_at")
    await shop.begin_chain(7_500, "momo_at")
    yield shop
    shop.close()


async def confirmed(shop: FakeShop) -> list[tuple[str, str, str]]:
    rows = await shop.env.store.read(all_confirmed)
    return [(row.network, row.wording.partition("#")[0], row.sender) for row in rows]


async def test_at_money_waits_for_a_person_until_one_message_is_confirmed_and_then_pays(at: FakeShop) -> None:
    order = await at.request()
    first = await receive(at, AT_SENDER, at_text(order.svc_code, "PP261121.0801.A00001", 10_000))
    assert (first.state, first.trusted) == (MessageState.HELD, False)
    assert (await at.transaction(order.reference)).status is TransactionStatus.PENDING
    row = await overdue.confirm_wording(at.env, OWNER, first.id, undo=False)
    assert (row.network, row.wording, row.sender) == ("at", "receipt", AT_SENDER)
    # The messages held for that alone are judged again, and the next one pays by itself.
    assert (await at.transaction(order.reference)).status is TransactionStatus.SUCCESS
    assert [row.state for row in await at.rows(Review, "reviews")] == ["superseded"]
    later = await at.request()
    second = await receive(at, AT_SENDER, at_text(later.svc_code, "PP261121.0802.A00002", 12_500))
    assert second.state is MessageState.PAYMENT, second.reasons
    assert (await at.transaction(later.reference)).status is TransactionStatus.SUCCESS


async def test_a_confirmation_pays_also_the_receipts_that_were_only_listed(at: FakeShop) -> None:
    orders = [await at.request() for _ in range(25)]
    for n, order in enumerate(orders):
        telco_id = f"PP261121.08{n + 1:02}.A000{n:02}"
        text = at_text(order.svc_code, telco_id, balance_minor=10_000 + 2_500 * n)
        await receive(at, AT_SENDER, text)
    opened = await at.rows(Review, "reviews", "state = 'open'")
    assert len(opened) == 20, "one sender cannot fill the list"
    await overdue.confirm_wording(at.env, OWNER, opened[-1].message_id, undo=False)
    statuses = {(await at.transaction(order.reference)).status for order in orders}
    assert statuses == {TransactionStatus.SUCCESS}
    assert await at.rows(Review, "reviews", "state = 'open'") == []


async def test_all_that_was_held_is_judged_again_in_its_order_by_the_rules_of_all(at: FakeShop) -> None:
    at.limit(0)
    orders = [await at.request() for _ in range(4)]
    held = [
        await receive(at, sender, at_text(order.svc_code, f"PP261121.080{n}.A0000{n}", balance))
        for n, (order, sender, balance) in enumerate(
            [
                (orders[0], AT_SENDER, 10_000),
                (orders[1], AT_SENDER, 12_500),
                (orders[2], AT_SENDER, 99_900),  # its balance follows from nothing
                (orders[3], "AT Mony", 15_000),  # another sender stays a stranger
            ],
            1,
        )
    ]
    assert {row.state for row in held} == {MessageState.HELD}
    await overdue.confirm_wording(at.env, OWNER, held[1].id, undo=False)
    statuses = [(await at.transaction(order.reference)).status for order in orders]
    assert statuses == [
        TransactionStatus.SUCCESS,
        TransactionStatus.SUCCESS,
        TransactionStatus.MANUAL_REVIEW,
        TransactionStatus.PENDING,
    ]
    waiting = await at.rows(Review, "reviews", "state = 'open'")
    assert {row.reason for row in waiting} == {"balance_break", "unknown_sender"}
    rows: list[Message] = await at.rows(Message, "messages")
    assert [row.received_at for row in rows[1:]] == [row.received_at for row in held]


async def test_more_than_one_batch_is_judged_again(at: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejudge, "BATCH", 2)
    held = [
        await receive(at, AT_SENDER, at_text("1", f"PP261121.080{n}.A0000{n}", 7_500 + 2_500 * n)) for n in range(1, 6)
    ]
    await overdue.confirm_wording(at.env, OWNER, held[0].id, undo=False)
    assert [row.state for row in (await at.rows(Message, "messages"))[1:]] == [MessageState.PAYMENT] * 5


async def test_of_a_known_sender_the_one_doubt_falls_and_every_other_one_stays(mtn: FakeShop, tmp_path: Path) -> None:
    mtn.limit(0)
    put_template(mtn, tmp_path)
    orders = [await mtn.request() for _ in range(4)]
    words = "x" * 160
    held = [
        await receive(mtn, MTN_SENDER, own_text(code, f"9321450{n}00", balance))
        for n, (code, balance) in enumerate(
            [
                (orders[0].svc_code, 92_500),
                (f"{orders[1].svc_code} {words}", 95_000),  # longer than people type
                (orders[2].svc_code, 97_500),
                (orders[3].svc_code, 900_000),  # its balance follows from nothing
            ],
            1,
        )
    ]
    assert {row.state for row in held} == {MessageState.HELD}
    await overdue.confirm_wording(mtn.env, OWNER, held[0].id, undo=False)
    statuses = [(await mtn.transaction(order.reference)).status for order in orders]
    assert statuses == [
        TransactionStatus.SUCCESS,
        TransactionStatus.PENDING,
        TransactionStatus.MANUAL_REVIEW,
        TransactionStatus.MANUAL_REVIEW,
    ]
    waiting = await mtn.rows(Review, "reviews", "state = 'open'")
    doubts = [(row.reason, json.loads(row.details).get("doubts")) for row in waiting]
    assert doubts == [("balance_break", None)] * 2, "the one with a long text is listed as doubtful"


@pytest.mark.parametrize("sender", ["ATMoney", "AT MONEY", "+233261000654"])
async def test_a_confirmation_is_of_one_sender_to_the_byte(at: FakeShop, sender: str) -> None:
    order = await at.request()
    first = await receive(at, AT_SENDER, at_text("none", "PP261121.0801.A00001", 10_000))
    await overdue.confirm_wording(at.env, OWNER, first.id, undo=False)
    other = await receive(at, sender, at_text(order.svc_code, "PP261121.0802.A00002", 15_000))
    assert other.state is MessageState.HELD
    assert (await at.transaction(order.reference)).status is TransactionStatus.PENDING


async def test_a_number_can_never_be_confirmed(at: FakeShop) -> None:
    held = await receive(at, "+233261000654", at_text("none", "PP261121.0801.A00001", 10_000))
    with pytest.raises(Refusal) as refused:
        await overdue.confirm_wording(at.env, OWNER, held.id, undo=False)
    assert "it came from a phone number" in str(refused.value.extras)
    assert await confirmed(at) == []


async def test_approving_the_first_message_of_a_sender_pays_it_and_does_not_make_the_sender_known(at: FakeShop) -> None:
    order = await at.request()
    await receive(at, AT_SENDER, at_text(order.svc_code, "PP261121.0801.A00001", 10_000))
    [waiting] = await at.rows(Review, "reviews")
    assert waiting.reason == ReviewReason.UNKNOWN_SENDER
    said = review.Approval(order.reference, None, confirmed=True)
    await review.approve(at.env, OWNER, waiting.id, said)
    assert (await at.transaction(order.reference)).status is TransactionStatus.SUCCESS
    # Else whoever sends the first copy would be the network from then on.
    assert await confirmed(at) == []
    later = await at.request()
    await receive(at, AT_SENDER, at_text(later.svc_code, "PP261121.0802.A00002", 12_500))
    assert (await at.transaction(later.reference)).status is TransactionStatus.PENDING


async def test_the_owners_test_payment_makes_the_first_sender_known(at: FakeShop) -> None:
    soon = at.clock.now_us() + 600_000_000
    await at.env.store.write(lambda tx: balances.expect_test_payment(tx, at.source.sim_key, 2500, soon))
    forged = at_text("none", "PP261121.0800.A00009", 9_999).replace("25.00", "24.00")
    assert (await receive(at, "AT-Money", forged)).state is MessageState.HELD
    assert await confirmed(at) == []
    tested = await receive(at, AT_SENDER, at_text("none", "PP261121.0801.A00001", 10_000))
    assert tested.state is MessageState.PAYMENT, tested.reasons
    assert await confirmed(at) == [("at", "receipt", AT_SENDER)]
    told = [event.type for event in await at.rows(Event, "events")]
    assert told.count("wording.confirmed") == 1
    later = await at.request()
    await receive(at, AT_SENDER, at_text(later.svc_code, "PP261121.0803.A00002", 12_500))
    assert (await at.transaction(later.reference)).status is TransactionStatus.SUCCESS


async def test_a_confirmation_can_be_taken_back(at: FakeShop) -> None:
    first = await receive(at, AT_SENDER, at_text("none", "PP261121.0801.A00001", 10_000))
    await overdue.confirm_wording(at.env, OWNER, first.id, undo=False)
    await overdue.confirm_wording(at.env, OWNER, first.id, undo=True)
    assert await confirmed(at) == []
    order = await at.request()
    second = await receive(at, AT_SENDER, at_text(order.svc_code, "PP261121.0802.A00002", 12_500))
    assert second.state is MessageState.HELD


async def test_the_shops_own_wording_adds_and_never_weakens(mtn: FakeShop, tmp_path: Path) -> None:
    put_template(mtn, tmp_path)
    order = await mtn.request()
    for sender in ("MobileMony", "+233244000811"):
        stranger = await receive(mtn, sender, own_text(order.svc_code, "93214500001", 92_500))
        assert stranger.state is MessageState.HELD
        with pytest.raises(Refusal):
            await overdue.confirm_wording(mtn.env, OWNER, stranger.id, undo=False)
    first = await receive(mtn, MTN_SENDER, own_text(order.svc_code, "93214500101", 92_500))
    assert json.loads(first.reasons) == ["wording_unverified"]
    await overdue.confirm_wording(mtn.env, OWNER, first.id, undo=False)
    assert (await mtn.transaction(order.reference)).status is TransactionStatus.SUCCESS
    second = await receive(mtn, MTN_SENDER, own_text("none", "93214500202", 95_000))
    assert second.state is MessageState.PAYMENT, second.reasons
    # Another text under the same name is another wording, and unproven again.
    put_template(mtn, tmp_path, TEMPLATE.replace("Thanks for using", "Thanks for choosing"))
    later = own_text("none", "93214500303", 97_500).replace("for using", "for choosing")
    third = await receive(mtn, MTN_SENDER, later)
    assert third.state is MessageState.HELD


async def test_old_messages_are_read_again_once_and_pay_by_the_same_rules(mtn: FakeShop, tmp_path: Path) -> None:
    order = await mtn.request()
    unread = await receive(mtn, MTN_SENDER, own_text(order.svc_code, "93214500101", 92_500))
    noise = await receive(mtn, MTN_SENDER, "Your session has ended.")
    assert (unread.state, noise.state) == (MessageState.UNPARSED, MessageState.UNPARSED)
    put_template(mtn, tmp_path)
    dry = await ingest.reparse(mtn.env, ingest.ReparseSelection(dry_run=True))
    assert (dry.looked_at, dry.counts, dry.next) == (2, {"would_be_read": 1}, None)
    done = await ingest.reparse(mtn.env, ingest.ReparseSelection())
    assert done.counts == {"held": 1}
    before = await snapshot(mtn)
    assert (await ingest.reparse(mtn.env, ingest.ReparseSelection())).read == ()
    assert await snapshot(mtn) == before
    rows: list[Message] = await mtn.rows(Message, "messages")
    assert rows[1].received_at == unread.received_at
    # Proven by now, so it is money.
    await overdue.confirm_wording(mtn.env, OWNER, unread.id, undo=False)
    assert (await mtn.transaction(order.reference)).status is TransactionStatus.SUCCESS


async def test_a_confirmed_wording_makes_old_unread_messages_pay_when_they_are_read_again(
    mtn: FakeShop, tmp_path: Path
) -> None:
    put_template(mtn, tmp_path)
    proof = await receive(mtn, MTN_SENDER, own_text("none", "93214500101", 92_500))
    await overdue.confirm_wording(mtn.env, OWNER, proof.id, undo=False)
    (tmp_path / "mtn.toml").unlink()
    mtn.env.own_wordings.read_again()
    order = await mtn.request()
    lost = await receive(mtn, MTN_SENDER, own_text(order.svc_code, "93214500202", 95_000))
    assert lost.state is MessageState.UNPARSED
    put_template(mtn, tmp_path)
    done = await ingest.reparse(mtn.env, ingest.ReparseSelection(ids=[lost.id]))
    assert done.counts == {"payment": 1}
    assert (await mtn.transaction(order.reference)).status is TransactionStatus.SUCCESS


async def test_history_stays_history_when_it_is_read_again(mtn: FakeShop, tmp_path: Path) -> None:
    put_template(mtn, tmp_path)
    proof = await receive(mtn, MTN_SENDER, own_text("none", "93214500101", 92_500))
    await overdue.confirm_wording(mtn.env, OWNER, proof.id, undo=False)
    (tmp_path / "mtn.toml").unlink()
    mtn.env.own_wordings.read_again()
    mtn.clock.advance(seconds=-86_400)
    old = own_text("none", "93114500202", 95_000)
    pdus = encode_deliver(MTN_SENDER, old, from_us(mtn.clock.now_us()), smsc=MTN_SMSC, reference=9)
    mtn.clock.advance(seconds=86_400)
    await mtn.read_pdus(pdus)
    put_template(mtn, tmp_path)
    done = await ingest.reparse(mtn.env, ingest.ReparseSelection())
    assert set(done.counts) <= {"historical", "held"}
    assert done.counts


async def test_messages_are_read_again_in_batches(mtn: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "BATCH", 2)
    for number in range(5):
        await receive(mtn, MTN_SENDER, f"Enjoy {number}% bonus.")
    sizes, after = [], 0
    while True:
        done = await ingest.reparse(mtn.env, ingest.ReparseSelection(after=after))
        sizes.append(done.looked_at)
        if done.next is None:
            break
        after = done.next
    assert sizes == [2, 2, 1]


async def snapshot(shop: FakeShop) -> list[Any]:
    tables = ("messages", "payments", "reviews", "transactions", "events", "line_balances")
    return [await shop.values(f"SELECT * FROM {table}") for table in tables]


async def test_an_unknown_message_proves_nothing(mtn: FakeShop) -> None:
    with pytest.raises(MomoError):
        await overdue.confirm_wording(mtn.env, OWNER, METHOD_ID, undo=False)
