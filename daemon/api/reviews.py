"""GET /v1/reviews and one of them: what waits for a person, with the evidence side by side."""

from typing import Final

from daemon.api.described import described
from daemon.api.fields import Query, read_uuid
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.review_shapes import review as shape
from daemon.store import evidence
from daemon.wire import ErrorCode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
STATES: Final = ("open", "all")


def read(query: Query) -> tuple[int, int, str | None]:
    """Read the query: the page, and the state of what is listed, None for any."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    state = None if query.word("state", STATES) == "all" else "open"
    query.done()
    return limit, offset, state


@described("List reviews", "reviews", query=read)
async def get_list(call: Call) -> Reply:
    """List reviews, newest first: those that wait, or with `state=all` every one."""
    query = call.query
    limit, offset, state = read(query)
    now, mode = call.env.clock.now_us(), call.caller.mode
    found, total = await call.env.store.read(
        lambda reader: evidence.page(
            reader, state=state, mode=mode, limit=limit, offset=offset, now=now
        )
    )
    return ok(
        [shape(one, now) for one in found], query.meta(limit=limit, offset=offset, total=total)
    )


@described("Get a review", "review", errors=(ErrorCode.REVIEW_NOT_FOUND,))
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
