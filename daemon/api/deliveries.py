"""GET /v1/open-collections/deliveries: the delivery log, one delivery, and its attempts."""

from typing import Final

from daemon.api.described import described
from daemon.api.fields import Query, read_uuid
from daemon.api.permission import needs_live
from daemon.api.service import Call, Reply, ok
from daemon.core import collection_shapes
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.store import delivery_log
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
"""interface.md, Limits."""


def read(query: Query, mode: Mode | None = None) -> tuple[int, int, delivery_log.DeliveryFilter]:
    """Read the query: the page, and what is listed."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    status = query.word("status", list(DeliveryStatus))
    event = query.word("event", list(EventKind))
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
    )
    query.done()
    return limit, offset, wanted


@described("List deliveries", "deliveries", query=read)
async def get_list(call: Call) -> Reply:
    """List deliveries, newest first; a test key sees those to sandbox endpoints only."""
    query = call.query
    limit, offset, wanted = read(query, Mode.TEST if call.caller.mode is Mode.TEST else None)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.listed(reader, wanted, limit=limit, offset=offset)
    )
    entries = [collection_shapes.delivery(delivery, target) for delivery, target in found]
    return ok(entries, query.meta(limit=limit, offset=offset, total=total))


def _transaction(query: Query) -> str | None:
    """Return the transaction that is asked for, by its UUID or its reference."""
    text = query.text("transaction_id")
    if text is None:
        return None
    found = split_reference(text) or read_uuid(text)
    if found is None:
        query.fail("transaction_id", "invalid", "must be a UUID or a reference")
    return found


@described(
    "Get a delivery",
    "delivery",
    errors=(
        ErrorCode.DELIVERY_NOT_FOUND,
        ErrorCode.LIVE_KEY_REQUIRED,
    ),
)
async def get_one(call: Call) -> Reply:
    """Return one delivery with what was sent: `payload` is the body byte for byte, `url` where it goes."""
    delivery, target = await find(call)
    return ok(collection_shapes.delivery_in_full(delivery, target))


def read_page(query: Query) -> tuple[int, int]:
    """Read the query: the size of the page, and what comes before it."""
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
    """List the attempts of a delivery, of all its runs, oldest first."""
    query = call.query
    limit, offset = read_page(query)
    delivery, _target = await find(call)
    found, total = await call.env.store.read(
        lambda reader: delivery_log.attempts(reader, delivery.id, limit=limit, offset=offset)
    )
    entries = [collection_shapes.attempt(attempt) for attempt in found]
    return ok(entries, query.meta(limit=limit, offset=offset, total=total))


async def find(call: Call) -> delivery_log.Logged:
    """Return the delivery that the path names and the endpoint that it goes to.

    Raises:
        Refusal: DELIVERY_NOT_FOUND; LIVE_KEY_REQUIRED for a test key and a live endpoint.
    """
    wanted = delivery_id(call)
    found = await call.env.store.read(lambda reader: delivery_log.one(reader, wanted))
    if found is None:
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    if found[1].mode is Mode.LIVE:
        needs_live(call.caller)
    return found


def delivery_id(call: Call) -> str:
    """Return the id in the path.

    Raises:
        Refusal: DELIVERY_NOT_FOUND, when it is no UUID.
    """
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    return found
