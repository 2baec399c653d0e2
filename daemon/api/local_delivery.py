"""POST /local/v1/deliveries/{id}/signed: a delivery with a fresh signature; on the Unix socket only."""

from daemon.api.fields import read_uuid
from daemon.api.permission import needs_owner
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.flows.sign_again import sign_again
from daemon.wire import ErrorCode


async def sign(call: Call) -> Reply:
    """Answer with `{url, headers, body}` as they would be sent now. Nothing is sent."""
    needs_owner(call.caller)
    delivery_id = read_uuid(call.path("id"))
    if delivery_id is None:
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    signed = await sign_again(call.env, call.caller, delivery_id)
    return ok({"url": signed.url, "headers": signed.headers, "body": signed.body})
