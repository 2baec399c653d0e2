"""Choose what goes out next: one round over what is owed, inside one transaction, and the order of decisions.md section 7."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from daemon.core.limits import LEASE_US
from daemon.core.model import Delivery, Endpoint
from daemon.core.pacing import PROBES, Key, full
from daemon.core.probing import probe_at
from daemon.store import delivery_queue, webhook_secrets
from daemon.store.attempt_record import Leased
from daemon.store.delivery_queue import Queue
from daemon.store.engine import Tx

Held = Callable[[str], bool]
"""Says of an address that nothing is sent to it now, because our own link is down."""


@dataclass(frozen=True, slots=True)
class Due:
    """What may go out now, and when to look again.

    Attributes:
        leased: What is ours now: of each endpoint the oldest first.
        places: What each attempt that may begin is for: an endpoint, live or in bulk. Where the pace allows more than
            one to a place, what is leased of the same is for whichever of them is free first.
        next_at: When the next delivery is due that an endpoint has room for, in microseconds; None when
            none waits, or `limit` was reached.
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
    leased: list[Leased] = field(default_factory=list)
    places: list[Key] = field(default_factory=list)
    signers: dict[str, tuple[Endpoint, tuple[str, ...]]] = field(default_factory=dict)

    def lease(self, tx: Tx) -> Due:
        """Lease the probes that are due, then all else."""
        waiting = delivery_queue.queues(tx, self.now)
        probe_next = self._probes(tx, [queue for queue in waiting if queue.is_out])
        ready = {
            (queue.endpoint_id, queue.bulk): queue
            for queue in waiting
            if queue.bulk is not None and not queue.is_out and not self.held(queue.url)
        }
        for key, count in self.ahead.more.items():
            queue = ready.get(key)
            if queue is not None and self._is_due(queue):
                self._take_due(tx, key, count)
                self._look_again(tx, ready, key)
        next_at = self._others(tx, ready)
        times = [at for at in (probe_next, next_at) if at is not None]
        full_up = len(self.places) >= self.limit
        return Due(
            tuple(self.leased), tuple(self.places), None if full_up else min(times, default=None)
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
                    queue.failures, queue.link_failures, queue.last_failure_at, queue.updated_at
                ),
            )
            if at > self.now:
                times.append(at)
            elif len(self.places) < min(room, self.limit) and not self.held(queue.url):
                found = delivery_queue.lease_probe(
                    tx, queue.endpoint_id, now=self.now, until=self.now + LEASE_US
                )
                if found is not None:
                    self._keep(tx, [found])
                    self._place((queue.endpoint_id, found[0].bulk))
        return min(times, default=None)

    def _others(self, tx: Tx, ready: dict[Key, Queue]) -> int | None:
        while len(self.places) < self.limit:
            # One place at a time, so that a long queue of one endpoint takes no other's.
            who = full(self.running, per_endpoint=self.per_endpoint, workers=self.workers)
            first = min(
                (
                    queue
                    for (endpoint_id, bulk), queue in ready.items()
                    if endpoint_id not in who.endpoints
                    and not (bulk and (who.bulk is None or endpoint_id in who.bulk))
                ),
                key=self._order,
                default=None,
            )
            if first is None:
                return None
            if not self._is_due(first):
                return first.next_at
            key = first.endpoint_id, bool(first.bulk)
            self._take_due(tx, key, self.ahead.pace.get(first.endpoint_id, 1))
            self._place(key)
            self._look_again(tx, ready, key)
        return None

    def _order(self, queue: Queue) -> tuple[int, int, int]:
        """Of what is due now, what is live comes before what is in bulk; then the oldest."""
        return (int(bool(queue.bulk)) if self._is_due(queue) else 2, *queue.place)

    def _is_due(self, queue: Queue) -> bool:
        return queue.next_at is not None and queue.next_at <= self.now

    def _look_again(self, tx: Tx, ready: dict[Key, Queue], key: Key) -> None:
        del ready[key]
        for queue in delivery_queue.queues(tx, self.now, key[0]):
            if queue.bulk == key[1]:
                ready[key] = queue

    def _take_due(self, tx: Tx, key: Key, count: int) -> None:
        endpoint_id, bulk = key
        found = delivery_queue.lease_due(
            tx, endpoint_id, bulk=bulk, limit=count, now=self.now, until=self.now + LEASE_US
        )
        self._keep(tx, found)

    def _keep(self, tx: Tx, found: list[tuple[Delivery, int]]) -> None:
        for delivery, number in found:
            endpoint, secrets = self._signer(tx, delivery.endpoint_id)
            self.leased.append(Leased(delivery, endpoint, number, secrets))

    def _place(self, key: Key) -> None:
        self.places.append(key)
        self.running[key] += 1

    def _signer(self, tx: Tx, endpoint_id: str) -> tuple[Endpoint, tuple[str, ...]]:
        known = self.signers.get(endpoint_id)
        if known is None:
            endpoint = delivery_queue.endpoint(tx, endpoint_id)
            owner = webhook_secrets.owner_of(endpoint)
            secrets = tuple(webhook_secrets.valid_at(tx, owner, self.now))
            known = self.signers[endpoint_id] = endpoint, secrets
        return known
