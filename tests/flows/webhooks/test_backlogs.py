"""The backlog of an outage or a pause is sent after the live deliveries of other endpoints, oldest first."""

from typing import Any

from msgspec.structs import replace

from daemon.core.webhooks.delivery import DeliveryError, LinkState
from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.webhooks import deliver
from daemon.flows.webhooks import endpoints as flows_endpoints
from daemon.store.webhooks.attempts import Workers
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, fail, lease, lease_one, outcome, owe
from tests.fakes.sender import FakeSender, answered
from tests.fakes.shop import OWNER, FakeShop


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
    assert [(one.delivery.seq, one.is_behind) for one in found] == [
        (2, True),
        (3, True),
        (4, True),
        (5, False),
    ]


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
