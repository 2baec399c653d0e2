"""Which deliveries begin: at most so many of an endpoint, in bulk and as probes, live ones first, and no place stays empty."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.core.webhooks.delivery import QueueKey
from daemon.flows.webhooks import deliver
from daemon.store.webhooks import attempts
from daemon.store.webhooks.attempts import DueDeliveries, Leased, Workers
from tests.fakes import delivering
from tests.fakes.outbox import add_endpoint, lease, owe
from tests.fakes.shop import FakeShop

S = 1_000_000
ENDPOINTS = ("a", "b", "c", "d")


async def run(shop: FakeShop, sql: str, **params: Any) -> None:
    await shop.env.store.write(lambda tx: tx.run(sql, params))


async def fill(shop: FakeShop, count: int) -> None:
    """Queue this many deliveries for each of the endpoints."""
    for name in ENDPOINTS:
        await add_endpoint(shop, name)
    for number in range(count):
        await owe(shop, f"932145{number:05d}")


@pytest.mark.parametrize(
    ("running", "begin"),
    [
        ({}, {("a", False): 2, ("a", True): 1}),
        ({("a", False): 2}, {}),
        ({("a", True): 1}, {("a", False): 1, ("a", True): 0}),
        ({("a", True): 1, ("a", False): 1}, {}),
    ],
)
@pytest.mark.parametrize("bulk", [False, True])
async def test_an_endpoint_has_two_places_and_bulk_one_of_them(
    shop: FakeShop, running: dict[QueueKey, int], begin: dict[QueueKey, int], *, bulk: bool
) -> None:
    await add_endpoint(shop, "a")
    for number in range(4):
        await owe(shop, f"932145{number:05d}")
    await run(shop, "UPDATE deliveries SET bulk = :bulk", bulk=int(bulk))
    due = await delivering.lease(shop.env, limit=10 - sum(running.values()), per_endpoint=2, running=running)
    key = "a", bulk
    assert due.places == (key,) * begin.get(key, 0)
    assert len(due.leased) == len(due.places)


@pytest.mark.parametrize("per_endpoint", [1, 2, 3, 8])
@pytest.mark.parametrize("workers", [1, 2, 10])
async def test_bulk_moves_even_with_one_place_and_leaves_one_where_there_are_two(
    shop: FakeShop, per_endpoint: int, workers: int
) -> None:
    await add_endpoint(shop, "a")
    for number in range(10):
        await owe(shop, f"932145{number:05d}")
    await run(shop, "UPDATE deliveries SET bulk = 1")
    due = await delivering.lease(shop.env, limit=workers, per_endpoint=per_endpoint, running={})
    assert len(due.places) == min(max(1, per_endpoint // 2), max(1, workers // 2))


@pytest.mark.parametrize(
    ("running", "backlog", "begins"),
    [
        ({("x", False): 2, ("y", False): 2}, 4, 1),
        ({("x", False): 2, ("y", False): 2, ("z", False): 1}, 5, 0),
        ({("x", False): 2, ("y", False): 2, ("z", True): 1}, 4, 0),
        ({("x", False): 2, ("y", False): 2, ("z", False): 1}, 4, 1),
    ],
)
async def test_a_backlog_has_all_places_of_its_endpoint_and_with_what_is_in_bulk_half_of_all(
    shop: FakeShop, running: dict[QueueKey, int], backlog: int, begins: int
) -> None:
    await add_endpoint(shop, "a", backlog_seq=99)
    for number in range(3):
        await owe(shop, f"932145{number:05d}")

    async def places(running: dict[QueueKey, int], backlog: int) -> int:
        limit = 10 - sum(running.values())
        workers = Workers(limit, 2, running, backlog=backlog)
        written = await deliver.turn(shop.env, workers=workers)
        return len(written.due.places)

    assert await places(running, backlog) == begins
    await shop.env.store.write(attempts.release_all)
    assert await places({}, 0) == 2


@pytest.mark.parametrize(
    ("failures", "link_failures", "wait_s"),
    [(3, 0, 5), (4, 0, 15), (5, 0, 30), (19, 0, 30), (0, 3, 5), (1, 4, 15), (2, 2, 0), (20, 1, 30)],
)
async def test_from_three_failures_of_either_kind_on_a_probe_waits_longer_with_each(
    shop: FakeShop, failures: int, link_failures: int, wait_s: int
) -> None:
    now = shop.clock.now_us()
    await add_endpoint(shop, "a", consecutive_failures=failures, link_failures=link_failures, last_failure_at=now)
    await owe(shop)
    if wait_s:
        shop.clock.advance(wait_s - 0.1)
        due = await delivering.lease(shop.env, limit=5, per_endpoint=5, running={})
        assert due == DueDeliveries((), (), now + wait_s * S)
        shop.clock.advance(0.1)
    assert len(await lease(shop)) == 1


@pytest.mark.parametrize(
    ("failed_s", "changed_s", "is_sent"),
    [
        (None, -60, True),  # it never failed
        (-1, 0, True),  # resumed since
        (-1, -2, False),
        (-1, 3_600, False),  # the clock was set back after a resume
        (3_600, -2, True),  # the failure was recorded by a clock that was ahead
    ],
)
async def test_neither_an_older_failure_than_a_resume_nor_a_wrong_clock_delays_a_probe(
    shop: FakeShop, failed_s: int | None, changed_s: int, *, is_sent: bool
) -> None:
    now = shop.clock.now_us()
    await add_endpoint(
        shop,
        "a",
        consecutive_failures=3,
        last_failure_at=None if failed_s is None else now + failed_s * S,
        updated_at=now + changed_s * S,
    )
    await owe(shop)
    assert len(await lease(shop)) == int(is_sent)


async def test_nothing_is_sent_to_a_host_that_our_own_link_does_not_reach(shop: FakeShop) -> None:
    hosts = {"a": "one.example", "b": "one.example:8443", "c": "one.example.org", "d": "[2001:db8::1]"}
    for name, host in hosts.items():
        url = f"https://{host}/{name}"
        await add_endpoint(shop, name, url=url, url_normalised=url)
    await owe(shop)
    held = [f"https://{host}{end}" for host in ("one.example", "[2001:db8::1]") for end in "/:"]
    due = await delivering.lease(shop.env, limit=9, per_endpoint=2, running={}, held=held)
    assert [one.endpoint.id for one in due.leased] == ["c"]


Delivery = tuple[str, bool, bool, bool]
"""Its endpoint, whether it is bulk, a retry, and due."""
MOSTLY, SELDOM = st.sampled_from([True] * 5 + [False]), st.sampled_from([False] * 3 + [True])
DELIVERIES = st.lists(st.tuples(st.sampled_from(ENDPOINTS), SELDOM, st.booleans(), MOSTLY), min_size=8, max_size=24)
PLACES = st.dictionaries(st.tuples(st.sampled_from(ENDPOINTS), st.booleans()), st.integers(1, 2), max_size=3)
SERVED = st.dictionaries(st.tuples(st.sampled_from(ENDPOINTS), st.booleans()), st.integers(1, 99), max_size=8)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    wanted=DELIVERIES,
    running=PLACES,
    served=SERVED,
    limit=st.integers(0, 5),
    per_endpoint=st.integers(1, 3),
    ahead=st.integers(0, 3),
    out=st.just(set()) | st.sets(st.sampled_from(ENDPOINTS), max_size=3),
    backlog_seq=st.sampled_from([0, 0, 6, 24]),
)
async def test_any_choice_keeps_every_limit_and_leaves_no_place_empty(
    shop: FakeShop,
    wanted: list[Delivery],
    running: dict[QueueKey, int],
    served: dict[QueueKey, int],
    limit: int,
    per_endpoint: int,
    ahead: int,
    out: set[str],
    backlog_seq: int,
) -> None:
    if not await shop.values("SELECT 1 FROM endpoints"):
        await fill(shop, 6)
    now = shop.clock.now_us()
    seqs = await lay(shop, wanted, now, out, backlog_seq)
    busy = {endpoint: running.get((endpoint, False), 0) + running.get((endpoint, True), 0) for endpoint in ENDPOINTS}
    more = dict.fromkeys(((name, bulk) for name in ENDPOINTS for bulk in (False, True)), ahead)
    workers = Workers(limit, per_endpoint, running, served=served, ahead=more)
    due = (await deliver.turn(shop.env, workers=workers)).due
    all_workers = limit + sum(running.values())
    begun = Counter(due.places)
    new = Counter(name for name, _ in due.places)
    leased = {one.delivery.seq: one for one in due.leased}

    # The limits.
    assert len(due.places) <= limit
    for name in ENDPOINTS:
        assert not new[name] or new[name] + busy[name] <= (1 if name in out else per_endpoint)
        if name not in out and begun[name, True]:
            assert begun[name, True] + running.get((name, True), 0) <= max(1, per_endpoint // 2)
    in_bulk = sum(count for (_, bulk), count in running.items() if bulk)
    old = Counter(key for key in due.places if key[0] not in out and is_behind(leased, key, begun))
    assert not sum(old.values()) or sum(old.values()) + in_bulk <= max(1, all_workers // 2)
    probed = sum(name in out for name in new)
    # What is sent waits for its answer as well, so an endpoint with a worker has a delivery.
    probing = sum(name in out and busy[name] > 0 and bool(seqs[name, False] or seqs[name, True]) for name in ENDPOINTS)
    assert not probed or probed + probing <= max(1, all_workers // 2)
    # Each queue in order, and no more ahead than asked for.
    for key in more:
        ready = [seq for seq in seqs[key] if seqs[key][seq] <= now]
        mine = [one.delivery.seq for one in due.leased if (one.endpoint.id, one.delivery.bulk) == key]
        if key[0] in out:
            assert len(mine) == begun[key] <= 1
        else:
            assert mine == ready[: len(mine)]
            has_worker = begun[key] + running.get(key, 0) > 0
            assert len(mine) == min(len(ready), begun[key] + ahead * has_worker)
        # No live delivery waits beside a free worker and a free place.
        if len(due.places) < limit and key[0] not in out and not key[1]:
            free = per_endpoint - busy[key[0]] - new[key[0]]
            left = [seq for seq in ready if seq not in mine and seq > backlog_seq]
            assert not (free > 0 and left and not set(ready) & set(range(backlog_seq + 1)))
    # Fair turns: each live queue gets its first place before another its second, the one served least recently first.
    live = {
        key: [seq for seq in seqs[key] if seqs[key][seq] <= now]
        for key in more
        if not key[1] and key[0] not in out and busy[key[0]] < per_endpoint
    }
    live = {key: ready for key, ready in live.items() if ready and min(ready) > backlog_seq}
    for waits in (key for key in live if not begun[key]):
        for other in (key for key in live if begun[key]):
            assert begun[other] == 1
            assert served.get(other, 0) <= served.get(waits, 0)
    if due.next_at is not None:
        assert due.next_at > now


def is_behind(leased: dict[int, Leased], key: QueueKey, begun: Counter[QueueKey]) -> bool:
    """Return whether the first of a queue goes behind live deliveries."""
    mine = [one for one in leased.values() if (one.endpoint.id, one.delivery.bulk) == key]
    return key[1] or (begun[key] > 0 and mine[0].is_behind)


async def lay(
    shop: FakeShop, wanted: list[Delivery], now: int, out: set[str], backlog_seq: int
) -> dict[QueueKey, dict[int, int]]:
    """Make the queued deliveries what is wanted; return when each is due, by queue and `seq`, in order."""
    done = (
        "UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, leased_until = NULL, bulk = 0, "
        "delivered_at = 1"
    )
    await run(shop, done)
    await run(shop, "UPDATE endpoints SET consecutive_failures = 0, backlog_seq = :seq", seq=backlog_seq)
    for name in out:
        failing = "UPDATE endpoints SET consecutive_failures = 3, last_failure_at = 1 WHERE id = :id"
        await run(shop, failing, id=name)
    rows = await shop.values(
        "SELECT d.seq, e.id FROM deliveries d JOIN endpoints e ON e.seq = d.endpoint_seq ORDER BY d.seq"
    )
    free: dict[str, list[int]] = {name: [seq for seq, mine in rows if mine == name] for name in ENDPOINTS}
    found: dict[QueueKey, dict[int, int]] = {(name, bulk): {} for name in ENDPOINTS for bulk in (False, True)}
    for name, bulk, retry, is_due in wanted:
        if not free[name]:
            continue
        seq = free[name].pop(0)
        at = found[name, bulk][seq] = now - 99 + seq if is_due else now + S + seq
        queued = "UPDATE deliveries SET status = :status, next_attempt_at = :at, bulk = :bulk WHERE seq = :seq"
        status = "retrying" if retry else "pending"
        await run(shop, queued, status=status, at=at, bulk=int(bulk), seq=seq)
    return found
