"""How much room the disk of the shop has, in steps, and what each step stops (operations.md 2.4). Pure.

Payments come last: before an SMS has to stay on its SIM, backups, exports and the log's files stop, then new orders. The
last step also gives a reserve back to the disk, a file that is there for nothing else (`BALLAST_BYTES`).
"""

from enum import StrEnum
from typing import Final


class Room(StrEnum):
    """The steps, from the best to the worst."""

    PLENTY = "plenty"
    LOW = "low"
    """A person is told."""
    TIGHT = "tight"
    """Backups, exports and the log's files stop."""
    FULL = "full"
    """New orders are refused; what is left is for messages and payments."""


LOW_BYTES: Final = 500_000_000
TIGHT_BYTES: Final = 100_000_000
FULL_BYTES: Final = 20_000_000
BALLAST_BYTES: Final = 16_000_000
"""Years of payments at a small shop, and no more than a photograph or two to the disk."""

_BELOW: Final = {Room.FULL: FULL_BYTES, Room.TIGHT: TIGHT_BYTES, Room.LOW: LOW_BYTES}
"""The worst first."""
_OVER: Final = {
    # The reserve that was given up is no room: it has to fit again.
    Room.FULL: FULL_BYTES + BALLAST_BYTES + 4_000_000,
    Room.TIGHT: TIGHT_BYTES * 6 // 5,
    Room.LOW: LOW_BYTES * 6 // 5,
}
"""What must be free for a step to be over: a little more than began it, so that none begins and ends all day."""


def room(free: int, before: Room = Room.PLENTY) -> Room:
    """Return the step that so many free bytes are, coming from another."""
    steps = list(Room)
    for step, below in _BELOW.items():
        still = steps.index(before) >= steps.index(step) and free < _OVER[step]
        if free < below or still:
            return step
    return Room.PLENTY


class DiskWatch:
    """What is known of the disk since the program started.

    Attributes:
        room: The step it is at.
        free: Bytes, None until it was looked at.
        told: The steps that the journal says have begun and are not over.
    """

    def __init__(self) -> None:
        self.room = Room.PLENTY
        self.free: int | None = None
        self.told: list[Room] = []

    def see(self, free: int) -> None:
        """Note how many bytes are free now."""
        self.free = free
        self.room = room(free, self.room)

    @property
    def stops_extras(self) -> bool:
        """Say whether what is not payments must leave the disk alone."""
        return self.room in {Room.TIGHT, Room.FULL}

    def turns(self) -> tuple[Room | None, list[Room]]:
        """Return the step that began and those that are over, since the journal was last told."""
        order = list(Room)
        now = order.index(self.room)
        over = [step for step in self.told if order.index(step) > now]
        worst = max((order.index(step) for step in self.told if step not in over), default=0)
        return (self.room if now > worst else None), over

    def noted(self, began: Room | None, over: list[Room]) -> None:
        """Note that the journal has these turns."""
        self.told = [step for step in self.told if step not in over]
        if began is not None:
            self.told.append(began)
