"""Lease the deliveries that are sent next: one round over all queues, in one transaction."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct, field

from daemon.core.limits import LEASE_US
from daemon.core.model import Delivery
from daemon.core.webhooks.fair_queue import (
    WORKERS_PER_PROBE,
    QueueKey,
    QueuesAtLimit,
    Running,
    mark_served,
    probe_at,
    queues_at_limit,
)
from daemon.store.engine import Tx
from daemon.store.webhooks import backlog, bodies, delivery_queue, secrets
from daemon.store.webhooks.attempts import Leased
from daemon.store.webhooks.delivery_queue import Queue, Wanted
from daemon.store.webhooks.secrets import owner_of

IsSuspended = Callable[[str], bool]
"""Returns whether sending to an address is suspended because our own link is down."""


class Due(Struct, frozen=True):
    """The deliveries to send now, and when to look again.

    Attributes:
        leased: The leased deliveries, the oldest of each endpoint first.
        places: The endpoint and kind (live or bulk) of each attempt that may begin. Where prefetch leases more than one
            for an attempt, any free worker of the same endpoint and kind takes the next.
        next_at: When the next delivery is due that may be sent, in microseconds; now while retries are still being
            rescheduled; None if none waits, or `limit` was reached.
    """

    leased: tuple[Leased, ...]
    places: tuple[QueueKey, ...]
    next_at: int | None


class Prefetch(Struct, frozen=True):
    """How many deliveries of an endpoint are leased at once (prefetch).

    `pace` is for a new attempt with its own delivery, by endpoint, one where it is not named; `more` for running attempts
    that will soon have no leased delivery left. `queued` are the prefetched deliveries that have not begun: how many, and
    whether the first has lower priority than live ones.
    """

    pace: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[QueueKey, int] = field(default_factory=dict)
    queued: Mapping[QueueKey, tuple[int, bool]] = field(default_factory=dict)


NOTHING_DUE: Final = Due((), (), None)
NO_PREFETCH: Final = Prefetch()
"""No prefetch: each attempt leases one delivery."""


class Workers(Struct, frozen=True):
    """What the workers do and may begin; without arguments, nothing is leased.

    Attributes:
        limit: Number of free workers.
        per_endpoint: Limit of simultaneous attempts to one endpoint.
        running: Attempts that are running.
        backlog: How many of these, other than bulk, are of a backlog.
        served: When each queue was last served: the higher the number the later.
        held: Whether nothing may be sent to an address now.
        ahead: How many deliveries are leased at once (prefetch).
        in_flight: The end of the lease of each delivery that is being sent or waits for a worker, by `seq`.
    """

    limit: int = 0
    per_endpoint: int = 0
    running: Running = field(default_factory=dict)
    backlog: int = 0
    served: Mapping[QueueKey, int] = field(default_factory=dict)
    held: IsSuspended = lambda _url: False
    ahead: Prefetch = NO_PREFETCH
    in_flight: Mapping[int, int] = field(default_factory=dict)

    def lease(self, tx: Tx, now: int) -> Due:
        """Lease what is sent next, and record the start of each attempt.

        Bulk resends and the backlog of an outage or a pause come after live deliveries and use only a part of the workers
        (`core.webhooks.fair_queue`). A failing endpoint gets one delivery at a time as a probe.
        """
        if not (self.limit or self.ahead.more):
            return NOTHING_DUE
        # The clock may have been set forward, or the machine slept. A second attempt beside the first could overwrite its 2xx.
        if over := [seq for seq, until in self.in_flight.items() if until <= now]:
            delivery_queue.extend_leases(tx, over, now + LEASE_US)
        return _LeaseRound(
            now,
            self.limit,
            self.per_endpoint,
            self.limit + sum(self.running.values()),
            Counter(self.running),
            self.held,
            self.ahead,
            self.backlog,
            dict(self.served),
        ).lease(tx)


NO_WORKERS: Final = Workers()


class _LeaseRound(Struct):
    """One round of leasing, inside its database transaction."""

    now: int
    limit: int
    per_endpoint: int
    workers: int
    running: Counter[QueueKey]
    held: IsSuspended
    ahead: Prefetch
    backlog: int
    served: dict[QueueKey, int]
    found: list[Delivery] = field(default_factory=list)
    places: list[QueueKey] = field(default_factory=list)

    def lease(self, tx: Tx) -> Due:
        """Lease the probes that are due, then one delivery for each free place, then some ahead for the busy places.

        In this order, because a delivery that is leased ahead waits for an answer, also where another place is free.
        """
        waiting = delivery_queue.queues(tx, self.now)
        flushing = next((queue for queue in waiting if queue.flushing), None)
        if flushing is not None:
            if flushing.is_out:
                backlog.stop_release(tx, flushing.endpoint_id)
            else:
                backlog.continue_release(tx, flushing.endpoint_id, self.now)
        probe_next = self._probes(tx, [queue for queue in waiting if queue.is_out])
        ready = {
            (queue.endpoint_id, queue.bulk): queue
            for queue in waiting
            if queue.bulk is not None and not queue.is_out and not self.held(queue.url)
        }
        next_at = self._lease_rest(tx, ready)
        self._begin_queued()
        self._lease_ahead(tx, ready)
        times = [at for at in (probe_next, next_at) if at is not None]
        if flushing is not None:
            times.append(self.now)
        full_up = len(self.places) >= self.limit and flushing is None
        return Due(
            tuple(self._begun(tx)),
            tuple(self.places),
            None if full_up else min(times, default=None),
        )

    def _probes(self, tx: Tx, out: list[Queue]) -> int | None:
        times: list[int] = []
        tried = {endpoint_id for (endpoint_id, _), count in self.running.items() if count}
        first: dict[str, Queue] = {}
        for queue in out:
            known = first.setdefault(queue.endpoint_id, queue)
            if queue.next_at is not None and (known.next_at or queue.next_at) > queue.next_at:
                first[queue.endpoint_id] = queue
        room = max(1, self.workers // WORKERS_PER_PROBE) - sum(
            endpoint_id in tried for endpoint_id in first
        )
        for queue in sorted(
            first.values(), key=lambda one: (one.last_failure_at or 0, one.endpoint_seq)
        ):
            if queue.endpoint_id in tried or queue.next_at is None:
                continue  # the end of its attempt starts another round
            at = max(
                queue.next_at,
                probe_at(
                    queue.failures,
                    queue.link_failures,
                    queue.last_failure_at,
                    queue.updated_at,
                    self.now,
                ),
            )
            if at > self.now:
                times.append(at)
            elif len(self.places) < min(room, self.limit) and not self.held(queue.url):
                found = delivery_queue.lease_probe(
                    tx, queue.endpoint_id, now=self.now, until=self.now + LEASE_US
                )
                if found is not None:
                    self.found.append(found)
                    self._add_attempt((queue.endpoint_id, found.bulk))
        return min(times, default=None)

    def _lease_rest(self, tx: Tx, ready: dict[QueueKey, Queue]) -> int | None:
        while len(self.places) < self.limit:
            # One attempt at a time, so that a long queue of one endpoint cannot take the others' turns, unless nobody waits.
            limits = self._limits()
            first = min(
                (
                    queue
                    for key, queue in ready.items()
                    if limits.allow(key, is_behind=queue.is_behind)
                ),
                key=self._order,
                default=None,
            )
            if first is None:
                return None
            if not self._is_due(first):
                return first.next_at
            key = first.endpoint_id, bool(first.bulk)
            is_alone = len(ready) == 1 and not first.is_behind
            found = self._take_due(tx, {key: self._free_places(key) if is_alone else 1})
            assert found, "its first delivery is due"
            for one in found:
                self._add_attempt(key)
                self.backlog += one.seq <= first.backlog_seq and not first.bulk
            # At its limit the next delivery is not asked for.
            if self._limits().allow(key, is_behind=False):
                self._refresh(tx, ready, key)
        return None

    def _limits(self) -> QueuesAtLimit:
        return queues_at_limit(
            self.running,
            backlog=self.backlog,
            per_endpoint=self.per_endpoint,
            workers=self.workers,
        )

    def _begin_queued(self) -> None:
        """Give places that are still free to deliveries that were leased ahead for a busy one."""
        for key, (count, is_behind) in self.ahead.queued.items():
            for _ in range(count):
                if len(self.places) >= self.limit or not self._limits().allow(
                    key, is_behind=is_behind
                ):
                    break
                self._add_attempt(key)
                self.backlog += is_behind and not key[1]

    def _lease_ahead(self, tx: Tx, ready: dict[QueueKey, Queue]) -> None:
        wanted = Counter(self.ahead.more)
        for key in self.places:
            wanted[key] += self.ahead.pace.get(key[0], 1) - 1
        due = {
            key: count
            for key, count in wanted.items()
            if count > 0 and key in ready and self._is_due(ready[key])
        }
        self._take_due(tx, due)

    def _order(self, queue: Queue) -> tuple[int, int, int, int]:
        """Return the sort key: due live deliveries, then due backlog and bulk, each least recently served first.

        Without this round-robin a long queue, which has the oldest deliveries for hours, would regain each slot at once.
        """
        if not self._is_due(queue):
            return (2, 0, *queue.place)
        served = self.served.get((queue.endpoint_id, bool(queue.bulk)), 0)
        return (int(queue.is_behind), served, *queue.place)

    def _is_due(self, queue: Queue) -> bool:
        return queue.next_at is not None and queue.next_at <= self.now

    def _refresh(self, tx: Tx, ready: dict[QueueKey, Queue], key: QueueKey) -> None:
        """Read the first delivery of a queue again after one was leased."""
        del ready[key]
        for queue in delivery_queue.queues(tx, self.now, key[0]):
            if (queue.endpoint_id, queue.bulk) == key:
                ready[key] = queue

    def _free_places(self, key: QueueKey) -> int:
        """Return how many places a live queue may take."""
        taken = sum(self.running[key[0], bulk] for bulk in (False, True))
        return min(self.limit - len(self.places), self.per_endpoint - taken)

    def _take_due(self, tx: Tx, counts: Mapping[QueueKey, int]) -> list[Delivery]:
        wanted = [Wanted(endpoint_id, bulk, count) for (endpoint_id, bulk), count in counts.items()]
        found = delivery_queue.lease_due(tx, wanted, now=self.now, until=self.now + LEASE_US)
        self.found += found
        return found

    def _add_attempt(self, key: QueueKey) -> None:
        self.places.append(key)
        self.running[key] += 1
        mark_served(self.served, key)

    def _begun(self, tx: Tx) -> list[Leased]:
        """Record the start of each leased delivery's attempt, and add its body and signing secrets."""
        numbers = delivery_queue.begin(tx, self.found, self.now)
        sent = bodies.of(tx, [one.seq for one in self.found]) if self.found else {}
        known = {
            endpoint.id: (endpoint, tuple(secrets.valid_at(tx, owner_of(endpoint), self.now)))
            for endpoint in delivery_queue.endpoints(tx, {one.endpoint_id for one in self.found})
        }
        return [
            Leased(
                delivery,
                known[delivery.endpoint_id][0],
                number,
                sent[delivery.seq],
                known[delivery.endpoint_id][1],
            )
            for delivery, number in zip(self.found, numbers, strict=True)
        ]
