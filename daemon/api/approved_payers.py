"""GET /v1/approved-payers and DELETE one: names that a person has approved for a number."""

from typing import Final

from daemon.api.fields import Query, read_uuid
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.review_shapes import approved_payer
from daemon.flows.approved_payers import revoke as flow
from daemon.store import approved_payers
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
OFFSET_MAX: Final = 1_000_000_000_000
STATES: Final = ("approved", "all")


async def get_list(call: Call) -> Reply:
    """List approvals, newest first: of one number with `phone_number`, with `state=all` revoked ones too."""
    query = Query(call.query)
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    offset = query.number("offset", 0, low=0, high=OFFSET_MAX)
    phone_number = query.phone("phone_number")
    revoked = query.word("state", STATES) == "all"
    query.done()
    found, total = await call.env.store.read(
        lambda reader: approved_payers.page(
            reader,
            phone_number=phone_number,
            revoked=revoked,
            mode=call.caller.mode,
            limit=limit,
            offset=offset,
        )
    )
    return ok(
        [approved_payer(one) for one in found], query.meta(limit=limit, offset=offset, total=total)
    )


async def revoke(call: Call) -> Reply:
    """Take an approval back; a second time changes nothing."""
    payer_id = read_uuid(call.path("id"))
    if payer_id is None:
        raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
    return ok(approved_payer(await flow(call.env, call.caller, payer_id)))
