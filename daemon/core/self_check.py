"""What the daily look through the database found, what that stops, and when the next one is due (operations.md 2.2). Pure."""

from enum import StrEnum
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.limits import DAY_US, HOUR_US

FIRST_S: Final = 15 * 60.0
"""After the start: the start has looked quickly itself, and has other things to do. A shop whose machine is switched off
each night must come to its weekly look too."""
EVERY_S: Final = 24 * 3600.0
WHOLE_EVERY_US: Final = 7 * DAY_US - 12 * HOUR_US
"""Between two looks at every entry of every index (`integrity_check`), at a daily look: so it is the same hour each week."""
RETRY_AFTER_S: Final = 60
CAUSE: Final = "db"
"""Of the notices about it."""


class Soundness(StrEnum):
    """What was found."""

    OK = "ok"
    FINDINGS = "findings"
    """The file is whole; something in the shop does not hold that always should."""
    DAMAGED = "damaged"


class SelfCheck:
    """Where the daily look stands.

    Attributes:
        found: By the last one; the start looks through the file before anything else.
    """

    def __init__(self) -> None:
        self.found = Soundness.OK
        self._due: float | None = None

    def is_due(self, now: float) -> bool:
        """Say whether it is time for a look.

        Args:
            now: Seconds of a clock that goes on while the machine sleeps.
        """
        if self._due is None:
            self._due = now + FIRST_S
        if now < self._due:
            return False
        self._due = now + EVERY_S
        return True

    def looks_at_all(self, now: int, last: int | None) -> bool:
        """Say whether this look goes through every index too: once a week, and as long as anything is found.

        Args:
            now: The wall clock.
            last: When one did that found nothing; None when none has.
        """
        if self.found is not Soundness.OK or last is None:
            return True
        return not 0 <= now - last < WHOLE_EVERY_US

    def refuse_if_damaged(self) -> None:
        """Let no money be booked in a damaged file: what goes into it would be lost with it, and its SMS with it.

        Raises:
            Unavailable: It is damaged.
        """
        if self.found is Soundness.DAMAGED:
            raise Unavailable(
                "the database is damaged: no money is booked until a backup is put back (momo restore --stop); "
                "payment messages wait on the SIM",
                RETRY_AFTER_S,
            )
