"""The area `clock`: whether the machine's time is right, and a program keeps it right."""

from collections.abc import Iterator
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core.upkeep.clock_check import EARLIEST_US
from daemon.doctor.checks import Check, Status, System, with_database
from daemon.runtime.locks import running
from daemon.store import shop
from daemon.store.engine import Reader
from parsers.times import render

_SET: Final = "sudo timedatectl set-ntp true"
_KEEPERS: Final = ("chronyd", "ntpd", "openntpd")


def checks(system: System) -> Iterator[Check]:
    """Check the clock."""
    if system.now_us < EARLIEST_US:
        yield Check(
            "clock.year", Status.FAIL, f"the clock shows {render(system.now_us)}, a time before this version of momo was made",
            _SET,
        )  # fmt: skip
    else:
        yield Check("clock.year", Status.OK, f"the clock shows {render(system.now_us)}")
    if system.running is None:
        yield Check(
            "clock.witness", Status.SKIP,
            "the daemon does not run, so the time cannot be compared with the network's time in SMS", "momo daemon start",
        )  # fmt: skip
    elif system.running.clock_doubt:
        yield Check(
            "clock.witness", Status.WARN,
            f"{system.running.clock_doubt}; meanwhile nothing expires and no old data is removed", _SET,
        )  # fmt: skip
    elif not system.running.clock_confirmed:
        yield Check(
            "clock.witness", Status.WARN,
            "not confirmed yet: the machine was off, and no SMS has arrived since to confirm the time; meanwhile transactions "
            "may expire later than they should, never earlier",
            "wait for the next payment, or send an SMS to the shop's SIM",
        )  # fmt: skip
    else:
        yield Check("clock.witness", Status.OK, "no SMS and no journal entry contradicts the clock")
    yield _kept(system)
    yield from with_database(system, "clock.zone", _zone)


def _kept(system: System) -> Check:
    sync = system.root / "run" / "systemd" / "timesync"
    if (sync / "synchronized").exists():
        return Check("clock.kept", Status.OK, "systemd-timesyncd sets the clock from the network")
    for name in _KEEPERS:
        if running(name, system.root / "proc") is not None:
            return Check("clock.kept", Status.OK, f"{name} sets the clock from the network")
    if sync.exists():
        return Check(
            "clock.kept", Status.WARN, "systemd-timesyncd runs, but has not reached a time server yet",
            "connect to the Internet once",
        )  # fmt: skip
    return Check("clock.kept", Status.WARN, "no program sets the clock from the network", _SET)


def _zone(reader: Reader) -> Iterator[Check]:
    owner = shop.get(reader)
    if owner is None:
        yield Check("clock.zone", Status.SKIP, "the shop is not set up", "momo setup")
        return
    try:
        ZoneInfo(owner.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        yield Check(
            "clock.zone", Status.FAIL, f"this machine does not know the shop's time zone {owner.timezone}",
            "sudo apt install tzdata",
        )  # fmt: skip
    else:
        yield Check("clock.zone", Status.OK, f"the shop's time zone is {owner.timezone}")
