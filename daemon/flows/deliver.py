"""Send what is owed: lease it, attempt it outside any transaction, write down what came of it.

A crash between any two of these is safe: the lease runs out (or is given back at start) and the same delivery goes
out again under the same `webhook_id`: at least once (decisions.md section 7).
"""

from collections import Counter
from dataclasses import dataclass, replace

from daemon.core.delivery import (
    AUTO_PAUSE_AT,
    DeadLetterReason,
    Decision,
    DeliveryEvent,
    DeliveryFacts,
    Link,
    Outcome,
    RetryPolicy,
    decide,
    next_status,
)
from daemon.core.limits import LEASE_US, MINUTE_US, SECOND_US
from daemon.core.model import Delivery, Endpoint
from daemon.core.pacing import Running, full
from daemon.core.webhook_headers import Sent, headers
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import dead_letters, deliveries, endpoints, events, webhook_secrets
from daemon.store.engine import Tx
from daemon.webhooks.targets import Target
from daemon.wire import DeliveryStatus


@dataclass(frozen=True, slots=True)
class Leased:
    """A delivery whose attempt has begun: recorded, and ours until the lease ends."""

    delivery: Delivery
    endpoint: Endpoint
    number: int
    sealed_secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """What may go out now, and when to look again.

    Attributes:
        leased: Oldest first.
        next_at: When the next delivery is due that an endpoint has room for, in microseconds; None when
            none waits, or `limit` was reached.
    """

    leased: tuple[Leased, ...]
    next_at: int | None


async def lease(env: Env, *, limit: int, per_endpoint: int, running: Running) -> Due:
    """Lease what is due now, oldest first, in one commit: a webhook waits for this one.

    What is sent again in bulk (a replay) comes after what is live, and leaves room for it (`core.pacing`).

    Args:
        env: The doors.
        limit: How many at most.
        per_endpoint: How many attempts one endpoint may have at the same time.
        running: What runs already.
    """
    now = env.clock.now_us()
    workers = limit + sum(running.values())

    def job(tx: Tx) -> Due:
        counts = Counter(running)
        leased: list[Leased] = []
        next_at = None
        while len(leased) < limit:
            # One at a time, so that a long queue of one endpoint takes no other's place.
            who = full(counts, per_endpoint=per_endpoint, workers=workers)
            first = deliveries.first_waiting(tx, now=now, full=who.endpoints, bulk_full=who.bulk)
            if first is None:
                break
            delivery, endpoint = first
            next_at = delivery.next_attempt_at
            if next_at is None or next_at > now:
                break
            number = deliveries.lease(tx, delivery, now=now, until=now + LEASE_US)
            secrets = webhook_secrets.valid_at(tx, webhook_secrets.owner_of(endpoint), now)
            leased.append(Leased(delivery, endpoint, number, tuple(secrets)))
            counts[endpoint.id, delivery.bulk] += 1
            next_at = None
        return Due(tuple(leased), next_at)

    return await env.store.write(job)


