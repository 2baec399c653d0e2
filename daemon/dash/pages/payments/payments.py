"""The list of payments, and one payment with its evidence: the SMS, the balances, the match, the journal, the webhooks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.access.callers import Operation
from daemon.core.errors import FieldError, Refusal
from daemon.core.ids import split_reference
from daemon.core.inputs import ReconcileRequest
from daemon.core.json_values import Json, timestamp
from daemon.core.messages.balance_chain import ChainEntry
from daemon.core.messages.message_json import reasons_of
from daemon.core.model import Delivery, Event, Message, Payment, Review
from daemon.core.names import provider_name
from daemon.core.payments.suggestions import Suggestion
from daemon.core.payments.timeline import TransactionEventAnswer
from daemon.core.shape import flat
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.pages.webhooks.common import name_of
from daemon.dash.parts import listing, of_branches
from daemon.dash.parts.confirming import doubt_words, vouched
from daemon.dash.parts.listing import SEARCH_CHARACTERS_MAX, Choice
from daemon.dash.parts.message_text import actor_name, sms_text
from daemon.dash.parts.order import masked
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.payments import reconcile as reconcile_flow
from daemon.store import journal
from daemon.store.branches import link
from daemon.store.engine import Reader
from daemon.store.messages import balances, messages
from daemon.store.payments import payment_list, reviews, suggestions, transaction_list
from daemon.store.payments.payment_list import SORTS, STATES, Listed, PaymentFilter
from daemon.store.webhooks import delivery_log
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import ErrorCode, Mode, ShopRole
from parsers.money import render
from parsers.pasted import plain_code

CHOICES: Final = (
    Choice("sort", tuple(SORTS), "newest"),
    Choice("mode", tuple(Mode), Mode.LIVE),
)
JOURNAL_MAX: Final = 100
DELIVERIES_MAX: Final = 50


class Evidence(Struct, frozen=True):
    """Everything about one payment."""

    about: Listed
    message: Message | None
    entry: ChainEntry | None
    review: Review | None
    journal: Sequence[Json]
    deliveries: Sequence[tuple[Delivery, Endpoint]]
    maybe: Sequence[Suggestion]
    decision: Mapping[str, Any] | None
    """Of the hub about a payment that was handed up; None if it was not, or the hub has not said."""
    doubt: reconcile_flow.UnprovedSource | None


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list, or return it as CSV."""
    names = await of_branches.names_of(visit)
    asked = listing.ask(visit, (_states(visit), *CHOICES, *of_branches.filters(names)))
    wanted = PaymentFilter(
        mode=Mode(asked.chosen["mode"]),
        state=asked.chosen["state"] or None,
        since=asked.since,
        until=asked.until,
        search=asked.search,
        sort=asked.chosen["sort"],
        after=asked.after,
        branch=asked.chosen.get("branch") or None,
    )
    rows, more = await visit.env.store.read(
        lambda reader: payment_list.listed(reader, wanted, limit=asked.limit)
    )
    if asked.as_csv:
        of_branch = {"branch": lambda one: names.get(one.payment.branch_id or "")} if names else {}
        return await listing.csv_file(visit, "payments", {**_COLUMNS, **of_branch}, rows)
    last = rows[-1].payment.id if more else None
    found = listing.page(visit, asked, rows, last)
    return Shown("payments/list.html", {"list": found, "branches": names})


def _states(visit: Visit) -> Choice:
    """Return the filter by state; only a branch hands payments up."""
    is_branch = visit.env.place.role is ShopRole.BRANCH
    return Choice("state", ("", *(one for one in STATES if one != "handed" or is_branch)))


