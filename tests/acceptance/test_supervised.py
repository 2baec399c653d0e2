"""The real daemon under a stand-in for systemd: it says when it is ready, pings, and leaves its stacks when it is ended."""

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.fakes.real_shop import RealShop, wait_until

pytestmark = pytest.mark.slow


def test_systemd_hears_ready_pings_and_the_end_and_abort_leaves_the_stacks(tmp_path: Path) -> None:
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)

        def hears(wanted: str) -> bool:
            try:
                while True:
                    heard.extend(systemd.recv(4096).decode().split("\n"))
            except BlockingIOError:
                return wanted in heard

        with RealShop(tmp_path / "shop") as shop:
            shop.environ |= {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1000000"}
            shop.start(http="off", arguments=["--supervised"])
            wait_until(lambda: hears("READY=1"), 10, "ready")
            heard.clear()
            wait_until(lambda: hears("WATCHDOG=1"), 10, "a ping after ready")
            shop.stop()
            assert hears("STOPPING=1")
            shop.start(http="off", arguments=["--supervised"])
            process = shop.process
            assert process is not None
            os.kill(shop.pid, signal.SIGABRT)
            assert process.wait(10) == -signal.SIGABRT
            assert "Fatal Python error: Aborted" in shop.said_now()
