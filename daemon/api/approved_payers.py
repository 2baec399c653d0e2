"""GET /v1/approved-payers and one of them, DELETE one: names that a person has approved for a number."""

from typing import Final

from daemon.api.described import described
from daemon.api.fields import Query, read_uuid
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.review_shapes import approved_payer
from daemon.flows.approved_payers import revoke as flow
from daemon.store import approved_payers
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
STATES: Final = ("approved", "all")


def read(query: Query) -> tuple[int, int, str | None, bool]:
    """Read the query: the page, the number, and whether revoked ones are listed too."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    phone_number = query.phone("phone_number")
    revoked = query.word("state", STATES) == "all"
    query.done()
    return limit, offset, phone_number, revoked


@described("List approved payers", "approved payers", query=read)
async def get_list(call: Call) -> Reply:
    """List approvals, newest first: of one number with `phone_number`, with `state=all` revoked ones too."""
    query = call.query
    limit, offset, phone_number, revoked = read(query)
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


@described("Get an approved payer", "approved payer", errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,))
async def get_one(call: Call) -> Reply:
    """Return one approval; a revoked one too."""
    payer_id, mode = _id(call), call.caller.mode
    found = await call.env.store.read(lambda reader: approved_payers.get(reader, payer_id, mode))
    if found is None:
        raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
    return ok(approved_payer(found))


@described(
    "Revoke an approved payer", "approved payer", errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,)
)
async def revoke(call: Call) -> Reply:
    """Take an approval back; a second time changes nothing."""
    return ok(approved_payer(await flow(call.env, call.caller, _id(call))))


def _id(call: Call) -> str:
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
    return found
