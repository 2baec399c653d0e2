"""Free space of the shop's disk in steps, and the work that each step stops. Pure.

Payments are stopped last: before an SMS has to stay on its SIM, backups, exports and log files stop, then new transactions.
The last step also frees a reserve, a file that exists only for this (`BALLAST_BYTES`).
"""

from enum import StrEnum
from typing import Final


class SpaceStep(StrEnum):
    """The steps, from best to worst."""

    PLENTY = "plenty"
    LOW = "low"
    """The owner gets a notice."""
    TIGHT = "tight"
    """Backups, exports and log files stop."""
    FULL = "full"
    """New transactions are refused; the rest is for messages and payments."""


LOW_BYTES: Final = 500_000_000
TIGHT_BYTES: Final = 100_000_000
FULL_BYTES: Final = 20_000_000
BALLAST_BYTES: Final = 16_000_000
"""Enough for years of payments at a small shop, and as large as only one or two photographs."""

_BELOW: Final = {SpaceStep.FULL: FULL_BYTES, SpaceStep.TIGHT: TIGHT_BYTES, SpaceStep.LOW: LOW_BYTES}
"""Worst first."""
_OVER: Final = {
    # The freed reserve does not count as free: it has to fit again.
    SpaceStep.FULL: FULL_BYTES + BALLAST_BYTES + 4_000_000,
    SpaceStep.TIGHT: TIGHT_BYTES * 6 // 5,
    SpaceStep.LOW: LOW_BYTES * 6 // 5,
}
"""Free bytes at which a step ends. More than at its start (hysteresis), so that a step does not flip back and forth."""


def space_step(free: int, before: SpaceStep = SpaceStep.PLENTY) -> SpaceStep:
    """Return the step for this many free bytes, given the step before."""
    steps = list(SpaceStep)
    for step, below in _BELOW.items():
        still = steps.index(before) >= steps.index(step) and free < _OVER[step]
        if free < below or still:
            return step
    return SpaceStep.PLENTY


class DiskWatch:
    """The state of the disk since the program started.

    `room` is the present step; `free` is None before the first look. `told` are the steps that have begun and not ended
    according to the journal.
    """

    def __init__(self) -> None:
        self.room = SpaceStep.PLENTY
        self.free: int | None = None
        self.told: list[SpaceStep] = []

    def see(self, free: int) -> None:
        """Note the number of free bytes."""
        self.free = free
        self.room = space_step(free, self.room)

    @property
    def stops_extras(self) -> bool:
        """Whether everything but payments must stop writing to the disk."""
        return self.room in {SpaceStep.TIGHT, SpaceStep.FULL}

    def turns(self) -> tuple[SpaceStep | None, list[SpaceStep]]:
        """Return the step that began and those that ended, since the last entries in the journal."""
        order = list(SpaceStep)
        now = order.index(self.room)
        over = [step for step in self.told if order.index(step) > now]
        worst = max((order.index(step) for step in self.told if step not in over), default=0)
        return (self.room if now > worst else None), over

    def noted(self, began: SpaceStep | None, over: list[SpaceStep]) -> None:
        """Note that the journal has these changes."""
        self.told = [step for step in self.told if step not in over]
        if began is not None:
            self.told.append(began)
