"""Choose what goes out next: one round over what is owed, inside one transaction, and the order of decisions.md section 7."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from daemon.core.limits import LEASE_US
from daemon.core.model import Delivery
from daemon.core.pacing import PROBES, Key, full, serve
from daemon.core.probing import probe_at
from daemon.store import delivery_queue, flush, webhook_secrets
from daemon.store.attempt_record import Leased
from daemon.store.delivery_queue import Queue, Wanted
from daemon.store.engine import Tx
from daemon.store.webhook_secrets import owner_of

Held = Callable[[str], bool]
"""Says of an address that nothing is sent to it now, because our own link is down."""


@dataclass(frozen=True, slots=True)
class Due:
    """What may go out now, and when to look again.

    Attributes:
        leased: What is ours now: of each endpoint the oldest first.
        places: What each attempt that may begin is for: an endpoint, live or in bulk. Where the pace allows more than
            one to a place, what is leased of the same is for whichever of them is free first.
        next_at: When the next delivery is due that an endpoint has room for, in microseconds; now while retries are
            still brought forward; None when none waits, or `limit` was reached.
    """

    leased: tuple[Leased, ...]
    places: tuple[Key, ...]
    next_at: int | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """How many deliveries of an endpoint are leased in one go.

    Attributes:
        pace: With a new place, by endpoint; one where it is not named.
        more: For places that are busy and will soon have nothing left.
    """

    pace: Mapping[str, int] = field(default_factory=dict)
    more: Mapping[Key, int] = field(default_factory=dict)


NOTHING_DUE: Final = Due((), (), None)
ONE_EACH: Final = Ahead()
"""Every place is for one delivery."""


@dataclass(slots=True)
class Turn:
    """One round of leasing, inside its transaction."""

    now: int
    limit: int
    per_endpoint: int
    workers: int
    running: Counter[Key]
    held: Held
    ahead: Ahead
    backlog: int = 0
    served: dict[Key, int] = field(default_factory=dict)
    found: list[Delivery] = field(default_factory=list)
    places: list[Key] = field(default_factory=list)

    def lease(self, tx: Tx) -> Due:
        """Lease the probes that are due, then all else."""
        waiting = delivery_queue.queues(tx, self.now)
        flushing = next((queue for queue in waiting if queue.flushing), None)
        if flushing is not None:
            if flushing.is_out:
                flush.stop(tx, flushing.endpoint_id)
            else:
                flush.go_on(tx, flushing.endpoint_id, self.now)
        probe_next = self._probes(tx, [queue for queue in waiting if queue.is_out])
        ready = {
            (queue.endpoint_id, queue.bulk): queue
            for queue in waiting
            if queue.bulk is not None and not queue.is_out and not self.held(queue.url)
        }
        more = [key for key in self.ahead.more if key in ready and self._is_due(ready[key])]
        if more:
            self._take_due(tx, {key: self.ahead.more[key] for key in more})
            self._look_again(tx, ready, more)
        next_at = self._others(tx, ready)
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
        room = max(1, self.workers // PROBES) - sum(endpoint_id in tried for endpoint_id in first)
        for queue in sorted(
            first.values(), key=lambda one: (one.last_failure_at or 0, one.endpoint_seq)
        ):
            if queue.endpoint_id in tried or queue.next_at is None:
                continue  # whoever finishes wakes us
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
                    self._place((queue.endpoint_id, found.bulk))
        return min(times, default=None)

    def _others(self, tx: Tx, ready: dict[Key, Queue]) -> int | None:
        while len(self.places) < self.limit:
            # One place at a time, so that a long queue of one endpoint takes no other's.
            who = full(
                self.running,
                backlog=self.backlog,
                per_endpoint=self.per_endpoint,
                workers=self.workers,
            )
            first = min(
                (
                    queue
                    for (endpoint_id, bulk), queue in ready.items()
                    if endpoint_id not in who.endpoints
                    and not (queue.is_behind and who.behind)
                    and not (bulk and endpoint_id in who.bulk)
                ),
                key=self._order,
                default=None,
            )
            if first is None:
                return None
            if not self._is_due(first):
                return first.next_at
            key = first.endpoint_id, bool(first.bulk)
            self._take_due(tx, {key: self.ahead.pace.get(first.endpoint_id, 1)})
            self._place(key)
            self.backlog += first.is_behind and not first.bulk
            self._look_again(tx, ready, [key])
        return None

    def _order(self, queue: Queue) -> tuple[int, int, int, int]:
        """Of what is due now, what is live comes before what waits behind it; then whoever had a place longest ago.

        So that a long queue, which is the oldest for hours, does not get back each place that it gives up.
        """
        if not self._is_due(queue):
            return (2, 0, *queue.place)
        served = self.served.get((queue.endpoint_id, bool(queue.bulk)), 0)
        return (int(queue.is_behind), served, *queue.place)

    def _is_due(self, queue: Queue) -> bool:
        return queue.next_at is not None and queue.next_at <= self.now

    def _look_again(self, tx: Tx, ready: dict[Key, Queue], keys: Collection[Key]) -> None:
        """See what is first in these queues after some was taken."""
        for key in keys:
            del ready[key]
        endpoint_id = next(iter(keys))[0] if len(keys) == 1 else None
        for queue in delivery_queue.queues(tx, self.now, endpoint_id):
            if (queue.endpoint_id, queue.bulk) in keys:
                ready[queue.endpoint_id, bool(queue.bulk)] = queue

    def _take_due(self, tx: Tx, counts: Mapping[Key, int]) -> None:
        wanted = [Wanted(endpoint_id, bulk, count) for (endpoint_id, bulk), count in counts.items()]
        self.found += delivery_queue.lease_due(tx, wanted, now=self.now, until=self.now + LEASE_US)

    def _place(self, key: Key) -> None:
        self.places.append(key)
        self.running[key] += 1
        serve(self.served, key)

    def _begun(self, tx: Tx) -> list[Leased]:
        """Record that what was leased begins, with what each is signed with."""
        numbers = delivery_queue.begin(tx, self.found, self.now)
        known = {
            endpoint.id: (
                endpoint,
                tuple(webhook_secrets.valid_at(tx, owner_of(endpoint), self.now)),
            )
            for endpoint in delivery_queue.endpoints(tx, {one.endpoint_id for one in self.found})
        }
        return [
            Leased(delivery, known[delivery.endpoint_id][0], number, known[delivery.endpoint_id][1])
            for delivery, number in zip(self.found, numbers, strict=True)
        ]
