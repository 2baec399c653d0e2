"""GET /v1/open-collections/deliveries: the delivery log."""

from typing import Final

from daemon.api.fields import Query
from daemon.api.service import Call, Reply, ok
from daemon.core import collection_shapes
from daemon.store import lists
from daemon.wire import DeliveryStatus, Mode

LIMIT: Final = 50
LIMIT_MAX: Final = 200
"""interface.md, Limits."""
OFFSET_MAX: Final = 1_000_000_000_000


async def get_list(call: Call) -> Reply:
    """List deliveries, newest first; a test key sees those to sandbox endpoints only."""
    query = Query(call.query)
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    offset = query.number("offset", 0, low=0, high=OFFSET_MAX)
    status = query.word("status", list(DeliveryStatus))
    wanted = lists.DeliveryFilter(
        mode=Mode.TEST if call.caller.mode is Mode.TEST else None,
        endpoint_id=query.uuid("endpoint_id"),
        status=None if status is None else DeliveryStatus(status),
        implicit=query.word("kind", ("all", "endpoint")) == "all",
    )
    query.done()
    found, total = await call.env.store.read(
        lambda reader: lists.deliveries(reader, wanted, limit=limit, offset=offset)
    )
    entries = [collection_shapes.delivery(delivery, target) for delivery, target in found]
    return ok(entries, query.meta(limit=limit, offset=offset, total=total))
