"""/v1/webhooks/dead-letters: deliveries that failed for good, and their replay."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.api.http.auth import needs_live
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, Query, ignored, read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import described, no_fields
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core.errors import Refusal
from daemon.core.inputs import CallMeta
from daemon.core.json_values import cursor
from daemon.core.limits import DEAD_LETTERS_AT_ONCE, NOTES_CHARACTERS_MAX
from daemon.core.webhooks import endpoint_json
from daemon.core.webhooks.delivery import DeadLetterReason, DeliveryError
from daemon.flows.webhooks import dismiss as dismiss_flow
from daemon.flows.webhooks import redeliver
from daemon.store.webhooks import dead_letters
from daemon.wire import ErrorCode, Mode

LIMIT: Final = 100
LIMIT_MAX: Final = 500
IDS: Final = "dead_letter_ids"


def read_list(
    query: Query, mode: Mode | None = None
) -> tuple[int, int, dead_letters.DeadLetterFilter]:
    """Read the query: the page and the filter."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    after = query.after(2)
    asked = query.word("mode", list(Mode))
    if mode is None and asked is not None:
        mode = Mode(asked)
    wanted = dead_letters.DeadLetterFilter(
        mode=mode,
        include_replayed=query.flag("include_replayed"),
        endpoint_id=query.uuid("endpoint_id"),
        reason=query.word("reason", list(DeadLetterReason)),
        error_code=query.word("error_code", list(DeliveryError)),
        after=None if after is None else (after[0], after[1]),
    )
    query.done()
    return limit, offset, wanted


@described("List dead letters", "dead letters", query=read_list)
async def get_list(call: Call) -> Reply:
    """List dead letters, the newest failure first. A test key sees only those of sandbox endpoints.

    Offsets shift when deliveries fail or are sent again. To read all dead letters, continue with `after`, the
    `meta.next_cursor` of the page.
    """
    query = call.query
    limit, offset, wanted = read_list(query, Mode.TEST if call.caller.mode is Mode.TEST else None)
    found, total = await call.env.store.read(
        lambda reader: dead_letters.listed(reader, wanted, limit=limit + 1, offset=offset)
    )
    page = found[:limit]
    last = page[-1][0] if len(found) > limit else None
    next_cursor = None if last is None else cursor(last.failed_at, last.seq)
    entries = [endpoint_json.dead_letter(*each) for each in page]
    meta = query.meta(limit=limit, offset=offset, total=total, next_cursor=next_cursor)
    return ok(entries, meta)


@described(
    "Get a dead letter",
    "dead letter",
    errors=(
        ErrorCode.DEAD_LETTER_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_one(call: Call) -> Reply:
    """Return one dead letter with its payload."""
    letter_id = call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    found = await call.env.store.look(lambda reader: dead_letters.one(reader, letter_id))
    if found is None:
        raise Refusal(ErrorCode.DEAD_LETTER_NOT_FOUND)
    if found[2].mode is Mode.LIVE:
        needs_live(call.caller)
    return ok(endpoint_json.dead_letter_in_full(*found))


@described(
    "Replay a dead letter",
    "replayed dead letter",
    reads=no_fields,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.DEAD_LETTER_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.DEAD_LETTER_ALREADY_REPLAYED,
        ErrorCode.ENDPOINT_DELETED,
    ),
    body_optional=True,
    idempotent=True,
)
async def replay(call: Call) -> Reply:
    """Send a dead letter again with the same `webhook_id`, so that its receiver can detect a duplicate."""
    needs_open_collections(call)
    body = await read_object_if_any(call.scope, call.receive)
    meta = _meta(call, body, ())
    async with call.service.inflight.alone(meta.idempotency):
        answer = await redeliver.replay_dead_letter(
            call.env, call.caller, call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND), meta
        )
    return finished(answer)


def read_notes(fields: Fields) -> str:
    """Read the notes."""
    notes = fields.text("notes", required=True, most=NOTES_CHARACTERS_MAX, lines=True)
    fields.done()
    assert notes is not None
    return notes


@described(
    "Dismiss a dead letter",
    "dismissed dead letter",
    reads=read_notes,
    errors=(
        ErrorCode.DEAD_LETTER_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.DEAD_LETTER_ALREADY_REPLAYED,
    ),
    example={"notes": "a test with momo listen"},
    idempotent=True,
)
async def dismiss(call: Call) -> Reply:
    """Close a dead letter without sending it again. It leaves the list, and can still be replayed."""
    body = await read_object(call.scope, call.receive)
    notes = read_notes(Fields(body))
    meta = _meta(call, body, ("notes",))
    letter_id = call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    async with call.service.inflight.alone(meta.idempotency):
        answer = await dismiss_flow.dismiss(call.env, call.caller, letter_id, notes, meta)
    return finished(answer)


def read(fields: Fields) -> list[str]:
    """Read the body: 1 to 100 ids.

    Raises:
        Refusal: VALIDATION_ERROR.
    """
    given = fields.words(IDS, None, most=DEAD_LETTERS_AT_ONCE, required=True)
    fields.done()
    assert given is not None
    return given


@described(
    "Replay dead letters",
    "replayed dead letters",
    reads=read,
    errors=(ErrorCode.OPEN_COLLECTIONS_DISABLED,),
    example={"dead_letter_ids": ["0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"]},
    idempotent=True,
)
async def replay_batch(call: Call) -> Reply:
    """Send many dead letters again; the answer has a result for each."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    given = read(Fields(body))
    meta = _meta(call, body, (IDS,))
    # The same id twice, also in two spellings, counts once.
    once = {read_uuid(text) or text: (text, read_uuid(text)) for text in reversed(given)}
    async with call.service.inflight.alone(meta.idempotency):
        answer = await redeliver.replay_dead_letters(
            call.env, call.caller, list(reversed(once.values())), meta
        )
    return finished(answer)


def _meta(call: Call, body: Mapping[str, Any], known: tuple[str, ...]) -> CallMeta:
    warnings = ignored(Fields(body).unknown(known))
    return CallMeta(call.request_id, claim(call, body), tuple(warnings))
