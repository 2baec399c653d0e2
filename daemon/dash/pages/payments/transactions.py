"""The list of transactions, open ones first, and one transaction with its events and actions."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal
from daemon.core.ids import reference_of, split_reference
from daemon.core.inputs import ReconcileRequest
from daemon.core.json_values import timestamp, timestamp_or_none
from daemon.core.limits import NOTES_CHARACTERS_MAX, TRANSACTION_ID_CHARACTERS_MAX
from daemon.core.model import Transaction
from daemon.core.payments.checkout import CheckoutFacts
from daemon.core.payments.matching import replacement_of
from daemon.core.payments.timeline import TransactionEventAnswer
from daemon.core.payments.transaction_json import SettlementAnswer
from daemon.core.shape import flat, taken
from daemon.dash.parts import listing
from daemon.dash.parts.confirming import vouched
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.order import (
    STATES,
    facts_of,
    masked,
    may_settle,
    order_of,
    refuse_settlement,
    state_of,
    time_left,
)
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.messages import ingest
from daemon.flows.messages.simulate import SimulateRequest, simulate_sms
from daemon.flows.payments import cancel_expire, initialize, settlement, texts
from daemon.flows.payments import reconcile as reconcile_flow
from daemon.flows.payments.texts import SentAgain
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.payments import payments, reviews, transaction_list
from daemon.store.payments import texts as text_store
from daemon.store.payments.transaction_list import Found, TransactionFilter
from daemon.wire import ErrorCode, SettlementKind, TransactionStatus
from parsers.money import render
from parsers.reading import normalize_telco_id

HERE: Final = "/dash/transactions"
CHOICES: Final = (
    Choice("state", ("", "unsettled", *STATES)),
    Choice("sort", ("newest", "oldest", "largest", "smallest"), "newest"),
)
OPEN_SHOWN: Final = 20
JOURNAL_MAX: Final = 100


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list, or return it as CSV. Without a filter the open ones stand in a list of their own, above the others."""
    asked = await listing.ask(visit, *CHOICES, of_branches=True)
    state, now = asked.chosen["state"], visit.env.times().lower_bound_us
    filtered = state or asked.branch or asked.search or asked.since or asked.until
    split = not (filtered or asked.as_csv)
    wanted = taken(
        TransactionFilter,
        asked,
        mode=visit.mode,
        status=STATES.get(state),
        unsettled=state == "unsettled",
        sort=asked.chosen["sort"],
        after=split_reference(asked.after or ""),
        ended=split,
        branch=asked.branch,
    )
    waiting = TransactionFilter(mode=wanted.mode, status=TransactionStatus.PENDING, sort=wanted.sort)

    def read(reader: Reader) -> tuple[Sequence[Found], int, Sequence[Found], list[str]]:
        limit = asked.limit + (0 if asked.as_csv else 1)
        rows = transaction_list.transactions(reader, wanted, now=now, limit=limit, offset=0)
        first = split and asked.after is None
        size = OPEN_SHOWN + 1 if first else 0
        found = transaction_list.transactions(reader, waiting, now=now, limit=size, offset=0)
        sums: list[str] = []
        if wanted.unsettled:
            # The money of this list is what is open, which is known of the whole list only.
            narrowed = asked.branch or asked.search or asked.since or asked.until
            open_ = {} if narrowed else transaction_list.unsettled(reader, visit.mode)
            for (status, currency), (_, minor) in sorted(open_.items(), reverse=True):
                word = "owed" if status is TransactionStatus.PARTIAL else "to_give_back"
                sums.append(visit.words(word, amount=visit.money(minor, currency)))
        elif not split and not asked.as_csv:
            whole = replace(wanted, after=None)
            asked_for = transaction_list.amounts(reader, whole, now=now, most=listing.SUMMED_MAX)
            sums = [visit.money(minor, currency) for currency, minor in asked_for.items()]
        return *rows, found[0], sums

    rows, total, waiting_rows, sums = await visit.env.store.read(read)
    shown = rows if asked.as_csv else rows[: asked.limit]
    last = shown[-1][0].reference if len(rows) > asked.limit else None
    page = listing.ListPage(
        "transactions",
        "payments/transactions.html",
        {**_COLUMNS, "state": lambda one: state_of(one[0], now)},
        branch_of=lambda one: one[0].of_branch,
    )

    def left(transaction: Transaction) -> str:
        """Return the time left of an open transaction, in words."""
        is_open = state_of(transaction, now) == "open"
        return time_left(visit, transaction.expires_at or 0) if is_open else ""

    return await page.answer(
        visit,
        asked,
        shown,
        last,
        count="" if split else f"{total:,}",
        sum=" · ".join(sums),
        open=waiting_rows[:OPEN_SHOWN],
        more_open=len(waiting_rows) > OPEN_SHOWN,
        split=split and asked.after is None,
        state_of=lambda transaction: state_of(transaction, now),
        left=left,
        may_make=visit.may(Operation.CREATE_TRANSACTION),
    )


