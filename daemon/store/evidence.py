"""All that is known about what a person is asked, gathered around one review."""

import json
from typing import Final

from daemon.core import near_miss
from daemon.core.chain_shapes import Place
from daemon.core.model import Message, Payment, PaymentMethod, Review
from daemon.core.review_shapes import Evidence
from daemon.store import balances, lists, messages, payments, reviews, transactions
from daemon.store import near_miss as store_near_miss
from daemon.store.engine import Reader
from daemon.store.rows import columns, load_optional
from daemon.wire import Mode, ReviewReason
from parsers.read import PROVIDERS
from parsers.svc_code import candidates

SHOWN_NEAR: Final = 8
"""Messages of the line looked at on each side; a few of them are shown."""


def of_review(reader: Reader, review_id: str, mode: Mode | None, now: int) -> Evidence | None:
    """Return a review with everything around it, None when there is none of that id and mode."""
    review = reviews.get(reader, review_id, mode)
    return None if review is None else _around(reader, review, now)


def page(
    reader: Reader, *, state: str | None, mode: Mode | None, limit: int, offset: int, now: int
) -> tuple[list[Evidence], int]:
    """Return one page of reviews, newest first, and how many there are in all; `state` None is every state."""
    found, total = reviews.page(reader, state=state, mode=mode, limit=limit, offset=offset)
    return [_around(reader, review, now) for review in found], total


def _around(reader: Reader, review: Review, now: int) -> Evidence:
    message = messages.get(reader, review.message_id)
    assert message is not None, "a review belongs to a message"
    payment = None if review.payment_id is None else payments.get(reader, review.payment_id)
    request = None
    if review.transaction_id is not None:
        request = lists.by_id(reader, review.transaction_id, None)
    details = json.loads(review.details)
    other_id = details.get("payment_id")
    # The message behind a payment is the payment's evidence; one that made none is shown itself.
    other_message_id = details.get("message_id") if other_id is None else None
    codes = candidates(_reference_text(message, payment))
    return Evidence(
        review=review,
        message=message,
        line=_line(reader, message),
        payment=payment,
        request=request,
        pays=None if payment is None else transactions.paid_by(reader, payment.id),
        other_payment=None if other_id is None else payments.get(reader, other_id),
        other_message=None if other_message_id is None else messages.get(reader, other_message_id),
        named=tuple(transactions.by_codes_in_use(reader, review.mode, codes, now)),
        suggestions=_suggestions(reader, review, payment),
        place=_place(reader, message),
    )


def _place(reader: Reader, message: Message) -> Place | None:
    known = balances.of_message(reader, message.id)
    if known is None:
        return None
    near = balances.nearest(reader, known.chain, known.entry.at, SHOWN_NEAR)
    return Place(
        known.entry,
        [entry for entry in near if entry.key != known.entry.key],
        known.why,
        known.doubts,
        PROVIDERS[known.chain.provider].currency,
    )


def _suggestions(
    reader: Reader, review: Review, payment: Payment | None
) -> tuple[near_miss.Suggestion, ...]:
    """Return what is suggested now: orders are paid, and made, after the payment came."""
    if payment is None or review.state != reviews.OPEN or review.reason != ReviewReason.NEAR_MISS:
        return ()
    return tuple(store_near_miss.suggestions(reader, payment))


def _reference_text(message: Message, payment: Payment | None) -> str:
    if payment is not None:
        return payment.reference_text or ""
    return str(json.loads(message.fields).get("reference") or "")


def _line(reader: Reader, message: Message) -> PaymentMethod | None:
    """Return the number that the message came to, also when it was deleted since."""
    return load_optional(
        PaymentMethod,
        reader.one(
            f"SELECT {columns(PaymentMethod)} FROM payment_methods WHERE id = :id",
            {"id": message.payment_method_id},
        ),
    )
