"""What the daily look through the database found, and when the next one is due (operations.md 2.2). Pure."""

from enum import StrEnum
from typing import Final

EVERY_S: Final = 24 * 3600.0
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
        """Say whether a day is over since the start, or since this was last true.

        Args:
            now: Seconds of a clock that goes on while the machine sleeps.
        """
        if self._due is not None and now < self._due:
            return False
        first, self._due = self._due is None, now + EVERY_S
        return not first
