"""An outage of a receiver or of our own link: all wait behind a probe, and the waiting deliveries are sent when it is over."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError, LinkState
from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.webhooks import deliver
from daemon.flows.webhooks import endpoints as flows_endpoints
from daemon.store.webhooks import deliveries as store_deliveries
from daemon.store.webhooks.attempts import DueDeliveries, Workers
from daemon.wire import DeliveryStatus
from tests.fakes import delivering
from tests.fakes.outbox import IDS, LINK, POLICY, add_endpoint, fail, lease, lease_one, only, outcome, owe
from tests.fakes.sender import FakeSender, answered
from tests.fakes.shop import OWNER, FakeShop


async def in_outage(shop: FakeShop, waiting: int = 4, failed: int = 3) -> None:
    """Queue this many deliveries for an endpoint, and let this many first attempts fail."""
    await add_endpoint(shop)
    for number in range(waiting):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=failed):
        await fail(shop, leased)


async def test_from_three_failures_on_all_wait_behind_a_probe_after_5_15_and_30_s(shop: FakeShop) -> None:
    await in_outage(shop)
    # The fourth was due from the beginning; the others are due after 5 s, as their schedule has it.
    for wait_s, number in ((5, 4), (15, 1), (30, 2), (30, 3), (30, 4)):
        shop.clock.advance(wait_s - 0.1)
        assert await lease(shop) == []
        shop.clock.advance(0.1)
        (probe,) = await lease(shop)
        assert probe.delivery.seq == number
        busy = {("e1", False): 1}
        due = await delivering.lease(shop.env, limit=5, per_endpoint=5, running=busy)
        assert due.leased == ()
        await fail(shop, probe)


async def test_an_outage_that_a_clock_which_was_ahead_noted_ends_by_the_right_one(shop: FakeShop) -> None:
    shop.clock.jump(400 * 86_400.0)
    await in_outage(shop)
    shop.clock.jump(-400 * 86_400.0)
    await owe(shop, "93214500009")
    (probe,) = await lease(shop)
    await fail(shop, probe)
    assert await lease(shop) == []
    shop.clock.advance(15)
    assert await lease(shop) != []


async def test_a_probe_keeps_to_its_own_schedule(shop: FakeShop) -> None:
    await in_outage(shop, waiting=3)
    for _ in range(3):
        shop.clock.advance(30)
        (probe,) = await lease(shop)
        await fail(shop, probe)
    # All three have been tried twice, and are due again after 30 s: the first of them was tried 60 s ago.
    assert [row.attempt_count for row in await shop.rows(Delivery, "deliveries")] == [2, 2, 2]
    shop.clock.advance(30)
    (probe,) = await lease(shop)
    assert probe.delivery.seq == 1


async def test_a_payment_that_comes_in_an_outage_is_the_next_probe(shop: FakeShop) -> None:
    await in_outage(shop, waiting=3)
    shop.clock.advance(5)
    await owe(shop, "93214500009")
    (probe,) = await lease(shop)
    assert (probe.delivery.seq, probe.number) == (4, 1)


async def test_an_endpoint_that_is_out_says_when_it_is_tried_next(shop: FakeShop) -> None:
    await in_outage(shop)
    due = await delivering.lease(shop.env, limit=5, per_endpoint=5, running={})
    assert due == DueDeliveries((), (), shop.clock.now_us() + 5_000_000)


async def test_probes_take_half_of_the_workers_at_most(shop: FakeShop) -> None:
    for number in range(6):
        await add_endpoint(shop, f"e{number}", consecutive_failures=9)
    await add_endpoint(shop, "well")
    await owe(shop)
    due = await delivering.lease(shop.env, limit=4, per_endpoint=2, running={})
    assert [item.endpoint.id for item in due.leased] == ["e0", "e1", "well"]
    running = {("e0", False): 1, ("e1", False): 1}
    due = await delivering.lease(shop.env, limit=2, per_endpoint=2, running=running)
    assert due.leased == ()


async def test_the_2xx_that_ends_an_outage_makes_retries_due_five_a_second(shop: FakeShop) -> None:
    await in_outage(shop)
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    assert probe.delivery.status is DeliveryStatus.PENDING
    await delivering.record_outcome(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    for number in (1, 2, 3):
        (retry,) = await lease(shop)
        assert retry.delivery.seq == number
        shop.clock.advance(0.19)
        assert await lease(shop) == []
        shop.clock.advance(0.01)


async def test_first_attempts_are_not_paced_after_an_outage(shop: FakeShop) -> None:
    await in_outage(shop, waiting=8)
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    await delivering.record_outcome(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    due = await lease(shop, limit=10)
    assert [item.delivery.seq for item in due] == [5, 6, 7, 8, 1]


async def test_what_the_flush_brings_forward_uses_up_no_step(shop: FakeShop) -> None:
    await in_outage(shop)
    (before, *_) = await shop.rows(Delivery, "deliveries")
    assert before.next_attempt_at > shop.clock.now_us() + 3_000_000
    shop.clock.advance(3)
    await shop.env.store.write(lambda tx: store_deliveries.begin_release(tx, "e1", shop.clock.now_us()))
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET consecutive_failures = 0 WHERE id = 'e1'"))
    retry = next(item for item in await lease(shop) if item.delivery.seq == 1)
    await fail(shop, retry)
    (after, *_) = await shop.rows(Delivery, "deliveries")
    assert (after.attempt_count, after.extra) == (before.attempt_count, False)
    assert after.next_attempt_at > shop.clock.now_us() + 3_000_000
    # The next failure uses a step of the schedule again.
    shop.clock.advance(6)
    retry = next(item for item in await lease(shop, limit=9) if item.delivery.seq == 1)
    await fail(shop, retry)
    assert (await shop.rows(Delivery, "deliveries"))[0].attempt_count == before.attempt_count + 1


async def test_the_owner_hears_of_a_streak_before_its_end(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    for _ in range(20):
        await shop.env.store.write(_make_due)
        leased = await lease_one(shop)
        await fail(shop, leased)
        shop.clock.advance(30)
    assert await streaks(shop) == [
        ("endpoint.failing", 10),
        ("endpoint.failing", 14),
        ("endpoint.failing", 18),
        ("endpoint.auto_paused", 20),
    ]


@pytest.mark.tampers
async def test_an_implicit_endpoint_is_told_of_at_20_and_never_paused(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET kind = 'implicit', consecutive_failures = 19"))
    await shop.env.store.write(lambda tx: tx.run("UPDATE webhook_secrets SET owner = 'account' WHERE owner = 'e1'"))
    await fail(shop, await lease_one(shop))
    assert await shop.values("SELECT is_active FROM endpoints") == [1]
    assert await shop.values("SELECT type FROM events WHERE type LIKE 'endpoint.%'") == ["endpoint.failing"]


@pytest.mark.parametrize(("streak", "told"), [(9, []), (10, [("endpoint.recovered", 10)])])
async def test_the_end_of_a_long_streak_is_told(shop: FakeShop, streak: int, told: list[tuple[str, int]]) -> None:
    await add_endpoint(shop, consecutive_failures=streak)
    await owe(shop)
    await delivering.record_outcome(shop.env, await lease_one(shop), outcome(200), link=LINK, policy=POLICY)
    assert await streaks(shop) == told


async def streaks(shop: FakeShop) -> list[tuple[str, int]]:
    """Return the journal's entries about endpoints, with the number of failures."""
    rows = await shop.values("SELECT type, data FROM events WHERE type LIKE 'endpoint.%' ORDER BY seq")
    return [(kind, json.loads(data)["consecutive_failures"]) for kind, data in rows]


