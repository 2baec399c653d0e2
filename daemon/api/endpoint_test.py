"""POST /v1/open-collections/endpoints/{id}/test: does the endpoint take our webhooks?"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.api.described import described
from daemon.api.endpoints import find, needs_open_collections
from daemon.api.service import Call, Reply
from daemon.core import shapes
from daemon.core.delivery import AttemptResult, Outcome, classify, error_code
from daemon.core.diagnosis import explain
from daemon.flows.endpoint_test import send
from daemon.webhooks.sending_process import Settings
from daemon.webhooks.targets import Targets
from daemon.wire import ErrorCode


@described(
    "Test an endpoint",
    "endpoint test",
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def test(call: Call) -> Reply:
    """Send made-up data and answer with what the endpoint said; 200 whatever it was, `success` when it was 2xx."""
    needs_open_collections(call)
    endpoint = await find(call)
    async with call.service.test_sends, _sender(call) as sender:
        outcome = await send(call.env, endpoint, sender)
    return Reply(200, answer(outcome))


def answer(outcome: Outcome) -> bytes:
    """Make the answer: `status_code` is 0 when nothing answered."""
    result = classify(outcome)
    took = f"in {outcome.duration_us // 1000} ms"
    if result is AttemptResult.DELIVERED:
        message = f"The endpoint answered {outcome.status_code} {took}."
    else:
        means, mend = explain(outcome.status_code, error_code(result))
        answered = outcome.status_code is not None
        said = f"answered {outcome.status_code} {took}" if answered else "did not answer"
        why = f" ({outcome.error_message})" if outcome.error_message else ""
        message = f"The endpoint {said}: {means}{why}. {mend}."
    return shapes.dump(
        {
            "success": result is AttemptResult.DELIVERED,
            "status_code": outcome.status_code or 0,
            "response_body": outcome.response_body,
            "message": message,
        }
    )


@asynccontextmanager
async def _sender(call: Call) -> AsyncIterator[Targets]:
    """A door of its own for one POST: a test does not wait for the workers of the delivery loop."""
    settings = Settings.of(call.env.config.webhooks)
    sender = settings.sender(call.service.resolver)
    try:
        yield Targets(sender, call.env.live, home=call.env.home, timeout_s=settings.timeout_s)
    finally:
        await sender.aclose()
