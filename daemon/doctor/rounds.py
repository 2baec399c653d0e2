"""The areas that there are, and a round through some of them."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from daemon.doctor import modem
from daemon.doctor.checks import Check, Patient, User

AREAS: Final[dict[str, Callable[[Patient], Iterator[Check]]]] = {"modem": modem.checks}
"""Each area's name, which is the first word of its checks' ids, and how it is examined."""


def examine(patient: Patient, areas: Sequence[str]) -> list[Check]:
    """Make the checks of these areas, of all when none is named."""
    return [check for area in areas or AREAS for check in AREAS[area](patient)]


def this_user() -> User:
    """Return who we are: the daemon runs as this user, or would."""
    return User(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))
