"""GET /v1/transactions/{reference}/events: what happened to one transaction, in human words, oldest first."""

from typing import Final

from daemon.api.described import described
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


def read(query: Query) -> tuple[int, int]:
    """Read the query: the size of the page, and what comes before it."""
    page = query.page(LIMIT, LIMIT_MAX)
    query.done()
    return page


@described(
    "List a transaction's events",
    "transaction events",
    query=read,
    errors=(ErrorCode.TRANSACTION_NOT_FOUND,),
)
async def get_list(call: Call) -> Reply:
    """List the journal of one request or holder."""
    query = call.query
    limit, offset = read(query)
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
