"""Delivery of webhooks: lease, attempt outside any database transaction, record the outcome.

A crash between two of these steps is safe: the lease expires (or is released at the start) and the same delivery is sent
again under the same `webhook_id`: at least once (decisions.md section 7).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.webhooks.delivery import Decision, Outcome
from daemon.core.webhooks.fair_queue import QueueKey, Running
from daemon.core.webhooks.signing import AttemptMetadata, headers
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.sender.targets import Target
from daemon.store.engine import Tx
from daemon.store.webhooks import attempts, backlog, deliveries, delivery_queue, secrets
from daemon.store.webhooks.attempts import EndedAttempt, Leased
from daemon.store.webhooks.leasing import (
    NO_PREFETCH,
    NOTHING_DUE,
    Due,
    IsSuspended,
    LeaseRound,
    Prefetch,
)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """Result of one turn.

    There is one decision for each attempt that had ended; `due` is to be sent now.
    """

    decisions: list[Decision]
    due: Due


async def turn(  # noqa: PLR0913 -- one commit does it all
    env: Env,
    *,
    ended: Sequence[EndedAttempt] = (),
    unsent: Sequence[Leased] = (),
    limit: int = 0,
    per_endpoint: int = 0,
    running: Running = MappingProxyType({}),
    backlog: int = 0,
    served: Mapping[QueueKey, int] = MappingProxyType({}),
    held: IsSuspended = lambda _url: False,
    ahead: Prefetch = NO_PREFETCH,
) -> TurnResult:
    """Record the outcomes of attempts and lease the due deliveries, in one commit, because webhooks wait for it.

    Bulk resends and the backlog of an outage or a pause come after live deliveries and use only a part of the workers
    (`core.webhooks.fair_queue`). A failing endpoint gets one delivery at a time as a probe.

    Args:
        env: The environment.
        ended: Attempts that have ended, in that order.
        unsent: Leased deliveries that were not started: they become due as if never leased.
        limit: Number of free workers.
        per_endpoint: Limit of simultaneous attempts to one endpoint.
        running: Attempts that are running.
        backlog: How many of these, other than bulk, are of a backlog.
        served: When each queue was last served: the higher the number the later.
        held: Whether nothing may be sent to an address now.
        ahead: How many deliveries are leased at once (prefetch).

    Raises:
        Unavailable: Nothing was written.
    """
    now = env.clock.now_us()
    workers = limit + sum(running.values())
    choice = LeaseRound(
        now, limit, per_endpoint, workers, Counter(running), held, ahead, backlog, dict(served)
    )
    back = [(leased.delivery, leased.number) for leased in unsent]

    def job(tx: Tx) -> TurnResult:
        decisions = attempts.record_all(tx, ended, env.new_id)
        deliveries.undo_leases(tx, back)
        return TurnResult(decisions, choice.lease(tx) if limit or ahead.more else NOTHING_DUE)

    return await env.store.write(job)


async def attempt(
    env: Env, sender: Target, leased: Leased, opened: dict[str, str] | None = None
) -> Outcome | None:
    """Sign and send one delivery; return None if it must wait because the secrets are locked.

    `opened` is a cache of unsealed secrets; those of this delivery are added.
    """
    # Receivers refuse a signature that is minutes old: while our clock is in doubt, the networks' time is used.
    stamp = env.times().best_us // SECOND_US
    delivery = leased.delivery
    try:
        secrets = _open(env, leased.sealed_secrets, {} if opened is None else opened)
    except SecretsLocked:
        await _give_back(env, leased, "secrets_locked")
        return None
    body = delivery.body.encode()
    sent = AttemptMetadata(
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


def _open(env: Env, sealed_secrets: Sequence[str], opened: dict[str, str]) -> list[str]:
    for sealed in sealed_secrets:
        if sealed not in opened:
            opened[sealed] = env.vault.unseal(sealed, secrets.PURPOSE).decode()
    return [opened[sealed] for sealed in sealed_secrets]


async def _give_back(env: Env, leased: Leased, waiting: str) -> None:
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.return_unsent(
            tx, leased.delivery, leased.number, waiting=waiting, now=now, next_at=now + MINUTE_US
        )
    )


async def release_locked(env: Env) -> None:
    """Make the deliveries that waited for the master key due now."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: deliveries.make_due(tx, waiting="secrets_locked", now=now))


async def release_interrupted(env: Env, leased: Leased) -> None:
    """Release a delivery after our shutdown interrupted its attempt; the attempt is not counted."""
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.return_unsent(
            tx, leased.delivery, leased.number, waiting="shutdown", now=now, next_at=now
        )
    )


async def link_returned(env: Env) -> int:
    """Bring forward the deliveries delayed by our own outage; return the number of endpoints."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: backlog.release_after_link_outage(tx, now))


async def receiver_addresses(env: Env) -> list[str]:
    """Return the receivers' addresses that can be used to check our own connection."""
    return await env.store.read(delivery_queue.addresses)
