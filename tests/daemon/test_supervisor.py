"""Notifications to systemd over a real datagram socket; a worker that hangs stops the watchdog ping."""

import asyncio
import io
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from daemon.core.upkeep.self_check import HEARTBEAT_TIMEOUT_S, Heartbeats
from daemon.loops.watchdog import STORE, Supervisor, Watchdog, remove_from_environment
from daemon.runtime.log import Log
from daemon.store.engine import Tx
from tests.fakes.shop import FakeShop


class Listening:
    """The supervisor's end."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._door.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self._door.setblocking(False)

    def heard(self) -> list[str]:
        said: list[str] = []
        while True:
            try:
                said += self._door.recv(4096).decode().split("\n")
            except BlockingIOError:
                return said

    def close(self) -> None:
        self._door.close()


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Listening]:
    made = Listening(str(tmp_path / "notify"))
    yield made
    made.close()


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[FakeShop]:
    made = await FakeShop.make(tmp_path)
    yield made
    made.close()


def watchdog(shop: FakeShop, systemd: Listening, log: io.StringIO) -> Watchdog:
    watcher = Supervisor(systemd.address, 30.0)
    return Watchdog(shop.env, watcher, tuple, Log(log, as_json=True))


@pytest.mark.parametrize("abstract", [False, True])
def test_lines_arrive_at_the_socket_that_the_environment_names(abstract: bool, tmp_path: Path) -> None:
    address = f"@momo-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    systemd = Listening(address)
    watcher = Supervisor.of({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "30000000"}, 7)
    watcher.notify(READY=1, STATUS="serving")
    assert systemd.heard() == ["READY=1", "STATUS=serving"]
    assert watcher.watchdog_s == 30.0
    systemd.close()


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "30000000"},
        {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "x"},
        {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"},
    ],
)
def test_nobody_counts_unless_the_environment_says_so_for_us(environ: dict[str, str]) -> None:
    watcher = Supervisor.of(environ, 7)
    assert watcher.watchdog_s is None
    watcher.notify(WATCHDOG=1)  # without a listener, the call has no effect


def test_programs_that_we_start_are_not_the_service() -> None:
    environ = {"NOTIFY_SOCKET": "/a", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "2", "HOME": "/h"}
    remove_from_environment(environ)
    assert environ == {"HOME": "/h"}


def test_worker_is_late_only_after_its_rest_and_the_time_for_one_step() -> None:
    beats = Heartbeats()
    beats.record("sweep", 100.0, rest_s=60.0)
    assert beats.overdue(160.0 + HEARTBEAT_TIMEOUT_S) == {}
    assert beats.overdue(161.0 + HEARTBEAT_TIMEOUT_S) == {"sweep": 1.0}
    beats.rest("sweep")
    assert beats.overdue(1e9) == {}


async def test_ping_stops_while_a_worker_hangs_and_names_it(shop: FakeShop, systemd: Listening) -> None:
    log = io.StringIO()
    dog = watchdog(shop, systemd, log)
    shop.env.heartbeat("deliver")
    dog.look()
    assert systemd.heard() == ["WATCHDOG=1", "STATUS=serving, no phone"]
    await asyncio.sleep(0)
    shop.env.heartbeats.rest(STORE)
    shop.clock.advance(HEARTBEAT_TIMEOUT_S + 5)
    dog.look()
    dog.look()
    assert set(systemd.heard()) == {"STATUS=hangs: deliver"}
    assert log.getvalue().count('"worker": "deliver"') == 1
    shop.env.heartbeat("deliver")
    dog.look()
    assert "WATCHDOG=1" in systemd.heard()
    assert "daemon.recovered" in log.getvalue()


async def test_writer_that_hangs_is_named_while_nobody_writes(shop: FakeShop, systemd: Listening) -> None:
    stuck, log = threading.Event(), io.StringIO()

    def hang(_: Tx) -> None:
        stuck.wait(30)

    hanging = asyncio.create_task(shop.env.store.write(hang))
    await asyncio.sleep(0)
    dog = watchdog(shop, systemd, log)
    dog.look()
    await asyncio.sleep(0)
    systemd.heard()
    shop.clock.advance(HEARTBEAT_TIMEOUT_S + 5)
    dog.look()
    assert systemd.heard() == [f"STATUS=hangs: {STORE}"]
    stuck.set()
    await hanging
    assert dog._asking is not None
    await dog._asking
    dog.look()
    assert "WATCHDOG=1" in systemd.heard()
