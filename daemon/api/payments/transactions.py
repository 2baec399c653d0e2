"""Transactions: get, list, cancel, replace, reconcile, and the timeline and checkout page of one."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, field
from msgspec.structs import replace

from daemon.api.http.service import Call, Reply, claim, ok, once
from daemon.api.openapi.describe import answer, described
from daemon.api.payments.initialize import keeping
from daemon.api.payments.reviews import branch_names
from daemon.core import json_values, shape
from daemon.core.access.callers import Caller
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.ids import split_reference
from daemon.core.inputs import HttpAnswer, Keep, ReconcileRequest
from daemon.core.limits import TRANSACTION_ID_CHARACTERS_MAX
from daemon.core.model import Event, Payment
from daemon.core.payments import checkout
from daemon.core.payments.matching import replacement_of
from daemon.core.payments.timeline import TransactionEventAnswer
from daemon.core.payments.transaction_json import (
    FoundTransactionAnswer,
    ReconciliationAnswer,
    TransactionAnswer,
    TransactionListItemAnswer,
    of_branch,
    pay_to,
    reconciliation,
)
from daemon.core.reading import Wrong
from daemon.core.shape import about, marked, page_size, sample
from daemon.flows.access import users
from daemon.flows.payments import cancel_expire, initialize, settlement, texts
from daemon.flows.payments import reconcile as reconcile_flow
from daemon.flows.payments.cancel_expire import Cancelled
from daemon.flows.payments.reconcile import Reconciled
from daemon.store import journal
from daemon.store.branches import branches
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods
from daemon.store.payments import payments, reviews, transaction_list, transactions
from daemon.store.payments.transaction_list import Found, TransactionFilter
from daemon.wire import ErrorCode, Mode, SettlementKind, TransactionStatus
from parsers.pasted import plain_code

PER_PAGE = 50
PER_PAGE_MAX = 100
"""`per_page` without a value, and at most."""
PAGE_MAX = 1_000_000_000
"""Larger than any list, and its offset is still a valid integer of the database."""
SEARCH_CHARACTERS_MAX = 100
EXAMPLE: Final = "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f"
LIMIT: Final = 100
LIMIT_MAX: Final = 500


def _after(text: str) -> str | Wrong:
    found = split_reference(text)
    return found or Wrong("invalid", "must be the reference of a transaction")


class TransactionsQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    page: Annotated[
        int, page_size(PAGE_MAX, name="the page, from 1; a page past the end is an empty list", shown=1)
    ] = 1
    per_page: Annotated[int, page_size(PER_PAGE_MAX)] = PER_PAGE
    status: Annotated[TransactionStatus, sample("SUCCESS", "only this status")] | None = None
    mode: Annotated[
        Mode | None,
        sample(
            "live",
            "only live or only test transactions, for a caller that sees both: a session, or the socket; default: both",
        ),
    ] = None
    origin: Annotated[
        Literal["request", "open", "all"],
        sample("request", "payment requests (default), holders of payments without a request (`open`), or all"),
    ] = "request"
    since: shape.FromTime | None = field(name="from", default=None)
    until: shape.ToTime | None = field(name="to", default=None)
    phone_number: Annotated[
        str | None,
        sample("0241234567", "only this payer's number; without a payment, the customer's"),
        marked(read="phone"),
    ] = None
    search: (
        Annotated[
            str,
            sample(
                "kofi",
                "a complete payment code, network ID or client reference; or a part of one of these, of a name, a number or "
                "the description; or both ends of a reference, `svc_trx_01…e85`",
                max_length=SEARCH_CHARACTERS_MAX,
            ),
        ]
        | None
    ) = None
    sort: Annotated[
        Literal["newest", "oldest", "largest", "smallest"], sample("newest", "the order; default: newest first")
    ] = "newest"
    after: Annotated[
        str | None,
        sample(EXAMPLE, "continue after this reference, independent of new transactions"),
        marked(then=_after),
    ] = None
    unsettled: Annotated[
        bool, sample(True, "only short or overpaid ones that are not settled: owed, or to give back")
    ] = False
    branch: shape.BranchFilter = None


class MatchesMeta(Struct, frozen=True):
    """How many transactions were found."""

    matches: Annotated[int, sample(1, "transactions with this client_reference", ge=1)]
    warnings: shape.Warnings = UNSET


def _mode(asked: Mode | None, bound: Mode | None) -> Mode | None:
    """Return the mode to list; a caller that is `bound` to one cannot list the other."""
    if asked is not None and bound is not None and asked is not bound:
        raise invalid([FieldError("mode", "invalid", f"a {bound} key cannot use the other mode")])
    return bound or asked


@described(
    "List transactions",
    answer(list[TransactionListItemAnswer], shape.OnlyWarnings, pagination=json_values.Pagination),
    query=TransactionsQuery,
)
async def list_transactions(call: Call) -> Reply:
    """List transactions, newest first by default (`sort`).

    Pages shift when new transactions arrive. To read all of them, continue with `after`, the last reference of the page.
    """
    asked = call.query.read(TransactionsQuery)
    page, per_page = asked.page, asked.per_page
    wanted = shape.taken(TransactionFilter, asked, mode=_mode(asked.mode, call.caller.mode))
    now = call.env.times().lower_bound_us
    found, total = await call.env.store.read(
        lambda reader: transaction_list.transactions(
            reader, wanted, now=now, limit=per_page, offset=(page - 1) * per_page
        )
    )
    names = await branch_names(call.env)
    items = [
        TransactionListItemAnswer.of(transaction, payment, now, **of_branch(transaction.of_branch, names))
        for transaction, payment in found
    ]
    return ok(items, call.query.meta(), pagination=json_values.Pagination.of(page, per_page, total))


@described("Get a transaction", answer(FoundTransactionAnswer), errors="TRANSACTION_NOT_FOUND")
async def get_one(call: Call) -> Reply:
    """Return one transaction by its reference."""
    transaction_id = needed(split_reference(call.path("reference")), ErrorCode.TRANSACTION_NOT_FOUND)
    mode, now = call.caller.mode, call.env.times().lower_bound_us
    return _one(
        await call.env.store.look(
            lambda reader: _answer(reader, transaction_list.by_id(reader, transaction_id, mode), now, call.caller)
        )
    )


@described("Get a transaction by its code", answer(FoundTransactionAnswer), errors="TRANSACTION_NOT_FOUND")
async def get_by_code(call: Call) -> Reply:
    """Return the newest transaction that has or had this payment code."""
    code, mode = plain_code(call.path("svc_code")), call.caller.mode
    now = call.env.times().lower_bound_us
    return _one(
        await call.env.store.look(
            lambda reader: _answer(reader, transaction_list.by_code(reader, code, mode), now, call.caller)
        )
    )


@described(
    "Get a transaction by client reference", answer(FoundTransactionAnswer, MatchesMeta), errors="TRANSACTION_NOT_FOUND"
)
async def get_by_client_reference(call: Call) -> Reply:
    """Return the best match among the transactions with this client reference; `meta.matches` counts them."""
    reference, mode = call.path("client_ref"), call.caller.mode
    now = call.env.times().lower_bound_us

    def look(reader: Reader) -> tuple[FoundTransactionAnswer | None, int]:
        found, matches = transaction_list.by_client_reference(reader, reference, mode, now=now)
        return _answer(reader, found, now, call.caller), matches

    # Not `look`: any number of transactions may have this reference, and all are counted.
    shown, matches = await call.env.store.read(look)
    return _one(shown, matches)


def _answer(reader: Reader, found: Found | None, now: int, caller: Caller) -> FoundTransactionAnswer | None:
    if found is None:
        return None
    transaction, payment = found
    held, names = reviews.held_for(reader, transaction.id), branches.names(reader) if transaction.of_branch else {}
    methods = checkout.payable(payment_methods.in_use(reader, transaction.mode), caller.branch_id)
    more = of_branch(transaction.of_branch, names)
    return FoundTransactionAnswer.of(transaction, payment, now, held_review_id=held, pay_to=pay_to(methods), **more)


def _one(found: FoundTransactionAnswer | None, matches: int | None = None) -> Reply:
    if found is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return ok(found, None if matches is None else {"matches": matches})


class CancelBody(Struct, frozen=True):
    """Why a transaction is cancelled."""

    reason: Annotated[shape.Notes | None, sample("ordered twice", "the reason, for the record")] = None


@described(
    "Cancel a transaction",
    answer(TransactionAnswer),
    reads=CancelBody,
    errors="TRANSACTION_NOT_FOUND TRANSACTION_NOT_CANCELLABLE BELONGS_TO_BRANCH",
    example={"reason": "ordered twice"},
    body_optional=True,
    idempotent=True,
)
async def cancel(call: Call) -> Reply:
    """Cancel an unpaid transaction. The body may be omitted."""
    asked, meta = await call.asked(CancelBody, optional=True)

    def render(done: Cancelled) -> HttpAnswer:
        told = () if done.changed else ("It was cancelled before; nothing was changed.",)
        data = TransactionAnswer.of(done.transaction, None, done.at)
        return HttpAnswer(200, json_values.success(data, meta.as_json(*told)))

    keep, reference = Keep(meta.idempotency, render), call.path("reference")
    return await once(
        call, keep, lambda keep: cancel_expire.cancel(call.env, call.caller, reference, reason=asked.reason, keep=keep)
    )


class SettleBody(Struct, frozen=True):
    """How a short or overpaid transaction is settled."""

    kind: Annotated[
        SettlementKind,
        sample(
            SettlementKind.REST_RECEIVED,
            "`rest_received` or `waived` of a short transaction, `change_given` of an overpaid one",
        ),
    ]
    payment: (
        Annotated[
            str,
            sample(
                "0012345679",
                "the network's ID, or the reference, of the second payment that brought the rest; without it: cash",
            ),
            Meta(min_length=1, max_length=TRANSACTION_ID_CHARACTERS_MAX),
        ]
        | None
    ) = None
    notes: Annotated[shape.Notes, sample("paid the rest in cash")] | None = None


@described(
    "Settle a transaction",
    answer(FoundTransactionAnswer),
    reads=SettleBody,
    errors="TRANSACTION_NOT_FOUND NOT_SETTLEABLE ALREADY_SETTLED BELONGS_TO_BRANCH NO_MATCHING_TRANSACTION "
    "TRANSACTION_ID_ALREADY_USED AMBIGUOUS_TRANSACTION_ID",
    example={"kind": "rest_received", "payment": "0012345679"},
    idempotent=True,
)
async def settle(call: Call) -> Reply:
    """Say how what a short or too large payment left open was ended. Status and amounts stay as the network moved them."""
    asked, meta = await call.asked(SettleBody)
    request = settlement.SettlementRequest(asked.kind, asked.payment, asked.notes)

    def render(done: settlement.Settled) -> HttpAnswer:
        return HttpAnswer(200, json_values.success(_settled(done), meta.as_json()))

    reference = call.path("reference")
    return await once(
        call,
        Keep(meta.idempotency, render),
        lambda keep: settlement.settle(call.env, call.caller, reference, request, keep=keep),
    )


@described(
    "Take a settlement back",
    answer(FoundTransactionAnswer),
    errors="TRANSACTION_NOT_FOUND NOT_SETTLEABLE BELONGS_TO_BRANCH",
)
async def take_settlement_back(call: Call) -> Reply:
    """Take the settlement of a transaction back. The second payment is free again."""
    done = await settlement.take_back(call.env, call.caller, call.path("reference"))
    return ok(_settled(done))


def _settled(done: settlement.Settled) -> FoundTransactionAnswer:
    held, methods = done.held_review_id, done.methods
    return FoundTransactionAnswer.of(
        done.transaction, done.payment, done.at, held_review_id=held, pay_to=pay_to(methods)
    )


class ReconcileBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The network's transaction ID from the customer's SMS, and what the caller knows about the payment."""

    transaction_id: Annotated[
        str,
        sample("0012345678", "the network's transaction ID, from the customer's SMS"),
        Meta(min_length=1, max_length=TRANSACTION_ID_CHARACTERS_MAX),
    ]
    amount_minor: Annotated[
        int | None,
        sample("25.00", "the expected amount: the call fails if the payment has another one"),
        marked(read="amount", number=True),
    ] = field(name="amount", default=None)
    notes: shape.Notes | None = None
    provider: Annotated[str | None, sample("momo_mtn", "the mobile-money service"), marked(read="provider")] = None
    password: Annotated[
        str | None, about("the account password, if the answer without it asks for it"), marked(read="secret")
    ] = None


