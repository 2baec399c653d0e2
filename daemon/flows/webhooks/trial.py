"""Post one made-up payment to an endpoint at once, in the same way as real ones, and return its answer. It is not recorded."""

from msgspec import Struct

from daemon.core import ids
from daemon.core.access.callers import Caller, Operation, require
from daemon.core.webhooks import body as core_body
from daemon.core.webhooks.delivery import AttemptResult, classify, error_code
from daemon.core.webhooks.diagnosis import explain
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.signing import AttemptMetadata
from daemon.env import Env
from daemon.sender.address_guard import Resolver
from daemon.sender.https import Sender
from daemon.sender.targets import Targets
from daemon.steps.webhooks.head import head_now
from daemon.store.webhooks import secrets as store_secrets
from daemon.wire import EventKind


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


async def send(env: Env, caller: Caller, endpoint: Endpoint, resolver: Resolver) -> TestAnswer:
    """Post a made-up event at once, through a sender of its own, so that it does not wait for the delivery loop.

    Raises:
        Refusal: ROLE_REQUIRED.
        Unavailable: The signing secret cannot be opened.
    """
    require(caller, Operation.MANAGE_WEBHOOKS)
    settings = env.config.webhooks
    sender = Sender.from_settings(settings, resolver)
    try:
        targets = Targets(sender, env.live_receivers, home=env.home, timeout_s=settings.timeout_s)
        now = env.clock.now_us()
        sealed = await env.store.read(
            lambda reader: store_secrets.valid_at(reader, store_secrets.owner_of(endpoint), now)
        )
        kind = EventKind.FORWARDED
        # It belongs to no payment, so its id is one that no payment will ever have.
        webhook_id = ids.webhook_id(
            env.account_key, endpoint.mode, endpoint.url_normalised, kind, env.new_id(), 0
        )
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
