"""Delivery of webhooks: lease, attempt outside any database transaction, record the outcome; and a test that is not recorded.

A crash between two of these steps is safe: the lease expires (or is released at the start) and the same delivery is sent
again under the same `webhook_id`: at least once.
"""

import functools
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from daemon.core import ids
from daemon.core.access.callers import Caller, Operation, is_loopback_address, require
from daemon.core.limits import MINUTE_US
from daemon.core.upkeep.clock_check import clock_wait_us, difference
from daemon.core.webhooks import body as core_body
from daemon.core.webhooks.delivery import AttemptOutcome, AttemptResult, Decision, classify, error_code
from daemon.core.webhooks.diagnosis import explain
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.signing import AttemptMetadata
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.sender.address_guard import Resolver
from daemon.sender.https import Sender
from daemon.sender.local_targets import Target, Targets
from daemon.steps.webhooks.head import head, head_now, unsealing
from daemon.store.engine import Tx
from daemon.store.webhooks import attempts, deliveries, endpoints
from daemon.store.webhooks.attempts import NO_WORKERS, DueDeliveries, EndedAttempt, Leased, Workers
from daemon.wire import EventKind, Mode


class TurnResult(Struct, frozen=True):
    """Result of one turn.

    There is one decision for each attempt that had ended; `due` is to be sent now.
    """

    decisions: list[Decision]
    due: DueDeliveries


async def turn(
    env: Env, *, ended: Sequence[EndedAttempt] = (), unsent: Sequence[Leased] = (), workers: Workers = NO_WORKERS
) -> TurnResult:
    """Record the outcomes of attempts and lease the due deliveries, in one commit, because webhooks wait for it.

    `ended` are attempts in the order of their end. Those of `unsent` were leased and not started: they become due as if never
    leased. `workers` says what may be leased.
    """
    now = env.clock.now_us()
    back = [(leased.delivery, leased.number) for leased in unsent]

    def job(tx: Tx) -> TurnResult:
        decisions = attempts.record_all(tx, ended, env.new_id)
        deliveries.undo_leases(tx, back)
        return TurnResult(decisions, workers.lease(tx, now))

    return await env.store.write(job)


async def attempt(
    env: Env, sender: Target, leased: Leased, opened: dict[tuple[str, str], str] | None = None
) -> AttemptOutcome | None:
    """Sign and send one delivery; return None if it must wait: the secrets are locked, or `env.ca_fault` says why.

    `opened` is a cache of unsealed texts (`steps.webhooks.head`); those of this delivery are added.
    """
    times = env.times()
    delivery = leased.delivery
    sent = AttemptMetadata(
        webhook_id=delivery.webhook_id, event=delivery.event, delivery_id=delivery.id, attempt=leased.number,
        sequence=delivery.seq, replay=delivery.run > 1 or delivery.bulk, test=delivery.test,
    )  # fmt: skip
    sealed, body = leased.sealed_secrets, leased.body
    unsealed = unsealing(env, {} if opened is None else opened)
    try:
        headers = head(unsealed, leased.endpoint, sealed, sent, body, times.best_us)
    except SecretsLocked as error:
        env.secrets_fault = str(error)
        await _give_back(env, leased, "secrets_locked")
        return None
    outcome = await sender.post(leased.endpoint.url, headers, body)
    if outcome.without_cas:  # its disk may not be mounted yet: that is no failure of the receiver
        env.ca_fault = outcome.error_message or ""
        await _give_back(env, leased, "ca_file")
        return None
    # Read before the witness is noted, and only where it is needed: it costs as much as the signatures.
    refused = classify(outcome) is AttemptResult.REFUSED
    ended = env.times() if refused else None
    host = _host_elsewhere(leased.endpoint.url)
    # Anyone with a test key can name a sandbox receiver.
    if outcome.date_us is not None and leased.endpoint.mode is Mode.LIVE and host is not None:
        boot_s = env.clock.boottime() if ended is None else ended.boot_s
        env.clock_check.note_date(host, outcome.date_us, boot_s)
    if ended is None:
        return outcome
    remote = urlsplit(leased.endpoint.url).scheme == "https" and host is not None
    wait_us = clock_wait_us(outcome.date_us, times, ended, remote=remote)
    said = (outcome.error_message, difference(outcome.date_us, times))
    return replace(outcome, clock_wait_us=wait_us, error_message="; ".join(filter(None, said)) or None)


