"""A fault that one message meets stops no other message, and the message is read once the fault is mended."""

from datetime import timedelta
from pathlib import Path

import pytest

from daemon.core.inputs import MessageOutcome
from daemon.flows.messages import ingest, settle_lines
from daemon.runtime.config import Config
from daemon.steps import judge
from daemon.steps.context import Context, StoredMessage
from daemon.steps.intake import Ingested
from daemon.store.books.day_sheet import Period
from daemon.store.books.day_sheet import wallet as wallet_of
from daemon.wire import MessageState, TransactionStatus
from parsers.reading import Reading
from parsers.times import from_us
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

NAME = "KOFI ANTWI BADU"
UNREAD = "SELECT reasons FROM messages WHERE state = 'unparsed' ORDER BY seq"


async def read_bad_and_good(shop: FakeShop) -> Ingested:
    """Let a receipt that meets the fault and another one come in; the other one pays."""
    bad = mtn(2500, NAME, 92_500, "bad", "93214500001")
    good = mtn(500, NAME, 90_500, "good", "93214500002", concatenation=2)
    taken = await shop.read(bad, good)
    states = [state for _, state in taken.concluded]
    assert states == [MessageState.UNPARSED, MessageState.PAYMENT]
    return taken


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
    large = "UPDATE line_balances SET pays = 0, effect_minor = -3000000000"
    await shop.env.store.write(lambda tx: tx.run(large))
    day, key = Period(0, shop.clock.now_us()), shop.source.sim_key
    wallet = await shop.env.store.read(lambda reader: wallet_of(reader, day, key, "momo_mtn", 0))
    assert wallet is not None
    assert wallet.out == 3_000_000_000


async def test_a_row_that_the_database_refuses_stops_no_other_message(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = judge.judge_message

    def refused(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: Reading) -> None:
        if "bad" in arrived.body:
            context.tx.run("UPDATE line_balances SET home = 7")
        real(context, arrived, outcome, reading)

    monkeypatch.setattr("daemon.steps.process_message.judge_message", refused)
    await shop.begin_chain(90_000)
    taken = await read_bad_and_good(shop)
    assert len(taken.faults) == 2
    assert all("Integrity" in fault or "CheckViolation" in fault for fault in taken.faults)
    assert "KOFI" not in str(taken.faults)


def break_reading(monkeypatch: pytest.MonkeyPatch, text: str = "bad", bug: type[Exception] = ValueError) -> None:
    """Let each message with this text meet a bug."""
    real = judge.judge_message

    def broken(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: Reading) -> None:
        if text in arrived.body:
            raise bug("a bug")
        real(context, arrived, outcome, reading)

    monkeypatch.setattr("daemon.steps.process_message.judge_message", broken)


@pytest.mark.parametrize("bug", [AttributeError, UnboundLocalError, RecursionError])
async def test_a_bug_of_any_kind_stops_no_other_message(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch, bug: type[Exception]
) -> None:
    break_reading(monkeypatch, bug=bug)
    await shop.begin_chain(90_000)
    await read_bad_and_good(shop)


async def test_a_fault_in_a_batch_changes_the_order_of_no_other_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await FakeShop.make(tmp_path, Config())
    now = from_us(shop.clock.now_us())
    break_reading(monkeypatch)
    receipts = [
        mtn(
            100, NAME, 90_000 + 100 * number, typed, str(93_214_500_000 + number),
            sent_at=now - timedelta(minutes=9 - 2 * number), concatenation=number,
        )
        for number, typed in enumerate(("food", "rice", "fish", "bad"))
    ]  # fmt: skip
    assert len((await shop.read(*reversed(receipts))).faults) == 2
    assert await shop.values("SELECT why FROM line_balances ORDER BY at") == ["joins", "joins", "joins"]
    assert len(await shop.payments()) == 3
    shop.close()


async def read_slowly(shop: FakeShop, number: int, typed: str, amount_minor: int = 500) -> None:
    """Read the parts of a receipt in the wrong order, so that they wait for rivals."""
    balance = shop.wallet(amount_minor)
    telco_id = str(93_214_500_000 + number)
    made = mtn(amount_minor, NAME, balance, typed, telco_id, concatenation=number)
    for pdu in reversed(made.pdus):
        await shop.read_pdus([pdu])
        shop.clock.advance(1)


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


async def test_parts_that_cannot_be_put_together_are_set_aside(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_fault_in_one_line_is_told_and_ends_nothing(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.limit(0)
    await shop.begin_chain(90_000)
    await shop.read(mtn(500, NAME, 700_000, "food", "93214500001"))

    def broken(*_: object) -> None:
        raise LookupError("a bug")

    monkeypatch.setattr(settle_lines, "due_of", broken)
    faults = list[str]()
    assert await settle_lines.settle_lines(shop.env, faults.append) == 0
    assert faults == ["LookupError: a bug"]
    with pytest.raises(AssertionError, match="a bug"):
        await settle_lines.settle_lines(shop.env)


async def test_a_message_that_met_a_fault_is_read_again_once_momo_is_mended(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.begin_chain(90_000)
    request = await shop.request(500)
    made = mtn(500, NAME, 90_500, f"{request.svc_code} bad", "93214500001")
    other = mtn(700, NAME, 91_200, "bad", "93214500002", concatenation=2)
    with monkeypatch.context() as patch:
        break_reading(patch)
        assert len((await shop.read(made, other)).faults) == 3
        done = await ingest.reparse(shop.env, ingest.ReparseSelection())
        assert (done.looked_at, done.read) == (2, ()), "not yet"
    assert await shop.values(UNREAD) == ['["internal_error"]'] * 2
    done = await ingest.reparse(shop.env, ingest.ReparseSelection())
    assert [one["state"] for one in done.read] == [MessageState.PAYMENT] * 2
    assert (await shop.transaction(request.reference)).status is TransactionStatus.SUCCESS
    assert await shop.values("SELECT parts_seen FROM messages WHERE parts_total = 2") == [2, 2]
    assert (await shop.read(made, other)).new_parts == 0
    assert len(await shop.payments()) == 2


async def test_a_message_that_is_still_at_fault_keeps_no_other_from_being_read_again(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.begin_chain(90_000)
    with monkeypatch.context() as patch:
        break_reading(patch)
        for number in (1, 2):
            await shop.read(mtn(500, NAME, 90_500, f"bad {number}", str(93_214_500_000 + number)))
    break_reading(monkeypatch, "bad 1")
    done = await ingest.reparse(shop.env, ingest.ReparseSelection())
    assert (done.looked_at, len(done.read)) == (2, 1)
    assert [payment.reference_text for payment in await shop.payments()] == ["bad 2"]


async def test_a_rival_that_met_a_fault_is_not_read_again_as_if_it_were_alone(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.begin_chain(90_000)
    first, second = (
        mtn(500, NAME, 90_500, typed, telco_id)
        for typed, telco_id in (("bad", "93214500001"), ("bad too", "93214500002"))
    )
    for pdu in (first.pdus[0], second.pdus[0], first.pdus[1], second.pdus[1]):
        await shop.read_pdus([pdu])
    shop.clock.advance(61)
    with monkeypatch.context() as patch:
        patch.setattr(settle_lines, "process_message", None)
        await settle_lines.assemble_parts(shop.env, lambda _: None)
    assert set(await shop.values(UNREAD)) == {'["internal_error"]'}
    done = await ingest.reparse(shop.env, ingest.ReparseSelection())
    assert (done.looked_at, await shop.payments()) == (0, [])
