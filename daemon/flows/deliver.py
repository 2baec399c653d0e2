"""Send what is owed: lease it, attempt it outside any transaction, write down what came of it.

A crash between any two of these is safe: the lease runs out (or is given back at start) and the same delivery goes
out again under the same `webhook_id`: at least once (decisions.md section 7).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from daemon.core.delivery import Decision, Link, Outcome, RetryPolicy
from daemon.core.limits import LEASE_US, MINUTE_US, SECOND_US
from daemon.core.pacing import PROBES, Running, full
from daemon.core.probing import probe_at
from daemon.core.webhook_headers import Sent, headers
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import attempt_record, deliveries, delivery_queue, webhook_secrets
from daemon.store.attempt_record import Ended, Leased
from daemon.store.delivery_queue import Waiting
from daemon.store.engine import Tx
from daemon.webhooks.targets import Target

Held = Callable[[str], bool]
"""Says of an address that nothing is sent to it now, because our own link is down."""


@dataclass(frozen=True, slots=True)
class Due:
    """What may go out now, and when to look again.

    Attributes:
        leased: Probes first, then the oldest first.
        next_at: When the next delivery is due that an endpoint has room for, in microseconds; None when
            none waits, or `limit` was reached.
    """

    leased: tuple[Leased, ...]
    next_at: int | None


async def lease(
    env: Env, *, limit: int, per_endpoint: int, running: Running, held: Held = lambda _url: False
) -> Due:
    """Lease what is due now, oldest first, in one commit: a webhook waits for this one.

    What is sent again in bulk (a replay) comes after what is live, and leaves room for it (`core.pacing`). An endpoint
    that is out gets one delivery now and then, its probe (`core.probing`).

    Args:
        env: The doors.
        limit: How many at most.
        per_endpoint: How many attempts one endpoint may have at the same time.
        running: What runs already.
        held: Addresses to which nothing is sent now.
    """
    now = env.clock.now_us()
    workers = limit + sum(running.values())
    turn = _Turn(now, limit, per_endpoint, workers, Counter(running), held)
    return await env.store.write(turn.lease)


@dataclass(slots=True)
class _Turn:
    """One round of leasing, inside its transaction."""

    now: int
    limit: int
    per_endpoint: int
    workers: int
    running: Counter[tuple[str, bool]]
    held: Held

    def lease(self, tx: Tx) -> Due:
        """Lease the probes that are due, then all else."""
        leased, probe_next = self._probes(tx)
        others, next_at = self._others(tx, self.limit - len(leased))
        leased += others
        times = [at for at in (probe_next, next_at) if at is not None]
        full_up = len(leased) >= self.limit
        return Due(tuple(leased), None if full_up else min(times, default=None))

    def _probes(self, tx: Tx) -> tuple[list[Leased], int | None]:
        leased: list[Leased] = []
        times: list[int] = []
        out = delivery_queue.out(tx)
        tried = {endpoint_id for (endpoint_id, _), count in self.running.items() if count}
        room = max(1, self.workers // PROBES) - sum(one[0] in tried for one in out)
        for endpoint_id, failures, link_failures, last in out:
            if endpoint_id in tried:
                continue  # whoever finishes wakes us
            due_at = delivery_queue.next_due(tx, endpoint_id, self.now)
            if due_at is None:
                continue
            at = max(due_at, probe_at(failures, link_failures, last))
            if at > self.now:
                times.append(at)
            elif len(leased) < min(room, self.limit):
                found = delivery_queue.probe(tx, endpoint_id, self.now)
                if found is not None and not self.held(found[1].url):
                    leased.append(self._take(tx, found))
        return leased, min(times, default=None)

    def _others(self, tx: Tx, limit: int) -> tuple[list[Leased], int | None]:
        leased: list[Leased] = []
        held: set[str] = set()
        while len(leased) < limit:
            # One at a time, so that a long queue of one endpoint takes no other's place.
            who = full(self.running, per_endpoint=self.per_endpoint, workers=self.workers)
            first = delivery_queue.first_waiting(
                tx, now=self.now, full=(*who.endpoints, *held), bulk_full=who.bulk
            )
            if first is None:
                return leased, None
            delivery, endpoint = first
            if self.held(endpoint.url):
                held.add(endpoint.id)
            elif delivery.next_attempt_at is None or delivery.next_attempt_at > self.now:
                return leased, delivery.next_attempt_at
            else:
                leased.append(self._take(tx, first))
        return leased, None

    def _take(self, tx: Tx, found: Waiting) -> Leased:
        delivery, endpoint = found
        number = deliveries.lease(tx, delivery, now=self.now, until=self.now + LEASE_US)
        secrets = webhook_secrets.valid_at(tx, webhook_secrets.owner_of(endpoint), self.now)
        self.running[endpoint.id, delivery.bulk] += 1
        return Leased(delivery, endpoint, number, tuple(secrets))


async def attempt(env: Env, sender: Target, leased: Leased) -> Outcome | None:
    """Sign and send one delivery; None when it must wait because the secrets are locked."""
    # Receivers refuse a signature that is minutes old: while our clock is in doubt the networks' time signs.
    stamp = env.believed_us() // SECOND_US
    delivery = leased.delivery
    try:
        secrets = [
            env.vault.unseal(sealed, webhook_secrets.PURPOSE).decode()
            for sealed in leased.sealed_secrets
        ]
    except SecretsLocked:
        await _give_back(env, leased, "secrets_locked")
        return None
    body = delivery.body.encode()
    sent = Sent(
        webhook_id=delivery.webhook_id,
        event=delivery.event,
        delivery_id=delivery.id,
        attempt=leased.number,
        sequence=delivery.seq,
        replay=delivery.run > 1 or delivery.bulk,
        test=delivery.test,
    )
    signed = headers(secrets, sent, timestamp=stamp, body=body)
    return await sender.post(leased.endpoint.url, signed, body)


async def _give_back(env: Env, leased: Leased, waiting: str) -> None:
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.give_back(
            tx, leased.delivery, leased.number, waiting=waiting, now=now, next_at=now + MINUTE_US
        )
    )


async def unlock(env: Env) -> None:
    """Make what waited for the master key due now: it can be had again."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: deliveries.make_due(tx, waiting="secrets_locked", now=now))


async def give_back(env: Env, leased: Leased) -> None:
    """Return a delivery whose attempt our own shutdown cut off; it counts for nothing."""
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.give_back(
            tx, leased.delivery, leased.number, waiting="shutdown", now=now, next_at=now
        )
    )


async def record(
    env: Env, leased: Leased, outcome: Outcome, *, link: Link, policy: RetryPolicy
) -> Decision:
    """Write down what came of an attempt and return what was decided."""
    ended = Ended(leased, outcome, link, policy, env.clock.now_us(), env.entropy.unit())
    return await env.store.write(lambda tx: attempt_record.write(tx, ended, env.new_id))


async def link_returned(env: Env) -> int:
    """Bring forward what our own link held up; returns at how many endpoints."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: delivery_queue.link_returned(tx, now))


async def addresses(env: Env) -> list[str]:
    """Return the addresses that could tell whether our own link works."""
    return await env.store.read(delivery_queue.addresses)
