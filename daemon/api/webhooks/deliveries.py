"""The delivery log: list deliveries and their attempts, redeliver one, sign one again."""

from typing import Annotated, Final, Literal

from msgspec import Raw, Struct, field

from daemon.api.http.auth import needs_live, needs_owner
from daemon.api.http.body import read_object_if_any
from daemon.api.http.fields import read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import NoFields, answer, described
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.inputs import CallMeta, HttpAnswer, Keep
from daemon.core.json_values import cursor, success
from daemon.core.reading import Wrong, ignored
from daemon.core.shape import (
    CursorOf1,
    CursorPageMeta,
    FromTime,
    Offset,
    PageMeta,
    ToTime,
    UuidRead,
    marked,
    page_size,
    sample,
)
from daemon.core.webhooks.endpoint_json import AttemptAnswer, DeliveryAnswer, DeliveryInFullAnswer
from daemon.flows.webhooks import redeliver as redeliver_flow
from daemon.store.webhooks import deliveries, delivery_log
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

EXAMPLE_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
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
    offset: Offset = 0
    status: Annotated[DeliveryStatus, sample("delivered", "only this status")] | None = None
    event: Annotated[EventKind, sample(EventKind.FORWARDED, "only this event kind")] | None = None
    after: CursorOf1 | None = None
    mode: (
        Annotated[Mode, sample("live", "only live money, or only the sandbox; default both")] | None
    ) = None
    endpoint_id: Annotated[str, sample(EXAMPLE_ID, "the endpoint"), UuidRead] | None = None
    kind: (
        Annotated[
            Literal["all", "endpoint"],
            sample("all", "`all` includes deliveries to `webhook_url` and to the default URL"),
        ]
        | None
    ) = None
    transaction_id: (
        Annotated[
            str,
            sample(EXAMPLE_ID, "only deliveries of this transaction, by UUID or reference"),
            marked(then=_transaction),
        ]
        | None
    ) = None
    webhook_id: (
        Annotated[str, sample("ocl_0123456789abcdefghijklmn", "only this webhook id")] | None
    ) = None
    since: FromTime | None = field(name="from", default=None)
    until: ToTime | None = field(name="to", default=None)


@described("List deliveries", answer(list[DeliveryAnswer], CursorPageMeta), query=DeliveriesQuery)
async def get_list(call: Call) -> Reply:
    """List deliveries, newest first. A test key sees only those to sandbox endpoints.

    Offsets shift when new deliveries are made. To read all of them, continue with `after`, the `meta.next_cursor` of the page.
    """
    query = call.query
    asked = query.read(DeliveriesQuery)
    limit, offset = asked.limit, asked.offset
    wanted = delivery_log.DeliveryFilter(
        mode=Mode.TEST if call.caller.mode is Mode.TEST else asked.mode,
        endpoint_id=asked.endpoint_id,
        status=asked.status,
        implicit=asked.kind == "all",
        event=asked.event,
        transaction_id=asked.transaction_id,
        webhook_id=asked.webhook_id,
        since=asked.since,
        until=asked.until,
        after=asked.after[0] if asked.after else None,
    )
    found, total = await call.env.store.read(
        lambda reader: delivery_log.listed(reader, wanted, limit=limit + 1, offset=offset)
    )
    page = found[:limit]
    next_cursor = cursor(page[-1][0].seq) if len(found) > limit else None
    entries = [DeliveryAnswer.of(delivery, target) for delivery, target in page]
    meta = query.meta(limit=limit, offset=offset, total=total, next_cursor=next_cursor)
    return ok(entries, meta)


@described(
    "Get a delivery",
    answer(DeliveryInFullAnswer),
    errors=(
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_one(call: Call) -> Reply:
    """Return one delivery in full: `payload` is the exact body, `url` the destination."""
    delivery, target = await find(call)
    sent = await call.env.store.read(lambda reader: deliveries.bodies(reader, [delivery.seq]))
    if delivery.seq not in sent:  # deleted since
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    return ok(
        DeliveryInFullAnswer.of(delivery, target, url=target.url, payload=Raw(sent[delivery.seq]))
    )


class AttemptsQuery(Struct, frozen=True):
    """The page of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: Offset = 0


@described(
    "List a delivery's attempts",
    answer(list[AttemptAnswer], PageMeta),
    query=AttemptsQuery,
    errors=(
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_attempts(call: Call) -> Reply:
    """List the attempts of a delivery, oldest first, including those before a redelivery."""
    query = call.query
    page = query.read(AttemptsQuery)
    limit, offset = page.limit, page.offset
    delivery, _target = await find(call)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.attempts(reader, delivery.id, limit=limit, offset=offset)
    )
    entries = [AttemptAnswer.of(attempt) for attempt in found]
    return ok(entries, query.meta(limit=limit, offset=offset, total=total))


async def find(call: Call) -> delivery_log.Logged:
    """Return the delivery named by the path, and its endpoint.

    Raises:
        Refusal: DELIVERY_NOT_FOUND; LIVE_KEY_REQUIRED for a test key and a live endpoint.
    """
    wanted = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    found = await call.env.store.look(lambda reader: delivery_log.one(reader, wanted))
    if found is None:
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    if found[1].mode is Mode.LIVE:
        needs_live(call.caller)
    return found


@described(
    "Redeliver a delivery",
    answer(DeliveryAnswer),
    reads=NoFields,
    errors=(
        ErrorCode.OPEN_COLLECTIONS_DISABLED,
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.DELIVERY_NOT_REDELIVERABLE,
        ErrorCode.ENDPOINT_DELETED,
    ),
    body_optional=True,
    idempotent=True,
)
async def redeliver(call: Call) -> Reply:
    """Queue an ended delivery again. It does not count as another verified transaction."""
    needs_open_collections(call)
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    meta = CallMeta(call.request_id, asked, tuple(ignored(NoFields, body)))

    def render(queued: delivery_log.Logged) -> HttpAnswer:
        told = meta.as_json(*(() if queued[1].is_active else (PAUSED,)))
        return HttpAnswer(200, success(DeliveryAnswer.of(*queued), told))

    keep, delivery_id = Keep(asked, render), call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    return await once(
        call, keep, lambda: redeliver_flow.redeliver(call.env, call.caller, delivery_id, keep)
    )


async def sign(call: Call) -> Reply:
    """Return `{url, headers, body}` as they would be sent now, without sending them."""
    needs_owner(call.caller)
    delivery_id = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    signed = await redeliver_flow.sign_again(call.env, call.caller, delivery_id)
    return ok({"url": signed.url, "headers": signed.headers, "body": signed.body})
