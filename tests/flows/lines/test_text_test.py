"""An SMS that tests a modem: from any present SIM, once, under the limits of all SMS."""

from pathlib import Path

import pytest

from daemon.core.errors import Refusal
from daemon.core.limits import HOUR_US, SECOND_US
from daemon.core.payments.payer_texts import TEST_TTL_US
from daemon.core.payments.timeline import entry_text
from daemon.flows.lines import modems
from daemon.flows.payments import texts
from daemon.modem.codec import pdu
from daemon.modem.codec.pdu_fields import Direction, Submit
from daemon.modem.session.send import SmsEnded, SmsPartSent, SmsResult
from daemon.runtime.config import Config, Limits
from daemon.store.payments import texts as store_texts
from daemon.store.payments.texts import SMS_PER_SIM_HOUR, PayerText
from daemon.wire import ErrorCode
from tests.fakes.shop import OWNER, FakeShop

FRIEND = "+233201234567"


async def start(shop: FakeShop, number: str = FRIEND) -> PayerText:
    return await modems.queue_test_sms(shop.env, OWNER, shop.source.device_id, number)


async def now_of(shop: FakeShop, text: PayerText) -> PayerText:
    return await shop.env.store.read(lambda reader: store_texts.get(reader, text.id))


async def test_a_sim_without_a_number_sends_it_too(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, line=False)
    text = await start(shop)
    due = await texts.lease(shop.env, shop.source.sim_key)
    assert due.outgoing is not None
    [part] = due.outgoing.pdus
    value = pdu.decode(part.hex, direction=Direction.TO_NETWORK)
    assert isinstance(value, Submit)
    assert (value.recipient, value.text) == (FRIEND, "momo: a test of the phone that reads our payments.")
    await texts.part_sent(shop.env, SmsPartSent(text.id, 0, 40))
    await texts.ended(shop.env, SmsEnded(text.id, SmsResult.SENT))
    assert (await now_of(shop, text)).status == "sent"
    assert (await texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    shop.close()


async def test_what_could_be_tried_again_is_told_and_not_tried_again(shop: FakeShop) -> None:
    """The user waits for the result now; an SMS that is sent five minutes later costs money without a use."""
    text = await start(shop)
    await texts.lease(shop.env, shop.source.sim_key)
    end = SmsEnded(text.id, SmsResult.RETRY, "+CMS ERROR: 42")
    assert await texts.ended(shop.env, end) == "failed"
    after = await now_of(shop, text)
    assert (after.status, after.why) == ("failed", "+CMS ERROR: 42")
    shop.clock.advance(3600)
    assert (await texts.lease(shop.env, shop.source.sim_key)).outgoing is None


async def test_a_test_that_no_phone_takes_at_once_is_never_sent(shop: FakeShop) -> None:
    text = await start(shop)
    shop.clock.advance(TEST_TTL_US // SECOND_US + 1)
    assert (await texts.lease(shop.env, shop.source.sim_key)).outgoing is None
    assert (await now_of(shop, text)).status == "expired"


async def test_a_number_gets_no_more_than_the_shop_allows_and_no_sim_sends_more(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(limits=Limits(sms_per_number_hour=2)))
    for _ in range(2):
        await start(shop)
    with pytest.raises(Refusal) as refused:
        await start(shop)
    assert refused.value.code is ErrorCode.RATE_LIMITED
    assert refused.value.extras["retry_after"] == HOUR_US // SECOND_US
    for number in range(SMS_PER_SIM_HOUR - 2):
        await start(shop, f"+2332012345{number:02}")
    with pytest.raises(Refusal):
        await start(shop, "+233201234599")
    assert len(await shop.rows(PayerText, "sms_outbox")) == SMS_PER_SIM_HOUR
    shop.close()


async def test_a_phone_without_a_sim_is_refused(shop: FakeShop) -> None:
    await shop.env.store.write(lambda tx: tx.run("UPDATE sims SET present = 0"))
    with pytest.raises(Refusal) as refused:
        await start(shop)
    assert refused.value.code is ErrorCode.SIM_NOT_FOUND
    assert await shop.rows(PayerText, "sms_outbox") == []


async def test_the_journal_says_who_tested_and_what_came_of_it(shop: FakeShop) -> None:
    text = await start(shop)
    await texts.lease(shop.env, shop.source.sim_key)
    await texts.ended(shop.env, SmsEnded(text.id, SmsResult.FAILED, "no credit"))
    told = await shop.values("SELECT type || ' ' || actor FROM events WHERE type LIKE 'sms.%' ORDER BY seq")
    assert told == [f"sms.queued {OWNER.name}", "sms.failed momo"]
    assert str(entry_text("sms.failed", {"kind": "test", "why": "no credit"}, None)) == (
        "The SMS that tests a modem could not be sent: no credit."
    )
