"""Leased deliveries that have not begun, in one queue for each endpoint and kind (live or bulk resend).

A receiver that answers within a millisecond would wait for a commit before each post. So deliveries are prefetched:
one commit leases as many as the receiver answers in `AHEAD_S`. A slow receiver gets them one by one. No delivery is
withheld from another worker, or from a pause of the endpoint, for longer than that.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from daemon.core.limits import SECOND_US
from daemon.core.webhooks.fair_queue import QueueKey
from daemon.store.webhooks.attempts import Leased
from daemon.store.webhooks.leasing import Prefetch

PREFETCH_S: Final = 0.25
PREFETCH_MAX: Final = 64
QUEUED_S_MAX: Final = 20.0
"""A delivery leased longer ago is not started: the lease (60 s) must outlast the attempt (15 s)."""


class EndpointQueues:
    """The queues of all workers. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._queues: dict[QueueKey, deque[tuple[Leased, float]]] = {}
        self._pace: dict[str, int] = {}

    def add(self, leased: Iterable[Leased], now: float) -> None:
        """Append newly leased deliveries, each to its queue."""
        for one in leased:
            key = one.endpoint.id, one.delivery.bulk
            self._queues.setdefault(key, deque()).append((one, now))

    def take(self, key: QueueKey, now: float) -> Leased | None:
        """Remove and return the next delivery; None when the queue is empty or its lease is too old."""
        queue = self._queues.get(key)
        if not queue or now - queue[0][1] > QUEUED_S_MAX:
            return None
        return queue.popleft()[0]

    def is_behind(self, key: QueueKey) -> bool:
        """Return whether the next delivery has lower priority than live ones."""
        queue = self._queues.get(key)
        return key[1] or (queue is not None and len(queue) > 0 and queue[0][0].is_behind)

    def drop(self, key: QueueKey) -> list[Leased]:
        """Empty a queue and return its deliveries."""
        return [leased for leased, _ in self._queues.pop(key, ())]

    def drop_all(self) -> list[Leased]:
        """Empty all queues and return their deliveries."""
        return [leased for key in list(self._queues) for leased in self.drop(key)]

    def all(self) -> Iterator[Leased]:
        """Yield the deliveries of all queues."""
        return (leased for queue in self._queues.values() for leased, _ in queue)

    def waiting(self) -> list[QueueKey]:
        """Return the keys of the queues that are not empty."""
        return [key for key, queue in self._queues.items() if queue]

    def answered(self, endpoint_id: str, duration_us: int) -> None:
        """Set the prefetch size of an endpoint from its answer time."""
        self._pace[endpoint_id] = min(
            PREFETCH_MAX, int(PREFETCH_S * SECOND_US / max(1, duration_us))
        )

    def failed(self, endpoint_id: str) -> None:
        """Stop prefetching for this endpoint."""
        self._pace.pop(endpoint_id, None)

    def ahead(self, running: Mapping[QueueKey, int], going_on: Collection[QueueKey]) -> Prefetch:
        """Return how many deliveries to lease for each queue in one commit; no more where no worker is going on."""
        if not running:
            self._pace.clear()  # measurements from before an idle time may be outdated
        more = {}
        for key in going_on:
            pace = self._pace.get(key[0], 0)
            if len(self._queues.get(key, ())) * 2 < pace:
                more[key] = pace
        first = {endpoint_id: max(1, pace) for endpoint_id, pace in self._pace.items()}
        queued = {key: (len(self._queues[key]), self.is_behind(key)) for key in self.waiting()}
        return Prefetch(first, more, queued)

    def needs_prefetch(self, key: QueueKey) -> bool:
        """Return whether to lease more for a queue now, before it is empty."""
        return len(self._queues.get(key, ())) * 2 < self._pace.get(key[0], 0)
