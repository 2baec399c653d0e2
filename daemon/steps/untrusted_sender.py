"""Reviews of messages whose sender is not the network's, so that one phone cannot fill the list of reviews.

Each of the first 20 open ones of a sender within an hour has a review of its own; the others share one.
"""

import json
from typing import Final

from daemon.core.limits import HOUR_US
from daemon.core.model import Review
from daemon.steps.context import Context
from daemon.steps.pay import open_message_review
from daemon.store.messages import messages
from daemon.store.payments import reviews
from daemon.wire import ReviewReason

OWN_MAX: Final = 20
"""As for a flood under the network's own name (`steps.judge`)."""


def open_or_share(context: Context, message_id: str, sender: str, doubts: list[str]) -> None:
    """Open a review of a held message, or add it to the review that many messages of its sender share."""
    tx, sim_key = context.tx, context.sim.sim_key
    shared = reviews.open_of_sender_shared(tx, sim_key, sender)
    if shared is not None:
        old = json.loads(shared.details)
        reviews.set_details(tx, shared.id, {**old, "group": old["group"] + 1})
        return
    since = context.now - HOUR_US
    many = reviews.open_of_sender_since(tx, sim_key, sender, since) >= OWN_MAX
    details = {"doubts": doubts, **({"group": 1} if many else {})}
    open_message_review(context, message_id, ReviewReason.UNTRUSTED_SENDER, details)


def decide_others(context: Context, review: Review, *, genuine: bool) -> int:
    """Apply a decision on a shared review to its other messages; return how many it settled.

    A rejection rejects them all. After an approval they wait for a review of their own.
    """
    if not is_shared(review):
        return 0
    if genuine:
        pass_on(context, review)
        return 0
    return messages.reject_without_review(context.tx, review.message_id)


def pass_on(context: Context, review: Review) -> None:
    """Open a review of the other messages that shared a review, which is closed."""
    if not is_shared(review):
        return
    count, first = messages.without_review(context.tx, review.message_id)
    if first is not None:
        details = {"doubts": json.loads(review.details)["doubts"], "group": count}
        open_message_review(context, first, ReviewReason.UNTRUSTED_SENDER, details)


def is_shared(review: Review) -> bool:
    """Return whether several messages of an untrusted sender share a review."""
    return (
        review.reason == ReviewReason.UNTRUSTED_SENDER
        and review.details.startswith('{"doubts"')
        and "group" in json.loads(review.details)
    )
