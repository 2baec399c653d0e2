"""Judge again what was held because no genuine message had confirmed its wording, when one has (docs/templates.md).

A message whose sender was a stranger then is concluded as if it came in now, by all the rules. One whose sender was known
has its place in the chain of balances already: only that one doubt falls, and it is believed if none is left.
"""

import json
from typing import Final

from daemon.core.balance_line import Standing
from daemon.core.model import Message, Review
from daemon.env import Env
from daemon.intake.conclude import conclude
from daemon.intake.desk import Desk
from daemon.intake.follow import believe, read_again
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.parts import whole_again
from daemon.intake.weigh import UNVERIFIED
from daemon.store import balances, messages, reviews
from daemon.store.confirmed import Confirmed
from daemon.store.engine import Tx
from daemon.wire import MessageState, ReviewReason
from parsers.read import provider_of_network
from parsers.reading import Payment, Reversal

BATCH: Final = 50
"""Messages in one transaction; others wait for it, so it is short."""


def judge_again(tx: Tx, env: Env, row: Confirmed, now: int, after: int = 0) -> int | None:
    """Judge a batch of what is held from the confirmed sender, oldest first; returns where the next one goes on."""
    provider = provider_of_network(row.network)
    assert provider is not None, "a wording is of a network that we know"
    waiting = reviews.doubtful_of_sender(
        tx, mode=row.mode, provider=provider, sender=row.sender, after=after, limit=BATCH
    )
    for review in waiting:
        message = messages.get(tx, review.message_id)
        assert message is not None, "a review belongs to a message"
        desk = Desk.lay_again(env, tx, message, now)
        if balances.of_message(tx, message.id) is None:
            _conclude_again(desk, message, review)
        else:
            _drop_doubt(desk, message, review)
    return waiting[-1].seq if len(waiting) == BATCH else None


def _conclude_again(desk: Desk, message: Message, review: Review) -> None:
    """Take a stranger's message in as the network's own."""
    whole = whole_again(desk, message)
    reading = read_again(desk, message)
    if whole is None or not isinstance(reading, Payment | Reversal) or reading.unverified:
        return
    reviews.close(desk.tx, review.id, "superseded", by="momo", now=desk.now)
    conclude(desk, whole)
    messages.keep_received_at(desk.tx, message.id, message.received_at)


def _drop_doubt(desk: Desk, message: Message, review: Review) -> None:
    """Take back that the wording is unproven; what is left against the message keeps it where it is."""
    reading, details = read_again(desk, message), json.loads(review.details)
    if (
        UNVERIFIED not in details.get("doubts", ())
        or not isinstance(reading, Payment | Reversal)
        or reading.unverified
    ):
        return
    left = [doubt for doubt in details.pop("doubts") if doubt != UNVERIFIED]
    known = balances.of_message(desk.tx, message.id)
    sound = known is not None and known.entry.standing in {Standing.ACCEPTED, Standing.NOTED}
    if sound and not left and review.reason == ReviewReason.UNTRUSTED_SENDER:
        reviews.close(desk.tx, review.id, "superseded", by="momo", now=desk.now)
        outcome = Outcome(MessageState.NOT_PAYMENT)
        believe(desk, Arrived.before(message), outcome, reading)
        messages.settle(desk.tx, message.id, outcome.state, outcome.reasons, outcome.payment_id)
    elif left or review.reason == ReviewReason.BALANCE_BREAK:
        # Without a doubt beside its balance, the next message of the line may end the hold (`daemon.intake.follow`).
        reviews.now_says(desk.tx, review.id, {**details, "doubts": left} if left else details)
