"""What the value of a flow is as JSON, and the answer of a call with an idempotency key."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from daemon.core.inputs import HttpAnswer, Idempotency, Keep, Repeated
from daemon.core.json_values import dump
from daemon.core.payments.review_json import ReviewAnswer
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.flows.payments.review import Decided

Value = TypeVar("Value")


def decided(done: Decided) -> dict[str, Any]:
    """Return a decision as the API tells it, without `success` and `meta`."""
    transaction = None
    if done.transaction is not None:
        transaction = TransactionAnswer.of(done.transaction, done.payment, done.at)
    body = {"data": ReviewAnswer.of(done.review, done.at), "transaction": transaction, "settled": done.settled}
    return dict(json.loads(dump(body)))


async def answered(
    claim: Idempotency | None, flow: Callable[[Keep[Value]], Awaitable[Value]], text: Callable[[Value], str]
) -> HttpAnswer:
    """Make a call with this key; its answer is the text of the value."""
    keep = Keep[Value](claim, lambda value: HttpAnswer(200, text(value).encode()))
    try:
        return keep.answer(await flow(keep))
    except Repeated as repeated:
        return repeated.answer
