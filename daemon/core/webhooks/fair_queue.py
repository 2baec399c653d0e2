"""Which attempt may begin: fair queue of endpoints, priority of live work, circuit breaker with half-open probes. Pure.

Endpoints take turns. Bulk resends (replays) and the backlog of an outage or a pause may use only a part of the workers, and
no bulk attempt starts while a live payment is processed; else each step of a new payment (the phone's answers, the commit,
the POSTs) would wait behind POSTs that are not urgent.

Circuit breaker: after 3 failures in a row, first attempts and retries wait behind a probe: every
5 s, then 15 s, then 30 s. A probe is a delivery that is due anyway, so it keeps its own schedule and uses up its own
retries. The failure count and the time of the last failure are stored with the endpoint, so a restart changes nothing.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.delivery import STREAK_MIN

WORKERS_PER_PROBE: Final = 2
"""At most one worker in this many probes failing endpoints: a dead one blocks its worker for up to 15 s."""
SERVED_MAX: Final = 1_000
"""The number of queues with a remembered last turn; any other queue counts as least recently served."""
QueueKey = tuple[str, bool]
"""One queue: an endpoint's id, and whether it holds bulk resends or live deliveries."""
Running = Mapping[QueueKey, int]
"""Number of running attempts by queue."""
LIVE_STEP_S: Final = 0.05
"""Longest pause between two steps of live work. Work without a step for longer (a receiver that does not answer) no longer
delays bulk."""
BULK_WAIT_S_MAX: Final = 0.15
"""A bulk POST waits no longer than this in total, so that a replay also ends in a busy shop."""
PROBE_US: Final = (5 * SECOND_US, 15 * SECOND_US, 30 * SECOND_US)
FLUSH_GAP_US: Final = SECOND_US // 5
"""Gap between the retries of one endpoint after an outage (5/s); first attempts are not limited."""


class QueuesAtLimit(Struct, frozen=True):
    """The queues that have reached their limit.

    `endpoints` are at their limit of attempts, `bulk` of bulk attempts. With `behind` no bulk or backlog delivery may
    start.
    """

    endpoints: tuple[str, ...]
    bulk: tuple[str, ...]
    behind: bool

    def allow(self, key: QueueKey, *, is_behind: bool) -> bool:
        """Return whether one more attempt of this queue may begin."""
        endpoint_id, is_bulk = key
        return not (
            endpoint_id in self.endpoints
            or (is_behind and self.behind)
            or (is_bulk and endpoint_id in self.bulk)
        )


def bulk_worker_limit(workers: int) -> int:
    """Return how many workers may send bulk resends and backlog: half of them, at least one."""
    return max(1, workers // 2)


def queues_at_limit(
    running: Running, *, backlog: int = 0, per_endpoint: int, workers: int
) -> QueuesAtLimit:
    """Return the queues at their limit. Bulk gets half of an endpoint's attempts; bulk and backlog get half of all.

    Each half is at least one. So a live delivery never waits for a worker or for a slow response to an old delivery. A
    backlog may use all attempts of its endpoint: live deliveries there come after it, oldest first. `backlog` is how
    many of the running attempts, other than bulk, are of a backlog.
    """
    share = max(1, per_endpoint // 2)
    totals, in_bulk = dict[str, int](), dict[str, int]()
    for (endpoint_id, is_bulk), count in running.items():
        totals[endpoint_id] = totals.get(endpoint_id, 0) + count
        if is_bulk:
            in_bulk[endpoint_id] = count
    return QueuesAtLimit(
        tuple([key for key, count in totals.items() if count >= per_endpoint]),
        tuple([key for key, count in in_bulk.items() if count >= share]),
        sum(in_bulk.values()) + backlog >= bulk_worker_limit(workers),
    )


def mark_served(served: dict[QueueKey, int], key: QueueKey) -> None:
    """Mark a queue as most recently served: `served` holds the queues in round-robin order, with rising numbers."""
    latest = next(reversed(served.values()), 0)
    served.pop(key, None)
    served[key] = latest + 1
    if len(served) > SERVED_MAX:
        del served[next(iter(served))]


class LivePriority:
    """Time of the last step of live work, on the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._until = float("-inf")

    def step(self, now: float) -> None:
        """Record a step of live work: an SMS was announced or read, or a live webhook is sent."""
        self._until = now + LIVE_STEP_S

    def wait_s(self, now: float, waited_s: float) -> float:
        """Return how many seconds a bulk attempt must still wait after `waited_s`; 0 if it may start."""
        return max(0.0, min(self._until - now, BULK_WAIT_S_MAX - waited_s))


def is_breaker_open(consecutive_failures: int, link_failures: int) -> bool:
    """Return whether the circuit breaker of an endpoint is open, so that its deliveries wait behind a probe."""
    return max(consecutive_failures, link_failures) >= STREAK_MIN


def probe_at(
    consecutive_failures: int,
    link_failures: int,
    last_failure_at: int | None,
    changed_at: int,
    now_us: int,
) -> int:
    """Return when a failing endpoint may be probed next; times are microseconds.

    Args:
        consecutive_failures: Counted failures.
        link_failures: Failures since the last 2xx that are not counted because our own connection may have been down.
        last_failure_at: Last failure of either kind; None if there was none.
        changed_at: Last change by the owner. Failures before a resume or a new address no longer matter.
        now_us: The clock's present time.
    """
    streak = max(consecutive_failures, link_failures)
    assert streak >= STREAK_MIN, "an endpoint that is not out needs no probe"
    if last_failure_at is None or last_failure_at > now_us:
        # A failure in the future was recorded by a clock that was ahead; the next one gets the right time.
        return 0
    at = last_failure_at + PROBE_US[min(streak - STREAK_MIN, len(PROBE_US) - 1)]
    # The earlier time: a clock that was set back since then neither delays a probe nor removes the pause between probes.
    return min(at, changed_at) if changed_at > last_failure_at else at