async def attempt(env: Env, sender: Target, leased: Leased) -> Outcome | None:
    """Sign and send one delivery; None when it must wait because the secrets are locked."""
    started = env.clock.now_us()
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
    signed = headers(secrets, sent, timestamp=started // SECOND_US, body=body)
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
    now = env.clock.now_us()
    unit = env.entropy.unit()
    delivery, endpoint = leased.delivery, leased.endpoint

    def job(tx: Tx) -> Decision:
        failures, link_failures = deliveries.streak_of(tx, endpoint.id)
        facts = DeliveryFacts(
            status=delivery.status,
            attempt_count=delivery.attempt_count,
            consecutive_failures=failures,
            extra=delivery.extra,
            link_failures=link_failures,
        )
        decision = decide(facts, outcome, now_us=now, unit=unit, link=link, policy=policy)
        active, deleted = endpoints.now_in_use(tx, endpoint.id)
        if deleted and decision.next_attempt_at_us is not None:
            decision = _given_up(decision, delivery.status)
        _write(tx, leased, outcome, decision, now)
        if active and decision.consecutive_failures >= AUTO_PAUSE_AT:
            _pause(tx, endpoint, decision.consecutive_failures, now)
        if decision.dead_letter is not None:
            dead_letters.bury(
                tx,
                letter_id=env.new_id(),
                delivery_id=delivery.id,
                reason=decision.dead_letter,
                now=now,
            )
        if decision.flush_endpoint:
            deliveries.flush(tx, endpoint.id, now)
        if not deleted or decision.status is DeliveryStatus.DELIVERED:
            # A failure after the deletion was told by the deletion.
            _tell(tx, leased, outcome, decision, now)
        return decision

    return await env.store.write(job)


def _write(tx: Tx, leased: Leased, outcome: Outcome, decision: Decision, now: int) -> None:
    """Write the attempt down: in the log, on the delivery, on its endpoint."""
    delivery = leased.delivery
    delivered = decision.status is DeliveryStatus.DELIVERED
    failed = decision.status is DeliveryStatus.FAILED
    deliveries.record(
        tx,
        delivery,
        leased.number,
        changes={
            "status": decision.status,
            "next_attempt_at": decision.next_attempt_at_us,
            "attempt_count": decision.attempt_count,
            "response_status_code": outcome.status_code,
            "response_body": outcome.response_body if outcome.status_code else None,
            "error_code": decision.error_code,
            "error_message": None if delivered else outcome.error_message,
            # The first 2xx is kept for ever.
            "delivered_at": delivery.delivered_at or (now if delivered else None),
            "failed_at": now if failed else None,
            "waiting": None,
        },
        attempt={
            "finished_at": now,
            "duration_us": outcome.duration_us,
            "status_code": outcome.status_code,
            "error_code": decision.error_code,
            "error_message": outcome.error_message,
            "counted": decision.counts,
        },
    )
    deliveries.note_endpoint(
        tx,
        leased.endpoint.id,
        succeeded=delivered,
        failures=decision.consecutive_failures,
        link_failure=not delivered and not decision.counts,
        now=now,
    )
    if delivered:
        dead_letters.resolve(tx, delivery.id, now)


def _tell(tx: Tx, leased: Leased, outcome: Outcome, decision: Decision, now: int) -> None:
    """Tell the journal when a delivery has ended."""
    kinds = {
        DeliveryStatus.DELIVERED: "delivery.delivered",
        DeliveryStatus.FAILED: "delivery.failed",
    }
    if decision.status not in kinds:
        return
    events.add(
        tx,
        type=kinds[decision.status],
        mode=leased.endpoint.mode,
        at=now,
        transaction_id=leased.delivery.transaction_id,
        endpoint_id=leased.endpoint.id,
        data={
            "delivery_id": leased.delivery.id,
            "event": leased.delivery.event,
            "code": outcome.status_code,
        },
    )


def _given_up(decision: Decision, status: DeliveryStatus) -> Decision:
    """Judge a failure whose endpoint was deleted while the attempt was under way: there will be no other."""
    return replace(
        decision,
        event=DeliveryEvent.ENDPOINT_DELETED,
        status=next_status(status, DeliveryEvent.ENDPOINT_DELETED),
        next_attempt_at_us=None,
        dead_letter=DeadLetterReason.ENDPOINT_DELETED,
    )


def _pause(tx: Tx, endpoint: Endpoint, failures: int, now: int) -> None:
    """Stop sending to the shop's own endpoint. Implicit ones have nobody who could resume them."""
    if endpoint.kind != "endpoint":
        return
    endpoints.change(
        tx, endpoint.id, {"is_active": False, "auto_paused_at": now, "updated_at": now}
    )
    events.add(
        tx,
        type="endpoint.auto_paused",
        mode=endpoint.mode,
        at=now,
        endpoint_id=endpoint.id,
        data={"consecutive_failures": failures},
    )
