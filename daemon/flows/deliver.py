"""Send what is owed: lease it, attempt it outside any transaction, write down what came of it.

A crash between any two of these is safe: the lease runs out (or is given back at start) and the same delivery goes
out again under the same `webhook_id`: at least once (decisions.md section 7).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from daemon.core.delivery import Decision, Link, Outcome, RetryPolicy
from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.pacing import Key, Running
from daemon.core.webhook_headers import Sent, headers
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import attempt_record, deliveries, delivery_queue, flush, webhook_secrets
from daemon.store.attempt_record import Ended, Leased
from daemon.store.engine import Tx
from daemon.store.leasing import NOTHING_DUE, ONE_EACH, Ahead, Due, Held, Turn
from daemon.webhooks.targets import Target


@dataclass(frozen=True, slots=True)
class Written:
    """What one turn did.

    Attributes:
        decisions: About what had ended, one each.
        due: What may go out now.
    """

    decisions: list[Decision]
    due: Due


async def turn(  # noqa: PLR0913 -- one commit does it all
    env: Env,
    *,
    ended: Sequence[Ended] = (),
    unsent: Sequence[Leased] = (),
    limit: int = 0,
    per_endpoint: int = 0,
    running: Running = MappingProxyType({}),
    backlog: int = 0,
    served: Mapping[Key, int] = MappingProxyType({}),
    held: Held = lambda _url: False,
    ahead: Ahead = ONE_EACH,
) -> Written:
    """Write down what came of attempts and lease what is due then, in one commit: webhooks wait for this one.

    What is sent again in bulk (a replay), and the backlog that an outage or a pause has left, come after what is live
    and leave room for it (`core.pacing`). An endpoint that is out gets one delivery now and then, its probe
    (`core.probing`).

    Args:
        env: The doors.
        ended: Attempts that were made, in the order in which they ended.
        unsent: What was leased and did not begin: it is due as if it had never been leased.
        limit: How many new places at most.
        per_endpoint: How many attempts one endpoint may have at the same time.
        running: What runs already.
        backlog: How many of these, not in bulk, are of a backlog.
        served: Who had a place lately: the higher the number the later.
        held: Addresses to which nothing is sent now.
        ahead: How many are leased in one go.

    Raises:
        Unavailable: Nothing was written.
    """
    now = env.clock.now_us()
    workers = limit + sum(running.values())
    choice = Turn(
        now, limit, per_endpoint, workers, Counter(running), held, ahead, backlog, dict(served)
    )
    back = [(leased.delivery, leased.number) for leased in unsent]

    def job(tx: Tx) -> Written:
        decisions = attempt_record.write_all(tx, ended, env.new_id)
        deliveries.put_back(tx, back)
        return Written(decisions, choice.lease(tx) if limit or ahead.more else NOTHING_DUE)

    return await env.store.write(job)


async def lease(
    env: Env,
    *,
    limit: int,
    per_endpoint: int,
    running: Running,
    held: Held = lambda _url: False,
    ahead: Ahead = ONE_EACH,
) -> Due:
    """Lease what is due now, oldest first; arguments as of `turn`."""
    written = await turn(
        env, limit=limit, per_endpoint=per_endpoint, running=running, held=held, ahead=ahead
    )
    return written.due


async def attempt(
    env: Env, sender: Target, leased: Leased, opened: dict[str, str] | None = None
) -> Outcome | None:
    """Sign and send one delivery; None when it must wait because the secrets are locked.

    Args:
        env: The doors.
        sender: Sends it.
        leased: What is sent.
        opened: Secrets that were unsealed for the one before; those of this one are added.
    """
    # Receivers refuse a signature that is minutes old: while our clock is in doubt the networks' time signs.
    stamp = env.believed_us() // SECOND_US
    delivery = leased.delivery
    try:
        secrets = _open(env, leased.sealed_secrets, {} if opened is None else opened)
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


def _open(env: Env, sealed_secrets: Sequence[str], opened: dict[str, str]) -> list[str]:
    for sealed in sealed_secrets:
        if sealed not in opened:
            opened[sealed] = env.vault.unseal(sealed, webhook_secrets.PURPOSE).decode()
    return [opened[sealed] for sealed in sealed_secrets]


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
    return await env.store.write(lambda tx: flush.link_returned(tx, now))


async def addresses(env: Env) -> list[str]:
    """Return the addresses that could tell whether our own link works."""
    return await env.store.read(delivery_queue.addresses)
