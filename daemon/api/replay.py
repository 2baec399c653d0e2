"""POST /v1/open-collections/replay: send an endpoint what it should have had."""

from typing import Final

from daemon.api.described import described
from daemon.api.endpoints import needs_open_collections
from daemon.api.fields import Fields, ignored
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, finished
from daemon.core.errors import Refusal
from daemon.core.limits import CURSOR_CHARACTERS_MAX
from daemon.core.replay import WINDOW_US_MAX, read_cursor
from daemon.core.requests import CallMeta
from daemon.flows.replay import ReplayRequest
from daemon.flows.replay import replay as flow
from daemon.wire import ErrorCode

KNOWN: Final = (
    "endpoint_id", "from", "to", "dry_run", "include_failed", "include_historical", "cursor",
)  # fmt: skip


def read(fields: Fields) -> ReplayRequest:
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
    reads=read,
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
    """Queue what was not delivered; a dry run only counts."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    asked = read(Fields(body))
    idempotency = None if asked.dry_run else claim(call, body)
    meta = CallMeta(call.request_id, idempotency, tuple(ignored(Fields(body).unknown(KNOWN))))
    async with call.service.inflight.alone(idempotency):
        answer = await flow(call.env, call.caller, asked, meta)
    return finished(answer)


def _after(fields: Fields, endpoint_id: str | None, since: int | None, until: int | None) -> int:
    """Read the cursor: it goes on in the window that it came from, and in no other."""
    text = fields.text("cursor", most=CURSOR_CHARACTERS_MAX)
    if text is None:
        return 0
    cursor = read_cursor(text)
    if cursor is None:
        fields.fail("cursor", "invalid", "must be a `next_cursor` of an earlier answer")
        return 0
    if (cursor.endpoint_id, cursor.since, cursor.until) != (endpoint_id, since, until):
        fields.fail("cursor", "invalid", "belongs to another endpoint or window")
    return cursor.after
