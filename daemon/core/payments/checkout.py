"""The content of a transaction's checkout page, and its return address. Pure.

Any visitor with the address is treated as the customer. So the page shows no other person's data, no reason for a review, and
no number or name in full. A doubtful payment is never called received.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from daemon.core.limits import DAY_US, MINUTE_US, SECOND_US
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.names import mask_number, national_format, network_of, provider_name, short_name
from daemon.core.payments.matching import VERIFIED, compare_amounts
from daemon.core.payments.transaction_json import SettlementAnswer
from daemon.wire import Mode, SettlementKind, TransactionStatus
from parsers.money import render
from parsers.phone import NETWORK_NAMES, network_of_number

RECEIPT_SHOWN_US: Final = 30 * DAY_US
"""A checkout page is shown as a receipt for this long after its transaction ended."""
LINES_AWAY_US: Final = 2 * MINUTE_US
"""After this long without any phone the checkout page says that payments are not seen now."""
ROOT: Final = "/pay/"
"""Path prefix of every checkout page."""
NOT_PUBLIC: Final = "checkout_url is not public: set public_base_url under [http] in config.toml"
"""The warning for an address that only this machine, or the shop's own network, can open."""
MENUS: Final[Mapping[str, str]] = {
    "mtn": "Choose Transfer Money, then MoMo User",
    "telecel": "Choose Send Money, then Telecel Cash",
    "at": "Choose Send Money, then AT Money",
}
"""The steps in each network's menu. Menus change, so these are settings too."""
UNPAID: Final = frozenset({TransactionStatus.PENDING, TransactionStatus.EXPIRED, TransactionStatus.MANUAL_REVIEW})
"""Statuses in which a customer may name the payment for the transaction."""
_USSD: Final = re.compile(r"\*[0-9*]{2,20}#", re.ASCII)
_ADDRESS: Final = re.compile(
    r"(https?)://([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#][!-~]*)?", re.ASCII | re.IGNORECASE
)
_OWN_NAME: Final = re.compile(
    r"[a-z0-9-]+|.+\.(?:localhost|local|lan|home\.arpa|internal|test)", re.ASCII | re.IGNORECASE
)
"""Host names of the shop's own network, and reserved names without a host (RFC 2606, 6761, 6762, 8375)."""


class CheckoutScreen(StrEnum):
    """The state that the page shows."""

    WAITING = "waiting"
    CHECKING = "checking"
    PAID = "paid"
    SHORT = "short"
    OVER = "over"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REVERSED = "reversed"


ENDED: Final = frozenset({CheckoutScreen.PAID, CheckoutScreen.OVER, CheckoutScreen.CANCELLED, CheckoutScreen.REVERSED})
"""An open page stops polling when it shows one of these; of a short transaction the rest may come."""
MONEY: Final = frozenset({CheckoutScreen.PAID, CheckoutScreen.SHORT, CheckoutScreen.OVER})
_PAID: Final = {
    TransactionStatus.SUCCESS: CheckoutScreen.PAID,
    TransactionStatus.PARTIAL: CheckoutScreen.SHORT,
    TransactionStatus.OVERPAID: CheckoutScreen.OVER,
}


class ShownLine(Struct, frozen=True):
    """A number of the shop.

    Attributes:
        here: Its SIM is in a phone that answers.
        receives: It was not reported as not receiving (`line.not_receiving`).
        seen_at: Time of that phone's last answer, microseconds; None when the number is on no SIM.
    """

    method: PaymentMethod
    here: bool
    seen_at: int | None
    receives: bool = True


def payable(methods: Iterable[PaymentMethod], branch_id: str | None = None) -> tuple[PaymentMethod, ...]:
    """Return those of the shop's numbers of one mode that a customer can pay: live ones only when they are on a SIM.

    For a caller of one branch of a hub, the numbers of that branch; their SIMs are there.
    """
    return tuple(
        row
        for row in methods
        if row.is_active and (row.mode is not Mode.LIVE or row.sim_seq or (branch_id and row.branch_id == branch_id))
    )


class CheckoutFacts(Struct, frozen=True):
    """The facts for one page.

    Attributes:
        payment: The payment that verified the transaction.
        in_review: A trusted payment for it is in review.
        lines: The shop's numbers in use, oldest first.
    """

    request: Transaction
    payment: Payment | None
    shop: str
    timezone: str
    in_review: bool
    lines: tuple[ShownLine, ...]


