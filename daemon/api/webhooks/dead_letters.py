"""/v1/webhooks/dead-letters: deliveries that failed for good, and their replay."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Raw, Struct

from daemon.api.http.auth import needs_live
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import NoFields, answer, described
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core.errors import Refusal
from daemon.core.inputs import CallMeta, HttpAnswer, Keep
from daemon.core.json_values import cursor, success
from daemon.core.limits import DEAD_LETTERS_AT_ONCE
from daemon.core.reading import ignored, read
from daemon.core.shape import (
    CursorOf2,
    CursorPageMeta,
    Id,
    Notes,
    Offset,
    UuidRead,
    page_size,
    sample,
)
from daemon.core.webhooks.delivery import DeadLetterReason, DeliveryError
from daemon.core.webhooks.endpoint_json import (
    DeadLetterAnswer,
    DeadLetterInFullAnswer,
    DeliveryAnswer,
)
from daemon.flows.webhooks import dismiss as dismiss_flow
from daemon.flows.webhooks import redeliver
from daemon.store.webhooks import dead_letters
from daemon.store.webhooks.dead_letters import Found
from daemon.wire import ErrorCode, Mode

ENDPOINT_PAUSED: Final = "An endpoint is paused: its deliveries wait until it is resumed."
LIMIT: Final = 100
LIMIT_MAX: Final = 500
EXAMPLE_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"


class DeadLettersQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: Offset = 0
    after: CursorOf2 | None = None
    mode: (
        Annotated[Mode, sample("live", "only live money, or only the sandbox; default both")] | None
    ) = None
    include_replayed: Annotated[
        bool, sample(False, "include dead letters that were replayed or dismissed")
    ] = False
    endpoint_id: Annotated[str, sample(EXAMPLE_ID, "the endpoint"), UuidRead] | None = None
    reason: (
        Annotated[DeadLetterReason, sample("permanent_4xx", "only dead letters with this reason")]
        | None
    ) = None
    error_code: Annotated[DeliveryError, sample("timeout", "only this error code")] | None = None


@described(
    "List dead letters", answer(list[DeadLetterAnswer], CursorPageMeta), query=DeadLettersQuery
)
async def get_list(call: Call) -> Reply:
    """List dead letters, the newest failure first. A test key sees only those of sandbox endpoints.

    Offsets shift when deliveries fail or are sent again. To read all dead letters, continue with `after`, the
    `meta.next_cursor` of the page.
    """
    query = call.query
    asked = query.read(DeadLettersQuery)
    limit, offset = asked.limit, asked.offset
    wanted = dead_letters.DeadLetterFilter(
        mode=Mode.TEST if call.caller.mode is Mode.TEST else asked.mode,
        include_replayed=asked.include_replayed,
        endpoint_id=asked.endpoint_id,
        reason=asked.reason,
        error_code=asked.error_code,
        after=(asked.after[0], asked.after[1]) if asked.after else None,
    )
    found, total = await call.env.store.read(
        lambda reader: dead_letters.listed(reader, wanted, limit=limit + 1, offset=offset)
    )
    page = found[:limit]
    last = page[-1][0] if len(found) > limit else None
    next_cursor = None if last is None else cursor(last.failed_at, last.seq)
    entries = [DeadLetterAnswer.of(*each) for each in page]
    meta = query.meta(limit=limit, offset=offset, total=total, next_cursor=next_cursor)
    return ok(entries, meta)


@described(
    "Get a dead letter",
    answer(DeadLetterInFullAnswer),
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
    return ok(DeadLetterInFullAnswer.of(*found, payload=Raw(found[3])))


@described(
    "Replay a dead letter",
    answer(DeadLetterAnswer, delivery=DeliveryAnswer),
    reads=NoFields,
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
    meta = _meta(call, body, NoFields)

    def render(found: Found) -> HttpAnswer:
        _letter, delivery, endpoint, _body = found
        told = meta.as_json(*(() if endpoint.is_active else (ENDPOINT_PAUSED,)))
        queued = DeliveryAnswer.of(delivery, endpoint)
        return HttpAnswer(200, success(DeadLetterAnswer.of(*found), told, delivery=queued))

    keep, letter_id = Keep(meta.idempotency, render), call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    return await once(
        call, keep, lambda: redeliver.replay_dead_letter(call.env, call.caller, letter_id, keep)
    )


class DismissBody(Struct, frozen=True):
    """Why a dead letter is closed."""

    notes: Annotated[Notes, Meta(min_length=1)]


@described(
    "Dismiss a dead letter",
    answer(DeadLetterAnswer),
    reads=DismissBody,
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
    asked, _ = read(DismissBody, body)
    meta = _meta(call, body, DismissBody)
    letter_id = call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    keep = Keep[Found](
        meta.idempotency,
        lambda found: HttpAnswer(200, success(DeadLetterAnswer.of(*found), meta.as_json())),
    )
    return await once(
        call,
        keep,
        lambda: dismiss_flow.dismiss(call.env, call.caller, letter_id, asked.notes, keep),
    )


class ReplayBatchBody(Struct, frozen=True):
    """The dead letters to send again."""

    dead_letter_ids: Annotated[
        list[str], sample([EXAMPLE_ID], "1 to 100 ids"), Meta(max_length=DEAD_LETTERS_AT_ONCE)
    ]


class NotReplayed(Struct, frozen=True):
    """Why a dead letter was not sent again."""

    id: Annotated[str, sample("x")]
    code: Annotated[str, sample("DEAD_LETTER_NOT_FOUND")]
    message: Annotated[str, sample("There is no such dead letter.")]


class ReplayedLetters(Struct, frozen=True):
    """The ids that are sent again, and those that are not."""

    replayed: list[Id]
    failed: Annotated[list[NotReplayed], sample([])]


_Replayed = Annotated[int, sample(1, ge=0)]


@described(
    "Replay dead letters",
    answer(ReplayedLetters, replayed=_Replayed),
    reads=ReplayBatchBody,
    errors=(ErrorCode.OPEN_COLLECTIONS_DISABLED,),
    example={"dead_letter_ids": ["0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"]},
    idempotent=True,
)
async def replay_batch(call: Call) -> Reply:
    """Send many dead letters again; the answer has a result for each."""
    needs_open_collections(call)
    body = await read_object(call.scope, call.receive)
    given = read(ReplayBatchBody, body)[0].dead_letter_ids
    meta = _meta(call, body, ReplayBatchBody)
    # The same id twice, also in two spellings, counts once.
    distinct = {read_uuid(text) or text: (text, read_uuid(text)) for text in reversed(given)}
    asked = list(reversed(distinct.values()))

    def render(found: redeliver.ReplayedLetters) -> HttpAnswer:
        failed = [
            NotReplayed(written, refusal.code, str(refusal.message))
            for written, refusal in found.refused
        ]
        told = meta.as_json(*((ENDPOINT_PAUSED,) if found.paused else ()))
        data = ReplayedLetters(found.done, failed)
        return HttpAnswer(200, success(data, told, replayed=len(found.done)))

    keep = Keep(meta.idempotency, render)
    return await once(
        call, keep, lambda: redeliver.replay_dead_letters(call.env, call.caller, asked, keep)
    )


def _meta(call: Call, body: Mapping[str, Any], shape: type[Struct]) -> CallMeta:
    warnings = ignored(shape, body)
    return CallMeta(call.request_id, claim(call, body), tuple(warnings))