@functools.lru_cache(maxsize=256)
def _host_elsewhere(url: str) -> str | None:
    """Return the receiver's host; None if it is on this machine, and so has the same clock as we."""
    host = urlsplit(url).hostname or ""
    here = host == "localhost" or host.endswith(".localhost") or is_loopback_address(host)
    return None if here else host


async def release_when_time_is_known(env: Env) -> None:
    """Make the deliveries due that waited for the right time, if it is known or known better now.

    Raises:
        Unavailable: Nothing was written; the next call tries again.
    """
    times = env.times()
    if env.clock_check.knows_more(times):
        now = times.wall_us
        await env.store.write(lambda tx: deliveries.make_due(tx, waiting="clock", now=now))
    env.clock_check.note_acted_on(times)


async def _give_back(env: Env, leased: Leased, waiting: str) -> None:
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.return_unsent(
            tx, leased.delivery, leased.number, waiting=waiting, now=now, next_at=now + MINUTE_US
        )
    )


async def release(env: Env, waiting: str) -> None:
    """Make the deliveries due now that waited for the master key (`secrets_locked`), or for the CAs (`ca_file`)."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: deliveries.make_due(tx, waiting=waiting, now=now))


async def release_interrupted(env: Env, leased: Leased) -> None:
    """Release a delivery after our shutdown interrupted its attempt; the attempt is not counted."""
    now = env.clock.now_us()
    await env.store.write(
        lambda tx: deliveries.return_unsent(
            tx, leased.delivery, leased.number, waiting="shutdown", now=now, next_at=now
        )
    )


async def count_waiting_for_key(env: Env) -> int:
    """Return how many deliveries cannot be signed now."""
    return await env.store.read(lambda reader: deliveries.count_held(reader, "secrets_locked"))


async def link_returned(env: Env) -> int:
    """Bring forward the deliveries delayed by our own outage; return the number of endpoints."""
    now = env.clock.now_us()
    return await env.store.write(lambda tx: deliveries.release_after_link_outage(tx, now))


async def receiver_addresses(env: Env) -> list[str]:
    """Return the receivers' addresses that can be used to check our own connection."""
    return await env.store.read(endpoints.addresses)


class TestAnswer(Struct, frozen=True):
    """The answer of an endpoint to a test.

    Attributes:
        success: It answered 2xx.
        status_code: 0 if there was no answer.
        response_body: At most 8 KiB of text.
        message: The answer; for a failure also the cause and the next step.
    """

    success: bool
    status_code: int
    response_body: str
    message: str


async def send_test(env: Env, caller: Caller, endpoint: Endpoint, resolver: Resolver) -> TestAnswer:
    """Post a made-up event at once, through a sender of its own, so that it does not wait for the delivery loop.

    Raises:
        Unavailable: The signing secret cannot be opened.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    settings = env.config.webhooks
    sender = Sender.from_settings(settings, resolver)
    try:
        targets = Targets(sender, env.live_receivers, home=env.home, timeout_s=settings.timeout_s)
        now = env.clock.now_us()
        sealed = await env.store.read(
            lambda reader: endpoints.valid_secrets(reader, endpoints.secret_owner(endpoint), now)
        )
        kind = EventKind.FORWARDED
        # It belongs to no payment, so its id is one that no payment will ever have.
        webhook_id = ids.webhook_id(env.account_key, endpoint.mode, endpoint.url_normalised, kind, env.new_id(), 0)
        body = core_body.sample_forwarded_body(webhook_id, now, include_raw=endpoint.include_raw)
        sent = AttemptMetadata(webhook_id, kind, env.new_id(), 1, 0, replay=False, test=True)
        head = head_now(env, endpoint, sealed, sent, body)
        outcome = await targets.post(endpoint.url, head, body)
    finally:
        await sender.aclose()
    result = classify(outcome)
    took = f"in {outcome.duration_us // 1000} ms"
    if result is AttemptResult.DELIVERED:
        message = f"The endpoint answered {outcome.status_code} {took}."
    else:
        means, fix = explain(outcome.status_code, error_code(result))
        answered = outcome.status_code is not None
        outcome_text = f"answered {outcome.status_code} {took}" if answered else "did not answer"
        why = f" ({outcome.error_message})" if outcome.error_message else ""
        message = f"The endpoint {outcome_text}: {means}{why}. {fix}."
    delivered = result is AttemptResult.DELIVERED
    return TestAnswer(delivered, outcome.status_code or 0, outcome.response_body, message)
