"""The real daemon with a stand-in for systemd: ready message, watchdog pings, silence when a worker hangs, and stacks
on SIGABRT.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn

pytestmark = pytest.mark.slow

STUCK = """
import asyncio, sys, time
from daemon.core.upkeep import self_check
from daemon.loops import deliveries, every_minute, notices, watched_files
from daemon.loops.lines import modems, ports

async def hang(*_, **__):
    await asyncio.Event().wait()

self_check.HEARTBEAT_TIMEOUT_S, every_minute.BACKLOG_S = 0.5, 0.0
worker = sys.argv[1]
match worker:
    case "deliver": deliveries.DeliverLoop._turn = hang
    case "sweep": every_minute.cancel_expire.expire = hang
    case "notices": notices.notices.gather = hang
    case "files": watched_files.WatchedFiles._look = hang
    case "modem": modems.PortLoop._ingest = hang
    case "all of them": ports.SleepWatch.slept_s = lambda _: (print("stuck", file=sys.stderr, flush=True), time.sleep(3600))
from daemon.__main__ import main
sys.exit(main(sys.argv[sys.argv.index("daemon") + 1:]))
"""
"""The daemon, with one of its workers stuck for ever; it counts as hung after half a second."""


class Systemd:
    """The receiving end of systemd's notification socket."""

    def __init__(self, address: Path) -> None:
        self.address = address
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(address))
        self._socket.setblocking(False)

    def hears(self, wanted: str) -> bool:
        try:
            while True:
                self.heard.extend(self._socket.recv(4096).decode().split("\n"))
        except BlockingIOError:
            return wanted in self.heard

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    made = Systemd(tmp_path / "notify")
    yield made
    made.close()


def supervised(shop: RealShop, systemd: Systemd) -> None:
    shop.environ |= {"NOTIFY_SOCKET": str(systemd.address), "WATCHDOG_USEC": "1000000"}


def test_systemd_hears_ready_pings_and_the_end_and_abort_leaves_the_stacks(tmp_path: Path, systemd: Systemd) -> None:
    with RealShop(tmp_path / "shop") as shop:
        supervised(shop, systemd)
        shop.start(http="off", arguments=["--supervised"])
        wait_until(lambda: systemd.hears("READY=1"), 10, "ready")
        systemd.heard.clear()
        wait_until(lambda: systemd.hears("WATCHDOG=1"), 10, "a ping after ready")
        shop.stop()
        assert systemd.hears("STOPPING=1")
        shop.start(http="off", arguments=["--supervised"])
        process = shop.process
        assert process is not None
        os.kill(shop.pid, signal.SIGABRT)
        assert process.wait(10) == -signal.SIGABRT
        assert "Fatal Python error: Aborted" in shop.said_now()


@pytest.mark.parametrize("worker", ["deliver", "sweep", "notices", "files", "modem"])
def test_a_worker_that_hangs_stops_the_pings_is_named_and_a_new_start_serves_again(
    worker: str, tmp_path: Path, systemd: Systemd
) -> None:
    tty = tmp_path / "tty"
    name = f"modem {tty}" if worker == "modem" else worker
    with PhoneProcess(tty) as phone, RealShop(tmp_path / "shop", phone=tty) as shop:
        supervised(shop, systemd)
        shop.spawn(prefix=[sys.executable, "-c", STUCK, worker], arguments=["--supervised"])
        shop.wait_ready()
        paid = mtn(100, "KOFI ANTWI BADU", 15_100, "1", "93214500001", sent_at=utc_now())
        phone.deliver(paid.pdus)
        wait_until(lambda: systemd.hears(f"STATUS=hangs: {name}"), 20, "the hang")
        systemd.heard.clear()
        hangs = f"STATUS=hangs: {name}"
        wait_until(lambda: systemd.hears(hangs) and systemd.heard.count(hangs) > 3, 20, "some looks")
        assert "WATCHDOG=1" not in systemd.heard
        assert shop.api("GET", "/healthz")[0] == 503
        hung = [line for line in shop.said_now().splitlines() if "daemon.hung" in line]
        assert any(name in line for line in hung)
        shop.kill()
        shop.start(arguments=["--supervised"])
        systemd.hears("")
        systemd.heard.clear()
        wait_until(lambda: systemd.hears("WATCHDOG=1"), 10, "a ping")
        assert shop.api("GET", "/healthz")[0] == 200
        wait_until(lambda: shop.rows("SELECT COUNT(*) FROM payments") == [(1,)], 20, "it is read")


def test_a_daemon_that_does_nothing_at_all_any_more_is_silent(tmp_path: Path, systemd: Systemd) -> None:
    with RealShop(tmp_path / "shop") as shop:
        supervised(shop, systemd)
        shop.spawn(prefix=[sys.executable, "-c", STUCK, "all of them"], arguments=["--supervised"])
        wait_until(lambda: "stuck\n" in shop.said_now(), 20, "stuck")
        systemd.hears("")
        systemd.heard.clear()
        pause(2)
        assert not systemd.hears("WATCHDOG=1")