class PaymentSteps(Struct, frozen=True):
    """The instructions for paying from one network.

    Attributes:
        network: The customer's network, by its short name.
        name: Its display name.
        first: The first step, such as `Dial *170#`.
        ussd: The code to dial in that step, None when it has none.
        menu: The steps in the network's menu; None when the customer pays to another network.
        to: The network of the shop's number.
        number: The shop's number in local form.
        account: The name that the network shows for it.
        merchant_code: Of the shop's number, when the customer is on its network.
    """

    network: str
    name: str
    first: str
    ussd: str | None
    menu: str | None
    to: str
    number: str
    account: str
    merchant_code: str | None


class CheckoutView(Struct, frozen=True):
    """The values of one page. Amounts are texts such as `12.50`.

    Attributes:
        order: The shop's own number of the order, `client_reference`.
        late: The money came after the transaction had expired.
        blind: The number to pay to has not received for two minutes, so the payment is not seen now.
        phone: The customer's number, masked.
        customer: First name and initial.
        seconds_left: Until it expires; 0 when that does not matter.
        difference: The amount missing or paid too much.
        telco_last4: The end of the network's ID.
        settled: How a short or too large payment was settled (`rest_received`, `cash`, `waived`, `change_given`), None if it was not.
        settled_amount: The amount of that.
        way: The instructions for the chosen network, None when nothing is to pay, or when there is no number to pay to.
        networks: Short name and display name of the networks to choose from.
    """

    screen: CheckoutScreen
    test: bool
    late: bool
    blind: bool
    shop: str
    timezone: str
    description: str | None
    currency: str
    amount: str
    code: str
    reference: str
    order: str | None
    phone: str | None
    customer: str | None
    created_at: int
    expires_at: int
    seconds_left: int
    received: str | None
    difference: str | None
    telco_last4: str | None
    paid_at: int | None
    reversed_at: int | None
    settled: str | None
    settled_amount: str | None
    way: PaymentSteps | None
    networks: tuple[tuple[str, str], ...]


def is_shown(request: Transaction, now: int) -> bool:
    """Return whether a transaction has a page: an open one, or one that ended in the last 30 days (a receipt)."""
    ended = request.completed_at or request.cancelled_at or request.expires_at or 0
    return request.origin == "request" and now < ended + RECEIPT_SHOWN_US


def screen_of(facts: CheckoutFacts, now: int) -> CheckoutScreen:
    """Return the state that a page shows."""
    request = facts.request
    if request.reversed_at is not None:
        return CheckoutScreen.REVERSED
    # Of a short transaction, the rest has been seen: a person decides about it.
    settled = request.settled_at is not None
    short = request.status is TransactionStatus.PARTIAL and not settled
    may_wait = short or request.status not in VERIFIED
    if request.status is TransactionStatus.MANUAL_REVIEW or (facts.in_review and may_wait):
        return CheckoutScreen.CHECKING
    if request.status in VERIFIED:
        return CheckoutScreen.PAID if settled else _PAID[request.status]
    if request.status is TransactionStatus.CANCELLED:
        return CheckoutScreen.CANCELLED
    assert request.expires_at is not None
    if request.status is TransactionStatus.EXPIRED or request.expires_at <= now:
        return CheckoutScreen.EXPIRED
    return CheckoutScreen.WAITING


