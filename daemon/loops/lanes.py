"""What is leased and not begun yet, in lanes: one for each endpoint and kind (live, or sent again in bulk).

A receiver that answers within a millisecond would wait for a commit before each post, so as many of its deliveries
are leased in one commit as it answers in `AHEAD_S`. A slow one gets them one by one, as they are due: nothing is kept
from another worker, or from a pause, for longer than that.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from daemon.core.limits import SECOND_US
from daemon.core.pacing import Key
from daemon.store.attempt_record import Leased
from daemon.store.leasing import Ahead

AHEAD_S: Final = 0.25
AHEAD_MAX: Final = 64
HOLD_S: Final = 20.0
"""Nothing begins that was leased longer ago: the lease (60 s) must outlast the attempt (15 s)."""


class Lanes:
    """The lanes of all workers. Times are of the monotonic hand, in seconds."""

    def __init__(self) -> None:
        """Begin with none."""
        self._queues: dict[Key, deque[tuple[Leased, float]]] = {}
        self._pace: dict[str, int] = {}

    def add(self, leased: Iterable[Leased], now: float) -> None:
        """Append what was leased just now, each to its lane."""
        for one in leased:
            key = one.endpoint.id, one.delivery.bulk
            self._queues.setdefault(key, deque()).append((one, now))

    def take(self, key: Key, now: float) -> Leased | None:
        """Return what goes out next; None when the lane is empty, or what is in it was leased too long ago."""
        queue = self._queues.get(key)
        if not queue or now - queue[0][1] > HOLD_S:
            return None
        return queue.popleft()[0]

    def is_behind(self, key: Key) -> bool:
        """Say whether what goes out next waits behind what is live."""
        queue = self._queues.get(key)
        return key[1] or (queue is not None and len(queue) > 0 and queue[0][0].is_behind)

    def drop(self, key: Key) -> list[Leased]:
        """Empty a lane and return what was in it."""
        return [leased for leased, _ in self._queues.pop(key, ())]

    def drop_all(self) -> list[Leased]:
        """Empty every lane."""
        return [leased for key in list(self._queues) for leased in self.drop(key)]

    def waiting(self) -> list[Key]:
        """Return the lanes with something in them."""
        return [key for key, queue in self._queues.items() if queue]

    def answered(self, endpoint_id: str, duration_us: int) -> None:
        """Learn how fast an endpoint takes what it is sent."""
        self._pace[endpoint_id] = min(AHEAD_MAX, int(AHEAD_S * SECOND_US / max(1, duration_us)))

    def failed(self, endpoint_id: str) -> None:
        """Lease for this endpoint one by one again."""
        self._pace.pop(endpoint_id, None)

    def ahead(self, running: Mapping[Key, int]) -> Ahead:
        """Say how much to lease in one go, as things are now."""
        if not running:
            self._pace.clear()  # a receiver is as fast as it was a moment ago, not as it was yesterday
        more = {}
        for key in running:
            pace = self._pace.get(key[0], 0)
            if len(self._queues.get(key, ())) * 2 < pace:
                more[key] = pace
        return Ahead({key: max(1, pace) for key, pace in self._pace.items()}, more)

    def is_low(self, key: Key) -> bool:
        """Say whether more should be leased for a lane now, before it is empty."""
        return len(self._queues.get(key, ())) * 2 < self._pace.get(key[0], 0)
