"""A fault by a bug in one loop of the daemon: the loop is started again, told and counted, and ends no other one.

The daemon runs in this process, with every loop that it has. One of them raises, once and then at each try.
"""

import asyncio
import contextlib
import io
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from daemon import app, wire
from daemon.api.http import listeners
from daemon.api.http.listeners import Listeners
from daemon.app import Daemon, RunOptions
from daemon.core.inputs import Source
from daemon.core.model import Event
from daemon.core.upkeep.faults import Faults, fault_json
from daemon.core.upkeep.notice_rules import notice_for
from daemon.env import Env
from daemon.flows.lines import receiving as receiving_flow
from daemon.flows.payments import review
from daemon.flows.payments import texts as texts_flow
from daemon.flows.upkeep import machine
from daemon.flows.upkeep import notices as notices_flow
from daemon.loops import (
    connectivity,
    deliveries,
    every_minute,
    held_messages,
    keep_running,
    link,
    message_journal,
    notices,
    texts,
    watchdog,
    watched_files,
)
from daemon.loops import faults as fault_loop
from daemon.loops import machine as machine_loops
from daemon.loops import receiving as receiving_loops
from daemon.loops.connectivity import Connectivity
from daemon.loops.lines import modems, ports
from daemon.loops.sources import hilink, post
from daemon.runtime.config_file import parse_config
from daemon.runtime.log import Log
from daemon.runtime.message_journal import MessageJournal
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.runtime.power import InhibitRefused, SleepInhibitor
from daemon.runtime.system import SystemClock
from daemon.store.engine import Store
from tests.fakes.shop import FakeShop
from tests.fakes.waiting import until

PORT = "/dev/momo-test-modem"
SETTINGS = """
[[sources]]
kind = "modem"
[[sources]]
name = "stick"
kind = "hilink"
url = "http://127.0.0.1:9"
poll_s = 0.5
[[sources]]
name = "phone"
kind = "post"
networks = ["mtn"]
[power]
keep_awake = "always"
[backup]
messages_to = "{second}"
[http]
tls_cert = "{home}/server.pem"
"""
LOOPS: dict[str, tuple[Any, str]] = {
    "deliver": (deliveries.DeliverLoop, "_turn"),
    "message journal": (MessageJournal, "copy_to_second"),
    "sweep": (every_minute, "_look_at_machine"),
    "held": (held_messages, "assemble_parts"),
    "hub": (link.HubLinkLoop, "_turn"),
    "notices": (notices_flow, "gather"),
    "sources": (app, "recover_messages"),
    "receiving": (receiving_flow, "watch"),
    "ports": (ports.SleepWatch, "slept_s"),
    f"modem {PORT}": (modems.PortLoop, "_serve"),
    "source stick": (hilink.HiLinkSource, "_cycle"),
    "source phone": (post.PostSource, "_look"),
    "watchdog": (watchdog.Watchdog, "look"),
    "faults": (fault_loop.FaultLoop, "look"),
    "self check": (machine, "watch_database"),
    "awake": (machine_loops.KeepAwakeLoop, "look"),
    "signals": (receiving_loops, "note_once"),
    "certificate": (machine_loops.CertificateLoop, "look"),
    "files": (watched_files.WatchedFiles, "_look"),
}
"""Each loop, and what it calls in each of its turns."""
HALVES = ([*LOOPS][::2], [*LOOPS][1::2])
PAUSES = (
    (every_minute, "EXPIRE_EVERY_S"),
    (held_messages, "EVERY_S"),
    (message_journal, "COPY_EVERY_S"),
    (notices, "DIGEST_EVERY_S"),
    (notices, "SETTLE_S"),
    (receiving_loops, "LOOK_S"),
    (ports, "SCAN_S"),
    (post, "LOOK_S"),
    (watchdog, "CHECK_S"),
    (fault_loop, "LOOK_S"),
    (fault_loop, "CHECK_EVERY_S"),
    (machine_loops, "CHECK_S"),
    (receiving_loops, "EVERY_S"),
    (machine_loops, "CERTIFICATE_LOOK_S"),
    (watched_files, "LOOK_S"),
    (deliveries, "REREAD_S"),
    (link, "REST_S"),
)
SHORT_S = 0.05


