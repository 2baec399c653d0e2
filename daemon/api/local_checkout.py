"""GET /local/v1/checkout/{reference}: where the page of a request is, for `momo open` (cli.md section 4.15).

On the Unix socket only.
"""

from daemon.api.service import Call, Reply, ok
from daemon.core import checkout
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.store import lists
from daemon.wire import ErrorCode


async def get(call: Call) -> Reply:
    """Return `{reference, svc_code, checkout_url}`; NO_CHECKOUT_PAGE when nobody would see a page there."""
    env = call.env
    transaction_id = split_reference(call.path("reference"))
    if transaction_id is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    mode = call.caller.mode
    found = await env.store.read(lambda reader: lists.by_id(reader, transaction_id, mode))
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    transaction, _ = found
    slug = transaction.public_slug
    if slug is None or not checkout.is_shown(transaction, env.clock.now_us()):
        raise Refusal(ErrorCode.NO_CHECKOUT_PAGE, reason="ended" if slug else "no_request")
    if not env.http_address:
        raise Refusal(
            ErrorCode.NO_CHECKOUT_PAGE, "No page is served: HTTP is off.", reason="http_off"
        )
    data = {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "checkout_url": env.checkout_url(slug),
    }
    public = bool(env.config.http.public_base_url)
    return ok(data, None if public else {"warnings": [checkout.NOT_PUBLIC]})
