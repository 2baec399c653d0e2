"""How an endpoint that fails is tried: one delivery at a time, while all others wait behind it. Pure.

decisions.md section 7: from a streak of 3 failures, first attempts and retries wait behind a probe, every 5 s, then
15 s, then 30 s. A probe is a delivery that is due anyway, so it keeps to its own schedule and uses up its own steps.
The streak and the time of the last failure are kept with the endpoint, so a restart changes nothing.
"""

from typing import Final

from daemon.core.delivery import STREAK_MIN
from daemon.core.limits import SECOND_US

PROBE_US: Final = (5 * SECOND_US, 15 * SECOND_US, 30 * SECOND_US)
FLUSH_GAP_US: Final = SECOND_US // 5
"""After an outage the retries of one endpoint are this far apart (5/s); first attempts are not paced."""


def is_out(consecutive_failures: int, link_failures: int) -> bool:
    """Say whether what waits for an endpoint waits behind a probe."""
    return max(consecutive_failures, link_failures) >= STREAK_MIN


def probe_at(
    consecutive_failures: int,
    link_failures: int,
    last_failure_at: int | None,
    changed_at: int,
    now_us: int,
) -> int:
    """Return when an endpoint that is out may be tried again; times are microseconds.

    Args:
        consecutive_failures: Failures that counted.
        link_failures: Failures since the last 2xx that did not, because our own link may have been down.
        last_failure_at: Of either kind; None when there was none.
        changed_at: When its owner last changed it. What failed before a resume or a new address says nothing of it now.
        now_us: By the clock as it is now.
    """
    streak = max(consecutive_failures, link_failures)
    assert streak >= STREAK_MIN, "an endpoint that is not out needs no probe"
    if last_failure_at is None or last_failure_at > now_us:
        # One that is still to come was noted by a clock that was ahead; the next failure is noted by this one.
        return 0
    at = last_failure_at + PROBE_US[min(streak - STREAK_MIN, len(PROBE_US) - 1)]
    # The earlier one, so that a clock that was set back since makes no probe wait longer, nor lets each follow the last.
    return min(at, changed_at) if changed_at > last_failure_at else at
