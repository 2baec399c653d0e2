"""Single steps of the delivery of webhooks, which the daemon does many at a time in `deliver.turn`."""

from collections.abc import Collection, Mapping

from daemon.core.webhooks.delivery import AttemptOutcome, Decision, LinkState, QueueKey, RetryPolicy, Running
from daemon.env import Env
from daemon.flows.webhooks import deliver
from daemon.store.webhooks import attempts
from daemon.store.webhooks.attempts import DueDeliveries, EndedAttempt, Leased, Workers


async def lease(
    env: Env,
    *,
    limit: int,
    per_endpoint: int,
    running: Running,
    held: Collection[str] = (),
    ahead: Mapping[QueueKey, int] | None = None,
) -> DueDeliveries:
    """Lease the deliveries that are due now, oldest first; arguments as for `Workers`."""
    workers = Workers(limit, per_endpoint, running, held=held, ahead=ahead or {})
    return (await deliver.turn(env, workers=workers)).due


async def record_outcome(
    env: Env, leased: Leased, outcome: AttemptOutcome, *, link: LinkState, policy: RetryPolicy
) -> Decision:
    """Record the outcome of an attempt and return the decision."""
    ended = EndedAttempt(leased, outcome, link, policy, env.clock.now_us(), env.entropy.unit())
    return await env.store.write(lambda tx: attempts.record(tx, ended, env.new_id))
