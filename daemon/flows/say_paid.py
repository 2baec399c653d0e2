"""A customer says which payment was for an order: a hint for a person, and never more (pages.md section 1.5).

Whoever has the page's address may say so, also a stranger who has seen somebody else's transaction ID. So nothing is
matched here, and the answer is the same whether the ID is unknown, somebody else's, or right.
"""

from enum import StrEnum

from daemon.core import checkout, limits
from daemon.core.model import Transaction
from daemon.env import Env
from daemon.intake.suggest import open_if_near
from daemon.store import checkout as pages
from daemon.store import events, payer_claims, payments, reviews, transactions
from daemon.store.engine import Tx
from parsers.telco_id import normalize_telco_id


class Heard(StrEnum):
    """What the customer is told."""

    THANKS = "thanks"
    TOO_MANY = "too_many"
    NO_PAGE = "no_page"


async def say_paid(env: Env, slug: str, telco_id: str) -> Heard:
    """Take a customer's word that the payment with this ID was for the order of this page.

    If the payment is here, or comes later, and no request was paid by it, a person finds the order suggested. The third
    new ID within an hour is the last one that is taken; one that was said before costs nothing.

    Raises:
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()
    telco_id = normalize_telco_id(telco_id)

    def job(tx: Tx) -> Heard:
        request = pages.request_of(tx, slug)
        if request is None or not checkout.is_shown(request, now):
            return Heard.NO_PAGE
        if request.status not in checkout.UNPAID:
            return Heard.THANKS
        said = payer_claims.of_request(tx, request.id)
        if telco_id in said:
            return Heard.THANKS
        lately = [at for at in said.values() if at > now - limits.HOUR_US]
        if len(lately) >= limits.CLAIMS_PER_HOUR:
            return Heard.TOO_MANY
        payer_claims.add(tx, request, telco_id, now)
        events.add(
            tx,
            type="transaction.payment_claimed",
            mode=request.mode,
            at=now,
            actor="customer",
            transaction_id=request.id,
            data={"transaction_id": telco_id},
        )
        _suggest(tx, env, request, telco_id, now)
        return Heard.THANKS

    return await env.store.write(job)


def _suggest(tx: Tx, env: Env, request: Transaction, telco_id: str, now: int) -> None:
    """Put the payment before a person, if it is here as a sale of its own and nobody has been asked about it."""
    for payment in payments.with_telco_id(tx, request.mode, telco_id):
        holder = transactions.paid_by(tx, payment.id)
        if holder is None or holder.origin != "open":
            continue
        if reviews.open_for_message(tx, payment.message_id) is None:
            open_if_near(tx, env, payment, holder, now)
