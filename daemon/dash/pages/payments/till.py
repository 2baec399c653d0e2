"""Till: ask for an amount, then show code, number and QR code until it is paid; the same for a screen that customers see."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from daemon.core.access.callers import Operation
from daemon.core.errors import FieldError, Refusal
from daemon.core.inputs import InitializeRequest
from daemon.core.limits import DESCRIPTION_CHARACTERS_MAX, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.model import PaymentMethod
from daemon.core.payments.checkout import MONEY, CheckoutFacts, CheckoutScreen
from daemon.dash.parts.order import TONES, CustomerOrder, facts_of, order_of, state_of
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.payments import cancel_expire, initialize
from daemon.store.engine import Reader
from daemon.store.lines import payment_methods
from daemon.store.payments import counter, payment_list
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.store.payments.transaction_list import Found
from daemon.wire import ErrorCode, ShopRole
from parsers.money import read_api_amount, read_money, render
from parsers.pasted import plain_amount
from parsers.phone import read_phone

HERE: Final = "/dash/till"
RECENT: Final = 5
RECENT_US: Final = 2 * HOUR_US
SCREEN_US: Final = 30 * MINUTE_US
"""The screen for customers shows an order that is not older."""
SCREEN_PAID_US: Final = 45 * SECOND_US
"""How long it shows that one was paid."""
CURRENCY: Final = "GHS"
PAPERS: Final = ("80", "58", "a4")


class _Asked(Struct, frozen=True):
    """The form as it was typed."""

    amount: str = ""
    phone: str = ""
    description: str = ""
    sms: bool = True


async def show(visit: Visit) -> Shown:
    """Show the keypad."""
    return await _form(visit, _Asked(), 200)


async def _form(visit: Visit, asked: _Asked, status: int) -> Shown:
    recent = await visit.env.store.read(lambda reader: _recent(reader, visit))
    handed = await visit.env.store.read(lambda reader: _handed(reader, visit))
    values = {
        "handed": handed,
        "asked": asked,
        "keys": ("1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "0", "<"),
        "currency": CURRENCY,
        **_recent_values(visit, recent),
    }
    return Shown("till/till.html", values, status=status)


async def make(visit: Visit) -> Outcome:
    """Make a transaction and show it."""
    form = visit.form
    asked = _Asked(
        form.get("amount", "").strip(),
        form.get("phone", "").strip(),
        form.get("description", "").strip(),
        "sms" in form,
    )
    request = _read(visit, asked)
    if request is None:
        return await _form(visit, asked, 422)

    def place(made: initialize.Initialized) -> Goto:
        return Goto(f"{HERE}/{made.transaction.reference}")

    keep, phones = visit.keep(place), visit.machine.phone_states()
    made = await initialize.initialize(visit.env, visit.caller, request, keep=keep, phones=phones)
    return place(made)


def _read(visit: Visit, asked: _Asked) -> InitializeRequest | None:
    """Return the request for a transaction; None with the errors in `visit.errors`."""
    t = visit.words
    typed = read_money(plain_amount(asked.amount).replace(",", "."), currency=CURRENCY)
    # The limits are those of the API.
    minor = None if typed is None else read_api_amount(render(typed.minor, CURRENCY), CURRENCY)
    phone = read_phone(asked.phone)
    if minor is None:
        visit.fail(FieldError("amount", "invalid", t("till_amount_wrong")))
    if phone is None:
        visit.fail(FieldError("phone", "invalid", t("till_phone_wrong")))
    if len(asked.description) > DESCRIPTION_CHARACTERS_MAX or not _is_text(asked.description):
        visit.fail(FieldError("description", "invalid", t("till_description_wrong")))
    if visit.errors or minor is None or phone is None:
        return None
    return InitializeRequest(
        amount_minor=minor,
        currency=CURRENCY,
        phone_number=phone,
        description=asked.description or None,
        send_sms_to_payer=asked.sms,
    )


def _is_text(text: str) -> bool:
    return all(character.isprintable() for character in text)


async def show_order(visit: Visit) -> Shown:
    """Show one transaction, big, until it is paid."""

    def read(reader: Reader) -> tuple[CheckoutFacts, Sequence[Found]]:
        return facts_of(reader, visit.places["id"]), _recent(reader, visit)

    facts, recent = await visit.env.store.read(read)
    order = order_of(visit, facts)
    return Shown(
        "till/order.html",
        {
            "order": order,
            "problem": visit.errors.get("order", ""),
            **_recent_values(visit, recent),
        },
        f"{order.view.code} · {visit.money_text(order.view.amount, order.view.currency)}",
        status=422 if visit.errors else 200,
    )


async def cancel(visit: Visit) -> Outcome:
    """Cancel a transaction and go back to the keypad."""
    place = Goto(HERE, "said_cancelled")
    try:
        await cancel_expire.cancel(
            visit.env, visit.caller, visit.places["id"], keep=visit.keep(lambda _: place)
        )
    except Refusal as refusal:
        if refusal.code is not ErrorCode.TRANSACTION_NOT_CANCELLABLE:
            raise
        visit.errors["order"] = visit.words("not_cancellable")
        return await show_order(visit)
    return place


async def show_receipt(visit: Visit) -> Shown:
    """Show the receipt of a paid transaction for the chosen paper."""
    facts = await visit.env.store.read(lambda reader: facts_of(reader, visit.places["id"]))
    order = order_of(visit, facts)
    paper = visit.query.get("paper", "")
    return Shown(
        "till/receipt.html",
        {
            "order": order,
            "paper": paper if paper in PAPERS else PAPERS[0],
            "papers": PAPERS,
            "has_receipt": order.view.screen in {*MONEY, CheckoutScreen.REVERSED},
        },
    )


async def show_screen(visit: Visit) -> Shown:
    """Show the screen for customers: the order at the counter, or the shop's numbers."""
    of = visit.query.get("of", "")[:100]
    actor = f"user:{of}" if of else None

    def read(reader: Reader) -> tuple[list[CheckoutFacts], list[PaymentMethod]]:
        since = visit.now - SCREEN_US
        found = counter.made_by(reader, actor, since=since, limit=RECENT)
        orders = [facts_of(reader, transaction.reference) for transaction, _ in found]
        return orders, payment_methods.in_use(reader)

    found, methods = await visit.env.store.read(read)
    orders = [order_of(visit, facts) for facts in found]
    order = next((one for one in orders if _is_on_screen(one, visit.now)), None)
    values = {"order": order, "methods": [one for one in methods if one.is_active]}
    return Shown("till/screen.html", values)


def _is_on_screen(order: CustomerOrder, now: int) -> bool:
    if order.view.screen in MONEY:
        return now - (order.transaction.completed_at or 0) < SCREEN_PAID_US
    return order.view.screen in {CheckoutScreen.WAITING, CheckoutScreen.CHECKING}


def _recent(reader: Reader, visit: Visit) -> Sequence[Found]:
    since = visit.now - RECENT_US
    return counter.made_by(reader, visit.caller.name, since=since, limit=RECENT)


def _handed(reader: Reader, visit: Visit) -> Sequence[Listed]:
    """Return the latest payments that this branch handed up to its hub; none at other shops."""
    if visit.env.place.role is not ShopRole.BRANCH:
        return ()
    wanted = PaymentFilter(state="handed", since=visit.now - RECENT_US)
    return payment_list.listed(reader, wanted, limit=RECENT)[0]


def _recent_values(visit: Visit, recent: Sequence[Found]) -> dict[str, object]:
    return {
        "recent": [(one, state_of(one, visit.env.times().lower_bound_us)) for one, _ in recent],
        "tones": TONES,
        "may_cancel": visit.may(Operation.CANCEL_TRANSACTION),
    }
