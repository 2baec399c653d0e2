"""The daemon's care for its machine: the daily database check, free space, sleep, hung workers, and which backups stay. Pure.

Free space is judged in steps, each of which stops work. Payments are stopped last: before an SMS has to stay on its SIM, backups,
exports and log files stop, then new transactions. The last step also frees a reserve, a file that exists only for this
(`BALLAST_BYTES`). Each worker announces its next heartbeat, and one that misses it hangs.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.errors import MomoError
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


HEARTBEAT_TIMEOUT_S: Final = 30.0
"""A worker without progress for this long hangs; it is restarted within 30 s."""


class Heartbeats:
    """The heartbeat deadlines of the workers, on a clock that stops while the machine sleeps."""

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}

    def record(self, worker: str, now: float, rest_s: float = 0.0) -> None:
        """Record a heartbeat: the worker sleeps for `rest_s` and sends the next heartbeat within `HEARTBEAT_TIMEOUT_S` after that.

        `worker` is its name in the log and the status, such as `deliver`; the times are monotonic seconds.
        """
        self._deadlines[worker] = now + rest_s + HEARTBEAT_TIMEOUT_S

    def rest(self, worker: str) -> None:
        """Remove the deadline of a worker that waits for work without a limit or has ended."""
        self._deadlines.pop(worker, None)

    def clear(self) -> None:
        """Remove every deadline, because the workers have ended."""
        self._deadlines.clear()

    def overdue(self, now: float) -> dict[str, float]:
        """Return the workers that missed their deadline, and by how many seconds."""
        return {worker: now - deadline for worker, deadline in sorted(self._deadlines.items()) if now > deadline}


OFF: Final = "off"
PLUGGED: Final = "plugged"
ALWAYS: Final = "always"
CHOICES: Final = (OFF, PLUGGED, ALWAYS)


class AwakeState(StrEnum):
    """The state of keeping the machine awake."""

    OFF = "off"
    """The setting is off."""
    HELD = "held"
    IDLE_ONLY = "idle_only"
    """The system does not go to sleep on idle; the desktop's own timer may still suspend it."""
    ON_BATTERY = "on_battery"
    """It may sleep: it is kept awake only while plugged in, and runs on battery now."""
    REFUSED = "refused"


class AwakeStatus(Struct):
    """The state shown by `momo status` and the doctor. `why` is the system's reason if it did not grant the full request."""

    hold: AwakeState = AwakeState.OFF
    why: str = ""


def should_keep_awake(setting: str, *, on_mains: bool) -> bool:
    """Return whether the machine should be kept awake now."""
    return setting == ALWAYS or (setting == PLUGGED and on_mains)


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


DEFAULT_RETENTION: Final = "7d,4w,12m"
_PART: Final = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII)


class RetentionInvalid(MomoError):
    """The text is not a valid retention rule."""


class BackupRetention(Struct, frozen=True):
    """A retention rule: the number of days, weeks and months that keep their newest copy."""

    days: int
    weeks: int
    months: int


def parse_retention(text: str) -> BackupRetention:
    """Parse a rule such as `7d,4w,12m`; a period that is not named keeps no copy."""
    found = {"d": 0, "w": 0, "m": 0}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise RetentionInvalid(f"{text!r} is not of the form {DEFAULT_RETENTION}")
        found[match.group(2)] = int(match.group(1))
    if not any(found.values()):
        raise RetentionInvalid(f"{text!r} keeps no copy at all")
    return BackupRetention(found["d"], found["w"], found["m"])


def copies_to_keep(newest_first: Sequence[datetime], keep: BackupRetention) -> set[datetime]:
    """Return the copies to keep; the first one always is.

    `newest_first` are their times, with zone, in the order in which they were made, which is not that of the times if the
    clock was wrong. Only periods with a copy count.
    """
    found = set(newest_first[:1])
    periods = ((keep.days, "%Y-%m-%d"), (keep.weeks, "%G-%V"), (keep.months, "%Y-%m"))
    for most, form in periods:
        seen: set[str] = set()
        for at in newest_first:
            if len(seen) == most:
                break
            period = at.strftime(form)
            if period not in seen:
                seen.add(period)
                found.add(at)
    return found
