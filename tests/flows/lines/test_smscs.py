"""The SMSCs of a SIM, trust in one message, and the owner's test payment."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.errors import Refusal
from daemon.core.limits import HOUR_US
from daemon.core.model import Review
from daemon.flows.lines import smscs
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.runtime.config_file import parse_config
from daemon.wire import ErrorCode, MessageState, TransactionStatus
from tests.fakes.receipts import MTN_SMSC, Receipt
from tests.fakes.shop import OWNER, FakeShop
from tests.flows.messages.test_balance import FOREIGN, STRICT, pass_time, read_foreign, receipt, states, status


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    """A shop without a balance chain on its line; no message pays before it is confirmed."""
    made = await FakeShop.make(tmp_path, parse_config(STRICT))
    yield made
    made.close()


async def seen(shop: FakeShop) -> smscs.SimSmscs:
    return await smscs.smscs_of(shop.env, shop.source.device_id, 0)


async def trust(shop: FakeShop, message_id: str) -> int:
    return await smscs.trust_message(shop.env, OWNER, shop.source.device_id, 0, message_id)


async def refused(shop: FakeShop, message_id: str) -> ErrorCode:
    with pytest.raises(Refusal) as caught:
        await trust(shop, message_id)
    return caught.value.code


async def held(shop: FakeShop, *made: Receipt) -> list[str]:
    """Read these receipts; return the IDs of their messages, which are all held."""
    pass_time(shop, made)
    taken = await shop.read(*made)
    assert {state for _id, state in taken.concluded} == {MessageState.HELD}
    return [message_id for message_id, _state in taken.concluded]


async def test_the_smsc_of_the_sim_is_home_before_any_message(shop: FakeShop) -> None:
    found = await seen(shop)
    assert [(one.smsc, one.source) for one in found.smscs] == [(MTN_SMSC, "sim")]
    assert (found.has_chain, found.test_payment) == (False, None)


async def test_trust_in_the_first_message_pays_it(shop: FakeShop) -> None:
    request = await shop.request(2500)
    [message_id] = await held(shop, receipt(1, 2500, 92_500, request.svc_code))
    assert await trust(shop, message_id) == 0
    assert await status(shop, request) is TransactionStatus.SUCCESS
    assert (await seen(shop)).has_chain


async def test_trust_in_a_message_after_a_break_pays_its_whole_row(shop: FakeShop) -> None:
    await shop.begin_chain()
    first, second = await shop.request(2500), await shop.request(100)
    made = receipt(1, 2500, 70_000, first.svc_code), receipt(2, 100, 70_100, second.svc_code)
    message_id, _ = await held(shop, *made)
    assert await trust(shop, message_id) == 1
    for request in (first, second):
        assert await status(shop, request) is TransactionStatus.SUCCESS
    assert {row.state for row in await shop.rows(Review, "reviews")} == {"approved"}
    assert await refused(shop, message_id) is ErrorCode.REVIEW_ALREADY_DECIDED


async def test_trust_in_a_foreign_message_makes_its_smsc_home(shop: FakeShop) -> None:
    await shop.begin_chain()
    request = await shop.request(2500)
    await read_foreign(shop, receipt(1, 2500, 92_500, request.svc_code))
    noticed = (await seen(shop)).smscs[-1]
    assert (noticed.smsc, noticed.source) == (FOREIGN, "noticed")
    assert await trust(shop, noticed.message_id or "") == 0
    assert await status(shop, request) is TransactionStatus.SUCCESS
    assert [(one.smsc, one.source) for one in (await seen(shop)).smscs] == [(MTN_SMSC, "sim"), (FOREIGN, "approved")]


async def test_a_message_of_another_sim_or_with_other_doubts_is_refused(shop: FakeShop) -> None:
    await shop.begin_chain()
    assert await refused(shop, "00000000-0000-4000-8000-000000000000") is (ErrorCode.MESSAGE_NOT_FOUND)
    made = receipt(1, 2500, 92_500)
    taken = await shop.read_pdus(encode_deliver("+233541234567", made.text, made.sent_at, smsc=MTN_SMSC, reference=9))
    assert await refused(shop, taken.concluded[0][0]) is ErrorCode.VALIDATION_ERROR
    typed = receipt(2, 100, 90_100, "x" * 161)
    assert await refused(shop, (await held(shop, typed))[0]) is ErrorCode.VALIDATION_ERROR
    assert await shop.values("SELECT COUNT(*) FROM reviews") == [0], "they are only listed"


async def test_the_test_payment_begins_the_chain_and_is_expected_for_an_hour(shop: FakeShop) -> None:
    asked = await smscs.expect_test_payment(shop.env, OWNER, shop.source.device_id, 0)
    assert 101 <= asked.amount_minor < 500
    assert asked.expires_at == shop.clock.now_us() + HOUR_US
    assert (await seen(shop)).test_payment == asked
    paid = receipt(1, asked.amount_minor, 90_000 + asked.amount_minor)
    assert await read_foreign(shop, paid) == [MessageState.PAYMENT]
    found = await seen(shop)
    assert (found.has_chain, found.test_payment) == (True, None)
    assert found.smscs[-1].source == "test_payment"


async def test_a_test_payment_that_comes_too_late_is_like_any_other(shop: FakeShop) -> None:
    asked = await smscs.expect_test_payment(shop.env, OWNER, shop.source.device_id, 0)
    shop.clock.advance(3_601)
    assert (await seen(shop)).test_payment is None
    assert await states(shop, receipt(31, asked.amount_minor, 90_000)) == [MessageState.HELD]
