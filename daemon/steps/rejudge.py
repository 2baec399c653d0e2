"""Judge held messages again after a genuine message has confirmed their wording (docs/operators/templates.md).

Such a message is in no chain. It is processed as if it came in now, by all rules.
"""

from typing import Final

from daemon.core.model import Message, Review
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.judge import pass_on_flood, read_again
from daemon.steps.process_message import process_message, reload_joined
from daemon.store.engine import Tx
from daemon.store.messages import balances, messages
from daemon.store.messages.messages import Confirmed
from daemon.store.payments import reviews
from parsers.read import provider_of_network
from parsers.reading import Payment, Reversal

BATCH: Final = 50
"""Messages per database transaction. Small, because other writers wait for it."""


def rejudge_held(tx: Tx, env: Env, row: Confirmed, times: Times, after: int = 0) -> int | None:
    """Judge a batch of held messages from the confirmed sender, oldest first.

    Returns:
        The position at which the next batch starts; None when all are done.
    """
    provider = provider_of_network(row.network)
    assert provider is not None, "a wording is of a network that we know"
    waiting = reviews.doubtful_of_sender(
        tx, mode=row.mode, provider=provider, sender=row.sender, after=after, limit=BATCH
    )
    for review in waiting:
        message = messages.get(tx, review.message_id)
        assert message is not None, "a review belongs to a message"
        context = Context.for_message(env, tx, message, times)
        if balances.of_message(tx, message.id) is None:
            _process_again(context, message, review)
    # Also after a small batch: when a shared review is closed, its other messages get a new one.
    return waiting[-1].seq if waiting else None


def _process_again(context: Context, message: Message, review: Review) -> None:
    """Process a message again that came from an untrusted sender before."""
    whole = reload_joined(context, message)
    reading = read_again(context, message)
    if whole is None or not isinstance(reading, Payment | Reversal) or reading.unverified:
        return
    reviews.close(context.tx, review.id, "superseded", by="momo", now=context.now)
    pass_on_flood(context, review)
    process_message(context, whole)
    messages.keep_received_at(context.tx, message.id, message.received_at)
