"""POST /v1/open-collections/replay: send an endpoint what it should have had."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.api.endpoints import needs_open_collections
from daemon.api.fields import Fields, ignored
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, finished
from daemon.core.errors import Refusal
from daemon.core.replay import WINDOW_US_MAX, read_cursor
from daemon.core.requests import CallMeta
from daemon.flows.replay import ReplayRequest
from daemon.flows.replay import replay as flow
from daemon.wire import ErrorCode
from parsers import when

KNOWN: Final = (
    "endpoint_id", "from", "to", "dry_run", "include_failed", "include_historical", "cursor",
)  # fmt: skip
CURSOR_CHARACTERS_MAX: Final = 300


async def replay(call: Call) -> Reply:
    """Queue what was not delivered; a dry run only counts."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    asked = read(body)
    idempotency = None if asked.dry_run else claim(call, body)
    meta = CallMeta(call.request_id, idempotency, tuple(ignored(Fields(body).unknown(KNOWN))))
    async with call.service.inflight.alone(idempotency):
        answer = await flow(call.env, call.caller, asked, meta)
    return finished(answer)


def read(body: Mapping[str, Any]) -> ReplayRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field; REPLAY_WINDOW_TOO_LARGE.
    """
    fields = Fields(body)
    endpoint_id = fields.uuid("endpoint_id", required=True)
    since, until = _time(fields, "from"), _time(fields, "to")
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


def _time(fields: Fields, name: str) -> int | None:
    text = fields.text(name, required=True)
    if text is None:
        return None
    found = when.read_iso(text)
    if found is None:
        fields.fail(name, "invalid", "must be ISO 8601 with a zone, such as 2026-01-31T08:00:00Z")
    return found


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
