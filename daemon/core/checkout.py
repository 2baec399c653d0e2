"""What a customer is shown on the checkout page of an order, and what is kept from them. Pure.

Whoever has the address is taken for the customer: nothing of anybody else is shown, no reason why a person looks at a
payment, and no number or name in full. A payment that is only doubtful is never called received.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.limits import LINES_AWAY_US, RECEIPT_SHOWN_US, SECOND_US
from daemon.core.masking import masked, short_name
from daemon.core.matching import VERIFIED
from daemon.core.model import Payment, PaymentMethod, Transaction
from daemon.core.provider_names import NETWORK_NAMES, network_of, provider_name
from daemon.core.texting import local, network_of_number
from daemon.core.verdict import judge
from daemon.wire import Mode, TransactionStatus
from parsers.money import render

ROOT: Final = "/pay/"
"""Under which every page is served."""
NOT_PUBLIC: Final = "checkout_url is not public: set public_base_url under [http] in config.toml"
"""The warning that goes with an address which only this machine, or the shop's own network, can open."""
LANGUAGES: Final = ("en", "fr")
"""Those that the page has words in; one that no native speaker has reviewed is off until the settings name it."""
MENUS: Final[Mapping[str, str]] = {
    "mtn": "Choose Transfer Money, then MoMo User",
    "telecel": "Choose Send Money, then Telecel Cash",
    "at": "Choose Send Money, then AT Money",
}
"""How to go on in each network's menu. Menus change, so these are settings too."""
UNPAID: Final = frozenset(
    {TransactionStatus.PENDING, TransactionStatus.EXPIRED, TransactionStatus.MANUAL_REVIEW}
)
"""In these a customer may say which payment was for the order."""
_USSD: Final = re.compile(r"\*[0-9*]{2,20}#", re.ASCII)


class Screen(StrEnum):
    """What the page says."""

    WAITING = "waiting"
    CHECKING = "checking"
    PAID = "paid"
    SHORT = "short"
    OVER = "over"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    REVERSED = "reversed"


