"""SMS to payers: recipients, texts, retries, and at most one send of each."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.access.callers import Caller, CallerKind
from daemon.core.inputs import InitializeRequest, PhoneIdentity
from daemon.core.model import Event, Transaction
from daemon.core.payments.payer_texts import RETRY_US
from daemon.flows.lines import modems
from daemon.flows.payments import cancel_expire, initialize
from daemon.flows.payments import texts as flows_texts
from daemon.modem.codec import pdu
from daemon.modem.codec.pdu_fields import Direction, Submit
from daemon.modem.session.send import Outgoing, SmsEnded, SmsPartSent, SmsResult
from daemon.runtime.config import Config, Limits, Sms, Transactions
from daemon.store.payments.texts import PayerText
from daemon.wire import Mode
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, TELECEL_IMSI, FakeShop
from tests.phones.network import report

PAYER = "+233241234567"


async def texts(shop: FakeShop) -> list[PayerText]:
    found: list[PayerText] = await shop.rows(PayerText, "sms_outbox")
    return found


async def lease(shop: FakeShop) -> Outgoing:
    due = await flows_texts.lease(shop.env, shop.source.sim_key)
    assert due.outgoing is not None
    return due.outgoing


async def end(shop: FakeShop, outgoing: Outgoing, result: SmsResult, why: str = "why") -> str:
    return await flows_texts.ended(shop.env, SmsEnded(outgoing.id, result, why))


async def send(shop: FakeShop) -> Outgoing:
    """Send each part of the due SMS."""
    outgoing = await lease(shop)
    for part in range(outgoing.first, len(outgoing.pdus)):
        await flows_texts.part_sent(shop.env, SmsPartSent(outgoing.id, part, 40 + part))
    assert await end(shop, outgoing, SmsResult.SENT, "") == "sent"
    return outgoing


async def pay(shop: FakeShop, request: Transaction, minor: int = 2500) -> None:
    code = request.svc_code
    assert code is not None
    balance = shop.wallet(minor)
    await shop.read(mtn(minor, "KOFI ANTWI BADU", balance, code, "93214500001"))


def said(outgoing: Outgoing) -> tuple[str, str]:
    """Return number and text of the sent SMS, which must be a single part."""
    [one] = outgoing.pdus
    value = pdu.decode(one.hex, direction=Direction.TO_NETWORK)
    assert isinstance(value, Submit)
    return value.recipient, value.text


async def test_a_request_sends_its_code_and_its_payment_a_receipt(shop: FakeShop) -> None:
    request = await shop.request()
    code = request.svc_code
    assert said(await send(shop)) == (
        PAYER,
        (f"Pay GHS 25.00 to 0244124567 (Ama). Dial *170#, send it with the reference {code}. Never share your PIN."),
    )
    await pay(shop, request)
    assert said(await send(shop)) == (PAYER, f"We have received GHS 25.00 for {code}. Thank you. Ama, 0244124567")
    assert [(text.kind, text.status) for text in await texts(shop)] == [("code", "sent"), ("receipt", "sent")]
    assert (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is None


async def test_a_short_payment_says_how_much_is_missing(shop: FakeShop) -> None:
    request = await shop.request()
    await send(shop)
    await pay(shop, request, 2300)
    assert f"GHS 23.00 for {request.svc_code}, GHS 2.00 too little." in said(await send(shop))[1]


@pytest.mark.parametrize(
    ("when", "kinds"), [("both", ["code", "receipt"]), ("request", ["code"]), ("verified", ["receipt"]), ("never", [])]
)
async def test_the_shop_says_when_payers_get_an_sms(tmp_path: Path, when: str, kinds: list[str]) -> None:
    shop = await FakeShop.make(tmp_path, Config(transactions=Transactions(code_sms_at=when)))
    await pay(shop, await shop.request())
    assert [text.kind for text in await texts(shop)] == kinds
    shop.close()


def caller(*, publishable: bool = False, mode: Mode | None = None) -> Caller:
    return replace(OWNER, kind=CallerKind.KEY, publishable=publishable, mode=mode)


async def initialized(shop: FakeShop, who: Caller = OWNER, **changes: Any) -> bool:
    """Make a transaction and return its `payer_sms_sent`."""
    values = {"amount_minor": 2500, "currency": "GHS", "phone_number": PAYER, **changes}
    return (await initialize.initialize(shop.env, who, InitializeRequest(**values))).texted


async def test_nobody_is_texted_who_should_not_be(shop: FakeShop) -> None:
    assert not await initialized(shop, caller(mode=Mode.TEST))
    assert not await initialized(shop, caller(publishable=True, mode=Mode.LIVE))
    assert not await initialized(shop, send_sms_to_payer=False)
    assert await texts(shop) == []
    assert await initialized(shop, caller(mode=Mode.LIVE))


async def test_publishable_keys_send_where_the_shop_allows_it(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(transactions=Transactions(public_sms=True)))
    assert await initialized(shop, caller(publishable=True, mode=Mode.LIVE))
    assert not await initialized(shop, caller(publishable=True, mode=Mode.TEST))
    shop.close()


async def test_without_a_ready_line_nothing_is_promised(tmp_path: Path, shop: FakeShop) -> None:
    (tmp_path / "bare").mkdir()
    bare = await FakeShop.make(tmp_path / "bare", line=False)
    assert not await initialized(bare)
    bare.close()
    await modems.disconnect(shop.env, shop.source.device_id)
    assert not await initialized(shop)
    assert await texts(shop) == []


async def second_line(shop: FakeShop) -> str:
    """Put a Telecel SIM with a number beside the MTN one; return its SIM key."""
    source = await modems.identify(
        shop.env, PhoneIdentity("/dev/ttyUSB1", "356938035643817", "8923302000000000012", TELECEL_IMSI, "zte", "MF")
    )
    now = shop.clock.now_us()
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, "
            "line_created_at, created_at, updated_at) VALUES ('m2', 'telecel_cash', '+233204124567', 'Ama T', "
            "(SELECT seq FROM sims WHERE sim_key = :sim), 1, :now, :now, :now)",
            {"sim": source.sim_key, "now": now},
        )
    )
    return source.sim_key


async def test_the_line_on_the_payers_network_sends_else_any(shop: FakeShop) -> None:
    telecel = await second_line(shop)
    sims = dict(await shop.values("SELECT sim_key, seq FROM sims"))
    for phone_number in ("+233241234567", "+233201234567", "+233271234567"):
        await initialized(shop, phone_number=phone_number)
    mine = shop.source.sim_key
    assert [text.sim_seq for text in await texts(shop)] == [sims[mine], sims[telecel], sims[mine]]
    telecels = await flows_texts.lease(shop.env, telecel)
    assert telecels.outgoing is not None
    assert "0204124567 (Ama T). Dial *110#" in said(telecels.outgoing)[1]


async def test_one_number_gets_three_in_an_hour(shop: FakeShop) -> None:
    assert [await initialized(shop) for _request in range(4)] == [True, True, True, False]
    assert await initialized(shop, phone_number="+233241234568"), "another number is another"
    shop.clock.advance(3601)
    assert await initialized(shop)


async def test_the_limit_of_one_number_is_a_setting(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(limits=Limits(sms_per_number_hour=1)))
    assert [await initialized(shop) for _request in range(2)] == [True, False]
    shop.close()


async def test_a_code_sent_again_says_that_the_number_has_had_its_sms(shop: FakeShop) -> None:
    request = await shop.request()
    assert [await initialized(shop) for _request in range(2)] == [True, True]
    asked = (shop.env, OWNER, request.reference)
    assert await flows_texts.send_code_again(*asked) == "number_limit"
    shop.clock.advance(3601)
    assert await flows_texts.send_code_again(*asked) == "queued"


async def test_one_sim_sends_thirty_in_an_hour_and_two_hundred_in_a_day(shop: FakeShop) -> None:
    numbers = (f"+23324{number:07}" for number in range(1_000))

    async def hour() -> int:
        return sum([await initialized(shop, phone_number=next(numbers)) for _try in range(31)])

    counts = []
    for _hour in range(8):
        counts.append(await hour())
        while (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is not None:
            pass  # they go out, as far as the limits know
        shop.clock.advance(3601)
    assert counts == [30, 30, 30, 30, 30, 30, 20, 0]


async def test_what_may_work_later_is_tried_again_more_and_more_patiently(shop: FakeShop) -> None:
    await shop.request()
    for wait_us in RETRY_US:
        outgoing = await lease(shop)
        assert await end(shop, outgoing, SmsResult.RETRY) == "queued"
        due = await flows_texts.lease(shop.env, shop.source.sim_key)
        assert due.outgoing is None
        assert due.next_at == shop.clock.now_us() + wait_us
        shop.clock.advance(wait_us / 1_000_000)
    assert await end(shop, await lease(shop), SmsResult.RETRY) == "failed"
    [text] = await texts(shop)
    assert (text.status, text.tries, text.why) == ("failed", len(RETRY_US) + 1, "why")


async def test_a_long_message_goes_on_where_it_stopped(tmp_path: Path) -> None:
    words = "{amount} {number} {code} \N{SMILING FACE WITH SMILING EYES} " + "thank you " * 20
    shop = await FakeShop.make(tmp_path, Config(sms=Sms(code_text=words)))
    await shop.request()
    first = await lease(shop)
    assert len(first.pdus) == 4
    await flows_texts.part_sent(shop.env, SmsPartSent(first.id, 0, 40))
    assert await end(shop, first, SmsResult.RETRY) == "queued"
    shop.clock.advance(11)
    again = await lease(shop)
    assert (again.first, again.pdus) == (1, first.pdus)
    shop.close()


@pytest.mark.parametrize("result", [SmsResult.FAILED, SmsResult.UNKNOWN])
async def test_the_last_word_is_the_last(shop: FakeShop, result: SmsResult) -> None:
    await shop.request()
    assert await end(shop, await lease(shop), result) == result
    shop.clock.advance(600)
    assert (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    assert await flows_texts.recover(shop.env) == 0


async def test_what_a_crash_interrupted_is_in_doubt_and_never_sent_again(shop: FakeShop) -> None:
    request = await shop.request()
    await lease(shop)
    assert await flows_texts.recover(shop.env) == 1
    [text] = await texts(shop)
    assert text.status == "unknown"
    shop.clock.advance(600)
    assert (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    told = await shop.rows(Event, "events", f"transaction_seq = {request.seq}")
    assert [event.type for event in told] == ["transaction.created", "sms.queued", "sms.unknown"]


async def test_a_code_that_comes_too_late_is_not_sent(shop: FakeShop) -> None:
    await shop.request()
    shop.clock.advance(1801)
    assert (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    assert [text.status for text in await texts(shop)] == ["expired"]


async def test_what_no_line_can_send_expires_by_itself(shop: FakeShop) -> None:
    await shop.request()
    assert await flows_texts.expire(shop.env) == 0
    shop.clock.advance(1801)
    assert await flows_texts.expire(shop.env) == 1
    assert [text.status for text in await texts(shop)] == ["expired"]


async def test_the_code_of_an_order_that_is_over_is_not_sent(shop: FakeShop) -> None:
    request = await shop.request()
    await pay(shop, request)
    assert "received" in said(await send(shop))[1]
    cancelled = await shop.request()
    await cancel_expire.cancel(shop.env, OWNER, cancelled.reference, reason=None)
    assert (await flows_texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    assert [(text.kind, text.status) for text in await texts(shop)] == [
        ("code", "expired"),
        ("receipt", "sent"),
        ("code", "expired"),
    ]


async def test_a_status_report_says_whether_it_arrived_and_is_no_message(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(sms=Sms(reports=True)))
    request = await shop.request()
    outgoing = await send(shop)
    arrived = report(outgoing.pdus[0].hex, 40)
    assert arrived is not None, "the network was asked for a report"
    other = report(outgoing.pdus[0].hex, 41)
    assert other is not None
    await shop.read_pdus([arrived, arrived])
    told = await shop.rows(Event, "events", f"transaction_seq = {request.seq}")
    assert [event.type for event in told][-1:] == ["sms.delivered"]
    assert [event.type for event in told].count("sms.delivered") == 1
    assert await shop.values("SELECT COUNT(*) FROM messages") == [0]
    await shop.read_pdus([other])
    assert await shop.values("SELECT COUNT(*) FROM messages") == [1], "kept: nobody knows it"
    shop.close()
