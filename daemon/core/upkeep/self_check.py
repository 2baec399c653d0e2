"""State and schedule of the daily database check. Pure."""

from enum import StrEnum
from typing import Final

from daemon.core.limits import DAY_US, HOUR_US

FIRST_CHECK_S: Final = 10.0
"""Delay of the first check after the start: the start itself does not check, so that it takes the same time for any size."""
EVERY_S: Final = 24 * 3600.0
FULL_CHECK_EVERY_US: Final = 7 * DAY_US - 12 * HOUR_US
"""Least time between two full checks of all indexes (`integrity_check`). 12 hours under a week, so that it is the same daily
check each week."""
RETRY_AFTER_S: Final = 60
RETRY_S_MAX: Final = 3600.0
"""The longest wait after checks that could not read the file; each of them doubles it. A check uses half of the disk's speed."""
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

    `found` is the result of the last check.
    """

    def __init__(self) -> None:
        self.found = DatabaseState.OK
        self._due: float | None = None
        self._whole = False
        self._failures = 0
        """Checks without a result since the last one with a result."""

    def begin(self, now: float, *, whole: bool) -> None:
        """Schedule the first check, with `whole` one of all indexes.

        `now` is in seconds of a clock that also runs while the machine sleeps.
        """
        self._due, self._whole = now + FIRST_CHECK_S, whole

    def is_due(self, now: float) -> bool:
        """Return whether a check is due, and if so schedule the next one; `now` as for `begin`."""
        if self._due is None or now < self._due:
            return False
        self._due = now + EVERY_S
        return True

    @property
    def waits_to_retry(self) -> bool:
        """Whether the last check had no result."""
        return self._failures > 0

    def failed(self, now: float, *, whole: bool) -> None:
        """Schedule another check soon, because this one could not read the file; `now` and `whole` as for `begin`."""
        self._due = now + min(RETRY_AFTER_S * 2.0**self._failures, RETRY_S_MAX)
        self._whole = self._whole or whole
        # Any wait beyond the longest is the same, and the power must stay a number.
        self._failures = min(self._failures + 1, 10)

    def ended(self) -> None:
        """Record that a check had a result."""
        self._whole, self._failures = False, 0

    def is_full_check(self, now: int, last: int | None) -> bool:
        """Return whether this check covers all indexes too: after a crash, once a week, and as long as there are findings.

        `last` is the time of the last full check without findings, None if there was none; both are of the wall clock.
        """
        if self._whole or self.found is not DatabaseState.OK or last is None:
            return True
        return not 0 <= now - last < FULL_CHECK_EVERY_US
