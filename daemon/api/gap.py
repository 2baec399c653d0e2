"""GET /v1/open-collections/gap: what an endpoint's rules claim and it has not got. Empty proves that nothing is lost."""

from dataclasses import dataclass
from typing import Final

from daemon.api.described import described
from daemon.api.fields import Query
from daemon.api.permission import needs_live
from daemon.api.service import Call, Reply, ok
from daemon.core import gap_shapes
from daemon.core.errors import Refusal
from daemon.core.limits import CURSOR_CHARACTERS_MAX
from daemon.core.replay import SENT, WINDOW_US_MAX, Cursor, Fate, read_cursor
from daemon.core.shapes import Json
from daemon.store import endpoints
from daemon.store.engine import Reader
from daemon.store.replay import Window, fates
from daemon.wire import ErrorCode, Mode

LIMIT: Final = 100
LIMIT_MAX: Final = 1000
MISSING: Final = frozenset({*SENT, Fate.IN_FLIGHT})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for: a window of an endpoint, times in microseconds."""

    endpoint_id: str
    since: int
    until: int
    after: int
    limit: int
    historical: bool


def read(query: Query) -> Asked:
    """Read the query.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field; REPLAY_WINDOW_TOO_LARGE.
    """
    endpoint_id = query.uuid("endpoint_id", required=True)
    since, until = query.time("from", required=True), query.time("to", required=True)
    if since is not None and until is not None and since >= until:
        query.fail("to", "out_of_range", "must be later than `from`")
    historical = query.flag("include_historical")
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    text = query.text("cursor", most=CURSOR_CHARACTERS_MAX)
    cursor = None if text is None else read_cursor(text)
    if text is not None and (
        cursor is None
        or (cursor.endpoint_id, cursor.since, cursor.until) != (endpoint_id, since, until)
    ):
        query.fail("cursor", "invalid", "must be a `next_cursor` of the same endpoint and window")
    query.done()
    assert endpoint_id is not None
    assert since is not None
    assert until is not None
    if until - since > WINDOW_US_MAX:
        raise Refusal(ErrorCode.REPLAY_WINDOW_TOO_LARGE)
    after = 0 if cursor is None else cursor.after
    return Asked(endpoint_id, since, until, after, limit, historical)


@described(
    "List missing payments",
    "gap",
    query=read,
    errors=(
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.REPLAY_WINDOW_TOO_LARGE,
    ),
)
async def get_list(call: Call) -> Reply:
    """List the payments of a window that the endpoint should have and has no delivered row of, oldest first."""
    query = call.query
    asked = read(query)
    endpoint = await call.env.store.read(lambda reader: endpoints.get(reader, asked.endpoint_id))
    if endpoint is None:
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    if endpoint.mode is Mode.LIVE:
        needs_live(call.caller)
    window = Window(endpoint, asked.since, asked.until, asked.after)
    entries, meta = await call.env.store.read(
        lambda reader: _look(reader, window, asked.limit, historical=asked.historical)
    )
    return ok(entries, query.meta(limit=asked.limit, **meta))


def _look(
    reader: Reader, window: Window, limit: int, *, historical: bool
) -> tuple[list[Json], Json]:
    """Return one page and what it was found among: all that was looked at, never cut off silently."""
    entries: list[Json] = []
    looked, delivered, last = 0, 0, window.after
    more = False
    for seq, candidate, what in fates(
        reader, window, include_failed=True, include_historical=historical
    ):
        if candidate is not None and what in MISSING:
            if len(entries) >= limit:
                more = True
                break
            entries.append(
                gap_shapes.missing(candidate.payment, candidate.transaction, candidate.delivery)
            )
        looked += 1
        delivered += what is Fate.DELIVERED
        last = seq
    cursor = Cursor(window.endpoint.id, window.since, window.until, last).write() if more else None
    return entries, {
        "looked_at": looked,
        "delivered": delivered,
        "missing": len(entries),
        "has_more": more,
        "next_cursor": cursor,
    }