class Bug(Exception):
    """An error that no loop expects."""


class Turns(Faults):
    """Counts the turns of each loop that were done."""

    def __init__(self) -> None:
        super().__init__()
        self.done = Counter[str]()

    def loop_works(self, loop: str) -> bool:
        self.done[loop] += 1
        return super().loop_works(loop)


class Running:
    """A daemon with all its loops."""

    def __init__(
        self, env: Env, turns: Turns, log: io.StringIO, task: "asyncio.Task[int]", stopping: asyncio.Event
    ) -> None:
        self.env = env
        self.stopping = stopping
        self.turns = turns
        self.log = log
        self.task = task

    def problems(self) -> list[str]:
        return [str(fault_json(fault)["text"]) for fault in self.env.faults.all()]

    def has_failed_often(self, loop: str) -> bool:
        """Return whether the problems tell that it failed five times or more."""
        return any(re.search(rf"{re.escape(loop)}.* ([5-9]|\d\d+) times", one) for one in self.problems())

    async def all_turn(self, *but: str) -> None:
        """Wait until every loop has done two more turns."""
        before = self.turns.done.copy()
        loops = set(LOOPS).difference(but, {"sources"})  # which reads the journal once
        await until(lambda: self.task.done() or all(self.turns.done[one] >= before[one] + 2 for one in loops))
        assert not self.task.done(), self.task


@pytest.fixture
async def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable[[], Awaitable[Running]]]:
    async with contextlib.AsyncExitStack() as stack:
        yield lambda: _start(tmp_path, monkeypatch, stack)


async def _start(folder: Path, monkeypatch: pytest.MonkeyPatch, stack: contextlib.AsyncExitStack) -> Running:
    for module, name in PAUSES:
        monkeypatch.setattr(module, name, SHORT_S)
    monkeypatch.setattr(hilink, "BACK_OFF_S", (SHORT_S,))
    monkeypatch.setattr(modems, "BACK_OFF_S", (SHORT_S,))
    monkeypatch.setattr(keep_running, "BACK_OFF_S", (SHORT_S,))
    monkeypatch.setattr(SleepInhibitor, "take", _refuse_to_inhibit)
    (folder / "second").mkdir()
    (folder / "server.pem").touch()
    config = parse_config(SETTINGS.format(home=folder, second=folder / "second"))
    shop = await FakeShop.make(folder, config, line=False)
    await shop.env.store.write(
        lambda tx: tx.run(
            "INSERT INTO shop (id, name, timezone, account_key, role, created_at) "
            "VALUES (1, 'Shop', 'Africa/Accra', 'ab', 'alone', 1)"
        )
    )
    shop.env.store.close()
    turns, log = Turns(), io.StringIO()
    env = replace(
        shop.env,
        store=Store(shop.env.store.path),
        clock=SystemClock(),
        faults=turns,
        own_wordings=OwnWordings(Path(folder) / FOLDER),
    )
    places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
    bound = Listeners(socket_path=places.socket, http=None)
    await bound.bind()
    daemon = Daemon(env, RunOptions(modems=(PORT,)), places, bound, Log(log))
    task = asyncio.create_task(daemon.run())

    async def stop() -> None:
        daemon._stopping.set()
        await asyncio.wait([task])
        env.store.close()

    stack.push_async_callback(stop)
    return Running(env, turns, log, task, daemon._stopping)


async def _refuse_to_inhibit(_hold: object) -> tuple[Any, str]:
    raise InhibitRefused("not here")


def let_fail(monkeypatch: pytest.MonkeyPatch, loop: str, times: float) -> Callable[[], None]:
    """Let a loop raise so many times; return what ends it."""
    owner, name = LOOPS[loop]
    real = getattr(owner, name)
    left = [times]

    def fail(*arguments: Any, **named: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise Bug("of 'Ama Mensah'")
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, fail)

    def end() -> None:
        left[0] = 0

    return end


