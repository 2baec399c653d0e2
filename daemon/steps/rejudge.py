"""Judge held messages again after a genuine message has confirmed their wording (docs/operators/templates.md).

Such a message is in no chain. It is processed as if it came in now, by all rules.
"""

from typing import Final

from daemon.core.model import Message
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps.context import Context
from daemon.steps.judge import read_again
from daemon.steps.process_message import process_message, reload_joined
from daemon.store.engine import Tx
from daemon.store.messages import messages
from daemon.store.messages.messages import Confirmed
from daemon.store.payments import reviews
from parsers.read import provider_of_network
from parsers.reading import Payment, Reversal

BATCH: Final = 50
"""Messages per database transaction. Small, because other writers wait for it."""


def rejudge_held(tx: Tx, env: Env, row: Confirmed, times: Times, after: int = 0) -> int | None:
    """Judge a batch of held messages from the confirmed sender, oldest first.

    Return the position at which the next batch starts; None when all are done.
    """
    provider = provider_of_network(row.network)
    assert provider is not None, "a wording is of a network that we know"
    waiting = messages.held_of_sender(tx, mode=row.mode, provider=provider, sender=row.sender, after=after, limit=BATCH)
    for message in waiting:
        _process_again(Context.for_message(env, tx, message, times), message)
    return waiting[-1].seq if len(waiting) == BATCH else None


def _process_again(context: Context, message: Message) -> None:
    """Process a message again that came from an untrusted sender, or in an unknown wording, before."""
    whole = reload_joined(context, message)
    reading = read_again(context, message)
    review = reviews.open_for_message(context.tx, message.id)
    if whole is None or not isinstance(reading, Payment | Reversal) or reading.unverified:
        return
    if review is not None:
        reviews.close(context.tx, review.id, "superseded", by="momo", now=context.now)
    process_message(context, whole)
    messages.keep_received_at(context.tx, message.id, message.received_at)
