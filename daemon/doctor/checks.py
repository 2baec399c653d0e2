"""What a check is, and what a doctor's round says. One file of this room per area; `AREAS` of `rounds.py` names them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from daemon.core.phones import Trouble


class Status(StrEnum):
    """What a check found."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """It could not be made; `detail` says why."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `id` is `area.what` and never changes its meaning; `fix` is what to type or do, empty if nothing."""

    id: str
    status: Status
    detail: str
    fix: str = ""

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
class Patient:
    """What the areas may look at.

    Attributes:
        root: The folder under which /sys, /dev, /proc, /etc and /run are.
        user: Who runs the daemon, or would.
        phones: What a running daemon says of its phones; None when none runs.
        pid: The running daemon; its own grip on a port is no finding.
    """

    root: Path
    user: User
    phones: tuple[Phone, ...] | None = None
    pid: int | None = field(default=None)


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
    }


def first_of(checks: Iterator[Check], otherwise: Check) -> Iterator[Check]:
    """Yield the checks, or what there is to say when there are none."""
    empty = True
    for check in checks:
        empty = False
        yield check
    if empty:
        yield otherwise
