"""Replace a transaction by a new one, and send its code again, for a cashier. On the Unix socket only."""

from daemon.api.http.body import read_object_if_any
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.payments.initialize import keeping
from daemon.core.errors import Refusal
from daemon.core.payments.replacement import replacement_of
from daemon.flows.payments import initialize, texts
from daemon.store.payments import transactions
from daemon.wire import ErrorCode


async def replace(call: Call) -> Reply:
    """Cancel an unpaid transaction and make a new one like it, in one commit; the answer is that of initialize."""
    body = await read_object_if_any(call.scope, call.receive)
    idempotency = claim(call, body)
    reference, mode = call.path("reference"), call.caller.mode
    old = await call.env.store.look(
        lambda reader: transactions.by_reference(reader, reference, mode)
    )
    if old is None or old.origin != "request":
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    request = replacement_of(old)
    if request is None:
        why = "The data of its payer was erased."
        raise Refusal(ErrorCode.TRANSACTION_NOT_CANCELLABLE, why)
    keep, phones = keeping(call, idempotency), call.service.hooks.phone_states()
    return await once(
        call,
        keep,
        lambda: initialize.initialize(call.env, call.caller, request, keep=keep, phones=phones),
    )


async def send_code(call: Call) -> Reply:
    """Send the SMS with the code once more; `result` is `queued`, or why it is not sent."""
    reference = call.path("reference")
    result = await texts.send_code_again(call.env, call.caller, reference)
    return ok({"reference": reference, "result": result})
