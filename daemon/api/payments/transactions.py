"""Transactions: get, list, cancel, reconcile, and the timeline and checkout page of one."""

from typing import Final

from msgspec.structs import replace

from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, Query, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import described
from daemon.api.payments.reviews import branch_names
from daemon.core import json_values
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.inputs import Answer, CallMeta, Keep, ReconcileRequest
from daemon.core.limits import NOTES_CHARACTERS_MAX, TRANSACTION_ID_CHARACTERS_MAX
from daemon.core.model import Event, Payment, Transaction
from daemon.core.payments import checkout, timeline, transaction_json
from daemon.flows.access import password
from daemon.flows.payments import cancel_expire
from daemon.flows.payments import reconcile as reconcile_flow
from daemon.flows.payments.cancel_expire import Cancelled
from daemon.flows.payments.reconcile import Reconciled
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.payments import payments, reviews, transaction_list, transactions
from daemon.store.payments.transaction_list import Found, TransactionFilter
from daemon.wire import ErrorCode, Mode, TransactionStatus
from parsers.svc_code import normalize_code

PER_PAGE = 50
PER_PAGE_MAX = 100
"""`per_page` without a value, and at most."""
PAGE_MAX = 1_000_000_000
"""Larger than any list, and its offset is still a valid integer of the database."""
SEARCH_CHARACTERS_MAX = 100
SORTS = ("newest", "oldest", "largest", "smallest")
LIMIT: Final = 100
LIMIT_MAX: Final = 500
CANCEL_FIELDS: Final = ("reason",)
RECONCILE_FIELDS: Final = ("transaction_id", "amount", "notes", "provider", "password")
_Shown = tuple[Transaction, Payment | None, str | None]
"""A transaction, the payment that verified it, and the id of its open review."""


def read_list_query(query: Query, mode: Mode | None = None) -> tuple[int, int, TransactionFilter]:
    """Read the query: the page, its size and the filter."""
    page = query.number("page", 1, high=PAGE_MAX)
    per_page = query.number("per_page", PER_PAGE, high=PER_PAGE_MAX)
    status = query.word("status", list(TransactionStatus))
    wanted = TransactionFilter(
        mode=_mode(query, mode),
        origin=query.word("origin", ("request", "open", "all")) or "request",
        status=None if status is None else TransactionStatus(status),
        since=query.time("from"),
        until=query.time("to"),
        phone_number=query.phone("phone_number"),
        search=query.text("search", most=SEARCH_CHARACTERS_MAX),
        sort=query.word("sort", SORTS) or SORTS[0],
        after=_after(query),
        branch=query.text("branch", most=40),
    )
    query.done()
    return page, per_page, wanted


def _mode(query: Query, bound: Mode | None) -> Mode | None:
    """Read the mode; a caller that is `bound` to one cannot list the other."""
    word = query.word("mode", list(Mode))
    if word is None or bound is None:
        return bound if word is None else Mode(word)
    if word != bound:
        query.fail("mode", "invalid", f"a {bound} key cannot use the other mode")
    return bound


def _after(query: Query) -> str | None:
    reference = query.text("after")
    found = None if reference is None else split_reference(reference)
    if reference is not None and found is None:
        query.fail("after", "invalid", "must be the reference of a transaction")
    return found


@described("List transactions", "transactions", query=read_list_query)
async def list_transactions(call: Call) -> Reply:
    """List transactions, newest first by default (`sort`).

    Pages shift when new transactions arrive. To read all of them, continue with `after`, the last reference of the page.
    """
    query = call.query
    page, per_page, wanted = read_list_query(query, call.caller.mode)
    now = call.env.clock.now_us()
    found, total = await call.env.store.read(
        lambda reader: transaction_list.transactions(
            reader, wanted, now=now, limit=per_page, offset=(page - 1) * per_page
        )
    )
    names = await branch_names(call.env)
    items = [
        transaction_json.list_item(transaction, payment, now)
        | transaction_json.of_branch(transaction.branch_id, names)
        for transaction, payment in found
    ]
    return ok(items, query.meta(), pagination=json_values.pagination(page, per_page, total))


