"""The areas of `momo doctor`: run their checks, and apply safe fixes."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from daemon.doctor import daemon, database, machine, modem, webhooks
from daemon.doctor.checks import Check, PortUser, ReportedModem, Running, Status, System
from daemon.env import Env
from daemon.wire import VERSION, Places

AREAS: Final[dict[str, Callable[[System], Iterator[Check]]]] = {
    "daemon": daemon.daemon_checks, "socket": daemon.checks, "http": machine.certificate_checks,
    "db": database.database_checks, "disk": machine.disk_checks, "clock": machine.clock_checks, "modem": modem.checks,
    "sim": modem.sim_checks, "parser": modem.parser_checks, "hub": webhooks.hub_checks,
    "endpoints": webhooks.endpoint_checks, "dns": webhooks.dns_checks, "keyring": machine.keyring_checks,
    "service": daemon.service_checks, "timers": daemon.timer_checks, "backup": database.checks,
    "permissions": machine.permission_checks, "ledger": database.ledger_checks, "upgrade": daemon.upgrade_checks,
}  # fmt: skip
"""Area name, the first part of its checks' ids, -> function that yields its checks."""


def running_system(env: Env, places: Places, phones: tuple[ReportedModem, ...]) -> System:
    """Return the machine and the shop as this daemon, which runs, sees them."""
    times = env.times()
    doubt = "" if times.doubt is None else str(times.doubt.why)
    return System(
        Path("/"), this_user(), phones, os.getpid(), places=places, environ=os.environ,
        store_url=env.config.store.url, running=Running(VERSION, doubt, times.confirmed, env.http_address, env.awake),
        version=VERSION, now_us=times.wall_us,
    )  # fmt: skip


def run_checks(system: System, areas: Sequence[str], monotonic: Callable[[], float] | None = None) -> list[Check]:
    """Run the checks of these areas, or of all areas if none is named.

    `areas` are keys of `AREAS`. With `monotonic`, a clock in seconds, each check is measured.
    """
    found = []
    for area in areas or AREAS:
        began = 0.0 if monotonic is None else monotonic()
        for check in AREAS[area](system):
            if monotonic is None:
                found.append(check)
                continue
            ended = monotonic()
            found.append(replace(check, ms=round((ended - began) * 1000)))
            began = ended
    return found


def apply_remedies(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Apply the safe remedies of the checks that are not ok; return for each id the action, or why it failed."""
    done = []
    for check in checks:
        if check.remedy is None or check.status not in {Status.WARN, Status.FAIL}:
            continue
        try:
            outcome = check.remedy()
        except OSError as error:
            outcome = f"failed: {error}"
        done.append({"id": check.id, "did": outcome})
    return done


def this_user() -> PortUser:
    """Return the user of this process, which is also the user of the daemon."""
    return PortUser(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))
