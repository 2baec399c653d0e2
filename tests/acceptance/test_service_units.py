"""The unit of the user's service, run with the real daemon: restarts after a kill and after a hang, and ends without one.

Real systemd runs it where `systemctl --user` works, in the last test. Elsewhere (containers, CI) only the stand-in does: it
reads the same file, and a drop-in shortens its times.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from momo_cli.service import manager
from tests.fakes.real_shop import ROOT, RealShop, pause, wait_until
from tests.fakes.service_manager import ServiceManager, seconds

pytestmark = pytest.mark.slow

FAST = {"RestartSec": "300ms", "WatchdogSec": "2s"}
HANGS = """
import sys, time
from daemon.loops.lines import ports
if not __import__("os").path.exists(sys.argv[1]):
    open(sys.argv[1], "w").close()
    ports.SleepWatch.slept_s = lambda _: time.sleep(3600)
from daemon.__main__ import main
sys.exit(main(sys.argv[2:]))
"""
"""The daemon with an event loop that blocks for ever in the first run."""
SLOW = """
import os, socket, sys, time

def tell(text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(text.encode(), os.environ["NOTIFY_SOCKET"])

for _ in range(int(sys.argv[1])):
    tell("EXTEND_TIMEOUT_USEC=1500000")
    time.sleep(0.5)
if int(sys.argv[1]) == 0:
    time.sleep(3600)
tell("READY=1")
time.sleep(3600)
"""
"""A service that needs longer to start than its limit."""


def unit_of(shop: RealShop) -> str:
    environment = {"MOMO_HOME": str(shop.home)}
    made = manager.user_service(manager.UnitValues(str(shop.home), environment), "/x")
    # Only these flags are the test's: no port and no modem of the machine.
    return made.text.replace("run --supervised", f"run --supervised --http off --modem {shop.home}/no-phone")


Serve = Callable[..., ServiceManager]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    with RealShop(tmp_path / "shop") as made:
        yield made


@contextmanager
def served(shop: RealShop, tmp_path: Path, unit: str = "", **dropin: str) -> Iterator[ServiceManager]:
    folder = tmp_path / "manager"
    folder.mkdir(exist_ok=True)
    with ServiceManager(
        unit or unit_of(shop), folder, dropin={**FAST, **dropin}, environ={"PYTHONPATH": str(ROOT)}
    ) as manager:
        manager.start()
        yield manager
    (folder / "notify").unlink()


def is_active(manager: ServiceManager, starts: int = 1) -> None:
    def look() -> bool:
        assert manager.state != "failed", manager.said()
        return manager.state == "active" and manager.starts >= starts

    wait_until(look, 30, f"active after start {starts}: {manager.said()}")


def test_a_killed_daemon_is_started_again_and_a_stopped_one_is_not(shop: RealShop, tmp_path: Path) -> None:
    with served(shop, tmp_path) as manager:
        is_active(manager)
        os.kill(manager.pid, signal.SIGKILL)
        is_active(manager, starts=2)
        assert (manager.exits, manager.result) == ([-signal.SIGKILL], "signal")
        assert shop.api("GET", "/healthz")[0] == 200
        wait_until(lambda: "WATCHDOG=1" in manager.heard, 10, "a ping")
        os.kill(manager.pid, signal.SIGTERM)
        wait_until(lambda: manager.state == "inactive", 30, "its end")
        assert (manager.exits[-1], manager.starts) == (0, 2)
        assert "STOPPING=1" in manager.heard


def test_a_daemon_that_hangs_is_aborted_with_its_stacks_and_started_again(shop: RealShop, tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text(HANGS)
    unit = re.sub(
        "^ExecStart=.* run ", f"ExecStart={sys.executable} {program} {tmp_path}/hung run ",
        unit_of(shop), flags=re.MULTILINE,
    )  # fmt: skip
    with served(shop, tmp_path, unit) as manager:
        wait_until(lambda: manager.exits, 30, "the abort")
        assert (manager.exits, manager.result) == ([-signal.SIGABRT], "watchdog")
        is_active(manager, starts=2)
        assert "Fatal Python error: Aborted" in manager.said()
        assert shop.api("GET", "/healthz")[0] == 200


@pytest.mark.parametrize(("settings", "code"), [("[http]\nbnid = 1\n", 78), (None, 78)], ids=["settings", "not set up"])
def test_what_only_a_person_can_end_is_not_restarted(
    shop: RealShop, tmp_path: Path, settings: str | None, code: int
) -> None:
    if settings is None:
        Path(shop.places.database).unlink()
    else:
        Path(shop.places.config).write_text(settings)
    with served(shop, tmp_path) as manager:
        wait_until(lambda: manager.state == "failed", 30, "its end")
        assert (manager.exits, manager.starts) == ([code], 1), manager.said()


def test_settings_that_others_may_write_end_the_service_with_the_command_in_its_journal(
    shop: RealShop, tmp_path: Path
) -> None:
    Path(shop.places.config).chmod(0o666)
    with served(shop, tmp_path) as manager:
        wait_until(lambda: manager.state == "failed", 30, "its end")
        assert manager.exits == [78]
        assert f"chmod go-w {shop.places.config}" in manager.said()


def test_wrong_usage_is_not_restarted(shop: RealShop, tmp_path: Path) -> None:
    unit = unit_of(shop).replace("--supervised", "--supervised --no-such-flag")
    with served(shop, tmp_path, unit) as manager:
        wait_until(lambda: manager.state == "failed", 30, "its end")
        assert manager.exits == [2]


def test_a_shop_that_another_daemon_holds_is_served_when_that_one_has_ended(shop: RealShop, tmp_path: Path) -> None:
    shop.start(http="off", arguments=["--modem", str(shop.home / "no-phone")])
    with served(shop, tmp_path) as manager:
        wait_until(lambda: len(manager.exits) >= 3, 60, "three starts in vain")
        assert set(manager.exits) == {75}
        shop.stop()
        is_active(manager, starts=4)


def test_the_start_limit_of_the_stand_in_is_that_of_systemd(shop: RealShop, tmp_path: Path) -> None:
    failing = "[Service]\nType=notify\nRestart=on-failure\nExecStart=/bin/false\n"
    with served(shop, tmp_path, failing, RestartSec="10ms") as manager:
        wait_until(lambda: manager.state == "failed", 20, "the limit")
        assert (manager.result, manager.starts) == ("start-limit-hit", 5)
    assert "StartLimitIntervalSec=0" in unit_of(shop)


def test_a_start_that_needs_longer_and_says_so_is_waited_for(shop: RealShop, tmp_path: Path) -> None:
    unit = "[Service]\nType=notify\nExecStart={} -c {} {}\n"
    program = tmp_path / "slow.py"
    program.write_text(SLOW)
    for extensions in (4, 0):
        text = unit.format(sys.executable, f"'import runpy; runpy.run_path(\"{program}\")'", extensions)
        with served(shop, tmp_path, text, TimeoutStartSec="1s", WatchdogSec="0") as manager:
            state = "active" if extensions else "failed"
            wait_until(lambda: manager.state == state, 20, state)  # noqa: B023 -- used at once
            assert manager.result == ("success" if extensions else "timeout")


def test_time_spans_are_read_as_systemd_reads_them() -> None:
    spans = {"90": 90, "10min": 600, "1min 30s": 90, "100ms": 0.1, "0": 0}
    assert {text: seconds(text) for text in spans} == spans


def has_systemd() -> bool:
    if shutil.which("systemctl") is None or "XDG_RUNTIME_DIR" not in os.environ:
        return False
    asked = subprocess.run(["systemctl", "--user", "is-system-running"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() in ("running", "degraded")


@pytest.mark.skipif(not has_systemd(), reason="no systemd runs for this user")
def test_real_systemd_starts_it_and_starts_it_again_after_a_kill(shop: RealShop) -> None:
    name = f"momo-test-{os.getpid()}.service"
    file = Path(os.environ["XDG_RUNTIME_DIR"]) / "systemd" / "user" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(unit_of(shop))

    def control(*words: str) -> str:
        done = subprocess.run(["systemctl", "--user", *words], capture_output=True, text=True, timeout=100, check=False)
        return done.stdout.strip()

    def main() -> int:
        return int(control("show", "--property=MainPID", "--value", name) or 0)

    try:
        control("daemon-reload")
        control("start", name)
        assert control("is-active", name) == "active"
        first = main()
        os.kill(first, signal.SIGKILL)
        pause(1)
        wait_until(lambda: control("is-active", name) == "active" and main() not in (0, first), 60, "again")
    finally:
        control("stop", name)
        file.unlink()
        control("daemon-reload")
