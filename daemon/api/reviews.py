"""GET /v1/reviews and one of them: what waits for a person, with the evidence side by side."""

from typing import Final

from daemon.api.fields import Query, read_uuid
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.review_shapes import review as shape
from daemon.store import evidence
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
OFFSET_MAX: Final = 1_000_000_000_000
STATES: Final = ("open", "all")


async def get_list(call: Call) -> Reply:
    """List reviews, newest first: those that wait, or with `state=all` every one."""
    query = Query(call.query)
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    offset = query.number("offset", 0, low=0, high=OFFSET_MAX)
    state = None if query.word("state", STATES) == "all" else "open"
    query.done()
    now, mode = call.env.clock.now_us(), call.caller.mode
    found, total = await call.env.store.read(
        lambda reader: evidence.page(
            reader, state=state, mode=mode, limit=limit, offset=offset, now=now
        )
    )
    return ok(
        [shape(one, now) for one in found], query.meta(limit=limit, offset=offset, total=total)
    )


async def get_one(call: Call) -> Reply:
    """Return one review."""
    review_id, mode = read_uuid(call.path("id")), call.caller.mode
    now = call.env.clock.now_us()
    found = None
    if review_id is not None:
        found = await call.env.store.read(
            lambda reader: evidence.of_review(reader, review_id, mode, now)
        )
    if found is None:
        raise Refusal(ErrorCode.REVIEW_NOT_FOUND)
    return ok(shape(found, now))
