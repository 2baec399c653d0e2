"""After a 4xx that a wrong clock may have caused, a delivery waits and is signed again; the 4xx is final after 24 hours."""

import pytest
from msgspec.structs import replace

from daemon.core.limits import DAY_US, SECOND_US
from daemon.core.model import Delivery
from daemon.core.upkeep.clock_check import RETRY_US, ClockCheck, Witness
from daemon.core.webhooks.delivery import CLOCK_WAITS_MAX, AttemptOutcome
from daemon.core.webhooks.endpoint import Endpoint
from daemon.flows.upkeep import machine
from daemon.flows.webhooks import deliver
from daemon.store.webhooks import deliveries
from tests.fakes import delivering
from tests.fakes.outbox import IDS, LINK, POLICY, add_endpoint, lease, lease_one, only, outcome, owe
from tests.fakes.sender import FakeSender
from tests.fakes.shop import FakeShop

DAY_S = 86_400.0


def right_us(shop: FakeShop, off_s: float = 0) -> int:
    """Return the right time of a shop if its clock is so many seconds ahead."""
    return shop.clock.now_us() - round(off_s) * SECOND_US


async def send(shop: FakeShop, status: int, date_us: int | None) -> None:
    """Make the attempt of the one delivery that is due."""
    leased = await lease_one(shop)
    sender = FakeSender(lambda _url: outcome(status, date_us=date_us), [])
    ended = await deliver.attempt(shop.env, sender, leased)
    assert isinstance(ended, AttemptOutcome)
    await delivering.record_outcome(shop.env, leased, ended, link=LINK, policy=POLICY)


async def dead_letters(shop: FakeShop) -> int:
    (count,) = await shop.values("SELECT COUNT(*) FROM dead_letters")
    return int(count)


async def test_it_waits_and_neither_its_steps_nor_the_endpoint_suffer(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await send(shop, 400, right_us(shop, 2 * DAY_S))
    row = await only(shop)
    assert (row.status, row.waiting, row.attempt_count, row.clock_waits) == ("pending", "clock", 0, 1)
    assert row.next_attempt_at == shop.clock.now_us() + RETRY_US
    assert row.error_message == "its clock is 2 days behind the time of our signature"
    (endpoint,) = await shop.rows(Endpoint, "endpoints")
    assert (endpoint.consecutive_failures, endpoint.link_failures) == (0, 0)
    assert await dead_letters(shop) == 0
    # Without any other event it is tried again after ten minutes.
    shop.clock.advance(600)
    await send(shop, 200, right_us(shop))
    row = await only(shop)
    assert (row.status, row.waiting, row.attempt_count) == ("delivered", None, 1)


async def test_a_4xx_of_a_receiver_with_our_time_is_final(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await send(shop, 400, right_us(shop) + 200 * SECOND_US)
    assert (await only(shop)).status == "failed"
    assert await dead_letters(shop) == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [("shop.example", "pending"), ("localhost", "failed"), ("127.0.0.1:8443", "failed"), ("[::1]", "failed")],
)
async def test_while_nothing_confirms_our_clock_a_4xx_is_final_only_on_this_machine(
    host: str, status: str, shop: FakeShop
) -> None:
    url = f"https://{host}/hook"
    await add_endpoint(shop, url=url, url_normalised=url)
    await owe(shop)
    known = ClockCheck()
    # The machine was off for two days, and nothing has told the time since.
    known.note_latest(shop.clock.now_us() - 2 * DAY_US, shop.clock.boottime())
    shop.env = replace(shop.env, clock_check=known)
    await send(shop, 400, None)
    assert (await only(shop)).status == status


async def test_it_is_due_at_once_when_the_clock_is_set(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await deliver.release_when_time_is_known(shop.env)
    shop.clock.jump(2 * DAY_S)
    await machine.watch_clock(shop.env)
    await send(shop, 400, right_us(shop, 2 * DAY_S))
    await deliver.release_when_time_is_known(shop.env)
    shop.clock.jump(-2 * DAY_S)
    await deliver.release_when_time_is_known(shop.env)
    row = await only(shop)
    assert row.next_attempt_at is not None
    assert row.next_attempt_at <= shop.clock.now_us()
    await send(shop, 200, right_us(shop))
    assert (await only(shop)).status == "delivered"


async def test_after_24_hours_it_is_final_and_the_diagnosis_names_the_clocks(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    for _ in range(CLOCK_WAITS_MAX):
        await send(shop, 400, right_us(shop, 2 * DAY_S))
        assert (await only(shop)).waiting == "clock"
        shop.clock.advance(RETRY_US / SECOND_US)
    await send(shop, 400, right_us(shop, 2 * DAY_S))
    assert (await only(shop)).status == "failed"
    (waits,) = await shop.values("SELECT clock_waits FROM dead_letters")
    assert waits == CLOCK_WAITS_MAX


async def test_a_replay_may_wait_for_another_24_hours(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET clock_waits = 144"))
    await send(shop, 400, right_us(shop, 2 * DAY_S))
    row = await only(shop)
    assert row.status == "failed"
    now = shop.clock.now_us()
    await shop.env.store.write(lambda tx: deliveries.requeue(tx, row, now))
    assert (await only(shop)).clock_waits == 0


async def test_two_live_receivers_tell_the_time_and_test_or_own_ones_do_not(shop: FakeShop) -> None:
    hosts = {"e1": "a.example", "e2": "b.example", "e3": "localhost"}
    for name, host in hosts.items():
        url = f"https://{host}/hook"
        await add_endpoint(shop, name, url=url, url_normalised=url)
    await owe(shop)
    shop.env = replace(shop.env, clock_check=ClockCheck())
    date_us = right_us(shop) - 2 * DAY_US
    seen: list[Witness | None] = []
    for leased in sorted(await lease(shop), key=lambda one: one.endpoint.id, reverse=True):
        sender = FakeSender(lambda _url: outcome(200, date_us=date_us), [])
        await deliver.attempt(shop.env, sender, leased)
        seen.append(shop.env.times().witness)
    assert seen == [None, None, Witness.RECEIVERS]
    assert abs(shop.env.times().best_us - date_us) <= SECOND_US


async def test_a_message_that_shows_the_clock_wrong_releases_what_waits(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    shop.clock.jump(-400 * DAY_S)
    shop.env = replace(shop.env, clock_check=ClockCheck())
    await deliver.release_when_time_is_known(shop.env)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET next_attempt_at = 1"))
    right = right_us(shop, -400 * DAY_S)
    await send(shop, 401, right)
    assert (await only(shop)).waiting == "clock"
    await owe(shop, IDS[1])
    await deliver.release_when_time_is_known(shop.env)
    rows = await shop.rows(Delivery, "deliveries")
    assert all((row.next_attempt_at or 0) <= shop.clock.now_us() for row in rows)
    assert abs(shop.env.times().best_us - right) <= 600 * SECOND_US
