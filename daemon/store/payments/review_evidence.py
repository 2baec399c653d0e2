"""Everything known about a held message or payment, collected for its review."""

import json
from typing import Final

from daemon.core.messages.message_json import ChainPosition
from daemon.core.model import Message, Payment, PaymentMethod, Review
from daemon.core.payments import suggestions
from daemon.core.payments.review_json import ReviewEvidence
from daemon.store.engine import Reader
from daemon.store.messages import balances, messages
from daemon.store.payments import payments, reviews, transaction_list, transactions
from daemon.store.payments import suggestions as store_suggestions
from daemon.wire import Mode, ReviewReason
from parsers.read import PROVIDERS
from parsers.svc_code import candidates

SHOWN_NEAR: Final = 8
"""Messages of the line to look at on each side; a few of them are shown."""


def of_review(reader: Reader, review_id: str, mode: Mode | None, now: int) -> ReviewEvidence | None:
    """Return a review with its evidence, None if there is none with this id and mode."""
    review = reviews.get(reader, review_id, mode)
    return None if review is None else _collected(reader, review, now)


def page(
    reader: Reader,
    *,
    state: str | None,
    mode: Mode | None,
    limit: int,
    offset: int,
    now: int,
    branch: str | None = None,
) -> tuple[list[ReviewEvidence], int]:
    """Return one page of reviews, newest first, and their total number; `state` None is every state."""
    found, total = reviews.page(
        reader, state=state, mode=mode, limit=limit, offset=offset, branch=branch
    )
    return [_collected(reader, review, now) for review in found], total


def _collected(reader: Reader, review: Review, now: int) -> ReviewEvidence:
    message = messages.get(reader, review.message_id)
    assert message is not None, "a review belongs to a message"
    payment = None if review.payment_id is None else payments.get(reader, review.payment_id)
    transaction = None
    if review.transaction_id is not None:
        transaction = transaction_list.by_id(reader, review.transaction_id, None)
    details = json.loads(review.details)
    other_id = details.get("payment_id")
    # If the other message made a payment, the payment is shown, otherwise the message itself.
    other_message_id = details.get("message_id") if other_id is None else None
    codes = candidates(_reference_text(message, payment))
    return ReviewEvidence(
        review=review,
        message=message,
        line=_line(reader, message),
        payment=payment,
        request=transaction,
        pays=None if payment is None else transactions.paid_by(reader, payment.id),
        other_payment=None if other_id is None else payments.get(reader, other_id),
        other_message=None if other_message_id is None else messages.get(reader, other_message_id),
        named=tuple(transactions.by_codes_in_use(reader, review.mode, codes, now)),
        suggestions=_suggestions(reader, review, payment),
        place=_place(reader, message),
    )


def _place(reader: Reader, message: Message) -> ChainPosition | None:
    known = balances.of_message(reader, message.id)
    if known is None:
        return None
    near = balances.nearest(reader, known.chain, known.entry.at, SHOWN_NEAR)
    return ChainPosition(
        known.entry,
        [entry for entry in near if entry.key != known.entry.key],
        PROVIDERS[known.chain.provider].currency,
    )


def _suggestions(
    reader: Reader, review: Review, payment: Payment | None
) -> tuple[suggestions.Suggestion, ...]:
    """Return the current suggestions: transactions may be paid, or made, after the payment came."""
    if payment is None or review.state != reviews.OPEN or review.reason != ReviewReason.NEAR_MISS:
        return ()
    return tuple(store_suggestions.suggestions(reader, payment))


def _reference_text(message: Message, payment: Payment | None) -> str:
    if payment is not None:
        return payment.reference_text or ""
    return str(json.loads(message.fields).get("reference") or "")


def _line(reader: Reader, message: Message) -> PaymentMethod | None:
    """Return the number that received the message, even if it was deleted since."""
    return reader.first(
        PaymentMethod,
        "SELECT * FROM payment_methods WHERE id = :id",
        {"id": message.payment_method_id},
    )