@described(
    "Reconcile a transaction",
    answer(ReconciliationAnswer),
    reads=ReconcileBody,
    errors="TRANSACTION_NOT_FOUND ALREADY_VERIFIED BELONGS_TO_BRANCH PAYMENT_HANDED_UP BRANCH_ASKED "
    "NO_MATCHING_TRANSACTION TRANSACTION_ID_ALREADY_USED AMOUNT_MISMATCH AMBIGUOUS_TRANSACTION_ID "
    "TOO_MANY_ATTEMPTS SESSION_REQUIRED INVALID_PASSWORD",
    example={"transaction_id": "0012345678", "amount": "25.00", "notes": "she showed her phone"},
    idempotent=True,
)
async def reconcile(call: Call) -> Reply:
    """Match a payment to this transaction by the network's transaction ID. Only 200 means that it was matched.

    A payment from a file, a paste or the time before its line, and one that a hub may have used before this shop left it, also
    needs the account password, and no key may use it.
    """
    asked, meta = await call.asked(ReconcileBody)
    request = ReconcileRequest(asked.transaction_id, asked.amount_minor, asked.notes, asked.provider)
    env, caller, reference = call.env, call.caller, call.path("reference")

    def render(made: Reconciled) -> HttpAnswer:
        data = reconciliation(
            reconciliation_id=made.reconciliation_id,
            transaction_id=request.transaction_id,
            transaction=made.transaction,
            payment=made.payment,
            verdict=made.verdict,
        )
        return HttpAnswer(200, json_values.success(data, meta.as_json()))

    async def flow(keep: Keep[Reconciled]) -> Reconciled:
        doubt = await reconcile_flow.needs_password(env, caller, reference, request, keep.claim)
        if doubt is None:
            return await reconcile_flow.reconcile(env, caller, reference, request, keep=keep)
        await users.confirm(env, caller, asked.password, reconcile_flow.sentence(*doubt))
        sure = replace(request, confirmed=True)
        return await reconcile_flow.reconcile(env, caller, reference, sure, keep=keep)

    return await once(call, Keep(meta.idempotency, render), flow)


