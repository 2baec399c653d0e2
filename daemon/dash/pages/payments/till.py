"""Till: ask for an amount, then show code, number and QR code until it is paid; the same for a screen that customers see.

And the poster: the shop's name, its number, the steps and a QR code.
"""

from collections.abc import Sequence
from typing import Final

from daemon.core.access.callers import Operation
from daemon.core.inputs import InitializeRequest
from daemon.core.limits import DAY_US, DESCRIPTION_CHARACTERS_MAX, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.model import PaymentMethod, Transaction
from daemon.core.names import group_digits, national_format, network_of, provider_name
from daemon.core.payments.checkout import MONEY, CheckoutFacts, CheckoutScreen
from daemon.core.payments.payer_texts import first_step
from daemon.dash.parts.message_text import actor_name
from daemon.dash.parts.order import facts_of, may_settle, menus, order_of, state_of, time_left
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.dash.web.words import Words
from daemon.flows.payments import cancel_expire, initialize
from daemon.runtime.page_response import qr_svg
from daemon.runtime.words import LANGUAGES
from daemon.store import journal
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods
from daemon.store.payments import payment_list, reviews, transaction_list
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.wire import ErrorCode, Mode, ShopRole
from parsers.money import read_api_amount, read_money, render
from parsers.pasted import plain_amount
from parsers.phone import read_phone

HERE: Final = "/dash/till"
RECENT: Final = 5
RECENT_US: Final = 2 * HOUR_US
SCREEN_US: Final = 30 * MINUTE_US
"""The screen for customers shows an order that is not older."""
SCREEN_PAID_US: Final = 45 * SECOND_US
"""How long it shows that one was paid, if nobody else waits."""
SCREEN_NEXT_S: Final = 5
"""How long it shows that one was paid while another customer waits."""
OPEN_SHOWN: Final = 50
PAID_US: Final = 10 * MINUTE_US
"""How long a line at the top tells that an order was paid."""
PRODUCTS_SHOWN: Final = 24
CUSTOMERS: Final = 8
CUSTOMERS_US: Final = 7 * DAY_US
"""The customers of the till: the latest different ones of its user."""
KEYS: Final = ("1", "2", "3", "<", "4", "5", "6", "C", "7", "8", "9", ".", "0", "00")
CURRENCY: Final = "GHS"
_WAITING: Final = frozenset({CheckoutScreen.WAITING, CheckoutScreen.CHECKING})
PAPERS: Final = ("80", "58", "a4")
POSTER_PAPERS: Final = ("a4", "a5", "a6")


async def show(visit: Visit) -> Shown:
    """Show the keypad."""
    mine, handed, customers = await visit.env.store.read(
        lambda reader: (_own(reader, visit, visit.mode), _handed(reader, visit), _customers(reader, visit))
    )
    names = ("amount", "phone", "description", "customer")
    typed = {name: visit.form.get(name, "").strip() for name in names}
    values = {
        "handed": handed,
        "customers": customers,
        # The form as it was typed; a new one sends the SMS.
        "asked": {**typed, "sms": "sms" in visit.form or not visit.form},
        "keys": KEYS,
        "products": products(visit.env.config.till.products),
        "currency": CURRENCY,
        **mine,
    }
    return Shown("till/till.html", values)


async def make(visit: Visit) -> Outcome:
    """Make a transaction and show it."""
    typed = plain_amount(visit.form.get("amount", "")).replace(",", ".")
    money = read_money(typed, currency=CURRENCY)
    # The limits are those of the API.
    minor = None if money is None else read_api_amount(render(money.minor, CURRENCY), CURRENCY)
    typed_phone = visit.form.get("phone", "").strip()
    phone = read_phone(typed_phone)
    description = visit.form.get("description", "").strip()
    if minor is None:
        visit.fail("amount", "till_amount_wrong")
    if typed_phone and phone is None:
        visit.fail("phone", "till_phone_wrong")
    if len(description) > DESCRIPTION_CHARACTERS_MAX or not description.isprintable():
        visit.fail("description", "till_description_wrong")
    visit.check()
    assert minor is not None, "an error was noted"
    name = None
    if not typed_phone and visit.form.get("customer"):
        chosen = visit.form["customer"]
        known = await visit.env.store.read(lambda reader: _customers(reader, visit))
        same = next((one for one in known if one.reference == chosen), None)
        if same is not None:
            phone, name = same.phone_number, same.customer_name
    request = InitializeRequest(
        amount_minor=minor, currency=CURRENCY, phone_number=phone, customer_name=name,
        description=description or None, send_sms_to_payer="sms" in visit.form,
    )  # fmt: skip

    def place(made: initialize.Initialized) -> Goto:
        return Goto(f"{HERE}/{made.transaction.reference}")

    phones = visit.machine.phone_states()
    return await visit.kept(
        place, lambda keep: initialize.initialize(visit.env, visit.caller, request, keep=keep, phones=phones)
    )


