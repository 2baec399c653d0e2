"""Keep the machine awake: power supply data of the kernel, and the machine's programs, replaced by scripts."""

import asyncio
import os
import shlex
from pathlib import Path

import pytest

from daemon.core.upkeep.self_check import AwakeState
from daemon.loops.machine import RETRY_S, KeepAwakeLoop
from daemon.runtime.config import Config, Power
from daemon.runtime.log import Log
from daemon.runtime.power import InhibitRefused, SleepInhibitor, on_mains
from tests.fakes.shop import FakeShop

INHIBIT = """#!/bin/sh
echo "$1" >> {log}
case "$1" in {refused}) echo "Failed to inhibit: Access denied" >&2; exit 1 ;; esac
for word; do case "$word" in --*) shift ;; *) break ;; esac; done
"$@"
echo gone >> {log}
"""
"""systemd-inhibit: takes the lock, runs the program behind its flags, and gives the lock back when that ends."""


def supply(folder: Path, name: str, **facts: str) -> None:
    (folder / name).mkdir(parents=True)
    for fact, value in facts.items():
        (folder / name / fact).write_text(f"{value}\n")


@pytest.mark.parametrize(
    ("charger", "battery", "plugged"),
    [
        ({"type": "Mains", "online": "1"}, "Charging", True),
        ({"type": "Mains", "online": "0"}, "Discharging", False),
        ({"type": "USB", "online": "1"}, "Discharging", True),
        ({"type": "Mains", "online": "0"}, "Full", True),
        ({}, "Unknown", True),
    ],
)
def test_a_machine_is_plugged_in_where_a_charger_says_so_or_nothing_is_drained(
    charger: dict[str, str], battery: str, plugged: bool, tmp_path: Path
) -> None:
    supply(tmp_path, "AC", **charger)
    supply(tmp_path, "BAT0", type="Battery", status=battery)
    supply(tmp_path, "mouse", type="Battery", scope="Device", status="Discharging")
    assert on_mains(tmp_path) is plugged


def test_a_machine_without_batteries_is_plugged_in(tmp_path: Path) -> None:
    assert on_mains(tmp_path / "none")
    supply(tmp_path, "mouse", type="Battery", scope="Device", status="Discharging")
    assert on_mains(tmp_path)


class Logind:
    """A `systemd-inhibit` on PATH; `refuses` sets the lock that it refuses."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "systemd-inhibit"
        self._log = folder / "asked"
        self.refuses("nothing")

    def refuses(self, what: str) -> None:
        self._path.write_text(INHIBIT.format(log=shlex.quote(str(self._log)), refused=what))
        self._path.chmod(0o755)

    @property
    def asked(self) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return lines

    async def gone(self) -> bool:
        """Wait until a lock is given back."""
        return "gone" in await written(self._log, "gone")


async def written(path: Path, word: str) -> str:
    """Wait until a script has written a word into a file; returns all that it wrote."""
    async with asyncio.timeout(10):
        while word not in (text := path.read_text() if path.exists() else ""):  # noqa: ASYNC110 -- a file has no event
            await asyncio.sleep(0.01)
    return text


@pytest.fixture
def logind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logind:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return Logind(tmp_path / "bin")


async def test_the_lock_is_held_until_it_is_released(logind: Logind) -> None:
    hold = SleepInhibitor()
    assert await hold.take() == (AwakeState.HELD, "")
    assert [hold.held, *logind.asked] == [True, "--what=idle:sleep"]
    await hold.release()
    assert [hold.held, await logind.gone()] == [False, True]
    await hold.release()


async def test_the_lock_goes_when_the_daemon_does_however_it_ends(logind: Logind) -> None:
    hold = SleepInhibitor()
    await hold.take()
    process = hold._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()  # the kernel closes the pipe of a killed process
    assert await logind.gone()
    await process.wait()
    assert not hold.held


async def test_who_may_not_block_sleep_holds_what_he_may_and_says_why(logind: Logind) -> None:
    logind.refuses("--what=idle:sleep")
    hold = SleepInhibitor()
    kept, why = await hold.take()
    assert (kept, why) == (AwakeState.IDLE_ONLY, "systemd-inhibit: Failed to inhibit: Access denied")
    assert logind.asked == ["--what=idle:sleep", "--what=idle"]
    await hold.release()


async def test_what_is_refused_or_not_there_is_said(logind: Logind, monkeypatch: pytest.MonkeyPatch) -> None:
    logind.refuses("*")
    with pytest.raises(InhibitRefused, match="Access denied"):
        await SleepInhibitor().take()
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InhibitRefused, match="systemd-inhibit cannot be started: No such file"):
        await SleepInhibitor().take()


async def test_the_daemon_holds_while_it_is_plugged_in_and_lets_go_on_battery(logind: Logind, tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, Config(power=Power("plugged")))
    plugged = [True]
    hold = SleepInhibitor()
    loop = KeepAwakeLoop(shop.env, Log(None), hold, lambda: plugged[0])
    await loop.look()
    await loop.look()
    assert logind.asked == ["--what=idle:sleep"]
    assert (shop.env.awake.hold, hold.held) == (AwakeState.HELD, True)
    plugged[0] = False
    await loop.look()
    assert (shop.env.awake.hold, hold.held) == (AwakeState.ON_BATTERY, False)
    plugged[0] = True
    await loop.look()
    assert hold.held
    await hold.release()
    shop.close()


async def test_a_refusal_is_tried_again_after_ten_minutes_and_shown_meanwhile(logind: Logind, tmp_path: Path) -> None:
    logind.refuses("*")
    shop = await FakeShop.make(tmp_path, Config(power=Power("always")))
    hold = SleepInhibitor()
    loop = KeepAwakeLoop(shop.env, Log(None), hold, lambda: False)
    await loop.look()
    assert shop.env.awake.hold is AwakeState.REFUSED
    assert "Access denied" in shop.env.awake.why
    logind.refuses("nothing")
    shop.clock.advance(RETRY_S - 1)
    await loop.look()
    assert not hold.held
    shop.clock.advance(1)
    await loop.look()
    assert (shop.env.awake.hold, shop.env.awake.why) == (AwakeState.HELD, "")
    await hold.release()
    shop.close()