@pytest.mark.parametrize("failing", HALVES)
async def test_loops_that_fail_are_started_again_and_end_no_other_one(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch, failing: Sequence[str]
) -> None:
    if "sources" in failing:  # it fails while the journal is read, at the start
        let_fail(monkeypatch, "sources", 1)
    ran = await running()
    await ran.all_turn()
    for loop in failing:
        if loop != "sources":
            let_fail(monkeypatch, loop, 1)
    await until(lambda: ran.log.getvalue().count("daemon.works_again") == len(failing))
    await ran.all_turn()
    assert not any(loop in one for one in ran.problems() for loop in failing)
    assert ran.log.getvalue().count("daemon.fault") == len(failing)
    assert "Ama" not in ran.log.getvalue()
    told = await ran.env.store.read(lambda reader: reader.column("SELECT data FROM events WHERE type = 'loop.failed'"))
    assert [sum(f'"{loop}"' in one for one in told) for loop in failing] == [1] * len(failing), told


@pytest.mark.parametrize("failing", HALVES)
async def test_loops_that_always_fail_are_named_counted_and_work_when_the_cause_is_gone(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch, failing: Sequence[str]
) -> None:
    failing = [loop for loop in failing if loop != "sources"]
    ends = [let_fail(monkeypatch, loop, float("inf")) for loop in failing]
    ran = await running()
    await until(lambda: all(ran.has_failed_often(loop) for loop in failing))
    await ran.all_turn(*failing)
    for end in ends:
        end()
    await ran.all_turn()
    assert not any(loop in one for one in ran.problems() for loop in failing)