async def reconcile(visit: Visit) -> Outcome:
    """Match the payment with the transaction of a code or reference."""
    typed = visit.form.get("order", "").strip()[:SEARCH_CHARACTERS_MAX]

    def find(reader: Reader) -> tuple[Payment, str | None] | None:
        about = payment_list.one(reader, visit.places["id"])
        if about is None:
            return None
        payment = about.payment
        transaction_id = split_reference(typed.lower())
        if transaction_id is not None:
            found = transaction_list.by_id(reader, transaction_id, payment.mode)
        else:
            found = transaction_list.by_code(reader, plain_code(typed), payment.mode)
        return payment, None if found is None else found[0].reference

    found = await visit.env.store.read(find)
    if found is None:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    payment, reference = found
    request = ReconcileRequest(
        payment.telco_id_as_read, payment.amount_minor, provider=payment.provider
    )
    sure = await vouched(visit, reference or typed, request)
    if sure is None:
        return await show_one(visit)
    place = Goto(f"/dash/payments/{payment.id}", "said_reconciled")
    keep = visit.keep(lambda _: place)
    try:
        # A text that is no reference at all is refused by the flow too.
        await reconcile_flow.reconcile(visit.env, visit.caller, reference or typed, sure, keep=keep)
    except Refusal as refusal:
        key = f"reconcile_{refusal.code.lower()}"
        if not visit.words.has(key):
            raise
        visit.fail(FieldError("order", "invalid", visit.words(key)))
        return await show_one(visit)
    return place


async def show_one(visit: Visit) -> Shown:
    """Show one payment."""
    found = await visit.env.store.read(lambda reader: _read(reader, visit.places["id"]))
    if found is None:
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    payment = found.about.payment
    text = sms_text(visit, found.message.body) if found.message is not None else None
    before = None
    if payment.balance_minor is not None:
        before = payment.balance_minor - payment.amount_minor + (payment.fee_minor or 0)
    return Shown(
        "payments/one.html",
        {
            "one": found.about,
            "command": f"momo messages show {found.message.id}"
            if found.message is not None
            else "momo today",
            "p": payment,
            "state": found.about.state,
            "network": provider_name(payment.provider),
            "text": text,
            "message": found.message,
            "reasons": [] if found.message is None else reasons_of(found.message),
            "entry": found.entry,
            "before": before,
            "review": found.review,
            "journal": masked(visit, found.journal),
            "who": lambda actor: actor_name(visit, actor),
            "deliveries": found.deliveries,
            "receiver": name_of,
            "maybe": found.maybe,
            "decision": found.decision,
            "typed": visit.form.get("order", ""),
            "doubt": doubt_words(visit, found.doubt, payment),
            "may_reconcile": payment.standing != "used"
            and payment.reversed_at is None
            and visit.may(Operation.RECONCILE),
            "may_make": visit.may(Operation.CREATE_TRANSACTION),
        },
        f"{visit.money(payment.amount_minor, payment.currency)} · {payment.payer_name or ''}",
        status=422 if visit.errors else 200,
    )


def _read(reader: Reader, payment_id: str) -> Evidence | None:
    about = payment_list.one(reader, payment_id)
    if about is None:
        return None
    payment, transaction = about.payment, about.transaction
    record = balances.of_message(reader, payment.message_id)
    events: list[Event] = []
    deliveries: list[tuple[Delivery, Endpoint]] = []
    if transaction is not None:
        events, _ = journal.of_transaction(reader, transaction.id, limit=JOURNAL_MAX, offset=0)
        wanted = DeliveryFilter(implicit=True, transaction_id=transaction.id)
        deliveries, _ = delivery_log.listed(reader, wanted, limit=DELIVERIES_MAX, offset=0)
    open_reviews = reviews.open_for_payment(reader, payment.id)
    return Evidence(
        about,
        messages.get(reader, payment.message_id),
        None if record is None else record.entry,
        open_reviews[0] if open_reviews else None,
        [flat(TransactionEventAnswer.of(event, payment)) | {"at_us": event.at} for event in events],
        deliveries,
        suggestions.suggestions(reader, payment),
        link.decision_about(reader, payment.id) if payment.standing == "handed" else None,
        reconcile_flow.doubt_about(reader, payment),
    )


_COLUMNS: Final = {
    "id": lambda one: one.payment.id,
    "received_at": lambda one: timestamp(one.payment.telco_at),
    "network_transaction_id": lambda one: one.payment.telco_id_as_read,
    "network": lambda one: one.payment.provider,
    "number": lambda one: one.phone_number,
    "amount": lambda one: render(one.payment.amount_minor, one.payment.currency),
    "currency": lambda one: one.payment.currency,
    "payer_name": lambda one: one.payment.payer_name,
    "payer_phone": lambda one: one.payment.payer_phone,
    "state": lambda one: one.state,
    "transaction": lambda one: None if one.transaction is None else one.transaction.reference,
    "code": lambda one: None if one.transaction is None else one.transaction.svc_code,
}