async def show_one(visit: Visit) -> Shown:
    """Show one transaction."""

    def read(reader: Reader) -> tuple[CheckoutFacts, dict[str, Any]]:
        facts = facts_of(reader, visit.places["id"])
        transaction_id = facts.request.id
        events, _ = journal.of_transaction(reader, transaction_id, limit=JOURNAL_MAX, offset=0)
        ids = {event.payment_id for event in events if event.payment_id is not None}
        money = {payment_id: payments.get(reader, payment_id) for payment_id in ids}
        entries = [
            flat(TransactionEventAnswer.of(event, money.get(event.payment_id or ""))) | {"at_us": event.at}
            for event in events
        ]
        return facts, {
            "held": reviews.held_for(reader, transaction_id),
            "texts": text_store.of_transaction(reader, transaction_id),
            "journal": masked(visit, entries),
        }

    facts, values = await visit.env.store.read(read)
    visit.mode = facts.request.mode
    order = order_of(visit, facts)
    transaction = order.transaction
    state = state_of(transaction, visit.env.times().lower_bound_us)
    unpaid = state in {"open", "expired", "cancelled"}
    by_hand = settlement.may_settle_by_hand(visit.env, visit.caller)
    return Shown(
        "payments/transaction.html",
        {
            **values,
            "order": order,
            "x": transaction,
            "p": order.payment,
            "state": state,
            "text_tones": {"sent": "good", "failed": "bad", "unknown": "warn", "expired": "warn"},
            "typed": visit.form,
            "may_reconcile": unpaid and visit.may(Operation.RECONCILE),
            "may_cancel": state in {"open", "expired"} and visit.may(Operation.CANCEL_TRANSACTION),
            "may_renew": unpaid and visit.may(Operation.CREATE_TRANSACTION),
            "may_send": state == "open" and visit.may(Operation.SEND_CODE),
            "may_make": visit.may(Operation.CREATE_TRANSACTION),
            "settlement": SettlementAnswer.of(transaction),
            "may_settle": may_settle(visit, transaction),
            "branches": await listing.branch_names(visit),
            "may_settle_by_hand": by_hand,
            "may_unsettle": visit.may(Operation.SETTLE_BY_HAND),
        },
        f"{order.view.code} · {visit.money(transaction.expected_minor, transaction.currency)}",
    )


async def cancel(visit: Visit) -> Outcome:
    """Cancel an unpaid transaction."""
    reason = visit.form.get("reason", "").strip()[:NOTES_CHARACTERS_MAX] or None
    env, caller, reference = visit.env, visit.caller, visit.places["id"]
    with visit.shows(ErrorCode.TRANSACTION_NOT_CANCELLABLE, key="not_cancellable"):
        return await visit.kept(
            Goto(_here(visit), "said_cancelled"),
            lambda keep: cancel_expire.cancel(env, caller, reference, reason=reason, keep=keep),
        )


async def settle(visit: Visit) -> Outcome:
    """Say how what a short or too large payment left open was ended."""
    try:
        kind = SettlementKind(visit.form.get("kind", ""))
    except ValueError:
        visit.wrong("", "not_settleable")
    payment = visit.form.get("payment", "").strip()[:TRANSACTION_ID_CHARACTERS_MAX] or None
    notes = visit.form.get("notes", "").strip()[:NOTES_CHARACTERS_MAX] or None
    request = settlement.SettlementRequest(kind, payment, notes)
    place, reference = Goto(_here(visit), "said_settled"), visit.places["id"]
    try:
        return await visit.kept(
            place, lambda keep: settlement.settle(visit.env, visit.caller, reference, request, keep=keep)
        )
    except Refusal as refusal:
        refuse_settlement(visit, refusal)


async def take_settlement_back(visit: Visit) -> Outcome:
    """Take a settlement back."""
    try:
        await settlement.take_back(visit.env, visit.caller, visit.places["id"])
    except Refusal as refusal:
        if refusal.code is not ErrorCode.NOT_SETTLEABLE:
            raise
    return Goto(_here(visit), "said_settlement_undone")


