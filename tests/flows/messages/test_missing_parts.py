"""A long message with missing parts is kept and reported once."""

import json

from daemon.core.limits import DAY_US, SECOND_US
from daemon.flows.messages.overdue import report_missing_parts
from daemon.store.messages import messages
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

DAY_S = DAY_US / SECOND_US
RECEIPT = mtn(2500, "KOFI ANTWI BADU", 50_000, "x", "93214500001")


async def told(shop: FakeShop) -> list[object]:
    rows = await shop.values("SELECT message_id, data FROM events WHERE type = 'message.incomplete'")
    return [(message_id, json.loads(data)["parts_seen"]) for message_id, data in rows]


async def states(shop: FakeShop) -> list[object]:
    return await shop.values("SELECT state, reasons FROM messages")


async def test_it_is_told_once_after_a_day_and_not_before(shop: FakeShop) -> None:
    await shop.read_pdus(RECEIPT.pdus[:1])
    shop.clock.advance(DAY_S - 60)
    assert await report_missing_parts(shop.env) == 0
    shop.clock.advance(120)
    assert await report_missing_parts(shop.env) == 1
    assert await report_missing_parts(shop.env) == 0
    ids = await shop.values("SELECT id FROM messages")
    assert await told(shop) == [(ids[0], 1)]
    assert await states(shop) == [("incomplete", '["parts_missing"]')]
    assert await shop.env.store.read(messages.count_incomplete) == 1


async def test_the_part_that_comes_after_all_makes_it_whole(shop: FakeShop) -> None:
    await shop.read_pdus(RECEIPT.pdus[:1])
    shop.clock.advance(DAY_S + 60)
    await report_missing_parts(shop.env)
    await shop.read_pdus(RECEIPT.pdus[1:])
    (state,) = await shop.values("SELECT state FROM messages")
    assert state != "incomplete"
    assert await shop.env.store.read(messages.count_incomplete) == 0


async def test_a_whole_message_is_not_told_of(shop: FakeShop) -> None:
    await shop.read(RECEIPT)
    shop.clock.advance(DAY_S + 60)
    assert await report_missing_parts(shop.env) == 0
