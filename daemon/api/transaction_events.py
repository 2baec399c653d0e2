"""GET /v1/transactions/{reference}/events: what happened to one transaction, in human words, oldest first."""

from typing import Final

from daemon.api.fields import Query
from daemon.api.service import Call, Reply, ok
from daemon.core import journal
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.model import Event, Payment
from daemon.store import events, payments, transactions
from daemon.store.engine import Reader
from daemon.wire import ErrorCode

LIMIT: Final = 100
LIMIT_MAX: Final = 500
OFFSET_MAX: Final = 1_000_000_000_000


async def get_list(call: Call) -> Reply:
    """List the journal of one request or holder."""
    query = Query(call.query)
    limit = query.number("limit", LIMIT, high=LIMIT_MAX)
    offset = query.number("offset", 0, low=0, high=OFFSET_MAX)
    query.done()
    transaction_id = split_reference(call.path("reference"))
    mode = call.caller.mode

    def look(reader: Reader) -> tuple[list[tuple[Event, Payment | None]], int] | None:
        if transaction_id is None or transactions.get(reader, transaction_id, mode) is None:
            return None
        found, total = events.of_transaction(reader, transaction_id, limit=limit, offset=offset)
        ids = {event.payment_id for event in found if event.payment_id is not None}
        money = {payment_id: payments.get(reader, payment_id) for payment_id in ids}
        return [(event, money.get(event.payment_id or "")) for event in found], total

    seen = await call.env.store.read(look)
    if seen is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    entries = [journal.line(event, payment) for event, payment in seen[0]]
    return ok(entries, query.meta(limit=limit, offset=offset, total=seen[1]))
