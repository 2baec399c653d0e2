"""Payments of a time window that an endpoint has not received: list them, or send them (a replay).

An empty list proves that the endpoint has every payment of the window.
"""

from typing import Final

from msgspec import Struct

from daemon.api.http.auth import needs_live
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields, Query, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import described
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core.errors import Refusal
from daemon.core.inputs import CallMeta
from daemon.core.json_values import Json
from daemon.core.limits import CURSOR_CHARACTERS_MAX
from daemon.core.webhooks import endpoint_json
from daemon.core.webhooks.replay import SENT, WINDOW_US_MAX, Cursor, ReplayDecision, read_cursor
from daemon.flows.webhooks import replay as replay_flow
from daemon.flows.webhooks.replay import ReplayRequest
from daemon.store.engine import Reader
from daemon.store.webhooks import endpoints
from daemon.store.webhooks.replay import Window, fates
from daemon.wire import ErrorCode, Mode

LIMIT: Final = 100
LIMIT_MAX: Final = 1000
MISSING: Final = frozenset({*SENT, ReplayDecision.IN_FLIGHT})
REPLAY_FIELDS: Final = (
    "endpoint_id", "from", "to", "dry_run", "include_failed", "include_historical", "cursor",
)  # fmt: skip


class GapQuery(Struct, frozen=True):
    """The query: a time window of an endpoint, in microseconds."""

    endpoint_id: str
    since: int
    until: int
    after: int
    limit: int
    historical: bool


def read_gap_query(query: Query) -> GapQuery:
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
    return GapQuery(endpoint_id, since, until, after, limit, historical)


@described(
    "List missing payments",
    "gap",
    query=read_gap_query,
    errors=(
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.REPLAY_WINDOW_TOO_LARGE,
    ),
)
async def list_missing(call: Call) -> Reply:
    """List the payments of a window that should have been delivered to the endpoint but were not, oldest first."""
    query = call.query
    asked = read_gap_query(query)
    endpoint = await call.env.store.look(lambda reader: endpoints.get(reader, asked.endpoint_id))
    if endpoint is None:
        raise Refusal(ErrorCode.ENDPOINT_NOT_FOUND)
    if endpoint.mode is Mode.LIVE:
        needs_live(call.caller)
    window = Window(endpoint, asked.since, asked.until, asked.after)
    entries, meta = await call.env.store.read(
        lambda reader: _page(reader, window, asked.limit, historical=asked.historical)
    )
    return ok(entries, query.meta(limit=asked.limit, **meta))


def _page(
    reader: Reader, window: Window, limit: int, *, historical: bool
) -> tuple[list[Json], Json]:
    """Return one page and its `meta`: the counts of examined payments and the cursor of the next page, if any."""
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
                endpoint_json.missing(candidate.payment, candidate.transaction, candidate.delivery)
            )
        looked += 1
        delivered += what is ReplayDecision.DELIVERED
        last = seq
    cursor = Cursor(window.endpoint.id, window.since, window.until, last).write() if more else None
    return entries, {
        "looked_at": looked,
        "delivered": delivered,
        "missing": len(entries),
        "has_more": more,
        "next_cursor": cursor,
    }


def read_replay(fields: Fields) -> ReplayRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field; REPLAY_WINDOW_TOO_LARGE.
    """
    endpoint_id = fields.uuid("endpoint_id", required=True)
    since, until = fields.time("from", required=True), fields.time("to", required=True)
    if since is not None and until is not None and since >= until:
        fields.fail("to", "out_of_range", "must be later than `from`")
    dry_run = fields.boolean("dry_run", default=False)
    include_failed = fields.boolean("include_failed", default=True)
    include_historical = fields.boolean("include_historical", default=False)
    after = _after(fields, endpoint_id, since, until)
    fields.done()
    assert endpoint_id is not None
    assert since is not None
    assert until is not None
    if until - since > WINDOW_US_MAX:
        raise Refusal(ErrorCode.REPLAY_WINDOW_TOO_LARGE)
    return ReplayRequest(
        endpoint_id, since, until, dry_run, include_failed, include_historical, after
    )


@described(
    "Replay payments",
    "replay",
    reads=read_replay,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.ENDPOINT_NOT_FOUND,
        ErrorCode.REPLAY_WINDOW_TOO_LARGE,
    ),
    example={
        "endpoint_id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f",
        "from": "2026-11-20T00:00:00Z",
        "to": "2026-11-21T00:00:00Z",
        "dry_run": True,
    },
    idempotent=True,
)
async def replay(call: Call) -> Reply:
    """Queue the undelivered payments of a time window; a dry run only counts them."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    asked = read_replay(Fields(body))
    key = claim(call, body)  # an invalid key is refused in a dry run too, which is not stored
    idempotency = None if asked.dry_run else key
    meta = CallMeta(
        call.request_id, idempotency, tuple(ignored(Fields(body).unknown(REPLAY_FIELDS)))
    )
    async with call.service.inflight.alone(idempotency):
        answer = await replay_flow.replay(call.env, call.caller, asked, meta)
    return finished(answer)


def _after(fields: Fields, endpoint_id: str | None, since: int | None, until: int | None) -> int:
    """Read the cursor, which is valid only for its own endpoint and window."""
    text = fields.text("cursor", most=CURSOR_CHARACTERS_MAX)
    if text is None:
        return 0
    cursor = read_cursor(text)
    if cursor is None:
        fields.fail("cursor", "invalid", "must be the `next_cursor` of an earlier answer")
        return 0
    if (cursor.endpoint_id, cursor.since, cursor.until) != (endpoint_id, since, until):
        fields.fail("cursor", "invalid", "belongs to another endpoint or window")
    return cursor.after