async def show_order(visit: Visit) -> Shown:
    """Show one transaction, big, until it is paid."""

    def read(reader: Reader) -> tuple[CheckoutFacts, dict[str, object]]:
        facts = facts_of(reader, visit.places["id"])
        held = reviews.held_for(reader, facts.request.id)
        return facts, {**_own(reader, visit, facts.request.mode), "held": held}

    facts, mine = await visit.env.store.read(read)
    visit.mode = facts.request.mode
    order = order_of(visit, facts)
    amount = visit.money_text(order.view.amount, order.view.currency)
    return Shown(
        "till/order.html",
        {
            "order": order,
            "problem": visit.errors.get("order", ""),
            "public": bool(visit.env.config.http.public_base_url),
            "share": visit.words("till_share_text", amount=amount, shop=visit.shop_name, address=order.page),
            "may_send": order.transaction.phone_number is not None and visit.may(Operation.SEND_CODE),
            "may_cancel": visit.may(Operation.CANCEL_TRANSACTION),
            "may_settle": may_settle(visit, order.transaction),
            **mine,
        },
        f"{order.view.code} · {amount}",
    )


async def cancel(visit: Visit) -> Outcome:
    """Cancel a transaction and go back to the keypad."""
    env, caller, reference = visit.env, visit.caller, visit.places["id"]
    with visit.shows(ErrorCode.TRANSACTION_NOT_CANCELLABLE, field="order", key="not_cancellable"):
        return await visit.kept(
            Goto(HERE, "said_cancelled"), lambda keep: cancel_expire.cancel(env, caller, reference, keep=keep)
        )


async def show_receipt(visit: Visit) -> Shown:
    """Show the receipt of a paid transaction for the chosen paper."""

    def read(reader: Reader) -> tuple[CheckoutFacts, str | None, str | None]:
        facts = facts_of(reader, visit.places["id"])
        paid = None if facts.payment is None else payment_list.one(reader, facts.payment.id)
        [made], _ = journal.of_transaction(reader, facts.request.id, limit=1, offset=0)
        return facts, None if paid is None else paid.phone_number, made.actor

    facts, line, actor = await visit.env.store.read(read)
    visit.mode = facts.request.mode
    order, pages = order_of(visit, facts), visit.env.config.pages
    paper = visit.query.get("paper", "")
    return Shown(
        "till/receipt.html",
        {
            "order": order,
            "paper": paper if paper in PAPERS else PAPERS[0],
            "papers": PAPERS,
            "shop_lines": (pages.address, pages.contact),
            "line": line,
            "served_by": actor_name(visit, actor) if (actor or "").startswith("user:") else "",
            "has_receipt": order.view.screen in {*MONEY, CheckoutScreen.REVERSED},
        },
    )


async def show_screen(visit: Visit) -> Shown:
    """Show the screen for customers: the order at the counter, or the shop's numbers."""
    of = visit.query.get("of", "")[:100]
    actor = f"user:{of}" if of else None

    def read(reader: Reader) -> tuple[list[CheckoutFacts], list[PaymentMethod]]:
        since = visit.now - SCREEN_US
        found = transaction_list.made_by(reader, actor, mode=visit.mode, since=since, limit=RECENT)
        orders = [facts_of(reader, transaction.reference) for transaction, _ in found]
        return orders, payment_methods.in_use(reader, visit.mode)

    found, methods = await visit.env.store.read(read)
    orders = [order_of(visit, facts) for facts in found]
    waiting = [one for one in orders if one.view.screen in _WAITING]
    # A paid order is shown first, for a short time, and then the next one that waits.
    shown_us = SCREEN_NEXT_S * SECOND_US if waiting else SCREEN_PAID_US
    paid = [
        one for one in orders if one.view.screen in MONEY and visit.now - (one.transaction.completed_at or 0) < shown_us
    ]
    values = {
        "order": next(iter([*paid, *waiting]), None),
        "again_s": SCREEN_NEXT_S + 1 if paid else 0,
        "methods": [one for one in methods if one.is_active],
    }
    return Shown("till/screen.html", values)


