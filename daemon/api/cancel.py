"""POST /v1/transactions/{reference}/cancel."""

from typing import Final

from daemon.api.described import described
from daemon.api.fields import Fields, ignored
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object_if_any
from daemon.api.service import Call, Reply, finished
from daemon.core.limits import NOTES_CHARACTERS_MAX
from daemon.core.requests import CallMeta
from daemon.flows.cancel import cancel as flow
from daemon.wire import ErrorCode

KNOWN: Final = ("reason",)


def read(fields: Fields) -> str | None:
    """Read the body."""
    reason = fields.text("reason", most=NOTES_CHARACTERS_MAX, lines=True)
    fields.done()
    return reason


@described(
    "Cancel a transaction",
    "transaction",
    reads=read,
    errors=(
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.TRANSACTION_NOT_CANCELLABLE,
    ),
    example={"reason": "ordered twice"},
    body_optional=True,
    idempotent=True,
)
async def cancel(call: Call) -> Reply:
    """Give up a request that nobody has paid; the body may be left out."""
    body = await read_object_if_any(call.scope, call.receive)
    idempotency = claim(call, body)
    fields = Fields(body)
    reason = read(fields)
    warnings = ignored(fields.unknown(KNOWN))
    meta = CallMeta(call.request_id, idempotency, tuple(warnings))
    async with call.service.inflight.alone(idempotency):
        answer = await flow(call.env, call.caller, call.path("reference"), reason=reason, meta=meta)
    return finished(answer)
