"""While the clock is wrong, no transaction expires and no row is pruned; a notice is sent, and the state recovers by itself."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from daemon.core.inputs import HttpAnswer, Idempotency
from daemon.core.limits import DAY_US, SECOND_US
from daemon.core.upkeep.clock_check import ClockCheck
from daemon.flows.payments import cancel_expire, texts
from daemon.flows.upkeep import erasure, machine
from daemon.runtime import files
from daemon.store import idempotency
from daemon.wire import TransactionStatus
from parsers.times import from_us
from tests.fakes.receipts import mtn
from tests.fakes.reviews import PAYER, reject
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
    kinds: list[str] = await shop.values("SELECT type FROM events WHERE type LIKE 'clock.%' ORDER BY seq")
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


async def test_an_order_made_by_a_clock_that_was_behind_does_not_expire_when_it_is_right(shop: FakeShop) -> None:
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


DAY_S = 24 * HOUR_S


async def start(shop: FakeShop, off_s: float = 0) -> None:
    """End the daemon, or the whole machine for a while, and start it; the phone's backlog is read."""
    if off_s:
        shop.clock.reboot(off_s)
    shop.env = replace(shop.env, clock_check=ClockCheck())
    await machine.begin_clock(shop.env)
    shop.env.clock_check.note_opened(shop.source.sim_key, shop.clock.boottime())
    shop.clock.advance(300)
    await machine.watch_clock(shop.env)


async def pay(shop: FakeShop, typed: str, right_us: int, telco_id: str = "93214500001") -> None:
    """Let a receipt come that the network sent at that time."""
    await shop.read(mtn(2500, "KOFI ANTWI BADU", shop.wallet(2500), typed, telco_id, sent_at=from_us(right_us)))


async def status(shop: FakeShop, reference: str) -> TransactionStatus:
    return (await shop.transaction(reference)).status


async def test_a_clock_that_is_ahead_after_a_start_ends_and_clears_nothing(shop: FakeShop) -> None:
    order = await shop.request()
    shop.clock.advance(60)
    await machine.watch_clock(shop.env)
    shop.clock.jump(400 * DAY_S)
    await start(shop, off_s=600)
    assert shop.env.times().doubt is None
    assert not shop.env.times().confirmed
    assert await cancel_expire.expire(shop.env) == 0
    assert set((await erasure.prune(shop.env)).counts.values()) <= {0}
    # The first message shows that the clock is ahead, and still pays its transaction.
    right_us = shop.clock.now_us() - round(400 * DAY_S) * SECOND_US
    await pay(shop, order.svc_code or "", right_us)
    assert await status(shop, order.reference) is TransactionStatus.SUCCESS
    assert "400 days ahead" in str(await machine.watch_clock(shop.env))


async def test_an_order_that_ended_while_the_machine_was_off_ends_with_the_first_message(shop: FakeShop) -> None:
    order = await shop.request(expires_in_hours=1)
    await machine.watch_clock(shop.env)
    await start(shop, off_s=12 * HOUR_S)
    assert await cancel_expire.expire(shop.env) == 0
    await pay(shop, "food", shop.clock.now_us())
    assert await machine.watch_clock(shop.env) is None
    assert await cancel_expire.expire(shop.env) == 1
    assert await status(shop, order.reference) is TransactionStatus.EXPIRED


async def test_a_shop_without_messages_counts_the_time_that_it_sees_pass(shop: FakeShop) -> None:
    await shop.request(expires_in_hours=2)
    await machine.watch_clock(shop.env)
    await start(shop, off_s=12 * HOUR_S)
    shop.clock.advance(HOUR_S)
    assert await cancel_expire.expire(shop.env) == 0
    shop.clock.sleep(HOUR_S)
    assert await cancel_expire.expire(shop.env) == 1


async def test_a_machine_that_was_off_for_minutes_goes_on_as_before(shop: FakeShop) -> None:
    await shop.request(expires_in_hours=1)
    await machine.watch_clock(shop.env)
    await start(shop, off_s=120)
    assert shop.env.times().confirmed
    shop.clock.advance(HOUR_S)
    assert await cancel_expire.expire(shop.env) == 1


