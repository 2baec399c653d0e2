"""The delivery loop: due deliveries are sent at once, endpoints take turns, and a graceful stop loses no delivery."""

import asyncio
import contextlib
import io
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.model import Delivery
from daemon.core.webhooks.delivery import AttemptOutcome, LivePriority
from daemon.loops.deliveries import DeliverLoop
from daemon.loops.faults import FaultLoop
from daemon.runtime.config import Config, Webhooks
from daemon.runtime.log import Log
from daemon.sender.https import Sender
from daemon.store.engine import Tx
from daemon.store.webhooks import endpoints
from daemon.store.webhooks.attempts import BATCH, NO_WORKERS, DueDeliveries, EndedAttempt, Workers
from daemon.wire import DeliveryStatus
from tests.fakes import outbox
from tests.fakes.receipts import mtn
from tests.fakes.receiver import Receiver
from tests.fakes.sender import FakeSender, answered
from tests.fakes.shop import FakeShop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


async def add_endpoint(shop: FakeShop, endpoint_id: str) -> None:
    url = f"https://{endpoint_id}.example/hook"
    await outbox.add_endpoint(shop, endpoint_id, url=url, url_normalised=url)


async def owe(shop: FakeShop, count: int, first: int = 0) -> None:
    receipts = [
        mtn(100 + number, "KOFI ANTWI BADU", shop.wallet(100 + number), "food", f"9321450{number:04d}", concatenation=number % 256)
        for number in range(first, first + count)
    ]  # fmt: skip
    await shop.read(*receipts)


@contextlib.asynccontextmanager
async def at_work(loop: DeliverLoop) -> AsyncIterator[None]:
    task = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        await loop.stop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@contextlib.asynccontextmanager
async def running(
    shop: FakeShop, answer: Callable[[str], AttemptOutcome]
) -> AsyncIterator[tuple[DeliverLoop, list[str]]]:
    posts: list[str] = []
    loop = DeliverLoop(shop.env, FakeSender(answer, posts), Log(io.StringIO()))
    async with at_work(loop):
        yield loop, posts


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110 -- a query of the database has no event
            await asyncio.sleep(0.005)


async def statuses(shop: FakeShop) -> list[DeliveryStatus]:
    return [row.status for row in await shop.rows(Delivery, "deliveries")]


async def all_delivered(shop: FakeShop) -> None:
    """Wait until all deliveries are delivered."""

    async def delivered() -> bool:
        return set(await statuses(shop)) == {DeliveryStatus.DELIVERED}

    await until(delivered)


async def test_a_new_delivery_goes_out_at_once(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    async with running(shop, lambda url: answered(200)) as (_loop, posts):
        await owe(shop, 1)

        async def done() -> bool:
            return await statuses(shop) == [DeliveryStatus.DELIVERED]

        await until(done)
        assert len(posts) == 1


async def leased_now(shop: FakeShop) -> int:
    return sum(row.leased_until is not None for row in await shop.rows(Delivery, "deliveries"))


@pytest.mark.parametrize(("took_us", "count"), [(15_000, BATCH + 2), (15_001, 4), (250_001, 2)])
async def test_a_fast_receiver_gets_a_batch_with_one_lease_and_a_slow_one_its_places(
    shop: FakeShop, took_us: int, count: int
) -> None:
    await add_endpoint(shop, "e1")
    posts: list[str] = []
    sender = FakeSender(lambda url: replace(answered(200), duration_us=took_us), posts)
    async with at_work(DeliverLoop(shop.env, sender, Log(io.StringIO()))):
        await owe(shop, 1)
        await all_delivered(shop)
        sender.gate = asyncio.Event()
        for number in range(30):
            await owe(shop, 1, 1 + number)

        async def are_leased() -> bool:
            return await leased_now(shop) == count

        await until(are_leased)
        assert len(posts) == 1 + 2
        sender.gate.set()
        await all_delivered(shop)
    assert len(posts) == len(set(posts)) == 31


async def test_a_place_that_becomes_free_takes_what_was_leased_ahead_for_a_busy_one(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(workers=2)))
    for endpoint_id in ("quick", "other"):
        await add_endpoint(shop, endpoint_id)
    gates = {"quick": asyncio.Event(), "other": asyncio.Event()}
    hosts: list[str] = []

    class Gated(FakeSender):
        async def post(self, url: str, headers: Any, body: bytes) -> AttemptOutcome:
            host = url.removeprefix("https://").partition(".")[0]
            hosts.append(host)
            await gates[host].wait()
            return await super().post(url, headers, body)

    async def sent(count: int) -> None:
        async def have_come() -> bool:
            return hosts.count("quick") == count

        await until(have_come)

    async with at_work(DeliverLoop(shop.env, Gated(lambda url: answered(200), []), Log(io.StringIO()))):
        gates["quick"].set()
        gates["other"].set()
        await owe(shop, 1)
        await all_delivered(shop)
        for gate in gates.values():
            gate.clear()
        await owe(shop, 3, 1)
        # One worker each: what the quick one's receiver is owed is leased, and waits for its only worker.
        await sent(2)
        gates["other"].set()
        await sent(3)
        gates["quick"].set()
        await all_delivered(shop)
    shop.close()


