"""Payment claims of customers on the checkout page: only a hint for the operator.

Anyone with the page's address can claim, including a stranger with the transaction ID of another customer. So nothing is
matched here, and the answer is the same for unknown, foreign and right IDs.
"""

from enum import StrEnum

from daemon.core import limits
from daemon.core.payments import checkout
from daemon.env import Env
from daemon.steps.suggest import open_near_miss_review
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.store.payments import payments, reviews, suggestions, transactions
from daemon.store.payments.checkout import transaction_of
from parsers.reading import normalize_telco_id


class ClaimResult(StrEnum):
    """Result shown to the customer."""

    THANKS = "thanks"
    TOO_MANY = "too_many"
    NO_PAGE = "no_page"


async def claim_payment(env: Env, slug: str, telco_id: str) -> ClaimResult:
    """Store a customer's claim that the payment with this ID is for the transaction of this page.

    If that payment is stored now or later and pays no other transaction, the operator sees this transaction as a suggestion.
    At most three new IDs an hour are accepted; a repeated one is not counted.

    Raises:
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()
    telco_id = normalize_telco_id(telco_id)

    def job(tx: Tx) -> ClaimResult:
        request = transaction_of(tx, slug)
        if request is None or not checkout.is_shown(request, now):
            return ClaimResult.NO_PAGE
        if request.status not in checkout.UNPAID:
            return ClaimResult.THANKS
        claims = suggestions.claims_of(tx, request.id)
        if telco_id in claims:
            return ClaimResult.THANKS
        lately = [at for at in claims.values() if at > now - limits.HOUR_US]
        if len(lately) >= limits.CLAIMS_PER_HOUR:
            return ClaimResult.TOO_MANY
        suggestions.add_claim(tx, request, telco_id, now)
        journal.add(
            tx,
            type="transaction.payment_claimed",
            mode=request.mode,
            at=now,
            actor="customer",
            transaction_id=request.id,
            data={"transaction_id": telco_id},
        )
        for payment in payments.with_telco_id(tx, request.mode, telco_id):
            holder = transactions.paid_by(tx, payment.id)
            if holder is None or holder.origin != "open":
                continue
            if reviews.open_for_message(tx, payment.message_id) is None:
                open_near_miss_review(tx, env, payment, holder, now)
        return ClaimResult.THANKS

    return await env.store.write(job)
