"""GET of transactions: one by its reference, its code or the caller's own reference, and the list."""

from daemon.api.described import described
from daemon.api.fields import Query
from daemon.api.service import Call, Reply, ok
from daemon.core import shapes, transaction_shapes
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.store import lists
from daemon.store.transaction_list import Found, TransactionFilter, transactions
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers.svc_code import normalize_code

PER_PAGE = 50
PER_PAGE_MAX = 100
"""interface.md, Limits."""
SEARCH_CHARACTERS_MAX = 100
SORTS = ("newest", "oldest", "largest", "smallest")
PAGE_MAX = 1_000_000_000
"""Far past the end of any list, and its offset still fits an integer of the database."""


def read(query: Query, mode: Mode | None = None) -> tuple[int, int, TransactionFilter]:
    """Read the query: the page, its size, and what is listed."""
    page = query.number("page", 1, high=PAGE_MAX)
    per_page = query.number("per_page", PER_PAGE, high=PER_PAGE_MAX)
    status = query.word("status", list(TransactionStatus))
    wanted = TransactionFilter(
        mode=mode,
        origin=query.word("origin", ("request", "open", "all")) or "request",
        status=None if status is None else TransactionStatus(status),
        since=query.time("from"),
        until=query.time("to"),
        phone_number=query.phone("phone_number"),
        search=query.text("search", most=SEARCH_CHARACTERS_MAX),
        sort=query.word("sort", SORTS) or SORTS[0],
        after=_after(query),
    )
    query.done()
    return page, per_page, wanted


def _after(query: Query) -> str | None:
    reference = query.text("after")
    found = None if reference is None else split_reference(reference)
    if reference is not None and found is None:
        query.fail("after", "invalid", "must be the reference of a transaction")
    return found


@described("List transactions", "transactions", query=read)
async def get_list(call: Call) -> Reply:
    """List transactions, newest first unless `sort` says otherwise.

    Pages move when orders come in; who reads them all goes on with `after`, the last reference that was seen.
    """
    query = call.query
    page, per_page, wanted = read(query, call.caller.mode)
    now = call.env.clock.now_us()
    found, total = await call.env.store.read(
        lambda reader: transactions(
            reader, wanted, now=now, limit=per_page, offset=(page - 1) * per_page
        )
    )
    items = [
        transaction_shapes.list_item(transaction, payment, now) for transaction, payment in found
    ]
    return ok(items, query.meta(), pagination=shapes.pagination(page, per_page, total))


@described("Get a transaction", "transaction", errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
async def get_one(call: Call) -> Reply:
    """Return one transaction by its reference."""
    transaction_id = split_reference(call.path("reference"))
    if transaction_id is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    mode = call.caller.mode
    found = await call.env.store.read(lambda reader: lists.by_id(reader, transaction_id, mode))
    return _one(call, found)


@described(
    "Get a transaction by its code", "transaction", errors=(ErrorCode.TRANSACTION_NOT_FOUND,)
)
async def get_by_code(call: Call) -> Reply:
    """Return the newest request that has or had this code."""
    code, mode = normalize_code(call.path("svc_code")), call.caller.mode
    found = await call.env.store.read(lambda reader: lists.by_code(reader, code, mode))
    return _one(call, found)


@described(
    "Get a transaction by client reference",
    "transaction by client reference",
    errors=(ErrorCode.TRANSACTION_NOT_FOUND,),
)
async def get_by_client_reference(call: Call) -> Reply:
    """Return the best request with the caller's own reference; `meta.matches` counts them."""
    reference, mode = call.path("client_ref"), call.caller.mode
    now = call.env.clock.now_us()
    found, matches = await call.env.store.read(
        lambda reader: lists.by_client_reference(reader, reference, mode, now=now)
    )
    return _one(call, found, matches)


def _one(call: Call, found: Found | None, matches: int | None = None) -> Reply:
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    transaction, payment = found
    meta = None if matches is None else {"matches": matches}
    return ok(transaction_shapes.single(transaction, payment, call.env.clock.now_us()), meta)