async def test_loop_that_fails_is_started_again_although_no_log_can_be_written(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = await running()
    await ran.all_turn()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as without_log:
        without_log.setattr(Log, "error", full)
        end = let_fail(monkeypatch, "receiving", float("inf"))
        await ran.all_turn("receiving")
    end()
    await ran.all_turn()


async def test_api_that_fails_is_answered_again_at_its_address_and_ends_no_loop(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "BIND_AGAIN_S", SHORT_S)
    real, left = Listeners._answer, [7]

    async def fail(*arguments: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise Bug
        return await real(*arguments)

    monkeypatch.setattr(Listeners, "_answer", fail)
    ran = await running()
    await until(lambda: any("listeners" in one and " 5 times" in one for one in ran.problems()))
    await ran.all_turn()
    await until(lambda: not any("listeners" in one for one in ran.problems()))
    transport = httpx.AsyncHTTPTransport(uds=f"{ran.env.home}/run/momo.sock")
    async with httpx.AsyncClient(transport=transport) as client:
        assert (await client.get("http://localhost/healthz")).status_code == 200
    assert "daemon.works_again" in ran.log.getvalue()


async def test_sending_of_sms_that_fails_is_named_counted_and_works_when_the_cause_is_gone(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = texts_flow.lease, [float("inf")]

    async def fail(*arguments: Any) -> Any:
        if left[0] > 0:
            raise Bug("of 'Ama Mensah'")
        return await real(*arguments)

    ran = await running()
    monkeypatch.setattr(texts_flow, "lease", fail)
    monkeypatch.setattr(texts, "BACK_OFF_S", (SHORT_S,))
    monkeypatch.setattr(texts, "REREAD_S", SHORT_S)
    loop = texts.TextLoop(ran.env, Log(ran.log), lambda: Source("8923301", "d", 0), f"texts {PORT}")
    sending = asyncio.create_task(loop.run(lambda _outgoing: False, list))  # nothing is due, so nothing is handed over
    await until(lambda: any(f"texts {PORT}" in one and " 5 times" in one for one in ran.problems()))
    await ran.all_turn()
    left[0] = 0
    await until(lambda: not any(f"texts {PORT}" in one for one in ran.problems()))
    assert "Ama" not in ran.log.getvalue()
    loop.stop()
    await sending


async def test_command_of_a_hub_that_fails_is_set_aside_and_answered_and_the_loops_go_on(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise Bug("of 'Ama Mensah'")

    ran = await running()
    await ran.all_turn()
    monkeypatch.setattr(review, "reject", fail)
    commands = link.HubCommands(ran.env, wire.places({"MOMO_HOME": str(tmp_path)}, 0, "/tmp"), Log(ran.log))
    command = {"id": "c1", "kind": "decide_review", "subject": "s", "body": {"action": "reject"}}
    for _ in range(2):
        assert await commands.carry_out(command) == {"done": False, "why": "Bug: of '***'"}
    [problem] = ran.problems()
    assert "(hub) fails on a command decide_review" in problem
    assert "Ama" not in ran.log.getvalue()
    await ran.all_turn()


async def test_notice_that_fails_is_set_aside_and_the_others_are_sent(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = notice_for

    def fail(event: Event, facts: dict[str, Any]) -> Any:
        if event.type == "disk.low":
            raise Bug
        return real(event, facts)

    ran = await running()
    await ran.all_turn()
    monkeypatch.setattr(notices_flow, "notice_for", fail)
    for kind, data in (("disk.low", {}), ("settings.broken", {"why": "it is odd"})):
        await notices_flow.record_loop(ran.env, kind, data)
    await until(lambda: any("the notice about disk.low" in one for one in ran.problems()))
    await ran.all_turn()
    told = await ran.env.store.read(lambda reader: reader.all("SELECT text FROM notices"))
    assert any("it is odd" in row[0] for row in told)


async def test_watch_of_the_connection_that_fails_is_told_and_works_again(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = Connectivity._probe, [2]

    async def fail(*arguments: Any) -> None:
        if left[0] > 0:
            left[0] -= 1
            raise Bug
        await real(*arguments)

    monkeypatch.setattr(connectivity, "CHECK_PAUSES_S", (SHORT_S,))
    monkeypatch.setattr(Connectivity, "_probe", fail)
    monkeypatch.setattr(notices_flow, "is_outage_open", _true)
    ran = await running()
    await until(lambda: any("outages" in one and " 2 times" in one for one in ran.problems()))
    await until(lambda: not any("outages" in one for one in ran.problems()))
    await ran.all_turn()


async def _true(*_: object) -> bool:
    return True


async def test_message_journal_that_always_fails_is_set_aside_and_the_phones_are_read(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    let_fail(monkeypatch, "sources", float("inf"))
    ran = await running()
    await ran.all_turn()
    [problem] = ran.problems()
    assert "has set it aside" in problem
    assert "message journal" in problem


async def test_end_of_the_writing_thread_ends_the_daemon(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_loop, "THREAD_LOOK_S", SHORT_S)
    monkeypatch.setattr(threading, "excepthook", lambda _died: None)
    ran = await running()
    await ran.all_turn()

    def die(*_: Any) -> None:
        raise Bug

    monkeypatch.setattr(ran.env.store, "_commit", die)
    with pytest.raises(RuntimeError, match="thread that writes"):
        await asyncio.wait_for(asyncio.shield(ran.task), 30)


@pytest.mark.parametrize("loop", ["self check", "files", "watchdog"])
async def test_loop_that_fails_on_a_damaged_database_does_not_end_the_daemon(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch, loop: str
) -> None:
    async def find_damage(store: Store) -> bool:
        return True

    ran = await running()
    await ran.all_turn()
    monkeypatch.setattr(keep_running, "find_damage", find_damage)
    let_fail(monkeypatch, loop, 2)
    await ran.all_turn()


async def test_stop_is_no_fault_of_a_loop_and_does_not_check_the_whole_file(
    running: Callable[[], Awaitable[Running]], monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[Store] = []

    async def check(store: Store) -> bool:
        checks.append(store)
        return False

    ran = await running()
    await ran.all_turn()
    monkeypatch.setattr(keep_running, "find_damage", check)
    ran.stopping.set()
    assert await ran.task == 0
    assert checks == []
    assert ran.problems() == []
    assert "daemon.fault" not in ran.log.getvalue()


def test_loop_that_fails_is_tried_again_within_half_a_minute() -> None:
    assert keep_running.BACK_OFF_S[-1] < 30
