"""Pause, resume and delete endpoints with waiting and running deliveries."""

from typing import Any

import pytest
from msgspec import structs

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import AttemptOutcome, DeliveryError, LinkState
from daemon.core.webhooks.endpoint import Endpoint, EndpointChanges
from daemon.flows.webhooks import deliver, endpoints
from daemon.flows.webhooks.endpoints import PROBE_US
from daemon.store.webhooks import deliveries
from daemon.store.webhooks.attempts import Leased
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, lease, lease_one, outcome, owe
from tests.fakes.shop import OWNER, FakeShop

IDS = ("93214500001", "93214500002", "93214500003")


async def endpoint(shop: FakeShop) -> Endpoint:
    (row,) = await shop.rows(Endpoint, "endpoints")
    assert isinstance(row, Endpoint)
    return row


async def owed(shop: FakeShop) -> list[Delivery]:
    return [row for row in await shop.rows(Delivery, "deliveries") if isinstance(row, Delivery)]


async def finish(shop: FakeShop, leased: Leased, answer: AttemptOutcome) -> None:
    await delivering.record_outcome(shop.env, leased, answer, link=LINK, policy=POLICY)


async def change(shop: FakeShop, **changes: Any) -> endpoints.Changed:
    return await endpoints.update(shop.env, OWNER, "e1", EndpointChanges(**changes))


@pytest.mark.parametrize("answer", [outcome(500), outcome(400), outcome(None, DeliveryError.TIMEOUT)])
async def test_the_twentieth_failure_in_a_row_pauses(shop: FakeShop, answer: AttemptOutcome) -> None:
    await add_endpoint(shop, consecutive_failures=19)
    await owe(shop)
    await finish(shop, await lease_one(shop), answer)
    row = await endpoint(shop)
    now = shop.clock.now_us()
    assert (row.is_active, row.auto_paused_at, row.consecutive_failures) == (False, now, 20)
    noted = await shop.values("SELECT data FROM events WHERE type = 'endpoint.auto_paused'")
    assert noted == ['{"consecutive_failures":20}']
    assert await lease(shop) == []


async def test_the_nineteenth_does_not(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=18)
    await owe(shop)
    await finish(shop, await lease_one(shop), outcome(500))
    row = await endpoint(shop)
    assert (row.is_active, row.auto_paused_at, row.consecutive_failures) == (True, None, 19)


