"""State and schedule of the daily database check (operations.md 2.2). Pure."""

from enum import StrEnum
from typing import Final

from daemon.core.limits import DAY_US, HOUR_US

FIRST_CHECK_S: Final = 15 * 60.0
"""Delay of the first check after the start, which has made a quick check itself. It is short, so that a shop that switches
its machine off each night gets the weekly check too."""
EVERY_S: Final = 24 * 3600.0
FULL_CHECK_EVERY_US: Final = 7 * DAY_US - 12 * HOUR_US
"""Least time between two full checks of all indexes (`integrity_check`). 12 hours under a week, so that it is the same daily
check each week."""
RETRY_AFTER_S: Final = 60
CAUSE: Final = "db"
"""The cause of its notices."""


class DatabaseState(StrEnum):
    """Result of a check."""

    OK = "ok"
    FINDINGS = "findings"
    """The file is intact, but the shop's data violates an invariant."""
    DAMAGED = "damaged"


class SelfCheck:
    """State of the daily check.

    `found` is the result of the last check; the daemon checks the file at the start before anything else.
    """

    def __init__(self) -> None:
        self.found = DatabaseState.OK
        self._due: float | None = None

    def is_due(self, now: float) -> bool:
        """Return whether a check is due, and if so schedule the next one.

        `now` is in seconds of a clock that also runs while the machine sleeps.
        """
        if self._due is None:
            self._due = now + FIRST_CHECK_S
        if now < self._due:
            return False
        self._due = now + EVERY_S
        return True

    def is_full_check(self, now: int, last: int | None) -> bool:
        """Return whether this check covers all indexes too: once a week, and as long as there are findings.

        `last` is the time of the last full check without findings, None if there was none; both are of the wall clock.
        """
        if self.found is not DatabaseState.OK or last is None:
            return True
        return not 0 <= now - last < FULL_CHECK_EVERY_US