@pytest.mark.parametrize("others", [1, 3])
async def test_a_clock_set_forward_during_an_attempt_makes_no_second_one(shop: FakeShop, others: int) -> None:
    # The answer of the second could overwrite the 2xx of the first.
    await add_endpoint(shop, "e1")
    posts: list[str] = []
    sender = FakeSender(lambda url: answered(200), posts)
    sender.gate = asyncio.Event()

    async def first_is_sent() -> bool:
        return len(posts) == 1

    async with at_work(DeliverLoop(shop.env, sender, Log(io.StringIO()))):
        await owe(shop, 1)
        await until(first_is_sent)
        shop.clock.jump(120)
        await owe(shop, others, first=1)  # its commit leases, and so does the turn that follows
        await asyncio.sleep(0.2)
        sender.gate.set()
        await all_delivered(shop)
    assert len(posts) == len(set(posts)) == 1 + others


async def test_what_a_commit_leases_during_a_stop_is_returned(shop: FakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    real = Workers.lease

    def lease(workers: Workers, tx: Tx, now: int) -> DueDeliveries:
        due = real(workers, tx, now)
        if due.leased:
            begun.set()
            go_on.wait(10)
        return due

    monkeypatch.setattr(Workers, "lease", lease)
    await add_endpoint(shop, "e1")
    async with running(shop, lambda url: answered(200)) as (loop, posts):
        await asyncio.sleep(0.1)  # its first turn
        reading = asyncio.create_task(owe(shop, 1))
        await asyncio.to_thread(begun.wait, 10)
        stopping = asyncio.create_task(loop.stop())
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(reading, stopping)
    (row,) = await shop.rows(Delivery, "deliveries")
    begun_attempts = await shop.values("SELECT COUNT(*) FROM attempts")
    assert (posts, row.leased_until, begun_attempts) == ([], None, [0])


async def test_a_retry_is_made_when_it_is_due_and_not_at_the_next_look(tmp_path: Path) -> None:
    config = Config(webhooks=Webhooks(retry_schedule_s=(0.2, 60.0), jitter=0.0))
    shop = await FakeShop.make(tmp_path, config)
    await add_endpoint(shop, "e1")
    answers = iter([answered(503), answered(200)])
    async with running(shop, lambda url: next(answers)) as (_loop, _posts):
        await owe(shop, 1)

        async def failed() -> bool:
            return await statuses(shop) == [DeliveryStatus.RETRYING]

        async def done() -> bool:
            return await statuses(shop) == [DeliveryStatus.DELIVERED]

        await until(failed)
        shop.clock.advance(1)
        await until(done)
    shop.close()


@pytest.mark.parametrize(
    ("status", "then"), [(503, DeliveryStatus.RETRYING), (404, DeliveryStatus.RETRYING), (410, DeliveryStatus.FAILED)]
)
async def test_schedule_jitter_and_exceptions_of_the_settings_are_heeded(
    status: int, then: DeliveryStatus, tmp_path: Path
) -> None:
    settings = Webhooks(retry_schedule_s=(7.0, 60.0), jitter=0.0, retry_4xx=(404,))
    shop = await FakeShop.make(tmp_path, Config(webhooks=settings))
    await add_endpoint(shop, "e1")
    async with running(shop, lambda url: answered(status)):
        await owe(shop, 1)

        async def tried() -> bool:
            return await statuses(shop) == [then]

        await until(tried)
    (row,) = await shop.rows(Delivery, "deliveries")
    due = shop.clock.now_us() + 7_000_000 if then is DeliveryStatus.RETRYING else None
    assert row.next_attempt_at == due
    shop.close()


async def test_each_delivery_is_sent_once_when_all_is_well(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await add_endpoint(shop, "e2")
    await owe(shop, 30)
    async with running(shop, lambda url: answered(200)) as (_loop, posts):
        await all_delivered(shop)
    assert len(posts) == len(set(posts)) == 60


async def test_a_hanging_endpoint_takes_only_its_own_places(shop: FakeShop) -> None:
    await add_endpoint(shop, "slow")
    await add_endpoint(shop, "quick")
    await owe(shop, 12)
    never = asyncio.Event()

    class Hanging(FakeSender):
        async def post(self, url: str, headers: Any, body: bytes) -> AttemptOutcome:
            if "slow" in url:
                await never.wait()
            return await super().post(url, headers, body)

    sender = Hanging(lambda url: answered(200), [])
    loop = DeliverLoop(shop.env, sender, Log(io.StringIO()))

    async def quick_done() -> bool:
        rows = await shop.rows(Delivery, "deliveries", "endpoint_seq = (SELECT seq FROM endpoints WHERE id = 'quick')")
        return all(row.status is DeliveryStatus.DELIVERED for row in rows)

    async with at_work(loop):
        await until(quick_done)
        rows = await shop.rows(Delivery, "deliveries", "endpoint_seq = (SELECT seq FROM endpoints WHERE id = 'slow')")
        leased = sum(row.leased_until is not None for row in rows)
        assert leased == shop.env.config.webhooks.per_endpoint
        never.set()


async def test_the_next_webhook_does_not_wait_for_the_answer_to_the_one_before(shop: FakeShop) -> None:
    """The next payment comes when the receiver has read a webhook, before it answers; a free place then sends it."""
    await add_endpoint(shop, "e1")
    answers = asyncio.Semaphore(0)

    class Slow(FakeSender):
        async def post(self, url: str, headers: Any, body: bytes) -> AttemptOutcome:
            await super().post(url, headers, body)
            await answers.acquire()
            return AttemptOutcome(200, "", None, None, 100_000, connected=True)

    posts: list[str] = []
    loop = DeliverLoop(shop.env, Slow(lambda url: answered(200), posts), Log(io.StringIO()))

    async def came(count: int) -> None:
        async def have_come() -> bool:
            return len(posts) == count

        await until(have_come)

    async with at_work(loop):
        for answered_before in range(8):
            # One receipt at a time: while one webhook has no answer, the next one is sent in parallel.
            await owe(shop, 1, 2 * answered_before)
            await came(2 * answered_before + 1)
            await owe(shop, 1, 2 * answered_before + 1)
            await came(2 * answered_before + 2)
            answers.release()
            answers.release()
        await all_delivered(shop)


async def test_a_replay_is_one_line_a_turn_in_the_log(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await owe(shop, 5)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET bulk = 1"))
    written = io.StringIO()
    loop = DeliverLoop(shop.env, FakeSender(lambda url: answered(200), []), Log(written, as_json=True))
    async with at_work(loop):
        await all_delivered(shop)
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert {line["event"] for line in lines} == {"deliver.sent_again"}
    assert sum(line["delivered"] for line in lines) == 5


async def test_a_third_endpoint_in_bulk_need_not_wait_until_the_first_two_have_everything(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(workers=4)))  # two in bulk
    for endpoint_id in ("a", "b", "c"):
        await add_endpoint(shop, endpoint_id)
    await owe(shop, 80)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET bulk = 1"))
    hosts: list[str] = []

    def answer(url: str) -> AttemptOutcome:
        hosts.append(url.removeprefix("https://")[0])
        shop.clock.advance(0.01)
        return answered(200)

    async with running(shop, answer):
        await all_delivered(shop)
    assert hosts.index("c") < 80
    shop.close()


async def test_a_worker_that_changes_to_another_endpoint_sends_what_is_leased_first(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(workers=4)))  # two in bulk
    for endpoint_id in ("a", "b", "c"):
        await add_endpoint(shop, endpoint_id)
    await owe(shop, 40)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET bulk = 1"))
    # An attempt that does not begin is deleted again.
    await shop.env.store.write(lambda tx: tx.run("CREATE TABLE undone (seq INTEGER)"))
    watch = "CREATE TRIGGER watch AFTER DELETE ON attempts BEGIN INSERT INTO undone VALUES (OLD.delivery_seq); END"
    await shop.env.store.write(lambda tx: tx.run(watch))

    def answer(_url: str) -> AttemptOutcome:
        shop.clock.advance(0.02)
        return replace(answered(200), duration_us=20_000)

    async with running(shop, answer):
        await all_delivered(shop)
    assert await shop.values("SELECT COUNT(*) FROM undone") == [0]
    shop.close()


@pytest.mark.parametrize("behind", ["UPDATE deliveries SET bulk = 1", "UPDATE endpoints SET backlog_seq = 999"])
async def test_the_longest_and_oldest_queues_do_not_keep_all_places(tmp_path: Path, behind: str) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(workers=4)))  # two for these
    for endpoint_id in ("a", "b", "c", "d"):
        await add_endpoint(shop, endpoint_id)
    await owe(shop, 60)
    older = "UPDATE deliveries SET next_attempt_at = seq WHERE endpoint_seq IN (SELECT seq FROM endpoints WHERE id IN ('a', 'b'))"
    await shop.env.store.write(lambda tx: tx.run(behind) + tx.run(older))
    hosts: list[str] = []

    def answer(url: str) -> AttemptOutcome:
        hosts.append(url.removeprefix("https://")[0])
        shop.clock.advance(0.02)
        return answered(200)

    async with running(shop, answer):

        async def done() -> bool:
            return set(await statuses(shop)) == {DeliveryStatus.DELIVERED}

        await until(done)
    assert max(hosts.index(endpoint_id) for endpoint_id in "abcd") < 60
    shop.close()


