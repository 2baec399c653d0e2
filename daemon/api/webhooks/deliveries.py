"""The delivery log: list deliveries and their attempts, redeliver one, sign one again."""

from typing import Final

from daemon.api.http.auth import needs_live, needs_owner
from daemon.api.http.body import read_object_if_any
from daemon.api.http.fields import Fields, Query, ignored, read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import described, no_fields
from daemon.api.webhooks.endpoints import needs_open_collections
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.inputs import CallMeta
from daemon.core.json_values import cursor
from daemon.core.webhooks import endpoint_json
from daemon.flows.webhooks import redeliver as redeliver_flow
from daemon.store.webhooks import deliveries, delivery_log
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
"""`limit` without a value, and at most."""


def read_query(
    query: Query, mode: Mode | None = None
) -> tuple[int, int, delivery_log.DeliveryFilter]:
    """Read the query: the page and the filter."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    status = query.word("status", list(DeliveryStatus))
    event = query.word("event", list(EventKind))
    after = query.after(1)
    asked = query.word("mode", list(Mode))
    if mode is None and asked is not None:
        mode = Mode(asked)
    wanted = delivery_log.DeliveryFilter(
        mode=mode,
        endpoint_id=query.uuid("endpoint_id"),
        status=None if status is None else DeliveryStatus(status),
        implicit=query.word("kind", ("all", "endpoint")) == "all",
        event=None if event is None else EventKind(event),
        transaction_id=_transaction(query),
        webhook_id=query.text("webhook_id"),
        since=query.time("from"),
        until=query.time("to"),
        after=None if after is None else after[0],
    )
    query.done()
    return limit, offset, wanted


def _transaction(query: Query) -> str | None:
    """Return the transaction id of the filter, given as a UUID or a reference."""
    text = query.text("transaction_id")
    if text is None:
        return None
    found = split_reference(text) or read_uuid(text)
    if found is None:
        query.fail("transaction_id", "invalid", "must be a UUID or a reference")
    return found


@described("List deliveries", "deliveries", query=read_query)
async def get_list(call: Call) -> Reply:
    """List deliveries, newest first. A test key sees only those to sandbox endpoints.

    Offsets shift when new deliveries are made. To read all of them, continue with `after`, the `meta.next_cursor` of the page.
    """
    query = call.query
    limit, offset, wanted = read_query(query, Mode.TEST if call.caller.mode is Mode.TEST else None)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.listed(reader, wanted, limit=limit + 1, offset=offset)
    )
    page = found[:limit]
    next_cursor = cursor(page[-1][0].seq) if len(found) > limit else None
    entries = [endpoint_json.delivery(delivery, target) for delivery, target in page]
    meta = query.meta(limit=limit, offset=offset, total=total, next_cursor=next_cursor)
    return ok(entries, meta)


@described(
    "Get a delivery",
    "delivery",
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
    return ok(endpoint_json.delivery_in_full(delivery, target, sent[delivery.seq]))


def read_page(query: Query) -> tuple[int, int]:
    """Read the query: limit and offset."""
    page = query.page(LIMIT, LIMIT_MAX)
    query.done()
    return page


@described(
    "List a delivery's attempts",
    "attempts",
    query=read_page,
    errors=(
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_attempts(call: Call) -> Reply:
    """List the attempts of a delivery, oldest first, including those before a redelivery."""
    query = call.query
    limit, offset = read_page(query)
    delivery, _target = await find(call)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.attempts(reader, delivery.id, limit=limit, offset=offset)
    )
    entries = [endpoint_json.attempt(attempt) for attempt in found]
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
    "redelivered",
    reads=no_fields,
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
    meta = CallMeta(call.request_id, asked, tuple(ignored(Fields(body).unknown(()))))
    async with call.service.inflight.alone(asked):
        answer = await redeliver_flow.redeliver(
            call.env, call.caller, call.uuid(ErrorCode.DELIVERY_NOT_FOUND), meta
        )
    return finished(answer)


async def sign(call: Call) -> Reply:
    """Return `{url, headers, body}` as they would be sent now, without sending them."""
    needs_owner(call.caller)
    delivery_id = call.uuid(ErrorCode.DELIVERY_NOT_FOUND)
    signed = await redeliver_flow.sign_again(call.env, call.caller, delivery_id)
    return ok({"url": signed.url, "headers": signed.headers, "body": signed.body})