class EventsQuery(Struct, frozen=True):
    """The page of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: shape.Offset = 0


@described(
    "List a transaction's events",
    answer(list[TransactionEventAnswer], shape.PageMeta),
    query=EventsQuery,
    errors="TRANSACTION_NOT_FOUND",
)
async def list_events(call: Call) -> Reply:
    """List the journal events of one transaction, oldest first, as readable text."""
    asked = call.query.read(EventsQuery)
    transaction_id = split_reference(call.path("reference"))
    mode = call.caller.mode

    def look(reader: Reader) -> tuple[list[tuple[Event, Payment | None]], int] | None:
        if transaction_id is None or transactions.get(reader, transaction_id, mode) is None:
            return None
        found, total = journal.of_transaction(reader, transaction_id, limit=asked.limit, offset=asked.offset)
        ids = {event.payment_id for event in found if event.payment_id is not None}
        money = {payment_id: payments.get(reader, payment_id) for payment_id in ids}
        return [(event, money.get(event.payment_id or "")) for event in found], total

    seen = needed(await call.env.store.read(look), ErrorCode.TRANSACTION_NOT_FOUND)
    entries = [TransactionEventAnswer.of(event, payment) for event, payment in seen[0]]
    return ok(entries, call.query.page(asked, seen[1]))


async def get_checkout_page(call: Call) -> Reply:
    """Return `{reference, svc_code, checkout_url}`; NO_CHECKOUT_PAGE if the page would not be shown."""
    env = call.env
    transaction_id = needed(split_reference(call.path("reference")), ErrorCode.TRANSACTION_NOT_FOUND)
    mode = call.caller.mode
    transaction, _ = needed(
        await env.store.look(lambda reader: transaction_list.by_id(reader, transaction_id, mode)),
        ErrorCode.TRANSACTION_NOT_FOUND,
    )
    slug = transaction.public_slug
    if slug is None or not checkout.is_shown(transaction, env.clock.now_us()):
        raise Refusal(ErrorCode.NO_CHECKOUT_PAGE, reason="ended" if slug else "no_request")
    if not env.http_address:
        raise Refusal(ErrorCode.NO_CHECKOUT_PAGE, "No page is served: HTTP is off.", reason="http_off")
    data = {
        "reference": transaction.reference,
        "svc_code": transaction.svc_code,
        "checkout_url": env.checkout_url(slug),
    }
    public = bool(env.config.http.public_base_url)
    return ok(data, None if public else {"warnings": [checkout.NOT_PUBLIC]})


async def replace_transaction(call: Call) -> Reply:
    """Cancel an unpaid transaction and make a new one like it, in one commit; the answer is that of initialize."""
    idempotency = claim(call, await call.object(optional=True))
    reference, mode = call.path("reference"), call.caller.mode
    old = await call.env.store.look(lambda reader: transactions.by_reference(reader, reference, mode))
    if old is None or old.origin != "request":
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    request = replacement_of(old)
    if request is None:
        why = "The data of its payer was erased."
        raise Refusal(ErrorCode.TRANSACTION_NOT_CANCELLABLE, why)
    keep, phones = keeping(call, idempotency), call.service.hooks.phone_states()
    return await once(
        call, keep, lambda keep: initialize.initialize(call.env, call.caller, request, keep=keep, phones=phones)
    )


async def send_code(call: Call) -> Reply:
    """Send the SMS with the code once more; `result` is `queued`, or why it is not sent."""
    reference = call.path("reference")
    result = await texts.send_code_again(call.env, call.caller, reference)
    return ok({"reference": reference, "result": result})