async def test_a_graceful_stop_lets_attempts_in_flight_finish(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await owe(shop, 1)
    gate = asyncio.Event()
    posts: list[str] = []

    sender = FakeSender(lambda url: answered(200), posts)
    sender.gate = gate
    loop = DeliverLoop(shop.env, sender, Log(io.StringIO()))
    task = asyncio.create_task(loop.run())

    async def sending() -> bool:
        return len(posts) == 1

    await until(sending)
    stopping = asyncio.create_task(loop.stop())
    await asyncio.sleep(0)
    gate.set()
    await stopping
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await statuses(shop) == [DeliveryStatus.DELIVERED]


async def test_a_stop_while_deliveries_are_leased_sends_and_keeps_none_of_them(
    shop: FakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daemon.flows.webhooks import deliver

    await add_endpoint(shop, "e1")
    await owe(shop, 2)
    posts: list[str] = []
    real = deliver.turn
    stops: list[asyncio.Task[None]] = []

    async def turn(*args: Any, **more: Any) -> Any:
        written = await real(*args, **more)
        if not stops:
            stops.append(asyncio.create_task(loop.stop()))
            await asyncio.sleep(0)
        return written

    monkeypatch.setattr(deliver, "turn", turn)

    sender = FakeSender(lambda url: answered(200), posts)
    loop = DeliverLoop(shop.env, sender, Log(io.StringIO()))
    await asyncio.wait_for(loop.run(), 10)
    await asyncio.wait_for(stops[0], 10)
    rows = await shop.rows(Delivery, "deliveries")
    assert posts == []
    assert [(row.leased_until, row.attempt_count) for row in rows] == [(None, 0), (None, 0)]


async def test_what_was_leased_ahead_does_not_begin_once_its_endpoint_is_paused(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await owe(shop, 12)
    posts: list[str] = []
    pausing: list[asyncio.Task[Any]] = []
    paused_at: list[int] = []

    class Pausing(FakeSender):
        async def post(self, *args: Any) -> AttemptOutcome:
            outcome = await super().post(*args)
            if len(posts) == 4:

                def pause(tx: Any) -> None:
                    endpoints.change(tx, "e1", {"is_active": False})

                pausing.append(asyncio.create_task(shop.env.store.write(pause)))
                await pausing[0]
                paused_at.append(len(posts))
            return outcome

    loop = DeliverLoop(shop.env, Pausing(lambda url: answered(200), posts), Log(io.StringIO()))

    async def idle() -> bool:
        rows = await shop.rows(Delivery, "deliveries")
        return bool(paused_at) and all(row.leased_until is None for row in rows)

    async with at_work(loop):
        await until(idle)
    assert len(posts) == paused_at[0]
    found = await statuses(shop)
    assert (found.count(DeliveryStatus.DELIVERED), found.count(DeliveryStatus.PENDING)) == (len(posts), 12 - len(posts))
    begun = await shop.env.store.read(lambda reader: reader.value("SELECT COUNT(*) FROM attempts"))
    assert begun == len(posts)


async def test_a_failure_ends_what_was_leased_ahead_and_nothing_else_is_counted(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(webhooks=Webhooks(per_endpoint=1)))
    await add_endpoint(shop, "e1")
    await owe(shop, 8)
    numbers = iter(range(100))
    async with running(shop, lambda url: answered(503 if next(numbers) >= 2 else 200)) as (_loop, posts):

        async def out() -> bool:
            rows = await shop.rows(Delivery, "deliveries")
            return len(posts) == 5 and all(row.leased_until is None for row in rows)

        # Two arrive, three fail: from then on the others wait behind a probe.
        await until(out)
    rows = await shop.rows(Delivery, "deliveries")
    assert [row.attempt_count for row in rows] == [1] * 5 + [0] * 3
    shop.close()


@pytest.mark.parametrize(
    "behind",
    [
        "UPDATE deliveries SET bulk = 1 WHERE endpoint_seq = (SELECT seq FROM endpoints WHERE id = 'e1')",
        "UPDATE endpoints SET backlog_seq = 99 WHERE id = 'e1'",
    ],
)
async def test_nothing_in_bulk_or_of_a_backlog_begins_while_something_live_is_on_its_way(
    shop: FakeShop, behind: str
) -> None:
    class Busy(LivePriority):
        is_asked = False
        is_live = True

        def wait_s(self, now: float, waited_s: float) -> float:
            self.is_asked = True
            return 0.001 if self.is_live else 0.0

    precedence = Busy()
    shop.env = replace(shop.env, live_priority=precedence)
    await add_endpoint(shop, "e1")
    await add_endpoint(shop, "e2")
    await owe(shop, 1)
    old, new = await shop.rows(Delivery, "deliveries")
    await shop.env.store.write(lambda tx: tx.run(behind))
    async with running(shop, lambda url: answered(200)) as (_loop, posts):

        async def delivered(count: int) -> bool:
            return (await statuses(shop)).count(DeliveryStatus.DELIVERED) == count

        async def live_is_done() -> bool:
            return precedence.is_asked and await delivered(1)

        await until(live_is_done)
        assert posts == [new.webhook_id]
        precedence.is_live = False
        await until(lambda: delivered(2))
        assert posts == [new.webhook_id, old.webhook_id]


async def test_a_stop_begins_nothing_more_in_bulk(shop: FakeShop) -> None:
    asked = asyncio.Event()

    class Busy(LivePriority):
        def wait_s(self, now: float, waited_s: float) -> float:
            if asked.is_set():
                return 0.0
            asked.set()
            return 0.001

    shop.env = replace(shop.env, live_priority=Busy())
    await add_endpoint(shop, "e1")
    await owe(shop, 1)
    await shop.env.store.write(lambda tx: tx.run("UPDATE deliveries SET bulk = 1"))
    async with running(shop, lambda url: answered(200)) as (loop, posts):
        await asyncio.wait_for(asked.wait(), 10)
        await loop.stop()
        assert posts == []
    (row,) = await shop.rows(Delivery, "deliveries")
    assert (row.status, row.leased_until) == (DeliveryStatus.PENDING, None)


async def test_what_did_not_begin_is_due_again_also_when_something_else_cannot_be_written(shop: FakeShop) -> None:
    await add_endpoint(shop, "e1")
    await owe(shop, 2)
    poison, good = await outbox.lease(shop)
    loop = DeliverLoop(shop.env, FakeSender(lambda url: answered(200), []), Log(io.StringIO()))
    broken: Any = None
    loop._ended = [EndedAttempt(poison, broken, outbox.LINK, outbox.POLICY, shop.clock.now_us(), 0.5)]
    loop._unsent = [good]
    await loop._write(NO_WORKERS)
    leases = [row.leased_until is None for row in await shop.rows(Delivery, "deliveries")]
    assert leases == [False, True]


async def test_deliveries_wait_for_a_file_of_cas_uncounted_and_go_when_it_is_there(tmp_path: Path) -> None:
    missing = tmp_path / "disk" / "ca.pem"
    with Receiver(tmp_path) as receiver:
        webhooks = Webhooks(ca_file=str(missing), allow_private_hosts=("localhost",))
        shop = await FakeShop.make(tmp_path, Config(webhooks=webhooks))
        url = receiver.url()
        await outbox.add_endpoint(shop, "e1", url=url, url_normalised=url)
        log = io.StringIO()
        loop = DeliverLoop(shop.env, Sender.from_settings(webhooks), Log(log))
        async with at_work(loop):
            await owe(shop, 2)

            async def waits() -> bool:
                return {row.waiting for row in await shop.rows(Delivery, "deliveries")} == {"ca_file"}

            await until(waits)
            await FaultLoop(shop.env, {}, Log(log)).look()
            (fault,) = shop.env.faults.all()
            assert (fault.cause, str(missing) in str(fault.text)) == ("ca_file_unreadable", True)
            assert "deliver.has_cas" not in log.getvalue()
            missing.parent.mkdir()
            missing.write_bytes(Path(receiver.ca_file).read_bytes())
            await all_delivered(shop)
        assert shop.env.ca_fault == ""
        assert await shop.values("SELECT attempt_count FROM deliveries") == [1, 1]
        assert len(receiver.requests) == 2
        shop.close()
