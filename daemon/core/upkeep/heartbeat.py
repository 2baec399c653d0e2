"""Heartbeats of the workers: each announces its next heartbeat, and one that misses it hangs. Pure."""

from typing import Final

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
        return {
            worker: now - deadline
            for worker, deadline in sorted(self._deadlines.items())
            if now > deadline
        }
