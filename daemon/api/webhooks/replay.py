"""Payments of a time window that an endpoint has not received: list them, or send them (a replay).

An empty list proves that the endpoint has every payment of the window.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, field

from daemon.api.http.auth import needs_live
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import answer, bare, described
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core import shape
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import HttpAnswer, Keep
from daemon.core.json_values import Json, dump
from daemon.core.reading import CURSOR_CHARACTERS_MAX, Wrong
from daemon.core.shape import about, marked, page_size, sample
from daemon.core.webhooks.endpoint_json import MissingPaymentAnswer
from daemon.core.webhooks.replay import SENT, SKIPPED, WINDOW_US_MAX, Cursor, ReplayDecision, read_cursor
from daemon.flows.webhooks import replay as replay_flow
from daemon.flows.webhooks.replay import ReplayRequest
from daemon.store.engine import Reader
from daemon.store.webhooks import endpoints
from daemon.store.webhooks.replay import Window, fates
from daemon.wire import ErrorCode, Mode

EXAMPLE_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
PAUSED: Final = "The endpoint is paused: queued deliveries wait until it is resumed."
LIMIT: Final = 100
LIMIT_MAX: Final = 1000
MISSING: Final = frozenset({*SENT, ReplayDecision.IN_FLIGHT})


def _check_window(given: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
    since, until = given.get("since"), given.get("until")
    if since is not None and until is not None and since >= until:
        fail("to", "out_of_range", "must be later than `from`")
    cursor, endpoint_id = given.get("cursor"), given.get("endpoint_id")
    if cursor and (cursor.endpoint_id, cursor.since, cursor.until) != (endpoint_id, since, until):
        fail("cursor", "invalid", "belongs to another endpoint or window")


def _needs_short_window(since: int, until: int) -> None:
    if until - since > WINDOW_US_MAX:
        raise Refusal(ErrorCode.REPLAY_WINDOW_TOO_LARGE)


def _cursor(text: str) -> Cursor | Wrong:
    return read_cursor(text) or Wrong("invalid", "must be the `next_cursor` of an earlier answer")


_Endpoint = Annotated[str, sample(EXAMPLE_ID, "the endpoint"), shape.UuidRead]
_Cursor = Annotated[
    Cursor,
    about("the `next_cursor` of the previous answer, with the same window"),
    marked(read="text", then=_cursor),
    Meta(max_length=CURSOR_CHARACTERS_MAX),
]
_Historical = Annotated[
    bool,
    sample(
        False, "include messages from before the line was set up, and from files, once a person has reconciled them"
    ),
]


class GapQuery(Struct, frozen=True):
    """A time window of an endpoint, in microseconds."""

    endpoint_id: _Endpoint
    since: shape.FromTime = field(name="from")
    until: shape.ToTime = field(name="to")
    include_historical: _Historical = False
    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    cursor: _Cursor | None = None

    @staticmethod
    def check(given: Mapping[str, Any], _query: object, fail: Callable[[str, str, str], Any]) -> None:
        """Compare the ends of the window, and the cursor with the window."""
        _check_window(given, fail)


class GapMeta(Struct, frozen=True):
    """What was looked at, and where the next page starts."""

    limit: Annotated[int, sample(100, ge=0)]
    looked_at: Annotated[int, sample(40, ge=0)]
    delivered: Annotated[int, sample(39, ge=0)]
    missing: Annotated[int, sample(1, ge=0)]
    has_more: shape.Flag
    next_cursor: Annotated[str | None, sample(None)]
    warnings: shape.Warnings = UNSET


@described(
    "List missing payments",
    answer(list[MissingPaymentAnswer], GapMeta),
    query=GapQuery,
    errors="ENDPOINT_NOT_FOUND LIVE_KEY_REQUIRED REPLAY_WINDOW_TOO_LARGE",
)
async def list_missing(call: Call) -> Reply:
    """List the payments of a window that should have been delivered to the endpoint but were not, oldest first."""
    asked = call.query.read(GapQuery)
    _needs_short_window(asked.since, asked.until)
    endpoint = needed(
        await call.env.store.look(lambda reader: endpoints.get(reader, asked.endpoint_id)), ErrorCode.ENDPOINT_NOT_FOUND
    )
    if endpoint.mode is Mode.LIVE:
        needs_live(call.caller)
    window = Window(endpoint, asked.since, asked.until, asked.cursor.after if asked.cursor else 0)
    entries, meta = await call.env.store.read(
        lambda reader: _page(reader, window, asked.limit, historical=asked.include_historical)
    )
    return ok(entries, call.query.meta(limit=asked.limit, **meta))


def _page(reader: Reader, window: Window, limit: int, *, historical: bool) -> tuple[list[MissingPaymentAnswer], Json]:
    """Return one page and its `meta`: the counts of examined payments and the cursor of the next page, if any."""
    entries: list[MissingPaymentAnswer] = []
    looked, delivered, last = 0, 0, window.after
    more = False
    for seq, candidate, what in fates(reader, window, include_failed=True, include_historical=historical):
        if candidate is not None and what in MISSING:
            if len(entries) >= limit:
                more = True
                break
            entries.append(MissingPaymentAnswer.of(candidate.payment, candidate.transaction, candidate.delivery))
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


class ReplayBody(Struct, frozen=True):
    """A time window to send again, in microseconds."""

    endpoint_id: _Endpoint
    since: shape.FromTime = field(name="from")
    until: shape.ToTime = field(name="to")
    dry_run: shape.DryRun = False
    include_failed: Annotated[bool, sample(True, "include deliveries that failed for good; default true")] = True
    include_historical: _Historical = False
    cursor: _Cursor | None = None

    @staticmethod
    def check(given: Mapping[str, Any], _body: object, fail: Callable[[str, str, str], Any]) -> None:
        """Compare the ends of the window, and the cursor with the window."""
        _check_window(given, fail)


class ReplayAnswer(Struct, frozen=True, kw_only=True):
    """What a replay queued, and what it skipped."""

    success: shape.Success
    enqueued: Annotated[int, sample(12, ge=0)]
    skipped_delivered: shape.Count
    skipped_in_flight: shape.Count
    skipped_failed: shape.Count | UnsetType = UNSET
    skipped_not_claimed: shape.Count
    skipped_reversed: shape.Count
    skipped_historical: shape.Count | UnsetType = UNSET
    already_delivered_elsewhere: shape.Count
    has_more: shape.Flag
    next_cursor: Annotated[str | None, sample(None, "continues after the last payment of this page")]
    dry_run: shape.Flag
    meta: dict[str, Any]


@described(
    "Replay payments",
    bare(ReplayAnswer),
    reads=ReplayBody,
    errors="OPEN_COLLECTIONS_DISABLED LIVE_KEY_REQUIRED ENDPOINT_NOT_FOUND REPLAY_WINDOW_TOO_LARGE",
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
    asked, meta = await call.asked(ReplayBody)
    _needs_short_window(asked.since, asked.until)
    request = shape.taken(ReplayRequest, asked, after=asked.cursor.after if asked.cursor else 0)

    def render(done: replay_flow.Replayed) -> HttpAnswer:
        found = ReplayAnswer(
            success=True,
            enqueued=done.enqueued,
            **{str(each): done.counts[each] for each in SKIPPED},
            already_delivered_elsewhere=done.elsewhere,
            has_more=done.cursor is not None,
            next_cursor=done.cursor,
            dry_run=asked.dry_run,
            meta=meta.as_json(*(() if done.endpoint.is_active else (PAUSED,))),
        )
        return HttpAnswer(200, dump(found))

    keep = Keep(None if asked.dry_run else meta.idempotency, render)  # a dry run is not stored
    return await once(call, keep, lambda keep: replay_flow.replay(call.env, call.caller, request, keep))
