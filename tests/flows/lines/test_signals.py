"""The signal of the last day outlives a restart, for one commit an hour."""

from typing import Any

from daemon.core.limits import HOUR_US
from daemon.core.lines.signal_history import SignalHistory
from daemon.flows.lines import receiving
from tests.fakes.shop import FakeShop

HOUR_S = 3600


async def measure(shop: FakeShop, *levels: int) -> None:
    """Measure once an hour, as the loop does."""
    for level in levels:
        shop.env.signals.add("front", level, shop.clock.now_us())
        await receiving.keep_signals(shop.env)
        shop.clock.advance(HOUR_S)
    await receiving.keep_signals(shop.env)


def restart(shop: FakeShop) -> None:
    shop.env.signals = SignalHistory()


def seen(shop: FakeShop) -> list[tuple[int | None, int | None]]:
    hours = shop.env.signals.hours("front", shop.clock.now_us())
    return [(hour.lowest, hour.highest) for hour in hours if hour.lowest is not None]


async def stored(shop: FakeShop) -> list[Any]:
    return await shop.values("SELECT lowest FROM signal_hours ORDER BY at")


async def test_the_hours_before_a_restart_are_shown_after_it(shop: FakeShop) -> None:
    await measure(shop, 17, 9, 12)
    restart(shop)
    shop.env.signals.add("front", 20, shop.clock.now_us())
    assert seen(shop) == [(20, 20)]
    await receiving.keep_signals(shop.env)
    assert seen(shop) == [(17, 17), (9, 9), (12, 12), (20, 20)]
    # The first minute after a restart and the later ones go on with the same history.
    await measure(shop, 21)
    assert seen(shop)[-1] == (20, 21)
    assert await stored(shop) == [17, 9, 12, 20]


async def test_an_hour_is_stored_once_when_it_has_ended(shop: FakeShop) -> None:
    await measure(shop, 17)
    before = shop.env.store.version
    for _ in range(50):
        shop.env.signals.add("front", 10, shop.clock.now_us())
        await receiving.keep_signals(shop.env)
        shop.clock.advance(60)
    assert shop.env.store.version == before
    shop.clock.advance(HOUR_S)
    for _ in range(3):
        await receiving.keep_signals(shop.env)
    assert shop.env.store.version == before + 1
    assert await stored(shop) == [17, 10]


async def test_what_is_older_than_a_day_is_deleted(shop: FakeShop) -> None:
    await measure(shop, *range(30))
    assert len(await stored(shop)) <= 25
    restart(shop)
    await receiving.keep_signals(shop.env)
    assert len(seen(shop)) == 23


async def test_a_clock_in_doubt_neither_stores_nor_deletes(shop: FakeShop) -> None:
    await measure(shop, 17, 9)
    before = await stored(shop)
    shop.clock.jump(-20 * 365 * 24 * HOUR_S)
    assert shop.env.times().doubt is not None
    shop.env.signals.add("front", 3, shop.clock.now_us())
    shop.clock.advance(2 * HOUR_S)
    await receiving.keep_signals(shop.env)
    assert await stored(shop) == before


async def test_a_restart_writes_nothing(shop: FakeShop) -> None:
    await measure(shop, 17, 9)
    restart(shop)
    before = shop.env.store.version
    await receiving.keep_signals(shop.env)
    assert shop.env.store.version == before


async def test_after_a_clock_that_was_ahead_hours_are_stored_again(shop: FakeShop) -> None:
    shop.env.signals.stored_until = shop.clock.now_us() + 9_000 * HOUR_US
    await measure(shop, 17, 9)
    assert await stored(shop) == [17, 9]


async def test_a_clock_that_was_ahead_leaves_no_hour_of_the_future(shop: FakeShop) -> None:
    await measure(shop, 17)
    [at] = await shop.values("SELECT MAX(at) FROM signal_hours")
    await shop.env.store.write(lambda tx: tx.run("UPDATE signal_hours SET at = :at", {"at": at + 48 * HOUR_US}))
    restart(shop)
    await receiving.keep_signals(shop.env)
    assert seen(shop) == []