async def test_a_daemon_that_starts_again_knows_all_that_the_last_one_knew(shop: FakeShop) -> None:
    shop.env.clock_check.note_opened(shop.source.sim_key, 0)
    await pay(shop, "food", shop.clock.now_us())
    await machine.watch_clock(shop.env)
    shop.clock.jump(40 * DAY_S)
    await start(shop)
    why = "the clock of this machine is 40 days ahead of the network time in the last SMS"
    (data,) = await shop.values("SELECT data FROM events WHERE type = 'clock.suspect'")
    assert json.loads(data)["why"] == why
    shop.clock.jump(-40 * DAY_S)
    assert await machine.watch_clock(shop.env) == ""


async def test_an_order_of_the_same_hour_by_a_right_clock_is_not_moved(shop: FakeShop) -> None:
    shop.env.clock_check.note_opened(shop.source.sim_key, 0)
    await pay(shop, "food", shop.clock.now_us())
    await machine.watch_clock(shop.env)
    order = await shop.request()
    shop.clock.advance(2 * HOUR_S)
    await machine.watch_clock(shop.env)
    shop.clock.jump(-2 * HOUR_S)
    assert "behind" in str(await machine.watch_clock(shop.env))
    wrong = await shop.request()
    shop.clock.jump(2 * HOUR_S)
    assert await machine.watch_clock(shop.env) == ""
    assert (await shop.transaction(order.reference)).expires_at == order.expires_at
    moved = await shop.transaction(wrong.reference)
    assert (moved.expires_at, moved.created_at) == (
        (wrong.expires_at or 0) + DAY_US // 12,
        wrong.created_at + DAY_US // 12,
    )


@pytest.mark.parametrize("hours", [-2.0, 2.0, -300 * 24.0, 300 * 24.0])
async def test_an_order_is_paid_whichever_clock_made_it(shop: FakeShop, hours: float) -> None:
    """Four orders: each is made, and each paid, by the right clock or by the wrong one."""
    shop.env.clock_check.note_opened(shop.source.sim_key, 0)
    right_us = shop.clock.now_us()
    await pay(shop, "food", right_us, "93214500000")
    await machine.watch_clock(shop.env)
    before = [await shop.request(), await shop.request()]
    shop.clock.jump(hours * HOUR_S)
    meanwhile = [await shop.request(), await shop.request()]
    for place, order in enumerate((before[0], meanwhile[0])):
        shop.clock.advance(60)
        right_us += 60 * SECOND_US
        await pay(shop, order.svc_code or "", right_us, f"9321450001{place}")
        assert await status(shop, order.reference) is TransactionStatus.SUCCESS
    shop.clock.jump(-hours * HOUR_S)
    await machine.watch_clock(shop.env)
    await cancel_expire.expire(shop.env)
    for place, order in enumerate((before[1], meanwhile[1])):
        await pay(shop, order.svc_code or "", right_us, f"9321450002{place}")
        assert await status(shop, order.reference) is TransactionStatus.SUCCESS


@pytest.mark.parametrize("off_s", [0, 600])
async def test_what_a_clock_put_off_for_a_year_is_due_when_it_would_have_been(shop: FakeShop, off_s: float) -> None:
    await shop.request(webhook_url="https://own.example/hook")
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO notice_sends (id, channel, subject, body, tries, due_at, queued_at) "
            "VALUES ('n', 'email', '', '', 1, :at, 0)",
            {"at": shop.clock.now_us() + 400 * DAY_US + 5 * SECOND_US},
        )
    )
    shop.clock.jump(400 * DAY_S)
    await machine.watch_clock(shop.env)
    shop.clock.jump(-400 * DAY_S)
    if off_s:
        await start(shop, off_s)
    await machine.watch_clock(shop.env)
    assert (await shop.values("SELECT due_at FROM notice_sends"))[0] <= (shop.clock.now_us() + 5 * SECOND_US)


