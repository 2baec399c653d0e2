"""Transactions in each state that a checkout page shows, made by the shop's own flows."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from daemon.core.model import Transaction
from daemon.flows.payments import cancel_expire
from daemon.store.payments import transactions
from tests.fakes.receipts import mtn
from tests.fakes.shop import OWNER, FakeShop

PAYER = "KOFI BOATENG MENSAH OWUSU"
FIRST_ID = 93_214_500_000


class Orders:
    """Make transactions of GHS 25.00 in one shop."""

    def __init__(self, shop: FakeShop) -> None:
        self.shop = shop
        self._paid = 0

    async def make(self, state: str, **fields: Any) -> Transaction:
        """Return a transaction in a state of `STATES`; `fields` are those of initialize."""
        given = {"customer_name": "Kofi Boateng", "description": "2 bags rice", **fields}
        order = await self.shop.request(**given)
        await STATES[state](self, order)
        return await self.shop.transaction(order.reference)

    async def pay(self, order: Transaction, minor: int = 2500, reference: str = "") -> str:
        """Deliver the receipt of a payment, and return its transaction ID."""
        self._paid += 1
        telco_id = str(FIRST_ID + self._paid * 1000)
        balance = self.shop.wallet(minor)
        code = reference or order.svc_code or ""
        at = datetime.fromtimestamp(self.shop.clock.now_us() // 1_000_000, UTC)
        await self.shop.read(mtn(minor, PAYER, balance, code, telco_id, sent_at=at))
        return telco_id

    async def wait(self, _order: Transaction) -> None:
        """Leave it pending."""

    async def short(self, order: Transaction) -> None:
        await self.pay(order, 2000)

    async def over(self, order: Transaction) -> None:
        await self.pay(order, 3000)

    async def paid(self, order: Transaction) -> None:
        await self.pay(order)

    async def expire(self, _order: Transaction) -> None:
        self.shop.clock.advance(24 * 3600 + 1)

    async def late(self, order: Transaction) -> None:
        self.shop.clock.advance(24 * 3600 + 1)
        await self.shop.env.store.write(lambda tx: transactions.expire_due(tx, self.shop.clock.now_us(), 10))
        await self.pay(order)

    async def check(self, order: Transaction) -> None:
        """Pay from another number than expected, so that a review opens."""
        await self.pay(order)

    async def cancel(self, order: Transaction) -> None:
        await cancel_expire.cancel(self.shop.env, OWNER, order.reference, reason=None)

    async def reverse(self, order: Transaction) -> None:
        await self.pay(order)
        paid = await self.shop.transaction(order.reference)
        now = self.shop.clock.now_us()
        await self.shop.env.store.write(lambda tx: transactions.reverse(tx, paid.payment_id or "", now))


STATES: dict[str, Callable[[Orders, Transaction], Awaitable[None]]] = {
    "waiting": Orders.wait,
    "checking": Orders.check,
    "paid": Orders.paid,
    "short": Orders.short,
    "over": Orders.over,
    "late": Orders.late,
    "expired": Orders.expire,
    "cancelled": Orders.cancel,
    "reversed": Orders.reverse,
}
EXTRA: dict[str, dict[str, Any]] = {"checking": {"expected_payer_phone": "+233201234567"}}
"""Further fields of initialize that a state needs."""
HEADLINES = {
    "waiting": "Waiting for your payment",
    "checking": "The shop is checking a payment",
    "paid": "Paid. Thank you!",
    "short": "GHS\xa05.00 is missing",
    "over": "Paid. You sent GHS\xa05.00 too much",
    "late": "Paid. Thank you!",
    "expired": "This reference has expired",
    "cancelled": "This order was cancelled",
    "reversed": "The payment was taken back",
}
