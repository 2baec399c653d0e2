"""One search for everything: orders, payments and messages that a text names, grouped; the only result opens at once."""

from typing import Final

from daemon.core.access.callers import READERS
from daemon.core.limits import DAY_US
from daemon.core.model import Message
from daemon.dash.parts.listing import SEARCH_CHARACTERS_MAX, branch_names
from daemon.dash.parts.message_text import sender_name, sms_text
from daemon.dash.parts.order import state_of
from daemon.dash.web.visit import Goto, Shown, Visit
from daemon.store.engine import Reader
from daemon.store.messages import messages
from daemon.store.payments import payment_list, transaction_list
from daemon.store.payments.payment_list import Listed, PaymentFilter
from daemon.store.payments.transaction_list import Found, TransactionFilter
from parsers.pasted import plain
from parsers.reading import Kind

SHOWN: Final = 10
MESSAGES_US: Final = 31 * DAY_US
"""Texts are looked at this far back: there is no index of them."""
MESSAGE_CHARACTERS_MIN: Final = 3
_Found = tuple[list[Found], list[Listed], list[Message]]


async def show(visit: Visit) -> Shown | Goto:
    """Show what was found, by kind; go to the only one."""
    wanted = plain(visit.query.get("q", ""))[:SEARCH_CHARACTERS_MAX]
    now = visit.env.times().lower_bound_us

    def read(reader: Reader) -> _Found:
        of_orders = TransactionFilter(mode=visit.mode, search=wanted)
        orders, _ = transaction_list.transactions(reader, of_orders, now=now, limit=SHOWN + 1, offset=0)
        of_payments = PaymentFilter(mode=visit.mode, search=wanted)
        money, _more = payment_list.listed(reader, of_payments, limit=SHOWN + 1)
        texts: list[Message] = []
        if visit.role in READERS and len(wanted) >= MESSAGE_CHARACTERS_MIN:
            since = visit.now - MESSAGES_US
            texts = messages.with_text(reader, wanted, mode=visit.mode, since=since, limit=SHOWN + 1)
        # A code to log in somewhere is for the owner only.
        return orders, money, [one for one in texts if one.kind != Kind.OTP]

    found: _Found = await visit.env.store.read(read) if wanted else ([], [], [])
    orders, money, texts = found
    # The payment of an order that was found is the same thing.
    known = {order.id for order, _ in orders}
    others = [one for one in money if one.transaction is None or one.transaction.id not in known]
    places = [f"/dash/transactions/{order.reference}" for order, _ in orders]
    places += [f"/dash/payments/{one.payment.id}" for one in others]
    places += [f"/dash/messages/{one.id}" for one in texts if one.payment_id is None]
    if len(places) == 1:
        return Goto(places[0])
    return Shown(
        "payments/search.html",
        {
            "q": wanted,
            "orders": [(order, state_of(order, now)) for order, _ in orders[:SHOWN]],
            "payments": others[:SHOWN],
            "messages": [(one, sender_name(visit, one.sender), sms_text(visit, one.body)) for one in texts[:SHOWN]],
            "more": [len(group) > SHOWN for group in (orders, others, texts)],
            "branches": await branch_names(visit),
        },
    )