def _make_due(tx: Any) -> None:
    tx.run("UPDATE deliveries SET next_attempt_at = 1, attempt_count = 1 WHERE next_attempt_at > 1")


async def test_our_own_link_down_counts_for_nothing(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    down = AttemptOutcome(None, "", DeliveryError.DNS_ERROR, "no DNS", 1000, connected=False)
    link = LinkState(other_host_answered=False, other_host_known=True)
    await delivering.record_outcome(shop.env, await lease_one(shop), down, link=link, policy=POLICY)
    row = await only(shop)
    assert (row.status, row.attempt_count) == (DeliveryStatus.PENDING, 0)
    assert await shop.values("SELECT consecutive_failures FROM endpoints") == [0]


async def test_when_our_link_is_back_all_that_it_held_up_is_due_oldest_first(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)
    down = AttemptOutcome(None, "", DeliveryError.NETWORK_UNREACHABLE, "no route", 1000, connected=False)
    link = LinkState(other_host_answered=False, other_host_known=True)
    for leased in await lease(shop):
        await delivering.record_outcome(shop.env, leased, down, link=link, policy=POLICY)
    shop.clock.advance(1)
    assert await lease(shop) == []
    assert await deliver.link_returned(shop.env) == 1
    assert [item.delivery.seq for item in await lease(shop, limit=6)] == [1, 2, 3]
    assert await shop.values("SELECT link_failures FROM endpoints") == [0]


async def test_what_the_flush_brought_forward_is_brought_forward_once(shop: FakeShop) -> None:
    await in_outage(shop)
    later = "UPDATE deliveries SET next_attempt_at = next_attempt_at + 60000000 WHERE status = 'retrying'"
    await shop.env.store.write(lambda tx: tx.run(later))
    shop.clock.advance(5)
    (probe,) = await lease(shop)
    await delivering.record_outcome(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    (first,) = await lease(shop)
    await fail(shop, first)
    back = (await shop.rows(Delivery, "deliveries"))[0].next_attempt_at
    shop.clock.advance(0.2)
    (second,) = await lease(shop)
    await delivering.record_outcome(shop.env, second, outcome(200), link=LINK, policy=POLICY)
    assert (await shop.rows(Delivery, "deliveries"))[0].next_attempt_at == back
    assert back > shop.clock.now_us() + 3_000_000


async def resumed(shop: FakeShop, count: int = 3, *endpoints: str) -> None:
    """Queue this many deliveries for paused endpoints, resume them, and let their probes arrive."""
    for endpoint_id in endpoints or ("e1",):
        await add_endpoint(shop, endpoint_id, is_active=0)
    for number in range(count + 1):
        await owe(shop, f"9321450000{number}")
    for endpoint_id in endpoints or ("e1",):
        await flows_endpoints.update(shop.env, OWNER, endpoint_id, EndpointChanges(is_active=True))
    for probe in await lease(shop, limit=20):
        await delivering.record_outcome(shop.env, probe, outcome(200), link=LINK, policy=POLICY)


async def test_what_a_resume_releases_comes_after_what_is_live_elsewhere(shop: FakeShop) -> None:
    await resumed(shop)
    await add_endpoint(shop, "e2")
    shop.clock.advance(1)
    await owe(shop, "93214500009")
    due = await delivering.lease(shop.env, limit=2, per_endpoint=1, running={})
    assert due.places == (("e2", False), ("e1", False))
    assert {one.endpoint.id: one.is_behind for one in due.leased} == {"e2": False, "e1": True}


async def test_at_its_own_endpoint_it_stays_oldest_first(shop: FakeShop) -> None:
    await resumed(shop)
    await owe(shop, "93214500009")
    found = await lease(shop, limit=20)
    assert [(one.delivery.seq, one.is_behind) for one in found] == [(2, True), (3, True), (4, True), (5, False)]


async def test_what_is_live_always_finds_a_place_beside_backlogs(shop: FakeShop) -> None:
    await resumed(shop, 3, "e1", "e2", "e3")
    due = await delivering.lease(shop.env, limit=4, per_endpoint=2, running={})
    assert len(due.leased) == 2
    busy = {("e1", False): 2}

    async def found() -> list[str]:
        written = await deliver.turn(shop.env, workers=Workers(2, 2, busy, backlog=2))
        return [one.endpoint.id for one in written.due.leased]

    assert await found() == []
    await add_endpoint(shop, "e4")
    await owe(shop, "93214500009")
    assert await found() == ["e4"]


async def test_a_backlog_is_not_said_to_be_a_replay(shop: FakeShop) -> None:
    await resumed(shop)
    sender: Any = FakeSender(lambda _url: answered(200), [])
    leased = await lease_one(shop)
    assert leased.is_behind
    await deliver.attempt(shop.env, sender, leased)
    assert "X-Svc-Replay" not in sender.headers


async def test_what_our_own_link_held_up_is_no_backlog(shop: FakeShop) -> None:
    down = LinkState(other_host_answered=False, other_host_known=True)
    unreached = replace(outcome(None, DeliveryError.NETWORK_UNREACHABLE), connected=False)
    await add_endpoint(shop)
    for number in range(4):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=3):
        await delivering.record_outcome(shop.env, leased, unreached, link=down, policy=POLICY)
    assert await deliver.link_returned(shop.env) == 1
    shop.clock.advance(60)
    found = await lease(shop, limit=20)
    assert found
    assert [one.is_behind for one in found] == [False] * len(found)


async def test_what_an_outage_of_the_endpoint_leaves_is_a_backlog(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for number in range(5):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=3):
        await fail(shop, leased)
    shop.clock.advance(30)
    (probe,) = await lease(shop)
    await delivering.record_outcome(shop.env, probe, outcome(200), link=LINK, policy=POLICY)
    shop.clock.advance(60)
    found = await lease(shop, limit=20)
    assert found
    assert [one.is_behind for one in found] == [True] * len(found)
