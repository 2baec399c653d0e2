"""The areas that there are, and a round through some of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from daemon.doctor import (
    backup,
    clock,
    daemon,
    db,
    disk,
    dns,
    endpoints,
    keyring,
    ledger,
    modem,
    parser,
    permissions,
    service,
    sim,
    socket,
    timers,
    upgrade,
)
from daemon.doctor.checks import Check, Patient, Status, User

AREAS: Final[dict[str, Callable[[Patient], Iterator[Check]]]] = {
    "daemon": daemon.checks,
    "socket": socket.checks,
    "db": db.checks,
    "disk": disk.checks,
    "clock": clock.checks,
    "modem": modem.checks,
    "sim": sim.checks,
    "parser": parser.checks,
    "endpoints": endpoints.checks,
    "dns": dns.checks,
    "keyring": keyring.checks,
    "service": service.checks,
    "timers": timers.checks,
    "backup": backup.checks,
    "permissions": permissions.checks,
    "ledger": ledger.checks,
    "upgrade": upgrade.checks,
}
"""Each area's name, which is the first word of its checks' ids, and how it is examined."""


def examine(
    patient: Patient, areas: Sequence[str], monotonic: Callable[[], float] | None = None
) -> list[Check]:
    """Make the checks of these areas, of all when none is named.

    Args:
        patient: What may be looked at.
        areas: Keys of `AREAS`.
        monotonic: Seconds that never run backwards, to note how long each check took; None notes nothing.
    """
    found = []
    for area in areas or AREAS:
        began = 0.0 if monotonic is None else monotonic()
        for check in AREAS[area](patient):
            if monotonic is None:
                found.append(check)
                continue
            ended = monotonic()
            found.append(replace(check, ms=round((ended - began) * 1000)))
            began = ended
    return found


def mend(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Do what is safe about what is not well; returns for each id what was done, or why it could not be."""
    done = []
    for check in checks:
        if check.remedy is None or check.status not in {Status.WARN, Status.FAIL}:
            continue
        try:
            said = check.remedy()
        except OSError as error:
            said = f"could not be mended: {error}"
        done.append({"id": check.id, "did": said})
    return done


def this_user() -> User:
    """Return who we are: the daemon runs as this user, or would."""
    return User(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))