def view(
    facts: CheckoutFacts, firsts: Mapping[str, str], menus: Mapping[str, str], chosen: str, now: int
) -> CheckoutView:
    """Return the page of a transaction.

    `firsts` and `menus` have the steps of a payment by network; `chosen` may be any text.
    """
    request, payment = facts.request, facts.payment
    assert request.svc_code is not None
    assert request.expires_at is not None
    assert request.expected_minor is not None
    screen = screen_of(facts, now)
    received = difference = None
    if payment is not None:
        verdict = compare_amounts(payment.amount_minor, request.expected_minor)
        received = render(payment.amount_minor, payment.currency)
        difference = render(abs(verdict.difference_minor), payment.currency)
    waits = screen is CheckoutScreen.WAITING
    usual = firsts if request.currency == "GHS" else ()
    networks = tuple((network, NETWORK_NAMES.get(network, network)) for network in usual)
    pays = waits or screen is CheckoutScreen.SHORT
    way = _instructions(facts, firsts, menus, networks, chosen) if pays else None
    settlement = SettlementAnswer.of(request)
    settled = None if settlement is None else str(settlement.kind)
    if settlement is not None and settled == SettlementKind.REST_RECEIVED:
        settled = settled if settlement.payment_reference else "cash"
    shown = [
        line for line in facts.lines if way is not None and national_format(line.method.phone_number) == way.number
    ]
    return CheckoutView(
        screen=screen,
        test=request.mode is Mode.TEST,
        late=request.late,
        blind=waits and request.mode is Mode.LIVE and no_line_receives(shown or facts.lines, now),
        shop=facts.shop,
        timezone=facts.timezone,
        description=request.description,
        currency=request.currency,
        amount=render(request.expected_minor, request.currency),
        code=request.svc_code,
        reference=request.reference,
        order=request.client_reference,
        phone=mask_number(request.phone_number),
        customer=short_name(request.customer_name),
        created_at=request.created_at,
        expires_at=request.expires_at,
        seconds_left=-(-(request.expires_at - now) // SECOND_US) if waits else 0,
        received=received,
        difference=difference,
        telco_last4=None if payment is None else payment.telco_id_as_read[-4:],
        paid_at=request.completed_at,
        reversed_at=request.reversed_at,
        settled=settled,
        settled_amount=None if settlement is None else settlement.amount,
        way=way,
        networks=networks,
    )


def no_line_receives(lines: Iterable[ShownLine], now: int) -> bool:
    """Return whether no line has received for two minutes, though the shop has numbers on SIMs."""
    placed = [line for line in lines if line.seen_at is not None]
    return bool(placed) and not any(
        line.receives and (line.here or (line.seen_at or 0) > now - LINES_AWAY_US) for line in placed
    )


def _instructions(
    facts: CheckoutFacts,
    firsts: Mapping[str, str],
    menus: Mapping[str, str],
    networks: tuple[tuple[str, str], ...],
    chosen: str,
) -> PaymentSteps | None:
    """Return the instructions for the chosen network, else the customer's own, else the first line's."""
    methods = payable(line.method for line in facts.lines)
    if not methods or not networks:
        return None
    names = dict(networks)
    own = network_of_number(facts.request.phone_number or "")
    network = next((one for one in (chosen, own, network_of(methods[0].provider)) if one in names), networks[0][0])
    same = [method for method in methods if network_of(method.provider) == network]
    method = (same or methods)[0]
    first = firsts[network]
    found = _USSD.search(first)
    return PaymentSteps(
        network=network,
        name=names[network],
        first=first,
        ussd=None if found is None else found.group(),
        menu=menus.get(network) if same else None,
        to=provider_name(method.provider),
        number=national_format(method.phone_number),
        account=method.account_name,
        merchant_code=method.merchant_code if same else None,
    )


class ReturnAddress(Struct, frozen=True):
    """The address with the reference in it, and the host to show."""

    url: str
    host: str


def may_return_to(url: str) -> bool:
    """Return whether a `redirect_url` is allowed: https, or http within the shop's own network.

    Over plain http an attacker on the network could send a customer to another page after the payment.
    """
    found = _ADDRESS.fullmatch(url)
    if found is None:
        return False
    scheme, host = found.group(1).lower(), found.group(2)
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        if host.startswith("["):
            return False
        own = _OWN_NAME.fullmatch(host) is not None
    return scheme == "https" or own


def return_address(url: str | None, reference: str) -> ReturnAddress | None:
    """Return a `redirect_url` with the reference added; None if it is not an http or https address.

    Only the reference is added, because a customer could change any value in an address: the shop asks the API for the
    state of the transaction.
    """
    found = _ADDRESS.fullmatch(url or "")
    if found is None:
        return None
    scheme, host, port, rest = found.groups(default="")
    place, mark, fragment = rest.partition("#")
    if not place.startswith("/"):
        place = f"/{place}"
    join = "&" if "?" in place else "?"
    address = f"{scheme.lower()}://{host}{port}{place}{join}reference={reference}{mark}{fragment}"
    return ReturnAddress(address, f"{host.lower()}{port}")