@pytest.mark.tampers
async def test_an_implicit_endpoint_is_never_paused(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await shop.env.store.write(lambda tx: tx.run("UPDATE endpoints SET kind = 'implicit', consecutive_failures = 19"))
    implicit = structs.replace(leased.endpoint, kind="implicit")
    await finish(shop, structs.replace(leased, endpoint=implicit), outcome(500))
    row = await endpoint(shop)
    assert (row.is_active, row.auto_paused_at, row.consecutive_failures) == (True, None, 20)


async def test_a_failure_of_our_own_link_does_not_pause(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=19)
    await owe(shop)
    unreached = AttemptOutcome(None, "", DeliveryError.DNS_ERROR, "no such name", 1000)
    link = LinkState(other_host_answered=False, other_host_known=True)
    await delivering.record_outcome(shop.env, await lease_one(shop), unreached, link=link, policy=POLICY)
    assert (await endpoint(shop)).is_active


async def test_a_success_in_flight_at_the_pause_counts_and_the_pause_stays(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=4)
    await owe(shop)
    leased = await lease_one(shop)
    await change(shop, is_active=False)
    await finish(shop, leased, outcome(200))
    row = await endpoint(shop)
    assert (row.is_active, row.consecutive_failures) == (False, 0)
    assert [each.status for each in await owed(shop)] == ["delivered"]


async def test_a_user_s_pause_stops_delivery_and_is_no_automatic_one(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await change(shop, is_active=False)
    row = await endpoint(shop)
    assert (row.is_active, row.auto_paused_at) == (False, None)
    assert await lease(shop) == []
    assert [each.status for each in await owed(shop)] == ["pending"]


async def test_a_user_s_pause_keeps_the_time_of_an_automatic_one(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0, auto_paused_at=7)
    await change(shop, is_active=False)
    assert (await endpoint(shop)).auto_paused_at == 7


@pytest.mark.parametrize("auto_paused_at", [None, 7])
async def test_a_resume_sends_the_oldest_first_as_a_probe_and_then_the_others(
    shop: FakeShop, auto_paused_at: int | None
) -> None:
    await add_endpoint(shop, is_active=0, auto_paused_at=auto_paused_at, consecutive_failures=20)
    for telco_id in IDS:
        await owe(shop, telco_id)
    changed = await change(shop, is_active=True)
    assert changed.queued == 3
    row = await endpoint(shop)
    assert (row.is_active, row.auto_paused_at, row.consecutive_failures) == (True, None, 0)
    oldest, *others = await owed(shop)
    (probe,) = await lease(shop)
    assert probe.delivery.id == oldest.id
    await finish(shop, probe, outcome(200))
    assert [each.delivery.id for each in await lease(shop)] == [each.id for each in others]


async def test_a_resume_right_after_the_last_failure_waits_for_nothing(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=19)
    for telco_id in IDS:
        await owe(shop, telco_id)
    await finish(shop, await lease_one(shop), outcome(500))
    shop.clock.advance(1)
    await change(shop, is_active=True)
    assert len(await lease(shop)) == 1


async def test_behind_a_probe_that_fails_the_others_wait(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0)
    for telco_id in IDS:
        await owe(shop, telco_id)
    await change(shop, is_active=True)
    now = shop.clock.now_us()
    await finish(shop, await lease_one(shop), outcome(500))
    assert await lease(shop) == []
    assert [each.next_attempt_at for each in await owed(shop)][1:] == [now + PROBE_US] * 2


async def test_a_resume_of_one_that_is_owed_nothing_begins_no_outage(shop: FakeShop) -> None:
    await add_endpoint(shop, is_active=0)
    assert (await change(shop, is_active=True)).queued == 0
    for telco_id in IDS[:2]:
        await owe(shop, telco_id)
    assert len(await lease(shop)) == 2, "neither waits behind a probe"


async def test_saying_that_an_endpoint_is_active_that_is_forgets_its_streak_and_not_its_outage(shop: FakeShop) -> None:
    await add_endpoint(shop, consecutive_failures=14)
    for telco_id in IDS[:2]:
        await owe(shop, telco_id)
    await finish(shop, await lease_one(shop), outcome(503))
    shop.clock.advance(1)
    await change(shop, is_active=True, description="the till")
    assert (await endpoint(shop)).consecutive_failures == 0
    await finish(shop, await lease_one(shop), outcome(200))
    # The first 2xx after an outage makes the waiting deliveries due now, also a later retry.
    retried = await lease_one(shop)
    assert (retried.delivery.status, retried.delivery.extra) == ("retrying", True)


async def test_a_resume_leaves_a_long_queue_as_it_is_behind_its_probe(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "RESUME_MAX", 2)
    await add_endpoint(shop, is_active=0, auto_paused_at=7, consecutive_failures=20)
    for telco_id in IDS:
        await owe(shop, telco_id)
    before = [each.next_attempt_at for each in await owed(shop)]
    shop.clock.advance(3600)
    changed = await change(shop, is_active=True)
    assert changed.queued == 3
    oldest, *others = await owed(shop)
    assert [each.next_attempt_at for each in (oldest, *others)] == before
    (probe,) = await lease(shop)
    assert probe.delivery.id == oldest.id
    await finish(shop, probe, outcome(200))
    assert [each.delivery.id for each in await lease(shop)] == [each.id for each in others]


async def test_a_resume_brings_a_retry_of_a_long_queue_forward_when_it_is_the_oldest(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "RESUME_MAX", 0)
    await add_endpoint(shop, consecutive_failures=19)
    await owe(shop)
    await finish(shop, await lease_one(shop), outcome(500))
    shop.clock.advance(1)
    await change(shop, is_active=True)
    leased = await lease_one(shop)
    assert leased.delivery.extra


async def test_what_waits_goes_to_the_new_address_under_its_old_id(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    (before,) = await owed(shop)
    await change(shop, url="https://shop.example/new")
    leased = await lease_one(shop)
    assert leased.endpoint.url == "https://shop.example/new"
    assert leased.delivery.webhook_id == before.webhook_id


async def test_a_deletion_makes_dead_letters_of_what_waits(shop: FakeShop) -> None:
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)
    await finish(shop, await lease_one(shop), outcome(200))
    assert await endpoints.delete(shop.env, OWNER, "e1") == 2
    assert [each.status for each in await owed(shop)] == ["delivered", "failed", "failed"]
    letters = await shop.values("SELECT reason, replayed_at, resolved_at FROM dead_letters")
    assert [tuple(row) for row in letters] == [("endpoint_deleted", None, None)] * 2
    assert await lease(shop) == []


async def test_a_failure_in_flight_at_the_deletion_is_the_last(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await endpoints.delete(shop.env, OWNER, "e1")
    await finish(shop, leased, outcome(500))
    (row,) = await owed(shop)
    assert (row.status, row.next_attempt_at, row.attempt_count) == ("failed", None, 1)
    letters = await shop.values("SELECT reason, resolved_at FROM dead_letters")
    assert [tuple(each) for each in letters] == [("endpoint_deleted", None)]
    told = await shop.values("SELECT COUNT(*) FROM events WHERE type = 'delivery.failed'")
    assert told == [1]


async def test_a_success_in_flight_at_the_deletion_counts(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await endpoints.delete(shop.env, OWNER, "e1")
    await finish(shop, leased, outcome(200))
    (row,) = await owed(shop)
    assert (row.status, row.failed_at) == ("delivered", None)
    letters = await shop.values("SELECT resolved_at FROM dead_letters")
    assert letters == [shop.clock.now_us()]


async def test_an_attempt_given_back_after_the_deletion_stays_given_up(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    leased = await lease_one(shop)
    await endpoints.delete(shop.env, OWNER, "e1")
    await deliver.release_interrupted(shop.env, leased)
    (row,) = await owed(shop)
    assert (row.status, row.next_attempt_at, row.waiting) == ("failed", None, None)


async def test_a_long_queue_is_given_up_piece_by_piece_and_told_of_once(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "DELIVERIES_BATCH", 2)
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)
    assert await endpoints.delete(shop.env, OWNER, "e1") == 3
    assert [each.status for each in await owed(shop)] == ["failed"] * 3
    told = "SELECT COUNT(DISTINCT data), COUNT(*) FROM events WHERE type = 'delivery.failed'"
    assert await shop.values(told) == [(3, 3)]
    assert await shop.values("SELECT COUNT(*) FROM dead_letters") == [3]


async def test_a_deletion_that_a_crash_cut_off_is_finished_later(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "DELIVERIES_BATCH", 1)
    await add_endpoint(shop)
    for telco_id in IDS:
        await owe(shop, telco_id)

    async def crash(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(endpoints, "_give_up_all", crash)
        with pytest.raises(KeyboardInterrupt):
            await endpoints.delete(shop.env, OWNER, "e1")
    assert sorted(each.status for each in await owed(shop)) == ["failed", "pending", "pending"]
    assert await lease(shop) == []

    assert await endpoints.finish_deletions(shop.env) == 2
    assert [each.status for each in await owed(shop)] == ["failed"] * 3
    assert await shop.values("SELECT COUNT(*) FROM dead_letters") == [3]
    assert await endpoints.finish_deletions(shop.env) == 0
