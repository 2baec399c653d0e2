"""After any sequence of events, every delivery of a queue arrives: none stays leased, held or behind a probe for ever."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.webhooks import deliver, endpoints
from daemon.store.webhooks import attempts, deliveries
from daemon.store.webhooks.attempts import DueDeliveries, EndedAttempt, Leased
from tests.fakes import delivering
from tests.fakes.invariants import check_invariants
from tests.fakes.outbox import LINK, POLICY, add_endpoint, outcome, owe
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.tiers import share

ENDPOINTS = ("e1", "e2")
WORKERS = 4
TURNS_MAX = 2_000
"""Until all has arrived; it takes some 100."""

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("owe"), st.integers(1, 4)),
        st.tuples(st.just("turn"), st.integers(1, 4)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("put_back"), st.integers(0, 3)),
        st.tuples(st.just("crash"), st.just(0)),
        st.tuples(st.sampled_from(["down", "up", "pause", "resume"]), st.integers(0, 1)),
        st.tuples(st.just("wait"), st.sampled_from([0, 1, 5, 31, 700])),
        st.tuples(st.just("bulk"), st.integers(0, 1)),
    ),
    max_size=25,
)


@dataclass
class Machine:
    """A shop with two receivers, and the leased deliveries."""

    shop: FakeShop
    up: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(ENDPOINTS, True))
    flying: list[Leased] = field(default_factory=list)
    owed: int = 0

    async def do(self, what: str, number: int) -> None:  # noqa: C901 -- a table of events
        endpoint_id = ENDPOINTS[number % 2]
        match what:
            case "owe":
                for _ in range(number):
                    await owe(self.shop, f"{93214500000 + self.owed}")
                    self.owed += 1
            case "turn":
                await self.turn(limit=number, ahead=number)
            case "answer":
                await self.record(self.flying[: number + 1])
            case "put_back":
                back = self.flying[: number + 1]
                await deliver.turn(self.shop.env, unsent=back)
                self.flying = self.flying[len(back) :]
            case "crash":
                self.flying = []
                await self.shop.env.store.write(attempts.release_all)
            case "down" | "up":
                self.up[endpoint_id] = what == "up"
            case "pause" | "resume":
                changes = EndpointChanges(is_active=what == "resume")
                await endpoints.update(self.shop.env, OWNER, endpoint_id, changes)
            case "bulk":
                bulk = (
                    "UPDATE deliveries SET bulk = 1 - bulk WHERE seq % 3 = 0 "
                    "AND endpoint_seq = (SELECT seq FROM endpoints WHERE id = :id)"
                )
                params = {"id": endpoint_id}
                await self.shop.env.store.write(lambda tx: tx.run(bulk, params))
            case "wait":
                # Attempts under way end before their leases.
                if number > 30:
                    await self.record(self.flying)
                self.shop.clock.advance(number)

    async def turn(self, *, limit: int, ahead: int) -> DueDeliveries:
        """Lease as the loop does, and check the rules of a lease."""
        busy: dict[tuple[str, bool], int] = {}
        for one in self.flying:
            key = one.endpoint.id, one.delivery.bulk
            busy[key] = min(2, busy.get(key, 0) + 1)
        out = await self.out()
        more = {(one, bulk): ahead - 1 for one in ENDPOINTS for bulk in (False, True)}
        free = min(limit, max(0, WORKERS - sum(busy.values())))
        due = await delivering.lease(self.shop.env, limit=free, per_endpoint=2, running=busy, ahead=more)
        known = {one.delivery.id for one in self.flying}
        for one in due.leased:
            assert one.delivery.id not in known, "it is on its way already"
            assert not one.endpoint.deleted_at
            known.add(one.delivery.id)
            if one.endpoint.id in out:
                mine = [other for other in due.leased if other.endpoint.id == one.endpoint.id]
                assert len(mine) == 1, "more than a probe goes to an endpoint that is out"
        for endpoint_id in await self.values("SELECT endpoint_id FROM flushes"):
            began = [one for one in due.leased if one.endpoint.id == endpoint_id]
            assert endpoint_id in out or all(one.delivery.status == "pending" for one in began)
        self.flying += due.leased
        return due

    async def record(self, ended: list[Leased]) -> None:
        now = self.shop.clock.now_us()
        answers = [
            EndedAttempt(one, outcome(200 if self.up[one.endpoint.id] else 503), LINK, POLICY, now, 0.5)
            for one in ended
        ]
        await deliver.turn(self.shop.env, ended=answers)
        self.flying = self.flying[len(ended) :]

    async def out(self) -> list[Any]:
        return await self.values("SELECT id FROM endpoints WHERE consecutive_failures >= 3 OR link_failures >= 3")

    async def values(self, sql: str) -> list[Any]:
        return await self.shop.values(sql)

    async def settle(self) -> None:
        """End all faults and continue until no delivery waits."""
        for number, endpoint_id in enumerate(ENDPOINTS):
            self.up[endpoint_id] = True
            await self.do("resume", number)
        for _ in range(TURNS_MAX):
            await self.record(self.flying)
            due = await self.turn(limit=WORKERS, ahead=3)
            if not self.flying and due.next_at is None:
                return
            if not self.flying and due.next_at is not None:
                wait_s = max(0.0, (due.next_at - self.shop.clock.now_us()) / 1_000_000)
                self.shop.clock.advance(wait_s)
        pytest.fail("something waits for ever")


async def check(folder: Path, steps: list[tuple[str, int]]) -> None:
    shop = await FakeShop.make(folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(deliveries, "RELEASE_BATCH", 2)
        for endpoint_id in ENDPOINTS:
            url = f"https://{endpoint_id}.example/hook"
            await add_endpoint(shop, endpoint_id, url=url, url_normalised=url)
        machine = Machine(shop)
        for what, number in steps:
            await machine.do(what, number)
        await machine.settle()
        left = "SELECT status FROM deliveries WHERE status <> 'delivered' OR leased_until IS NOT NULL"
        assert await machine.values(left) == []
        assert await machine.values("SELECT COUNT(*) FROM deliveries") == [2 * machine.owed]
        assert await machine.values("SELECT endpoint_id FROM flushes") == []
    shop.close()
    check_invariants(folder / "momo.db")


@settings(max_examples=10)
@given(steps=STEPS)
async def test_all_that_is_owed_arrives_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    await check(tmp_path_factory.mktemp("shop"), steps)


@pytest.mark.slow
@settings(max_examples=share(150))
@given(steps=STEPS)
async def test_all_that_is_owed_arrives_after_many_more_mishaps(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    await check(tmp_path_factory.mktemp("shop"), steps)
