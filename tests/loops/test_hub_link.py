"""The loop that sends a branch's feed to its hub."""

import asyncio
import contextlib
import gc
import gzip
import io
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.core.errors import Refusal, Unavailable
from daemon.flows.branches import join, outbound
from daemon.loops import link as hub_link
from daemon.loops.link import HubLinkLoop
from daemon.runtime.log import Log
from daemon.sender.hub_client import HubClient
from daemon.store import journal
from daemon.store.branches import feed
from daemon.store.engine import Tx
from daemon.wire import ErrorCode
from tests.fakes.branches import Chain, FakeBranch, add_modems
from tests.fakes.seed import seed
from tests.fakes.shop import OWNER, FakeShop
from tests.fakes.waiting import until


@contextlib.asynccontextmanager
async def running(shop: FakeShop, folder: Path, log: io.StringIO | None = None) -> AsyncIterator[asyncio.Task[None]]:
    """Run the loop of a shop."""
    places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
    loop = HubLinkLoop(shop.env, places, Log(log or io.StringIO()))
    task = asyncio.create_task(loop.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_commit_wakes_it_at_a_branch_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = await FakeShop.make(tmp_path)
    turns = []
    real = outbound.Requests.next

    async def counted(*given: Any, **named: Any) -> outbound.HubRequest | None:
        turns.append(1)
        return await real(*given, **named)

    monkeypatch.setattr(outbound.Requests, "next", counted)

    async def commit(topic: str) -> None:
        def job(tx: Tx) -> None:
            at = shop.clock.now_us()
            journal.add(tx, "password.changed", at)
            tx.wake(topic)

        await shop.env.store.write(job)

    async with running(shop, tmp_path):
        await until(lambda: len(turns) == 1)
        for _ in range(3):
            await commit(journal.TOPIC)
        # A shop that joins is told; had the commits before woken the loop, there would be more turns.
        await commit(feed.TOPIC)
        await until(lambda: len(turns) > 1)
        assert len(turns) == 2
    shop.close()


class NarrowHub:
    """A hub behind a line that carries only small requests; it closes the connection of larger ones."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.refused = 0
        self.acked = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                if length > self.most:
                    self.refused += 1
                    break
                body = json.loads(gzip.decompress(await reader.readexactly(length)))
                self.acked = max(self.acked, body["upto"])
                said = {"acked": self.acked, "commands": [], "want": None, "left": False}
                text = json.dumps({"data": said | {"pause_ms": 0, "held": False}})
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        writer.close()


def logged(log: io.StringIO, text: str) -> Callable[[], bool]:
    """Return a function that tells whether the log has this text."""
    return lambda: text in log.getvalue()


class OddHub:
    """Gives one answer to every request."""

    def __init__(self, data: str, head: str = "200 OK") -> None:
        self.data = data
        self.head = head
        self.requests = list[dict[str, Any]]()

    def is_asked_again(self) -> bool:
        return len(self.requests) > 1

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0])
                body = await reader.readexactly(length)
                self.requests.append(json.loads(gzip.decompress(body)))
                text = f'{{"data":{self.data}}}'
                head = f"HTTP/1.1 {self.head}\r\nContent-Length: {len(text)}\r\n\r\n"
                writer.write((head + text).encode())
        writer.close()


@contextlib.asynccontextmanager
async def linked_to(hub: OddHub, branch: FakeBranch) -> AsyncIterator[io.StringIO]:
    """Run the loop of a branch with this hub; it must go on until the end."""
    server = await asyncio.start_server(hub.answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    await branch.shop.env.store.write(lambda tx: tx.run("UPDATE hub_link SET url = :url", {"url": url}))
    log = io.StringIO()
    async with running(branch.shop, branch.folder, log) as task:
        yield log
        assert not task.done()
    server.close()


@pytest.fixture
def no_garbage() -> Iterator[None]:
    """Keep the garbage collector from running where the recursion ends: what it calls there would fail, in any test's name."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage")
async def test_an_answer_that_is_not_understood_is_a_failure_of_the_hub(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    for data in ("{}", '{"acked": 0, "x": %s}' % ("[" * 200_000 + "]" * 200_000)):
        async with linked_to(OddHub(data), chain["kumasi"]) as log:
            await until(logged(log, "hub.not_reached"))
    chain.close()


@pytest.mark.parametrize(
    "data",
    [
        '{"acked": 0}',
        '{"acked": 0, "left": true}',
        '{"acked": 0, "want": {"from_seq": 0}}',
        '{"acked": 1000000, "commands": [{"id": "c", "kind": "decided", "subject": "s", "body": {}}]}',
    ],
)
async def test_a_hub_that_takes_nothing_is_asked_once_a_second(tmp_path: Path, data: str) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    hub = OddHub(data)
    async with linked_to(hub, chain["kumasi"]):
        await until(lambda: len(hub.requests) > 1)
        await asyncio.sleep(0.5)
        assert len(hub.requests) <= 3
    chain.close()


async def test_a_command_that_trips_a_fault_is_answered_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object, **_named: object) -> None:
        raise Refusal(ErrorCode.NOT_A_BRANCH)

    def fail(*_given: object, **_named: object) -> None:
        raise AssertionError("not thought of")

    chain = await Chain.make(tmp_path, "kumasi")
    outcomes = dict[str, Any]()
    for kind, fault, fake in (
        ("claim", "payments.get", refuse),
        ("release", "payments.get", fail),
        ("decided", "journal.add", fail),
        ("send_sms", "texts.queue_notice", fail),
    ):
        command = {"id": kind, "kind": kind, "subject": "s", "body": {"number": "0241234567"}}
        hub = OddHub(json.dumps({"acked": 1_000_000, "commands": [command]}))
        with monkeypatch.context() as patched:
            patched.setattr(f"daemon.flows.branches.outbound.{fault}", fake)
            async with linked_to(hub, chain["kumasi"]) as log:
                await until(hub.is_asked_again)
                outcomes |= hub.requests[1]["outcomes"]
                told = "kind=claim" if kind == "claim" else f"a command {kind}"
                assert told in log.getvalue()
    fault_of_ours = {"done": False, "why": "AssertionError: not thought of"}
    assert outcomes.pop("claim")["why"] == "NOT_A_BRANCH"
    assert outcomes == dict.fromkeys(("release", "decided", "send_sms"), fault_of_ours)
    chain.close()


async def test_a_branch_that_left_by_force_before_the_hubs_last_answer_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    branch, real = chain["kumasi"], outbound.take_answer
    again, taken = False, asyncio.Event()

    async def leave_first(*given: Any) -> bool:
        more = await real(*given)
        await join.leave(branch.shop.env, OWNER, force=True)
        if again:
            await branch.join("kumasi")
        taken.set()
        return more

    monkeypatch.setattr(outbound, "take_answer", leave_first)
    async with linked_to(OddHub('{"acked": 1000000, "left": true}'), branch):
        await taken.wait()
        await asyncio.sleep(0.05)
    taken.clear()
    again = True
    await branch.join("kumasi")
    async with linked_to(OddHub('{"acked": 1000000, "left": true}'), branch):
        await taken.wait()
        await asyncio.sleep(0.05)
    assert branch.shop.env.place.role is wire.ShopRole.BRANCH
    chain.close()


async def test_the_watch_over_the_loop_waits_as_long_as_a_request_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = list[float]()

    async def hang(_self: HubClient, _path: str, _body: bytes, **named: float) -> dict[str, Any]:
        limits.append(named["whole_s"])
        await asyncio.Event().wait()
        return {}

    monkeypatch.setattr(HubClient, "call", hang)
    chain = await Chain.make(tmp_path, "kumasi")
    env = chain["kumasi"].shop.env
    async with running(chain["kumasi"].shop, tmp_path):
        await until(lambda: len(limits) == 1)
        assert env.heartbeats.overdue(env.clock.monotonic() + limits[0]) == {}
        assert "hub" in env.heartbeats.overdue(env.clock.monotonic() + limits[0] + 60)
    chain.close()


async def test_the_log_names_the_wait_that_the_hub_asks_for(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    hub = OddHub("{}", head="503 Busy\r\nRetry-After: 99999")
    async with linked_to(hub, chain["kumasi"]) as log:
        await until(logged(log, "retry_s=3600.0"))
    chain.close()


async def test_a_backlog_passes_a_line_that_is_too_narrow_for_a_large_request(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    shop = chain["kumasi"].shop
    hub = NarrowHub(most=24_000)
    server = await asyncio.start_server(hub.answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rng = random.Random(seed())

    def job(tx: Tx) -> None:
        tx.run("UPDATE hub_link SET url = :url", {"url": f"http://127.0.0.1:{port}"})
        add_modems(tx, [rng.randbytes(200).hex() for _ in range(250)], shop.clock.now_us())

    await shop.env.store.write(job)
    last = (await shop.env.store.read(feed.bounds))[1]
    async with running(shop, tmp_path):
        await until(lambda: hub.acked >= last)
        assert hub.refused > 0
    server.close()
    chain.close()


async def test_a_payment_that_the_hub_decides_does_not_wait_for_the_end_of_earlier_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_link, "RETRY_S", (600.0,))
    chain = await Chain.make(tmp_path, "kumasi")
    shop, log = chain["kumasi"].shop, io.StringIO()
    hub = NarrowHub(most=1_000_000)
    server = await asyncio.start_server(hub.answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def change(topic: str, **link: object) -> None:
        def job(tx: Tx) -> None:
            for column, value in link.items():
                tx.run(f"UPDATE hub_link SET {column} = :new", {"new": value})
            journal.add(tx, "password.changed", shop.clock.now_us())
            tx.wake(topic)

        await shop.env.store.write(job)

    await change(feed.TOPIC, url="http://127.0.0.1:1")
    async with running(shop, tmp_path, log):
        await until(logged(log, "hub.not_reached"))
        await change(journal.TOPIC, url=f"http://127.0.0.1:{port}")
        await asyncio.sleep(0.5)
        assert hub.acked == 0  # an ordinary change waits
        await change(feed.TOPIC)
        last = (await shop.env.store.read(feed.bounds))[1]
        await until(lambda: hub.acked >= last)
        assert log.getvalue().count("hub.not_reached") == 1
    server.close()
    chain.close()


async def test_the_pauses_are_short_for_an_hour(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    shop, log = chain["kumasi"].shop, io.StringIO()
    await shop.env.store.write(lambda tx: tx.run("UPDATE hub_link SET url = 'http://127.0.0.1:1'"))

    def pauses() -> list[float]:
        return [float(one) for one in re.findall(r"retry_s=([0-9.]+)", log.getvalue())]

    async with running(shop, tmp_path, log):
        for count in range(1, 9):
            await until(lambda count=count: len(pauses()) >= count)  # type: ignore[misc]
            await shop.env.store.write(lambda tx: tx.wake(feed.TOPIC))
        assert 5.0 < max(pauses()) <= 20.0
        shop.clock.advance(hub_link.LONG_S + 1)
        seen = len(pauses())
        await shop.env.store.write(lambda tx: tx.wake(feed.TOPIC))
        await until(lambda: len(pauses()) > seen)
        assert max(pauses()) >= 150.0
    chain.close()


async def test_a_hub_that_cannot_write_at_its_start_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    branch, store = chain["kumasi"], chain.hub.env.store
    await branch.pay("food")
    await branch.send(*({**one, "kind": f"{one['kind']}_of_99"} for one in await branch.facts()))
    await store.write(lambda tx: tx.run("UPDATE branch_facts SET kind = REPLACE(kind, '_of_99', '')"))
    refused, turns = list[object](), list[float]()

    async def refuse(job: object) -> None:
        refused.append(job)
        raise Unavailable("the disk is full")

    async def turn(_self: HubLinkLoop) -> float:
        turns.append(0.0)
        return 600.0

    monkeypatch.setattr(store, "write", refuse)
    monkeypatch.setattr(HubLinkLoop, "_turn", turn)
    async with running(chain.hub, tmp_path) as task:
        await until(lambda: len(turns) == 1 or task.done())
        assert len(refused) == 1
        assert not task.done()
    monkeypatch.undo()
    chain.close()
