"""While the clock is wrong, no transaction expires and no row is pruned; a notice is sent, and the state recovers by itself."""

import json
from datetime import UTC, datetime, timedelta

from daemon.core.limits import SECOND_US
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.upkeep import erasure, machine
from daemon.wire import TransactionStatus
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

HOUR_S = 3600.0


async def hear(shop: FakeShop, number: int, late_s: float = 0) -> None:
    """Let a message come that the network sent so long before our clock's now."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=shop.clock.now_us())
    await shop.read(
        mtn(
            2500, "KOFI ANTWI BADU", shop.wallet(2500), "food", str(93214500000 + number),
            sent_at=at - timedelta(seconds=late_s), concatenation=number,
        )
    )  # fmt: skip


async def told(shop: FakeShop) -> list[str]:
    kinds: list[str] = await shop.values(
        "SELECT type FROM events WHERE type LIKE 'clock.%' ORDER BY seq"
    )
    return kinds


async def test_nothing_expires_while_the_clock_is_ahead_and_it_heals(shop: FakeShop) -> None:
    order = await shop.request()
    shop.clock.advance(600)
    await hear(shop, 1)
    assert await machine.watch_clock(shop.env) is None
    shop.clock.jump(400 * 24 * HOUR_S)
    why = await machine.watch_clock(shop.env)
    assert why == "the clock of this machine is 400 days ahead of the network time in the last SMS"
    assert await cancel_expire.expire(shop.env) == 0
    assert await cancel_expire.drop_suggestions(shop.env) == 0
    assert await texts.expire(shop.env) == 0
    pruned = await erasure.prune(shop.env)
    assert (pruned.counts, pruned.doubt) == ({}, why)
    assert await machine.watch_clock(shop.env) is None
    shop.clock.jump(-400 * 24 * HOUR_S)
    assert await machine.watch_clock(shop.env) == ""
    assert await told(shop) == ["clock.suspect", "clock.right"]
    assert (await shop.transaction(order.reference)).status is TransactionStatus.PENDING
    shop.clock.advance(400 * 24 * HOUR_S)
    await hear(shop, 2)
    assert await cancel_expire.expire(shop.env) == 1


async def test_an_order_made_by_a_clock_that_was_behind_does_not_expire_when_it_is_right(
    shop: FakeShop,
) -> None:
    shop.clock.advance(600)
    await hear(shop, 1)
    shop.clock.jump(-300 * 24 * HOUR_S)
    assert "behind" in str(await machine.watch_clock(shop.env))
    shop.clock.advance(60)
    order = await shop.request()
    shop.clock.advance(60)
    shop.clock.jump(300 * 24 * HOUR_S)
    assert await machine.watch_clock(shop.env) == ""
    assert await cancel_expire.expire(shop.env) == 0
    moved = await shop.transaction(order.reference)
    assert order.expires_at is not None
    assert moved.expires_at == order.expires_at + round(300 * 24 * HOUR_S) * SECOND_US
    (data,) = await shop.values("SELECT data FROM events WHERE type = 'clock.right'")
    assert json.loads(data) == {"orders_moved": 1}


async def test_the_journal_is_a_witness_when_no_message_has_come(shop: FakeShop) -> None:
    await shop.request()
    shop.clock.jump(-24 * HOUR_S)
    await machine.begin_clock(shop.env)
    assert "gone backwards" in str(await machine.watch_clock(shop.env))
    # The first message that agrees with the clock settles it.
    shop.clock.advance(600)
    await hear(shop, 1)
    assert await machine.watch_clock(shop.env) == ""


async def test_webhooks_are_signed_by_the_networks_time_meanwhile(shop: FakeShop) -> None:
    shop.clock.advance(600)
    right = shop.clock.now_us()
    await hear(shop, 1)
    shop.clock.jump(-HOUR_S)
    assert abs(shop.env.times().best_us - right) <= SECOND_US
