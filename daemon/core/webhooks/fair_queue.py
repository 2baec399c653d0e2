"""Numbers of the fair queue (docs/contributing/deliveries.md), and the priority of live work. Pure."""

from collections.abc import Mapping
from typing import Final

from daemon.core.limits import SECOND_US

WORKERS_PER_PROBE: Final = 2
"""At most one worker in this many probes failing endpoints: a dead one blocks its worker for up to 15 s."""
SERVED_MAX: Final = 100
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
FLUSH_GAP_US: Final = SECOND_US // 5
"""Gap between the retries of one endpoint after an outage (5/s); first attempts are not limited."""


def most_behind(workers: int) -> int:
    """Return how many workers may send bulk resends and backlog: half of them, at least one."""
    return max(1, workers // 2)


def most_probes(workers: int) -> int:
    """Return how many workers may probe failing endpoints: a dead one blocks its worker for up to 15 s."""
    return max(1, workers // WORKERS_PER_PROBE)


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
