"""What a check is, and what a doctor's round says. One file of this room per area; `AREAS` of `rounds.py` names them."""

import shutil
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from daemon.core.awake import Wakefulness
from daemon.core.phones import Trouble
from daemon.wire import Places


class Status(StrEnum):
    """What a check found."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """It could not be made; `detail` says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `id` is `area.what` and never changes its meaning; `fix` is what to type or do, empty if nothing.

    `remedy` does what `fix` says where that is safe without asking, and returns what it did; None where it is not.
    """

    id: str
    status: Status
    detail: str
    fix: str = ""
    remedy: Callable[[], str] | None = field(default=None, compare=False)
    ms: int = 0

    @property
    def area(self) -> str:
        """Return the area, the first word of the id."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone as the daemon sees it: how it is called, its port, its state and what is wrong."""

    name: str
    port: str
    state: str
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """Who would open the ports."""

    uid: int
    groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class Running:
    """What a running daemon says of itself.

    Attributes:
        version: Of the program that runs, which an upgrade may have left behind.
        clock_doubt: Why it does not believe the clock, "" when it does.
        clock_vouched: Something speaks for the clock too.
        http: `HOST:PORT` of the API, or empty.
        awake: How far it keeps the machine from sleeping.
    """

    version: str
    clock_doubt: str
    clock_vouched: bool
    http: str
    awake: Wakefulness = field(default_factory=Wakefulness)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM))
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Patient:
    """What the areas may look at.

    Attributes:
        root: The folder under which /sys, /dev, /proc, /etc and /run are.
        user: Who runs the daemon, or would.
        phones: What a running daemon says of its phones; None when none runs.
        pid: The running daemon; its own grip on a port is no finding.
        places: Where the shop's things are; None for areas that look at the machine alone.
        environ: The process environment.
        running: The daemon that runs, None when none does.
        version: Of this program.
        now_us: The wall clock.
        free: Bytes that are free where a folder is.
        resolves: Whether a host's name leads to an address.
    """

    root: Path
    user: User
    phones: tuple[Phone, ...] | None = None
    pid: int | None = field(default=None)
    places: Places | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    running: Running | None = None
    version: str = ""
    now_us: int = 0
    free: Callable[[Path], int] = _free
    resolves: Callable[[str], bool] = _resolves

    @property
    def shop(self) -> Places:
        """Where the shop's things are, for an area that needs a shop."""
        assert self.places is not None, "this area looks at a shop"
        return self.places


def report(checks: Iterable[Check]) -> dict[str, Any]:
    """Make the document of a round: `success` is false when a check failed."""
    found = [_shape(check) for check in checks]
    well = all(check["status"] != Status.FAIL for check in found)
    return {"success": well, "data": {"ok": well, "checks": found}}


def _shape(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "area": check.area,
        "status": check.status.value,
        "detail": check.detail,
        "fix": check.fix,
        "ms": check.ms,
    }


def first_of(checks: Iterator[Check], otherwise: Check) -> Iterator[Check]:
    """Yield the checks, or what there is to say when there are none."""
    empty = True
    for check in checks:
        empty = False
        yield check
    if empty:
        yield otherwise
