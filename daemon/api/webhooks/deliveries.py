"""The delivery log: list deliveries and their attempts, redeliver one, sign one again; the deliveries that failed for good."""

from typing import Annotated, Final, Literal

from msgspec import Meta, Raw, Struct, field

from daemon.api.http.auth import needs_live, needs_owner
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import NoFields, answer, described
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core import shape
from daemon.core.errors import Refusal, needed
from daemon.core.ids import split_reference
from daemon.core.inputs import HttpAnswer, Keep
from daemon.core.json_values import cursor, success
from daemon.core.limits import DEAD_LETTERS_AT_ONCE
from daemon.core.reading import Wrong, read_uuid
from daemon.core.shape import marked, page_size, sample
from daemon.core.webhooks.delivery import DeadLetterReason, DeliveryError
from daemon.core.webhooks.endpoint_json import (
    AttemptAnswer,
    DeadLetterAnswer,
    DeadLetterInFullAnswer,
    DeliveryAnswer,
    DeliveryInFullAnswer,
)
from daemon.flows.webhooks import redeliver as redeliver_flow
from daemon.store.webhooks import dead_letters, deliveries, delivery_log
from daemon.store.webhooks.dead_letters import Found
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

EXAMPLE_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
REVERSED_SINCE: Final = "The network has taken this payment back since: the receiver is told again that it was paid."
PAUSED: Final = "The endpoint is paused: the delivery waits until it is resumed."
LIMIT: Final = 50
LIMIT_MAX: Final = 200
"""`limit` without a value, and at most."""


def _transaction(text: str) -> str | Wrong:
    found = split_reference(text) or read_uuid(text)
    return found or Wrong("invalid", "must be a UUID or a reference")


class DeliveriesQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: shape.Offset = 0
    status: Annotated[DeliveryStatus, sample("delivered", "only this status")] | None = None
    event: Annotated[EventKind, sample(EventKind.FORWARDED, "only this event kind")] | None = None
    after: shape.CursorOf1 | None = None
    mode: shape.ModeFilter = None
    endpoint_id: Annotated[str, sample(EXAMPLE_ID, "the endpoint"), shape.UuidRead] | None = None
    kind: Annotated[
        Literal["all", "endpoint"] | None,
        sample("all", "`all` includes deliveries to `webhook_url` and to the default URL"),
    ] = None
    transaction_id: Annotated[
        str | None,
        sample(EXAMPLE_ID, "only deliveries of this transaction, by UUID or reference"),
        marked(then=_transaction),
    ] = None
    webhook_id: Annotated[str | None, sample("ocl_0123456789abcdefghijklmn", "only this webhook id")] = None
    since: shape.FromTime | None = field(name="from", default=None)
    until: shape.ToTime | None = field(name="to", default=None)


def _mode(call: Call, asked: "DeliveriesQuery | DeadLettersQuery") -> Mode | None:
    """Return the mode to list: the one of the caller, unless another is asked for by name or by its endpoint."""
    bound = call.caller.mode
    return bound if bound is Mode.TEST else asked.mode or (bound if asked.endpoint_id is None else None)


@described("List deliveries", answer(list[DeliveryAnswer], shape.CursorPageMeta), query=DeliveriesQuery)
async def list_deliveries(call: Call) -> Reply:
    """List deliveries, newest first. A test key sees only those to sandbox endpoints, a live key only if asked to.

    Offsets shift when new deliveries are made. To read all of them, continue with `after`, the `meta.next_cursor` of the page.
    """
    asked = call.query.read(DeliveriesQuery)
    wanted = shape.taken(
        delivery_log.DeliveryFilter,
        asked,
        mode=_mode(call, asked),
        implicit=asked.kind == "all",
        after=asked.after[0] if asked.after else None,
    )
    page = await call.env.store.read(
        lambda reader: delivery_log.listed(reader, wanted, limit=asked.limit, offset=asked.offset)
    )
    next_cursor = None if page.last is None else cursor(page.last[0].seq)
    entries = [DeliveryAnswer.of(delivery, target) for delivery, target in page.rows]
    return ok(entries, call.query.page(asked, page.total, next_cursor=next_cursor))


@described("Get a delivery", answer(DeliveryInFullAnswer), errors="DELIVERY_NOT_FOUND LIVE_KEY_REQUIRED")
async def get_delivery(call: Call) -> Reply:
    """Return one delivery in full: `payload` is the exact body, `url` the destination."""
    delivery, target = await find_delivery(call)
    sent = await call.env.store.read(lambda reader: deliveries.bodies(reader, [delivery.seq]))
    if delivery.seq not in sent:  # deleted since
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    return ok(DeliveryInFullAnswer.of(delivery, target, url=target.url, payload=Raw(sent[delivery.seq])))


