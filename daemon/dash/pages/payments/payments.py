"""The list of payments, and one payment with its evidence: the SMS, the balances, the match, the journal, the webhooks."""

from typing import Any, Final

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal, needed
from daemon.core.ids import reference_of, split_reference
from daemon.core.inputs import ReconcileRequest
from daemon.core.json_values import timestamp
from daemon.core.limits import DAY_US
from daemon.core.messages.message_json import reasons_of
from daemon.core.model import Delivery, Event, Payment
from daemon.core.names import provider_name
from daemon.core.payments.timeline import TransactionEventAnswer
from daemon.core.shape import flat, taken
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.pages.webhooks.common import name_of
from daemon.dash.parts import listing
from daemon.dash.parts.confirming import doubt_words, vouched
from daemon.dash.parts.listing import SEARCH_CHARACTERS_MAX, Choice
from daemon.dash.parts.message_text import sms_text
from daemon.dash.parts.order import masked, state_of
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.payments import reconcile as reconcile_flow
from daemon.store import journal
from daemon.store.branches import feed
from daemon.store.engine import Reader
from daemon.store.messages import balances, messages
from daemon.store.payments import payment_list, reviews, suggestions, transaction_list
from daemon.store.payments.payment_list import SORTS, STATES, Listed, PaymentFilter
from daemon.store.payments.transaction_list import Found, TransactionFilter
from daemon.store.webhooks import delivery_log
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import ErrorCode, ShopRole
from parsers.money import render
from parsers.pasted import plain_code
from parsers.phone import read_phone

SORT: Final = Choice("sort", tuple(SORTS), "newest")
JOURNAL_MAX: Final = 100
DELIVERIES_MAX: Final = 50
ORDERS_SHOWN: Final = 10
ORDERS_US: Final = 31 * DAY_US
"""Orders of a customer are looked for this far back: there is no index of their numbers."""