async def test_a_line_that_a_clock_which_was_ahead_made_takes_payments_when_it_is_right(shop: FakeShop) -> None:
    await shop.env.store.write(
        lambda tx: tx.run("UPDATE payment_methods SET line_created_at = line_created_at + :day", {"day": DAY_US})
    )
    order = await shop.request()
    await pay(shop, order.svc_code or "", shop.clock.now_us())
    assert await status(shop, order.reference) is TransactionStatus.SUCCESS


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"past_us": "x"}', "\0" * 50, "null"])
async def test_what_was_kept_of_the_clock_and_cannot_be_read_is_as_nothing(shop: FakeShop, kept: str) -> None:
    await shop.request()
    files.write_clock(shop.env.home, kept)
    shop.clock.jump(-DAY_S)
    await machine.begin_clock(shop.env)
    assert "gone backwards" in str(await machine.watch_clock(shop.env))


async def test_an_answer_is_kept_while_nobody_knows_whether_its_day_is_over(shop: FakeShop) -> None:
    claim = Idempotency("live:k", "order-1", "f")
    kept_at = shop.clock.now_us()
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO idempotency_keys (scope, key, fingerprint, status, body, sealed, created_at) "
            "VALUES ('live:k', 'order-1', 'f', 201, '{}', 0, :now)",
            {"now": kept_at},
        )
    )
    await machine.watch_clock(shop.env)
    await start(shop, off_s=26 * HOUR_S)
    await cancel_expire.expire(shop.env)
    found = await shop.env.store.read(lambda reader: idempotency.find(reader, claim))
    assert found is not None


async def test_a_repeated_call_runs_once_though_the_clock_says_that_its_day_is_over(shop: FakeShop) -> None:
    claim = Idempotency("live:k", "order-1", "f")

    async def call() -> bool:
        now = shop.clock.now_us()
        done = await shop.env.store.write(lambda tx: idempotency.once(tx, claim, now, lambda: HttpAnswer(201, b"{}")))
        return not done.replayed

    await machine.watch_clock(shop.env)
    assert await call()
    shop.clock.jump(25 * HOUR_S)
    # First before a check of the clock, then after one.
    assert not await call()
    await machine.watch_clock(shop.env)
    await cancel_expire.expire(shop.env)
    assert not await call()
    # The wrong day is over, and then the right one.
    shop.clock.jump(-25 * HOUR_S)
    await machine.watch_clock(shop.env)
    shop.clock.advance(DAY_S - 600)
    await cancel_expire.expire(shop.env)
    assert not await call()
    shop.clock.advance(900)
    await cancel_expire.expire(shop.env)
    assert await call()


async def test_an_answer_of_a_clock_that_was_years_behind_is_kept_for_a_day_of_the_right_one(shop: FakeShop) -> None:
    claim = Idempotency("live:k", "order-1", "f")
    await machine.watch_clock(shop.env)
    shop.clock.jump(-400 * DAY_S)
    await machine.watch_clock(shop.env)
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: idempotency.once(tx, claim, now, lambda: HttpAnswer(201, b"{}")))
    shop.clock.jump(400 * DAY_S)
    await machine.watch_clock(shop.env)
    await cancel_expire.expire(shop.env)
    assert await shop.env.store.read(lambda reader: idempotency.find(reader, claim)) is not None


async def test_an_order_that_is_let_go_while_the_clock_is_ahead_waits_for_its_money_again(shop: FakeShop) -> None:
    order = await shop.request(expected_payer_phone=PAYER)
    await pay(shop, order.svc_code or "", shop.clock.now_us())
    assert await status(shop, order.reference) is TransactionStatus.MANUAL_REVIEW
    await machine.watch_clock(shop.env)
    shop.clock.jump(400 * DAY_S)
    await start(shop, off_s=600)
    await reject(shop)
    await cancel_expire.expire(shop.env)
    assert await status(shop, order.reference) is TransactionStatus.PENDING
    assert await shop.values("SELECT 1 FROM events WHERE type = 'transaction.expired'") == []