ENDED: Final = frozenset(
    {Screen.PAID, Screen.SHORT, Screen.OVER, Screen.CANCELLED, Screen.REVERSED}
)
"""A page that is open stops asking when it shows one of these."""
MONEY: Final = frozenset({Screen.PAID, Screen.SHORT, Screen.OVER})
_PAID: Final = {
    TransactionStatus.SUCCESS: Screen.PAID,
    TransactionStatus.PARTIAL: Screen.SHORT,
    TransactionStatus.OVERPAID: Screen.OVER,
}


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A number of the shop.

    Attributes:
        here: Its SIM is in a phone that answers.
        seen_at: When that phone was last heard of, microseconds; None when it is on no SIM.
    """

    method: PaymentMethod
    here: bool
    seen_at: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known for one page.

    Attributes:
        payment: The one that verified the request.
        in_review: A person is asked about a trusted payment for it.
        lines: The shop's numbers in use, oldest first.
    """

    request: Transaction
    payment: Payment | None
    shop: str
    timezone: str
    in_review: bool
    lines: tuple[ShownLine, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """How to pay from one network.

    Attributes:
        network: The customer's, by its short name.
        name: The same for people.
        first: What to do first, such as `Dial *170#`.
        ussd: The code in it to dial, None where there is none.
        menu: How to go on in the network's menu; None where the customer pays to another network.
        to: The name of the network of the shop's number.
        number: The shop's, as people dial it.
        account: The name that the network shows for it.
        merchant_code: Of the shop's number, where the customer is on its network.
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


@dataclass(frozen=True, slots=True)
class View:
    """One page, before it is put into words. Amounts are texts such as `12.50`.

    Attributes:
        late: The money came after the order had expired.
        blind: No phone of the shop answers: payments are not seen now.
        phone: The customer's number, masked.
        customer: First name and initial.
        seconds_left: Until it expires; 0 when that does not matter.
        difference: Missing or too much.
        telco_last4: The end of the network's ID.
        way: How to pay from the chosen network, None when there is no number to pay to.
        networks: Those to choose from: short name and name.
    """

    screen: Screen
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
    way: Way | None
    networks: tuple[tuple[str, str], ...]


def is_shown(request: Transaction, now: int) -> bool:
    """Say whether a request has a page still: an open one, and a receipt of the last 30 days."""
    ended = request.completed_at or request.cancelled_at or request.expires_at or 0
    return request.origin == "request" and now < ended + RECEIPT_SHOWN_US


def screen_of(facts: Facts, now: int) -> Screen:
    """Say which state a page shows."""
    request = facts.request
    if request.reversed_at is not None:
        return Screen.REVERSED
    if request.status in VERIFIED:
        return _PAID[request.status]
    if request.status is TransactionStatus.MANUAL_REVIEW or facts.in_review:
        return Screen.CHECKING
    if request.status is TransactionStatus.CANCELLED:
        return Screen.CANCELLED
    assert request.expires_at is not None
    if request.status is TransactionStatus.EXPIRED or request.expires_at <= now:
        return Screen.EXPIRED
    return Screen.WAITING


def view(
    facts: Facts, firsts: Mapping[str, str], menus: Mapping[str, str], chosen: str, now: int
) -> View:
    """Make the page of a request.

    Args:
        facts: What is known.
        firsts: How to begin paying, by network.
        menus: How to go on, by network.
        chosen: The network that the customer chose; any text.
        now: Our time.
    """
    request, payment = facts.request, facts.payment
    assert request.svc_code is not None
    assert request.expires_at is not None
    assert request.expected_minor is not None
    screen = screen_of(facts, now)
    received = difference = None
    if payment is not None:
        verdict = judge(payment.amount_minor, request.expected_minor)
        received = render(payment.amount_minor, payment.currency)
        difference = render(abs(verdict.difference_minor), payment.currency)
    waits = screen is Screen.WAITING
    networks = _networks(firsts, request.currency)
    return View(
        screen=screen,
        test=request.mode is Mode.TEST,
        late=request.late,
        blind=waits and request.mode is Mode.LIVE and is_blind(facts.lines, now),
        shop=facts.shop,
        timezone=facts.timezone,
        description=request.description,
        currency=request.currency,
        amount=render(request.expected_minor, request.currency),
        code=request.svc_code,
        reference=request.reference,
        phone=masked(request.phone_number),
        customer=short_name(request.customer_name),
        created_at=request.created_at,
        expires_at=request.expires_at,
        seconds_left=-(-(request.expires_at - now) // SECOND_US) if waits else 0,
        received=received,
        difference=difference,
        telco_last4=None if payment is None else payment.telco_id_as_read[-4:],
        paid_at=request.completed_at,
        reversed_at=request.reversed_at,
        way=_way(facts, firsts, menus, networks, chosen) if waits else None,
        networks=networks,
    )


def is_blind(lines: Iterable[ShownLine], now: int) -> bool:
    """Say whether no phone has answered for two minutes, though the shop has numbers on some."""
    placed = [line for line in lines if line.seen_at is not None]
    return bool(placed) and not any(
        line.here or (line.seen_at or 0) > now - LINES_AWAY_US for line in placed
    )


def _networks(firsts: Mapping[str, str], currency: str) -> tuple[tuple[str, str], ...]:
    if currency != "GHS":
        return ()
    return tuple((network, NETWORK_NAMES.get(network, network)) for network in firsts)


def _way(
    facts: Facts,
    firsts: Mapping[str, str],
    menus: Mapping[str, str],
    networks: tuple[tuple[str, str], ...],
    chosen: str,
) -> Way | None:
    """Return how to pay from the chosen network, else the customer's own, else the first line's."""
    live = facts.request.mode is Mode.LIVE
    methods = [line.method for line in facts.lines if not live or line.seen_at is not None]
    if not methods or not networks:
        return None
    names = dict(networks)
    own = network_of_number(facts.request.phone_number or "")
    network = next(
        (one for one in (chosen, own, network_of(methods[0].provider)) if one in names),
        networks[0][0],
    )
    same = [method for method in methods if network_of(method.provider) == network]
    method = (same or methods)[0]
    first = firsts[network]
    found = _USSD.search(first)
    return Way(
        network=network,
        name=names[network],
        first=first,
        ussd=None if found is None else found.group(),
        menu=menus.get(network) if same else None,
        to=provider_name(method.provider),
        number=local(method.phone_number),
        account=method.account_name,
        merchant_code=method.merchant_code if same else None,
    )
