"""What a person's yes to a payment teaches: a name that belongs to a number, a suggestion that was right."""

from dataclasses import dataclass
from typing import Any

from daemon.core.model import Payment, Review, Transaction
from daemon.env import Env
from daemon.store import approved_payers, events, near_miss
from daemon.store.engine import Tx
from daemon.wire import ReviewReason


@dataclass(frozen=True, slots=True)
class Yes:
    """A person's word that a payment is for an order.

    Attributes:
        review: The one that the person approves.
        by: Who says so.
        at: When, microseconds.
    """

    review: Review
    order: Transaction
    payment: Payment
    by: str
    at: int


def learn(tx: Tx, env: Env, yes: Yes) -> None:
    """Keep what is learnt when a person lets a payment pay an order; called before it does."""
    if yes.review.reason == ReviewReason.NEAR_MISS:
        _note_suggestion(tx, yes)
    elif (
        yes.review.reason == ReviewReason.PAYER_UNKNOWN
        and yes.review.transaction_id == yes.order.id
    ):
        _approve_name(tx, env, yes)


def _approve_name(tx: Tx, env: Env, yes: Yes) -> None:
    """Approve the name on the receipt for the number that the order expected."""
    phone_number, name = yes.order.expected_payer_phone, yes.payment.payer_name
    if phone_number is None or name is None:
        return
    approved = approved_payers.approve(
        tx,
        payer_id=env.new_id(),
        mode=yes.review.mode,
        phone_number=phone_number,
        name=name,
        review_id=yes.review.id,
        by=yes.by,
        now=yes.at,
    )
    if approved is not None:
        data = {"approved_payer_id": approved.id, "phone_number": phone_number, "name": name}
        _tell(tx, yes, "payer.approved", data)


def _note_suggestion(tx: Tx, yes: Yes) -> None:
    """Write down that the order was one of those suggested, and for which reasons."""
    for rank, found in enumerate(near_miss.suggestions(tx, yes.payment), 1):
        if found.request.id == yes.order.id:
            data = {"review_id": yes.review.id, "rank": rank, "reasons": list(found.reasons)}
            _tell(tx, yes, "suggestion.accepted", data)


def _tell(tx: Tx, yes: Yes, kind: str, data: dict[str, Any]) -> None:
    events.add(
        tx,
        type=kind,
        mode=yes.review.mode,
        at=yes.at,
        actor=yes.by,
        transaction_id=yes.order.id,
        payment_id=yes.payment.id,
        message_id=yes.review.message_id,
        data=data,
    )
