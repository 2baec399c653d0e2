"""Which workers still make progress: each says by when it will speak again, and who does not keep that hangs. Pure."""

from typing import Final

WORK_S: Final = 30.0
"""A worker that has not got one step further in so long hangs (operations.md 2.12: restarted within 30 s)."""


class Pulse:
    """The promises of the workers, on a clock that stops while the machine sleeps."""

    def __init__(self) -> None:
        self._deadlines: dict[str, float] = {}

    def promise(self, worker: str, now: float, rest_s: float = 0.0) -> None:
        """Note that a worker is alive, will rest so long, and then get a step further within `WORK_S`.

        Args:
            worker: Its name, such as `deliver`; what the log and the status call it.
            now: The monotonic clock, in seconds.
            rest_s: For how long it waits on purpose.
        """
        self._deadlines[worker] = now + rest_s + WORK_S

    def rest(self, worker: str) -> None:
        """Note that a worker waits for work, however long that takes; or that it has ended."""
        self._deadlines.pop(worker, None)

    def late(self, now: float) -> dict[str, float]:
        """Return who hangs, and for how many seconds the promise has been broken."""
        return {
            worker: now - deadline
            for worker, deadline in sorted(self._deadlines.items())
            if now > deadline
        }