class AttemptsQuery(Struct, frozen=True):
    """The page of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: shape.Offset = 0


@described(
    "List a delivery's attempts",
    answer(list[AttemptAnswer], shape.PageMeta),
    query=AttemptsQuery,
    errors="DELIVERY_NOT_FOUND LIVE_KEY_REQUIRED",
)
async def get_attempts(call: Call) -> Reply:
    """List the attempts of a delivery, oldest first, including those before a redelivery."""
    asked = call.query.read(AttemptsQuery)
    delivery, _target = await find_delivery(call)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.attempts(reader, delivery.id, limit=asked.limit, offset=asked.offset)
    )
    return ok([AttemptAnswer.of(attempt) for attempt in found], call.query.page(asked, total))


async def find_delivery(call: Call) -> delivery_log.Logged:
    """Return the delivery named by the path, and its endpoint."""
    wanted = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    found = needed(
        await call.env.store.look(lambda reader: delivery_log.one(reader, wanted)), ErrorCode.DELIVERY_NOT_FOUND
    )
    if found[1].mode is Mode.LIVE:
        needs_live(call.caller)
    return found


@described(
    "Redeliver a delivery",
    answer(DeliveryAnswer),
    reads=NoFields,
    errors="OPEN_COLLECTIONS_DISABLED LIVE_KEY_REQUIRED DELIVERY_NOT_FOUND DELIVERY_NOT_REDELIVERABLE ENDPOINT_DELETED",
    body_optional=True,
    idempotent=True,
)
async def redeliver(call: Call) -> Reply:
    """Queue an ended delivery again. It does not count as another verified transaction."""
    needs_open_collections(call)
    _asked, meta = await call.asked(NoFields, optional=True)

    def render(queued: redeliver_flow.Redelivered) -> HttpAnswer:
        told = [] if queued.endpoint.is_active else [PAUSED]
        told += [REVERSED_SINCE] if queued.reversed_since else []
        shown = DeliveryAnswer.of(queued.delivery, queued.endpoint)
        return HttpAnswer(200, success(shown, meta.as_json(*told)))

    delivery_id = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    return await once(
        call,
        Keep(meta.idempotency, render),
        lambda keep: redeliver_flow.redeliver(call.env, call.caller, delivery_id, keep),
    )


async def sign(call: Call) -> Reply:
    """Return `{url, headers, body}` as they would be sent now, without sending them."""
    needs_owner(call.caller)
    delivery_id = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    signed = await redeliver_flow.sign_again(call.env, call.caller, delivery_id)
    return ok({"url": signed.url, "headers": signed.headers, "body": signed.body})


ENDPOINT_PAUSED: Final = "An endpoint is paused: its deliveries wait until it is resumed."
LETTERS_LIMIT: Final = 100
LETTERS_LIMIT_MAX: Final = 500


class DeadLettersQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LETTERS_LIMIT_MAX)] = LETTERS_LIMIT
    offset: shape.Offset = 0
    after: shape.CursorOf2 | None = None
    mode: shape.ModeFilter = None
    include_replayed: Annotated[bool, sample(False, "include dead letters that were replayed or dismissed")] = False
    endpoint_id: Annotated[str, sample(EXAMPLE_ID, "the endpoint"), shape.UuidRead] | None = None
    reason: Annotated[DeadLetterReason | None, sample("permanent_4xx", "only dead letters with this reason")] = None
    error_code: Annotated[DeliveryError, sample("timeout", "only this error code")] | None = None


@described("List dead letters", answer(list[DeadLetterAnswer], shape.CursorPageMeta), query=DeadLettersQuery)
async def list_dead_letters(call: Call) -> Reply:
    """List dead letters, the newest failure first. A test key sees only those of sandbox endpoints, a live key only if asked to.

    Offsets shift when deliveries fail or are sent again. To read all dead letters, continue with `after`, the
    `meta.next_cursor` of the page.
    """
    asked = call.query.read(DeadLettersQuery)
    wanted = shape.taken(dead_letters.DeadLetterFilter, asked, mode=_mode(call, asked))
    page = await call.env.store.read(
        lambda reader: dead_letters.listed(reader, wanted, limit=asked.limit, offset=asked.offset)
    )
    last = None if page.last is None else page.last[0]
    next_cursor = None if last is None else cursor(last.failed_at, last.seq)
    entries = [DeadLetterAnswer.of(*each) for each in page.rows]
    return ok(entries, call.query.page(asked, page.total, next_cursor=next_cursor))


@described("Get a dead letter", answer(DeadLetterInFullAnswer), errors="DEAD_LETTER_NOT_FOUND LIVE_KEY_REQUIRED")
async def get_dead_letter(call: Call) -> Reply:
    """Return one dead letter with its payload."""
    letter_id = call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    found = needed(
        await call.env.store.look(lambda reader: dead_letters.one(reader, letter_id)), ErrorCode.DEAD_LETTER_NOT_FOUND
    )
    if found[2].mode is Mode.LIVE:
        needs_live(call.caller)
    return ok(DeadLetterInFullAnswer.of(*found, payload=Raw(found[3])))


@described(
    "Replay a dead letter",
    answer(DeadLetterAnswer, delivery=DeliveryAnswer),
    reads=NoFields,
    errors="OPEN_COLLECTIONS_DISABLED DEAD_LETTER_NOT_FOUND LIVE_KEY_REQUIRED "
    "DEAD_LETTER_ALREADY_REPLAYED ENDPOINT_DELETED",
    body_optional=True,
    idempotent=True,
)
async def replay_dead_letter(call: Call) -> Reply:
    """Send a dead letter again with the same `webhook_id`, so that its receiver can detect a duplicate."""
    needs_open_collections(call)
    _asked, meta = await call.asked(NoFields, optional=True)

    def render(found: Found) -> HttpAnswer:
        _letter, delivery, endpoint, _body = found
        told = meta.as_json(*(() if endpoint.is_active else (ENDPOINT_PAUSED,)))
        queued = DeliveryAnswer.of(delivery, endpoint)
        return HttpAnswer(200, success(DeadLetterAnswer.of(*found), told, delivery=queued))

    keep, letter_id = Keep(meta.idempotency, render), call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    return await once(
        call, keep, lambda keep: redeliver_flow.replay_dead_letter(call.env, call.caller, letter_id, keep)
    )


class DismissBody(Struct, frozen=True):
    """Why a dead letter is closed."""

    notes: Annotated[shape.Notes, Meta(min_length=1)]


@described(
    "Dismiss a dead letter",
    answer(DeadLetterAnswer),
    reads=DismissBody,
    errors="DEAD_LETTER_NOT_FOUND LIVE_KEY_REQUIRED DEAD_LETTER_ALREADY_REPLAYED",
    example={"notes": "a test with momo listen"},
    idempotent=True,
)
async def dismiss_dead_letter(call: Call) -> Reply:
    """Close a dead letter without sending it again. It leaves the list, and can still be replayed."""
    asked, meta = await call.asked(DismissBody)

    def render(found: Found) -> HttpAnswer:
        return HttpAnswer(200, success(DeadLetterAnswer.of(*found), meta.as_json()))

    keep, letter_id = Keep(meta.idempotency, render), call.uuid(ErrorCode.DEAD_LETTER_NOT_FOUND)
    return await once(
        call, keep, lambda keep: redeliver_flow.dismiss(call.env, call.caller, letter_id, asked.notes, keep)
    )


class ReplayBatchBody(Struct, frozen=True):
    """The dead letters to send again."""

    dead_letter_ids: Annotated[list[str], sample([EXAMPLE_ID], "1 to 100 ids"), Meta(max_length=DEAD_LETTERS_AT_ONCE)]


class NotReplayed(Struct, frozen=True):
    """Why a dead letter was not sent again."""

    id: Annotated[str, sample("x")]
    code: Annotated[str, sample("DEAD_LETTER_NOT_FOUND")]
    message: Annotated[str, sample("There is no such dead letter.")]


class ReplayedLetters(Struct, frozen=True):
    """The ids that are sent again, and those that are not."""

    replayed: list[shape.Id]
    failed: Annotated[list[NotReplayed], sample([])]


_Replayed = Annotated[int, sample(1, ge=0)]


@described(
    "Replay dead letters",
    answer(ReplayedLetters, replayed=_Replayed),
    reads=ReplayBatchBody,
    errors="OPEN_COLLECTIONS_DISABLED",
    example={"dead_letter_ids": ["0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"]},
    idempotent=True,
)
async def replay_batch(call: Call) -> Reply:
    """Send many dead letters again; the answer has a result for each."""
    needs_open_collections(call)
    given, meta = await call.asked(ReplayBatchBody)
    # The same id twice, also in two spellings, counts once.
    distinct = {read_uuid(text) or text: (text, read_uuid(text)) for text in reversed(given.dead_letter_ids)}
    asked = list(reversed(distinct.values()))

    def render(found: redeliver_flow.ReplayedLetters) -> HttpAnswer:
        failed = [NotReplayed(written, refusal.code, str(refusal.message)) for written, refusal in found.refused]
        told = meta.as_json(*((ENDPOINT_PAUSED,) if found.paused else ()))
        data = ReplayedLetters(found.done, failed)
        return HttpAnswer(200, success(data, told, replayed=len(found.done)))

    return await once(
        call,
        Keep(meta.idempotency, render),
        lambda keep: redeliver_flow.replay_dead_letters(call.env, call.caller, asked, keep),
    )
