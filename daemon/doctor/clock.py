"""The area `clock`: is the machine's time right, and is somebody keeping it so."""

from collections.abc import Iterator
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core.clock_watch import BUILT_US
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.modem.port_holders import running
from daemon.store import shop
from daemon.store.engine import Reader
from parsers.when import render

_SET: Final = "sudo timedatectl set-ntp true"
_KEEPERS: Final = ("chronyd", "ntpd", "openntpd")


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the clock."""
    if patient.now_us < BUILT_US:
        yield Check(
            "clock.year", Status.FAIL, f"it says {render(patient.now_us)}, before momo was written",
            _SET,
        )  # fmt: skip
    else:
        yield Check("clock.year", Status.OK, f"it says {render(patient.now_us)}")
    if patient.running is None:
        yield Check(
            "clock.witness", Status.SKIP,
            "the daemon does not run, so no SMS tells the network's time", "momo daemon start",
        )  # fmt: skip
    elif patient.running.clock_doubt:
        yield Check(
            "clock.witness", Status.WARN,
            f"{patient.running.clock_doubt}; nothing expires and nothing is cleared away meanwhile", _SET,
        )  # fmt: skip
    elif not patient.running.clock_vouched:
        yield Check(
            "clock.witness", Status.WARN,
            "not vouched for yet: the machine was off, and no SMS since has told the network's time; meanwhile orders and "
            "what is old end later than they should, never before",
            "wait for the next payment, or send an SMS to the shop's SIM",
        )  # fmt: skip
    else:
        yield Check(
            "clock.witness", Status.OK, "no SMS and no line of the journal speaks against it"
        )
    yield _kept(patient)
    yield from asked(patient, "clock.zone", _zone)


def _kept(patient: Patient) -> Check:
    """Say whether a program keeps the clock right by the network."""
    sync = patient.root / "run" / "systemd" / "timesync"
    if (sync / "synchronized").exists():
        return Check("clock.kept", Status.OK, "systemd-timesyncd has set it by the network")
    for name in _KEEPERS:
        if running(name, patient.root / "proc") is not None:
            return Check("clock.kept", Status.OK, f"{name} keeps it right")
    if sync.exists():
        return Check(
            "clock.kept", Status.WARN, "systemd-timesyncd runs and has not reached a time server yet",
            "connect to the Internet once",
        )  # fmt: skip
    return Check("clock.kept", Status.WARN, "no program keeps it right by the network", _SET)


def _zone(reader: Reader) -> Iterator[Check]:
    owner = shop.get(reader)
    if owner is None:
        yield Check("clock.zone", Status.SKIP, "the shop was not set up", "momo setup")
        return
    try:
        ZoneInfo(owner.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        yield Check(
            "clock.zone", Status.FAIL, f"this machine does not know the shop's zone {owner.timezone}",
            "sudo apt install tzdata",
        )  # fmt: skip
    else:
        yield Check("clock.zone", Status.OK, f"the shop's day is that of {owner.timezone}")
