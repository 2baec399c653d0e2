"""A fault that one message meets stops no other message, and the message is read once the fault is mended."""

from pathlib import Path

import pytest

from daemon.flows.messages import settle_lines
from daemon.runtime.config import Config
from daemon.steps import judge
from daemon.steps.context import Context, Outcome, StoredMessage
from daemon.store.books.day_sheet import Period
from daemon.store.books.day_sheet import wallet as wallet_of
from daemon.wire import MessageState
from parsers.reading import Reading
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

NAME = "KOFI ANTWI BADU"
UNREAD = "SELECT reasons FROM messages WHERE state = 'unparsed' ORDER BY seq"


async def test_a_receipt_above_21_million_cedis_stops_no_later_one(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    await shop.begin_chain(90_000)
    large = mtn(3_000_000_000, NAME, 3_000_090_000, "food", "93214500001")
    assert (await shop.read(large)).faults == ()
    shop.clock.advance(86_400)
    breaking = mtn(500, NAME, 700_000, "food", "93214600002", concatenation=2)
    [(_, state)] = (await shop.read(breaking)).concluded
    assert state is MessageState.PAYMENT, "half of a usual day is far more"
    shop.close()


async def test_a_debit_above_21_million_cedis_ends_no_day_sheet(shop: FakeShop) -> None:
    await shop.begin_chain(90_000)
    large = "UPDATE line_balances SET pays = 0, effects = '[-3000000000]'"
    await shop.env.store.write(lambda tx: tx.run(large))
    day, key = Period(0, shop.clock.now_us()), shop.source.sim_key
    wallet = await shop.env.store.read(lambda reader: wallet_of(reader, day, key, "momo_mtn", 0))
    assert wallet is not None
    assert wallet.out == 3_000_000_000


async def test_a_row_that_the_database_refuses_stops_no_other_message(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = judge.judge_message

    def refused(
        context: Context, arrived: StoredMessage, outcome: Outcome, reading: Reading
    ) -> None:
        if "bad" in arrived.body:
            context.tx.run("UPDATE line_balances SET home = 7")
        real(context, arrived, outcome, reading)

    monkeypatch.setattr("daemon.steps.process_message.judge_message", refused)
    await shop.begin_chain(90_000)
    bad = mtn(2500, NAME, 92_500, "bad", "93214500001")
    good = mtn(500, NAME, 90_500, "good", "93214500002", concatenation=2)
    taken = await shop.read(bad, good)
    states = [state for _, state in taken.concluded]
    assert states == [MessageState.UNPARSED, MessageState.PAYMENT]
    assert len(taken.faults) == 2
    assert all("Integrity" in fault or "CheckViolation" in fault for fault in taken.faults)
    assert "KOFI" not in str(taken.faults)


def break_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each message that says "bad" meet a bug."""
    real = judge.judge_message

    def broken(
        context: Context, arrived: StoredMessage, outcome: Outcome, reading: Reading
    ) -> None:
        if "bad" in arrived.body:
            raise ValueError("a bug")
        real(context, arrived, outcome, reading)

    monkeypatch.setattr("daemon.steps.process_message.judge_message", broken)


async def read_slowly(shop: FakeShop, number: int, typed: str, amount_minor: int = 500) -> None:
    """Read the parts of a receipt ten seconds apart, so that they wait for rivals."""
    balance = shop.wallet(amount_minor)
    telco_id = str(93_214_500_000 + number)
    made = mtn(amount_minor, NAME, balance, typed, telco_id, concatenation=number)
    for pdu in made.pdus:
        await shop.read_pdus([pdu])
        shop.clock.advance(10)


async def test_a_fault_in_one_long_message_keeps_no_other_from_being_put_together(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_reading(monkeypatch)
    await shop.begin_chain()
    await read_slowly(shop, 1, "bad")
    await read_slowly(shop, 2, "good")
    shop.clock.advance(61)
    faults = list[str]()
    assert await settle_lines.assemble_parts(shop.env, faults.append) == 2
    assert faults == ["ValueError: a bug"]
    assert await shop.values(UNREAD) == ['["internal_error"]']
    assert [payment.reference_text for payment in await shop.payments()] == ["good"]
    assert await settle_lines.assemble_parts(shop.env) == 0, "it is not tried again"


async def test_parts_that_cannot_be_put_together_are_set_aside(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await read_slowly(shop, 1, "food")
    shop.clock.advance(61)

    def broken(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(settle_lines, "assemble", broken)
    faults = list[str]()
    assert await settle_lines.assemble_parts(shop.env, faults.append) == 0
    assert len(faults) == 2
    assert await settle_lines.assemble_parts(shop.env) == 0
    assert await shop.values("SELECT COUNT(*) FROM sms_parts") == [2]


async def test_a_fault_in_one_line_is_told_and_ends_nothing(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.limit(0)
    await shop.begin_chain(90_000)
    await shop.read(mtn(500, NAME, 700_000, "food", "93214500001"))

    def broken(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(settle_lines, "_judged", broken)
    faults = list[str]()
    assert await settle_lines.settle_lines(shop.env, faults.append) == 0
    assert faults == ["LookupError: a bug"]
    with pytest.raises(AssertionError, match="a bug"):
        await settle_lines.settle_lines(shop.env)