def products(rows: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the price of each product button, from settings such as `Rice 1 kg = 12.50`."""
    found = [row.rpartition("=") for row in rows]
    return [(name.strip(), price.strip()) for name, _, price in found[:PRODUCTS_SHOWN]]


def _own(reader: Reader, visit: Visit, mode: Mode) -> dict[str, object]:
    """Return the orders of this user in a mode: those that wait, those that were just paid, and the latest that ended."""
    name, now = visit.caller.name, visit.env.times().lower_bound_us
    waiting = transaction_list.open_of(reader, name, mode=mode, now=now, limit=OPEN_SHOWN + 1)
    since = visit.now - PAID_US
    paid = transaction_list.paid_of(reader, name, mode=mode, since=since, limit=RECENT)
    since = visit.now - RECENT_US
    latest = transaction_list.made_by(reader, name, mode=mode, since=since, limit=2 * RECENT)
    states = [(one, state_of(one, now)) for one, _ in latest]
    return {
        "open_orders": [
            (one, state_of(one, now), time_left(visit, one.expires_at or 0)) for one, _ in waiting[:OPEN_SHOWN]
        ],
        "more_open": len(waiting) > OPEN_SHOWN,
        "paid": [(one, state_of(one, now), payment) for one, payment in paid],
        "recent": [row for row in states if row[1] not in {"open", "review"}][:RECENT],
    }


def _customers(reader: Reader, visit: Visit) -> list[Transaction]:
    """Return the latest order of each of the latest customers of this user, by their number."""
    since = visit.now - CUSTOMERS_US
    found = transaction_list.made_by(reader, visit.caller.name, mode=visit.mode, since=since, limit=10 * CUSTOMERS)
    latest: dict[str, Transaction] = {}
    for one, _ in found:
        if one.phone_number is not None:
            latest.setdefault(one.phone_number, one)
    return list(latest.values())[:CUSTOMERS]


def _handed(reader: Reader, visit: Visit) -> Sequence[Listed]:
    """Return the latest payments that this branch handed up to its hub; none at other shops."""
    if visit.env.place.role is not ShopRole.BRANCH:
        return ()
    wanted = PaymentFilter(state="handed", since=visit.now - RECENT_US)
    return payment_list.listed(reader, wanted, limit=RECENT)[0]


async def show_poster(visit: Visit) -> Shown:
    """Show the poster of one number: `?number=` its id, `?paper=`, `?language=`."""
    methods = await visit.env.store.read(lambda reader: payment_methods.in_use(reader, visit.mode))
    methods = [one for one in methods if one.is_active]
    chosen = next((one for one in methods if one.id == visit.query.get("number")), None)
    method = chosen or (methods[0] if methods else None)
    language = visit.query.get("language", "")
    language = language if language in LANGUAGES else visit.words.language
    paper = visit.query.get("paper", "")
    words = Words(language, visit.words.zone)
    steps, network = visit.env.texting.steps, ""
    if method is not None:
        network = network_of(method.provider)
    return Shown(
        "till/poster.html",
        {
            "p": words,
            "paper": paper if paper in POSTER_PAPERS else POSTER_PAPERS[0],
            "papers": POSTER_PAPERS,
            "methods": [(one.id, one.account_name, _number(one)) for one in methods],
            "method": method,
            "number": "" if method is None else _number(method),
            "network": "" if method is None else provider_name(method.provider),
            "first": words.told(first_step(steps.get(network, ""))),
            "choose": menus(visit.env, words).get(network, ""),
            "qr": "" if method is None else qr_svg(_contact(visit.shop_name, method)),
        },
    )


def _number(method: PaymentMethod) -> str:
    """Return a number as it is dialled, in groups that do not break."""
    return group_digits(national_format(method.phone_number)).replace(" ", "\N{NO-BREAK SPACE}")


def _contact(shop: str, method: PaymentMethod) -> str:
    """Return the number as a contact that a phone's camera offers to save (vCard 3.0, RFC 2426)."""
    name = "".join(f"\\{one}" if one in "\\,;" else one for one in shop if one.isprintable())
    lines = ("BEGIN:VCARD", "VERSION:3.0", f"N:{name}", f"FN:{name}", f"TEL:{method.phone_number}")
    return "\r\n".join((*lines, "END:VCARD"))