async def renew(visit: Visit) -> Outcome:
    """Make a new transaction for the same customer and cancel this one, in one commit."""
    facts = await visit.env.store.read(lambda reader: facts_of(reader, visit.places["id"]))
    request = replacement_of(facts.request)
    if request is None:
        visit.wrong("", "renew_erased")

    def place(made: initialize.Initialized) -> Goto:
        return Goto(f"{HERE}/{made.transaction.reference}", "said_renewed")

    phones = visit.machine.phone_states()
    with visit.shows(ErrorCode.TRANSACTION_NOT_CANCELLABLE, key="not_renewable"):
        return await visit.kept(
            place, lambda keep: initialize.initialize(visit.env, visit.caller, request, keep=keep, phones=phones)
        )


async def reconcile(visit: Visit) -> Outcome:
    """Match the payment with the ID that the customer shows."""
    telco_id = normalize_telco_id(visit.form.get("transaction_id", ""))
    notes = visit.form.get("notes", "").strip()[:NOTES_CHARACTERS_MAX] or None
    if not telco_id.isprintable() or not 0 < len(telco_id) <= TRANSACTION_ID_CHARACTERS_MAX:
        # An unknown transaction is reported before a wrong ID.
        await visit.env.store.read(lambda reader: facts_of(reader, visit.places["id"]))
        visit.wrong("transaction_id", "reconcile_wrong")
    request = await vouched(visit, visit.places["id"], ReconcileRequest(telco_id, notes=notes))
    place, reference = Goto(_here(visit), "said_reconciled"), visit.places["id"]
    try:
        return await visit.kept(
            place, lambda keep: reconcile_flow.reconcile(visit.env, visit.caller, reference, request, keep=keep)
        )
    except Refusal as refusal:
        wrong = refusal.code is ErrorCode.VALIDATION_ERROR
        near = refusal.extras.get("near_transaction_id")
        key = "reconcile_no_form" if wrong else f"reconcile_{refusal.code.lower()}"
        if refusal.code is ErrorCode.TRANSACTION_NOT_FOUND or not visit.words.has(key):
            raise
        if near:
            visit.wrong("transaction_id", "reconcile_near", id=near)
        visit.wrong("transaction_id", key)


async def send_again(visit: Visit) -> Outcome:
    """Send the code once more by SMS."""
    result = await texts.send_code_again(visit.env, visit.caller, visit.places["id"])
    if result is not SentAgain.QUEUED:
        visit.wrong("", f"again_{result}")
    return Goto(_here(visit), "said_again_queued")


async def practise(visit: Visit) -> Outcome:
    """Pay an open order of the sandbox: its network's simulated phone gets the SMS of a payment."""
    facts = await visit.env.store.read(lambda reader: facts_of(reader, visit.places["id"]))
    if state_of(facts.request, visit.env.times().lower_bound_us) != "open":
        visit.wrong("", "practise_ended")
    sms = await simulate_sms(visit.env, SimulateRequest(reference=facts.request.reference))
    if visit.machine.deliver is not None:
        await visit.machine.deliver(sms.provider, [part.pdu for part in sms.parts])
    else:
        await ingest.ingest(visit.env, sms.source, sms.parts)
    at_till = f"/dash/till/{facts.request.reference}" if "till" in visit.form else _here(visit)
    return Goto(at_till, "said_practised")


def _here(visit: Visit) -> str:
    return f"{HERE}/{reference_of(split_reference(visit.places['id']) or '')}"


_COLUMNS: Final[dict[str, Callable[[Found], object]]] = {
    "reference": lambda one: one[0].reference,
    "code": lambda one: one[0].svc_code,
    "state": lambda one: one[0].status,
    "created_at": lambda one: timestamp(one[0].created_at),
    "expires_at": lambda one: timestamp_or_none(one[0].expires_at),
    "completed_at": lambda one: timestamp_or_none(one[0].completed_at),
    "expected": lambda one: None if one[0].expected_minor is None else render(one[0].expected_minor, one[0].currency),
    "received": lambda one: None if one[1] is None else render(one[1].amount_minor, one[1].currency),
    "currency": lambda one: one[0].currency,
    "customer_name": lambda one: one[0].customer_name,
    "phone": lambda one: one[0].phone_number,
    "description": lambda one: one[0].description,
    "own_number": lambda one: one[0].client_reference,
    "network_transaction_id": lambda one: None if one[1] is None else one[1].telco_id_as_read,
}
"""`state` is replaced by that of now."""