LIST: Final = listing.ListPage[Listed](
    "payments",
    "payments/list.html",
    {
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
    },
    branch_of=lambda one: one.payment.branch_id,
)


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list, or return it as CSV."""
    is_branch = visit.env.place.role is ShopRole.BRANCH
    # Only a branch hands payments up.
    states = Choice("state", ("", *(one for one in STATES if one != "handed" or is_branch)))
    asked = await listing.ask(visit, states, SORT, of_branches=True)
    state, sort = asked.chosen["state"] or None, asked.chosen["sort"]
    wanted = taken(PaymentFilter, asked, mode=visit.mode, state=state, sort=sort, branch=asked.branch)
    most = listing.COUNTED_MAX + 1
    (rows, more), totals = await visit.env.store.read(
        lambda reader: (
            payment_list.listed(reader, wanted, limit=asked.limit),
            payment_list.totals(reader, wanted, most=most),
        )
    )
    last = rows[-1].payment.id if more else None
    return await LIST.answer(visit, asked, rows, last, **_sums(visit, totals))


async def show_customer(visit: Visit) -> Shown | Download:
    """Show the payments of one number, their sums, and the orders of the customer."""
    number = needed(read_phone(f"+{visit.places['id']}"), ErrorCode.ROUTE_NOT_FOUND)
    asked = await listing.ask(visit, of_branches=True)
    mode, since = visit.mode, visit.now - ORDERS_US
    customer = {"payer_phone": number, "orders_since": since}
    wanted = taken(PaymentFilter, asked, mode=mode, search=None, branch=asked.branch, **customer)
    of_orders = TransactionFilter(mode=mode, phone_number=number, since=since)
    now, most = visit.env.times().lower_bound_us, listing.COUNTED_MAX + 1

    def read(reader: Reader) -> tuple[tuple[list[Listed], bool], dict[str, tuple[int, int]], list[Found]]:
        return (
            payment_list.listed(reader, wanted, limit=asked.limit),
            payment_list.totals(reader, wanted, most=most),
            transaction_list.transactions(reader, of_orders, now=now, limit=ORDERS_SHOWN, offset=0)[0],
        )

    (rows, more), totals, orders = await visit.env.store.read(read)
    name = next((row.payment.payer_name for row in rows if row.payment.payer_name), None)
    page = listing.ListPage("customer", "payments/customer.html", LIST.columns, searched=False)
    return await page.answer(
        visit, asked, rows, rows[-1].payment.id if more else None, **_sums(visit, totals), number=number,
        name=name or "", orders=[(order, state_of(order, now)) for order, _ in orders],
    )  # fmt: skip


def _sums(visit: Visit, totals: dict[str, tuple[int, int]]) -> dict[str, str]:
    count = sum(number for number, _ in totals.values())
    sums = [visit.money(minor, currency) for currency, (_, minor) in totals.items()]
    known = count <= listing.COUNTED_MAX
    return {"count": listing.counted(visit, count), "sum": " · ".join(sums) if known else ""}


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

    payment, reference = needed(await visit.env.store.read(find), ErrorCode.ROUTE_NOT_FOUND)
    request = ReconcileRequest(payment.telco_id_as_read, payment.amount_minor, provider=payment.provider)
    sure = await vouched(visit, reference or typed, request)
    place = Goto(f"/dash/payments/{payment.id}", "said_reconciled")
    try:
        # A text that is no reference at all is refused by the flow too.
        return await visit.kept(
            place, lambda keep: reconcile_flow.reconcile(visit.env, visit.caller, reference or typed, sure, keep=keep)
        )
    except Refusal as refusal:
        key = f"reconcile_{refusal.code.lower()}"
        if not visit.words.has(key):
            raise
        visit.wrong("order", key)


async def show_one(visit: Visit) -> Shown:
    """Show one payment with its evidence."""

    def read(reader: Reader) -> tuple[Listed, dict[str, Any]]:
        about = needed(payment_list.one(reader, visit.places["id"]), ErrorCode.ROUTE_NOT_FOUND)
        payment, transaction = about.payment, about.transaction
        message = messages.get(reader, payment.message_id)
        record = balances.of_message(reader, payment.message_id)
        events: list[Event] = []
        deliveries: list[tuple[Delivery, Endpoint]] = []
        if transaction is not None:
            events, _ = journal.of_transaction(reader, transaction.id, limit=JOURNAL_MAX, offset=0)
            wanted = DeliveryFilter(implicit=True, transaction_id=transaction.id)
            deliveries = delivery_log.listed(reader, wanted, limit=DELIVERIES_MAX).rows
        entries = [flat(TransactionEventAnswer.of(event, payment)) | {"at_us": event.at} for event in events]
        return about, {
            "message": message,
            "reasons": [] if message is None else reasons_of(message),
            "text": None if message is None else sms_text(visit, message.body),
            "typed_text": sms_text(visit, payment.reference_text),
            "command": "momo today" if message is None else f"momo messages show {message.id}",
            "entry": None if record is None else record.entry,
            "review": next(iter(reviews.open_for_payment(reader, payment.id)), None),
            "journal": masked(visit, entries),
            "deliveries": deliveries,
            "maybe": suggestions.suggestions(reader, payment),
            # Of the hub about a payment that was handed up; None if it was not, or the hub has not said.
            "decision": feed.decision_about(reader, payment.id) if payment.standing == "handed" else None,
            "doubt": doubt_words(visit, reconcile_flow.doubt_about(reader, payment), payment),
        }

    about, values = await visit.env.store.read(read)
    payment = about.payment
    visit.mode = payment.mode
    before = None
    if payment.balance_minor is not None:
        before = payment.balance_minor - payment.amount_minor + (payment.fee_minor or 0)
    return Shown(
        "payments/one.html",
        {
            **values,
            "one": about,
            "p": payment,
            "state": about.state,
            "network": provider_name(payment.provider),
            "rest_of": about.transaction and about.transaction.settles and reference_of(about.transaction.settles),
            "before": before,
            "receiver": name_of,
            "typed": visit.form.get("order", ""),
            "may_reconcile": payment.standing != "used"
            and payment.reversed_at is None
            and visit.may(Operation.RECONCILE),
            "may_make": visit.may(Operation.CREATE_TRANSACTION),
        },
        f"{visit.money(payment.amount_minor, payment.currency)} · {payment.payer_name or ''}",
    )