@described("Get a transaction", "found transaction", errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
async def get_one(call: Call) -> Reply:
    """Return one transaction by its reference."""
    transaction_id = split_reference(call.path("reference"))
    if transaction_id is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    mode = call.caller.mode
    found = await call.env.store.look(
        lambda reader: _with_review(reader, transaction_list.by_id(reader, transaction_id, mode))
    )
    return _one(call, found)


@described(
    "Get a transaction by its code",
    "found transaction",
    errors=(ErrorCode.TRANSACTION_NOT_FOUND,),
)
async def get_by_code(call: Call) -> Reply:
    """Return the newest transaction that has or had this payment code."""
    code, mode = normalize_code(call.path("svc_code")), call.caller.mode
    found = await call.env.store.look(
        lambda reader: _with_review(reader, transaction_list.by_code(reader, code, mode))
    )
    return _one(call, found)


@described(
    "Get a transaction by client reference",
    "transaction by client reference",
    errors=(ErrorCode.TRANSACTION_NOT_FOUND,),
)
async def get_by_client_reference(call: Call) -> Reply:
    """Return the best match among the transactions with this client reference; `meta.matches` counts them."""
    reference, mode = call.path("client_ref"), call.caller.mode
    now = call.env.clock.now_us()

    def look(reader: Reader) -> tuple[_Shown | None, int]:
        found, matches = transaction_list.by_client_reference(reader, reference, mode, now=now)
        return _with_review(reader, found), matches

    # Not `look`: any number of transactions may have this reference, and all are counted.
    shown, matches = await call.env.store.read(look)
    return _one(call, shown, matches)


def _with_review(reader: Reader, found: Found | None) -> _Shown | None:
    return None if found is None else (*found, reviews.held_for(reader, found[0].id))


def _one(call: Call, found: _Shown | None, matches: int | None = None) -> Reply:
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    transaction, payment, held = found
    meta = None if matches is None else {"matches": matches}
    shown = transaction_json.single(transaction, payment, call.env.clock.now_us())
    return ok({**shown, "held_review_id": held}, meta)


def read_cancel(fields: Fields) -> str | None:
    """Read the body."""
    reason = fields.text("reason", most=NOTES_CHARACTERS_MAX, lines=True)
    fields.done()
    return reason


@described(
    "Cancel a transaction",
    "transaction",
    reads=read_cancel,
    errors=(
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.TRANSACTION_NOT_CANCELLABLE,
        ErrorCode.BELONGS_TO_BRANCH,
    ),
    example={"reason": "ordered twice"},
    body_optional=True,
    idempotent=True,
)
async def cancel(call: Call) -> Reply:
    """Cancel an unpaid transaction. The body may be omitted."""
    body = await read_object_if_any(call.scope, call.receive)
    idempotency = claim(call, body)
    fields = Fields(body)
    reason = read_cancel(fields)
    warnings = ignored(fields.unknown(CANCEL_FIELDS))
    meta = CallMeta(call.request_id, idempotency, tuple(warnings))

    def render(done: Cancelled) -> Answer:
        told = () if done.changed else ("It was cancelled before; nothing was changed.",)
        data = transaction_json.single(done.transaction, None, done.at)
        return Answer(200, json_values.success(data, meta.as_json(*told)))

    keep, reference = Keep(idempotency, render), call.path("reference")
    return await once(
        call,
        keep,
        lambda: cancel_expire.cancel(call.env, call.caller, reference, reason=reason, keep=keep),
    )


def read_reconcile(fields: Fields) -> tuple[ReconcileRequest, str | None]:
    """Read the body: the request and the password.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields.refuse_unknown(RECONCILE_FIELDS)
    transaction_id = fields.text(
        "transaction_id", required=True, most=TRANSACTION_ID_CHARACTERS_MAX
    )
    amount_minor = fields.amount("amount", number=True)
    notes = fields.text("notes", most=NOTES_CHARACTERS_MAX, lines=True)
    provider = fields.provider("provider")
    given = fields.secret("password")
    fields.done()
    assert transaction_id is not None
    return ReconcileRequest(transaction_id, amount_minor, notes, provider), given


@described(
    "Reconcile a transaction",
    "reconciliation",
    reads=read_reconcile,
    errors=(
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.ALREADY_VERIFIED,
        ErrorCode.BELONGS_TO_BRANCH,
        ErrorCode.PAYMENT_HANDED_UP,
        ErrorCode.BRANCH_ASKED,
        ErrorCode.NO_MATCHING_TRANSACTION,
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
        ErrorCode.AMOUNT_MISMATCH,
        ErrorCode.AMBIGUOUS_TRANSACTION_ID,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.INVALID_PASSWORD,
    ),
    example={"transaction_id": "0012345678", "amount": "25.00", "notes": "she showed her phone"},
    idempotent=True,
)
async def reconcile(call: Call) -> Reply:
    """Match a payment to this transaction by the network's transaction ID. Only 200 means that it was matched.

    A payment from a file, a paste or the time before its line, and one that a hub may have used before this shop left it, also
    needs the account password, and no key may use it.
    """
    body = await read_object(call.scope, call.receive)
    # The fingerprint is a fast hash, so it must not cover a password.
    idempotency = claim(call, {name: body[name] for name in body if name != "password"})
    request, given = read_reconcile(Fields(body))
    env, caller, reference = call.env, call.caller, call.path("reference")

    def render(made: Reconciled) -> Answer:
        data = transaction_json.reconciliation(
            reconciliation_id=made.reconciliation_id,
            transaction_id=request.transaction_id,
            transaction=made.transaction,
            payment=made.payment,
            verdict=made.verdict,
        )
        return Answer(200, json_values.success(data, {"request_id": call.request_id}))

    keep = Keep(idempotency, render)

    async def flow() -> Reconciled:
        doubt = await reconcile_flow.needs_password(env, caller, reference, request, idempotency)
        if doubt is None:
            return await reconcile_flow.reconcile(env, caller, reference, request, keep=keep)
        await password.confirm(env, caller, given, reconcile_flow.sentence(*doubt))
        sure = replace(request, confirmed=True)
        return await reconcile_flow.reconcile(env, caller, reference, sure, keep=keep)

    return await once(call, keep, flow)


def read_events_query(query: Query) -> tuple[int, int]:
    """Read the query: limit and offset."""
    page = query.page(LIMIT, LIMIT_MAX)
    query.done()
    return page


@described(
    "List a transaction's events",
    "transaction events",
    query=read_events_query,
    errors=(ErrorCode.TRANSACTION_NOT_FOUND,),
)
async def list_events(call: Call) -> Reply:
    """List the journal events of one transaction, oldest first, as readable text."""
    query = call.query
    limit, offset = read_events_query(query)
    transaction_id = split_reference(call.path("reference"))
    mode = call.caller.mode

    def look(reader: Reader) -> tuple[list[tuple[Event, Payment | None]], int] | None:
        if transaction_id is None or transactions.get(reader, transaction_id, mode) is None:
            return None
        found, total = journal.of_transaction(reader, transaction_id, limit=limit, offset=offset)
        ids = {event.payment_id for event in found if event.payment_id is not None}
        money = {payment_id: payments.get(reader, payment_id) for payment_id in ids}
        return [(event, money.get(event.payment_id or "")) for event in found], total

    seen = await call.env.store.read(look)
    if seen is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    entries = [timeline.entry_json(event, payment) for event, payment in seen[0]]
    return ok(entries, query.meta(limit=limit, offset=offset, total=seen[1]))


async def get_checkout_page(call: Call) -> Reply:
    """Return `{reference, svc_code, checkout_url}`; NO_CHECKOUT_PAGE if the page would not be shown."""
    env = call.env
    transaction_id = split_reference(call.path("reference"))
    if transaction_id is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    mode = call.caller.mode
    found = await env.store.look(
        lambda reader: transaction_list.by_id(reader, transaction_id, mode)
    )
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    transaction, _ = found
    slug = transaction.public_slug
    if slug is None or not checkout.is_shown(transaction, env.clock.now_us()):
        raise Refusal(ErrorCode.NO_CHECKOUT_PAGE, reason="ended" if slug else "no_request")
    if not env.http_address:
        raise Refusal(
            ErrorCode.NO_CHECKOUT_PAGE, "No page is served: HTTP is off.", reason="http_off"
        )
    data = {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "checkout_url": env.checkout_url(slug),
    }
    public = bool(env.config.http.public_base_url)
    return ok(data, None if public else {"warnings": [checkout.NOT_PUBLIC]})
