"""One transaction for a page: the facts of its checkout page, its state in one word, its time left, its QR code."""

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from msgspec import Struct

from daemon.core.access.callers import READERS, Operation
from daemon.core.errors import Refusal
from daemon.core.ids import split_reference
from daemon.core.json_values import Json
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import Payment, Transaction
from daemon.core.payments import checkout
from daemon.core.payments.checkout import CheckoutFacts, CheckoutScreen, CheckoutView
from daemon.core.payments.payer_texts import first_step
from daemon.core.payments.transaction_json import status_at
from daemon.dash.web.visit import Visit
from daemon.dash.web.words import Words
from daemon.env import Env
from daemon.flows.payments.settlement import may_settle_by_hand
from daemon.runtime.page_response import qr_svg
from daemon.store.engine import Reader
from daemon.store.payments import transaction_list, transactions
from daemon.wire import DeliveryStatus, ErrorCode, TransactionStatus
from parsers.masking import mask_text

STATES: Final[Mapping[str, TransactionStatus]] = {
    "open": TransactionStatus.PENDING,
    "paid": TransactionStatus.SUCCESS,
    "short": TransactionStatus.PARTIAL,
    "over": TransactionStatus.OVERPAID,
    "review": TransactionStatus.MANUAL_REVIEW,
    "expired": TransactionStatus.EXPIRED,
    "cancelled": TransactionStatus.CANCELLED,
}
"""The words for the statuses; a payment that the network took back is `reversed`, a short or too large one that a person ended `settled`."""
_WORDS: Final = {status: word for word, status in STATES.items()}
TONES: Final = {
    "open": "calm",
    "paid": "good",
    "short": "warn",
    "over": "warn",
    "review": "bad",
    "expired": "calm",
    "cancelled": "calm",
    "reversed": "bad",
    "settled": "good",
    "well": "good",
    "fresh": "calm",
    "failing": "warn",
    "paused": "bad",
    DeliveryStatus.DELIVERED: "good",
    DeliveryStatus.FAILED: "bad",
    DeliveryStatus.RETRYING: "warn",
    DeliveryStatus.PENDING: "calm",
}
"""The colour of each state of a transaction, of an endpoint and of a delivery."""

_NOT_SETTLED: Final = frozenset({ErrorCode.NOT_SETTLEABLE, ErrorCode.ALREADY_SETTLED, ErrorCode.VALIDATION_ERROR})


class CustomerOrder(Struct, frozen=True):
    """One transaction of a customer, with the payment that verified it, its checkout page and the address of that.

    `qr`, the address as SVG, and the time `left` until it expires are empty when it does not wait for its payment.
    """

    transaction: Transaction
    payment: Payment | None
    view: CheckoutView
    page: str
    qr: str
    left: str

    @property
    def ended(self) -> bool:
        """Whether it is paid, cancelled or taken back."""
        return self.view.screen in checkout.ENDED

    @property
    def waits(self) -> bool:
        """Whether it waits for its payment."""
        return self.view.screen is CheckoutScreen.WAITING


def facts_of(reader: Reader, reference: str) -> CheckoutFacts:
    """Return the facts of a transaction; the holder of a payment without a transaction is not one."""
    transaction_id = split_reference(reference)
    found = None
    if transaction_id is not None:
        found = transaction_list.by_id(reader, transaction_id, None)
    facts = None
    if found is not None and found[0].origin == "request":
        facts = transactions.checkout_facts(reader, found[0].public_slug or "")
    if facts is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return facts


def order_of(visit: Visit, facts: CheckoutFacts) -> CustomerOrder:
    """Return a transaction with everything that the pages show of it."""
    request, now = facts.request, visit.env.times().lower_bound_us
    t = visit.words
    firsts = {name: t.told(first_step(step)) for name, step in visit.env.texting.steps.items()}
    view = checkout.view(facts, firsts, menus(visit.env, t), "", now)
    page = visit.env.checkout_url(request.public_slug or "")
    waits = view.screen is CheckoutScreen.WAITING
    left = time_left(visit, view.expires_at) if waits else ""
    return CustomerOrder(request, facts.payment, view, page, qr_svg(page) if waits else "", left)


def menus(env: Env, words: Words) -> Mapping[str, str]:
    """Return the steps in the menu of each network: those of the settings, or ours in the language."""
    pages = env.config.pages
    found = {"mtn": pages.menu_mtn, "telecel": pages.menu_telecel, "at": pages.menu_at}
    return {
        network: words(f"steps_{network}") if text == checkout.MENUS[network] else text
        for network, text in found.items()
    }


def state_of(transaction: Transaction, now: int) -> str:
    """Return the state of a transaction in one word, a key of `TONES`."""
    if transaction.reversed_at is not None:
        return "reversed"
    if transaction.settled_at is not None:
        return "settled"
    return _WORDS[status_at(transaction, now)]


def may_settle(visit: Visit, transaction: Transaction) -> bool:
    """Return whether the user may settle a transaction that is short, or paid too much."""
    state = state_of(transaction, visit.env.times().lower_bound_us)
    if transaction.branch_id is not None or not visit.may(Operation.SETTLE):
        return False
    return state == "short" or (state == "over" and may_settle_by_hand(visit.env, visit.caller))


def time_left(visit: Visit, at_us: int) -> str:
    """Return how long it is until a time, in words."""
    gone = max(0, at_us - visit.now)
    if gone >= HOUR_US:
        return visit.words.number("left_hours", (gone + HOUR_US // 2) // HOUR_US)
    return visit.words.number("left_minutes", max(1, -(-gone // MINUTE_US)))


def refuse_settlement(visit: Visit, refusal: Refusal) -> NoReturn:
    """Say on the page why nothing was settled."""
    if refusal.code in _NOT_SETTLED:
        visit.wrong("", "not_settleable")
    if refusal.code is ErrorCode.BELONGS_TO_BRANCH:
        visit.wrong("", "settle_at_branch", branch=refusal.extras["branch"])
    key = f"reconcile_{refusal.code.lower()}"
    if refusal.code is ErrorCode.TRANSACTION_NOT_FOUND or not visit.words.has(key):
        raise refusal
    visit.wrong("payment", key)


def masked(visit: Visit, entries: Sequence[Json]) -> list[Json]:
    """Return the entries of a journal as this user may see them: a cashier sees no whole phone number."""
    return [
        {**entry, "text": mask_text(str(entry["text"]))}
        if visit.role not in READERS and str(entry["type"]).startswith("payer.")
        else entry
        for entry in entries
    ]
