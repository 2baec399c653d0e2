"""POST /v1/open-collections/deliveries/{id}/redeliver."""

from daemon.api.deliveries import delivery_id
from daemon.api.described import described, nothing
from daemon.api.endpoints import needs_open_collections
from daemon.api.fields import Fields, ignored
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object_if_any
from daemon.api.service import Call, Reply, finished
from daemon.core.requests import CallMeta
from daemon.flows.redeliver import redeliver as flow
from daemon.wire import ErrorCode


@described(
    "Redeliver a delivery",
    "redelivered",
    reads=nothing,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.DELIVERY_NOT_REDELIVERABLE,
        ErrorCode.ENDPOINT_DELETED,
    ),
    body_optional=True,
    idempotent=True,
)
async def redeliver(call: Call) -> Reply:
    """Queue a delivery again that has ended; it counts as no other verified transaction."""
    needs_open_collections(call)
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    meta = CallMeta(call.request_id, asked, tuple(ignored(Fields(body).unknown(()))))
    async with call.service.inflight.alone(asked):
        answer = await flow(call.env, call.caller, delivery_id(call), meta)
    return finished(answer)
