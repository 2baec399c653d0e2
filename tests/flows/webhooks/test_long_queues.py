"""A long queue at the end of an outage: no payment waits for it, and no delivery of it is lost."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import FLUSH_GAP_US
from daemon.core.webhooks.endpoint import EndpointChanges
from daemon.flows.upkeep import machine
from daemon.flows.webhooks import endpoints
from daemon.store.engine import Store, Tx
from daemon.store.webhooks import deliveries as store_deliveries
from daemon.store.webhooks.attempts import Leased
from daemon.wire import DeliveryStatus
from tests.fakes import delivering
from tests.fakes.outbox import LINK, POLICY, add_endpoint, fail, lease, lease_one, outcome, owe
from tests.fakes.shop import OWNER, FakeShop

HOUR_US = 3_600_000_000


async def arrive(shop: FakeShop, leased: Leased) -> None:
    await delivering.record_outcome(shop.env, leased, outcome(200), link=LINK, policy=POLICY)


async def owed(shop: FakeShop, endpoint_id: str = "e1") -> list[Delivery]:
    rows = await shop.rows(
        Delivery, "deliveries", f"endpoint_seq = (SELECT seq FROM endpoints WHERE id = '{endpoint_id}')"
    )
    return [row for row in rows if isinstance(row, Delivery)]


async def flushing(shop: FakeShop) -> list[Any]:
    return await shop.values("SELECT endpoint_id FROM flushes")


async def run(shop: FakeShop, sql: str, **params: Any) -> None:
    await write(shop, lambda tx: tx.run(sql, params))


async def write(shop: FakeShop, job: Callable[[Tx], Any]) -> Any:
    return await shop.env.store.write(job)


@pytest.fixture
async def ended(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> FakeShop:
    """An outage that has just ended: five retries wait for the next days, two of them have their times, a first attempt waits."""
    monkeypatch.setattr(store_deliveries, "RELEASE_BATCH", 2)
    await add_endpoint(shop)
    for number in range(7):
        await owe(shop, f"9321450000{number}")
    for leased in await lease(shop, limit=5):
        await fail(shop, leased)
    later = "UPDATE deliveries SET next_attempt_at = next_attempt_at + :hour WHERE status = 'retrying'"
    await run(shop, later, hour=HOUR_US)
    shop.clock.advance(30)
    (probe,) = await lease(shop)
    await arrive(shop, probe)
    return shop


async def test_retries_get_their_times_a_piece_a_turn_oldest_first(ended: FakeShop) -> None:
    began = ended.clock.now_us()
    for pieces in (1, 2, 3):
        timed = [row.seq for row in await owed(ended) if row.extra]
        assert timed == [1, 2, 3, 4, 5][: 2 * pieces]
        assert await flushing(ended) == (["e1"] if pieces < 3 else [])
        ended.clock.advance(0.01)
        await delivering.lease(ended.env, limit=1, per_endpoint=0, running={})
    times = [row.next_attempt_at for row in await owed(ended) if row.extra]
    assert times == [began + place * FLUSH_GAP_US for place in range(5)]


async def test_until_all_have_their_times_first_attempts_go_out_and_retries_do_not(ended: FakeShop) -> None:
    # Overdue retries without a new time would be sent in a burst.
    overdue = "UPDATE deliveries SET next_attempt_at = 1 WHERE seq IN (3, 4, 5)"
    await run(ended, overdue)
    due = await delivering.lease(ended.env, limit=6, per_endpoint=6, running={})
    assert [one.delivery.seq for one in due.leased] == [7]
    assert due.next_at == ended.clock.now_us()
    (first,) = await lease(ended, limit=6)
    assert first.delivery.seq == 1


@pytest.mark.file  # a second process opens the file
async def test_a_stop_between_two_pieces_loses_nothing(ended: FakeShop) -> None:
    began = ended.clock.now_us()
    path = ended.env.store.path
    ended.env.store.close()
    ended.clock.advance(60)
    ended.env = structs.replace(ended.env, store=Store.open(path, now_us=ended.clock.now_us()))
    for _ in range(2):
        await delivering.lease(ended.env, limit=1, per_endpoint=0, running={})
    assert await flushing(ended) == []
    times = [row.next_attempt_at for row in await owed(ended) if row.extra]
    assert times == [began + place * FLUSH_GAP_US for place in range(5)]


async def test_an_outage_that_ends_in_the_middle_of_it_begins_it_anew(ended: FakeShop) -> None:
    ended.clock.advance(2)
    now = ended.clock.now_us()
    await write(ended, lambda tx: store_deliveries.begin_release(tx, "e1", now))
    for _ in range(2):
        await delivering.lease(ended.env, limit=1, per_endpoint=0, running={})
    rows = [row for row in await owed(ended) if row.status is DeliveryStatus.RETRYING]
    assert [row.next_attempt_at for row in rows] == [now + place * FLUSH_GAP_US for place in range(5)]
    assert all(row.extra for row in rows)


async def test_after_a_pause_in_the_middle_of_it_everything_goes_out(ended: FakeShop) -> None:
    await endpoints.update(ended.env, OWNER, "e1", EndpointChanges(is_active=False))
    assert await lease(ended) == []
    assert await flushing(ended) == ["e1"]
    await endpoints.update(ended.env, OWNER, "e1", EndpointChanges(is_active=True))
    (probe,) = await lease(ended)
    await arrive(ended, probe)
    sent = {probe.delivery.seq}
    for _ in range(40):
        for leased in await lease(ended, limit=6):
            sent.add(leased.delivery.seq)
            await arrive(ended, leased)
        ended.clock.advance(0.1)
    assert sent == {1, 2, 3, 4, 5, 7}
    assert await flushing(ended) == []


async def test_an_outage_that_begins_in_the_middle_of_it_ends_it(ended: FakeShop) -> None:
    await run(ended, "UPDATE endpoints SET consecutive_failures = 3")
    (probe,) = await lease(ended)
    assert probe.delivery.seq == 7
    assert await flushing(ended) == []
    await arrive(ended, probe)
    assert await flushing(ended) == ["e1"]


async def test_a_deletion_in_the_middle_of_it_leaves_nothing_to_do(ended: FakeShop) -> None:
    assert await endpoints.delete(ended.env, OWNER, "e1") == 6
    due = await delivering.lease(ended.env, limit=6, per_endpoint=6, running={})
    assert (due.leased, due.next_at) == ((), None)


async def test_a_clock_that_is_set_back_in_the_middle_of_it_moves_the_other_times_too(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_deliveries, "RELEASE_BATCH", 2)
    await add_endpoint(shop)
    for number in range(5):
        await owe(shop, f"9321450000{number}")
    await machine.watch_clock(shop.env)
    shop.clock.jump(400 * 86_400.0)
    for leased in await lease(shop, limit=5):
        await fail(shop, leased)
    await write(shop, lambda tx: store_deliveries.begin_release(tx, "e1", shop.clock.now_us()))
    await run(shop, "UPDATE endpoints SET consecutive_failures = 0")
    await machine.watch_clock(shop.env)
    shop.clock.jump(-400 * 86_400.0)
    await machine.watch_clock(shop.env)
    for _ in range(2):
        await delivering.lease(shop.env, limit=1, per_endpoint=0, running={})
    latest = max(row.next_attempt_at or 0 for row in await owed(shop))
    assert latest <= shop.clock.now_us() + 5 * FLUSH_GAP_US


async def test_a_retry_whose_attempts_are_gone_is_a_probe_too(shop: FakeShop) -> None:
    await add_endpoint(shop)
    await owe(shop)
    await fail(shop, await lease_one(shop))
    await run(shop, "DELETE FROM attempts")
    await run(shop, "UPDATE deliveries SET tried = 0")
    await run(shop, "UPDATE endpoints SET consecutive_failures = 3")
    shop.clock.advance(60)
    assert len(await lease(shop)) == 1


Row = tuple[str, int, bool]
"""A status, seconds from now until it is due, and whether it is being sent."""
ROWS = st.lists(
    st.tuples(st.sampled_from(["pending", "retrying"]), st.integers(-3, 3), st.booleans()), min_size=9, max_size=9
)


def lay(tx: Tx, rows: list[Row], now: int) -> None:
    """Make these rows of the deliveries that are there, in their order."""
    for seq, (status, due_s, leased) in enumerate(rows, 1):
        tx.run(
            "UPDATE deliveries SET status = :status, next_attempt_at = :at, leased_until = :until, extra = 0 "
            "WHERE seq = :seq",
            {"status": status, "at": now + due_s * 1_000_000, "until": now + HOUR_US if leased else None, "seq": seq},
        )


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, piece=st.integers(1, 4))
async def test_in_pieces_it_comes_to_what_it_comes_to_in_one(shop: FakeShop, rows: list[Row], piece: int) -> None:
    if not await shop.values("SELECT 1 FROM endpoints"):
        await add_endpoint(shop)
        for number in range(9):
            await owe(shop, f"9321450000{number}")
    now = shop.clock.now_us()
    came = []
    for size in (100, piece):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(store_deliveries, "RELEASE_BATCH", size)
            await write(shop, lambda tx: lay(tx, rows, now))
            await write(shop, lambda tx: store_deliveries.begin_release(tx, "e1", now))
            turns = 0
            while await flushing(shop):
                await write(shop, lambda tx: store_deliveries.continue_release(tx, now + 1))
                turns += 1
            assert turns <= len(rows) // size + 1
        came.append([(row.seq, row.next_attempt_at, row.extra) for row in await owed(shop)])
    assert came[0] == came[1]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tries=st.lists(st.integers(1, 5), max_size=12), due=st.lists(st.booleans(), min_size=5))
async def test_a_probe_is_the_due_one_that_was_tried_least_recently(
    shop: FakeShop, tries: list[int], due: list[bool]
) -> None:
    if not await shop.values("SELECT 1 FROM endpoints"):
        await add_endpoint(shop)
        for number in range(5):
            await owe(shop, f"9321450000{number}")
    now = shop.clock.now_us()
    again = (
        "UPDATE deliveries SET status = 'pending', run = run + 1, attempt_count = 0, tried = 0, failed_at = NULL, "
        "next_attempt_at = 1, leased_until = NULL"
    )
    await run(shop, again)
    await run(shop, "UPDATE endpoints SET consecutive_failures = 0")
    for seq in tries:
        await run(
            shop,
            "UPDATE deliveries SET next_attempt_at = CASE seq WHEN :seq THEN 1 ELSE :never END",
            seq=seq,
            never=now + HOUR_US,
        )
        await run(shop, "UPDATE endpoints SET consecutive_failures = 0")
        await fail(shop, await lease_one(shop))
    for seq, is_due in enumerate(due[:5], 1):
        at = seq if is_due else now + HOUR_US
        await run(shop, "UPDATE deliveries SET next_attempt_at = :at WHERE seq = :seq", seq=seq, at=at)
    last = {seq: place for place, seq in enumerate(tries)}
    waiting = [seq for seq in range(1, 6) if due[seq - 1]]
    expected = min(waiting, key=lambda seq: (last.get(seq, -1), seq), default=None)
    await run(shop, "UPDATE endpoints SET consecutive_failures = 3, last_failure_at = 1")
    assert [one.delivery.seq for one in await lease(shop)] == [seq for seq in (expected,) if seq is not None]
