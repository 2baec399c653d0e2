"""What a judgement changes for earlier messages of the line: holds that end, forgeries that show, amounts that are named."""

import json

from daemon.core.balance import Change, Ruling
from daemon.core.balance_line import Entry, Standing
from daemon.core.model import Message, Payment, Review
from daemon.intake import vouched
from daemon.intake.desk import Desk
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.pay import pay
from daemon.intake.reverse import reverse
from daemon.store import balances, messages, reviews, settle, transactions
from daemon.store.notices import Notice, tell
from daemon.wire import MessageState, ReviewReason, TransactionStatus
from parsers import reading as readings
from parsers.read import PROVIDERS, read


def follow(desk: Desk, ruling: Ruling) -> None:
    """Write down what is different about earlier messages now, and act on it."""
    for change in ruling.changes:
        balances.change(desk.tx, change.after)
    for change in ruling.changes:
        if change.released or _is_proved(change):
            _release(desk, change.after)
        elif change.forged:
            _tell_of(desk, Notice.RECEIPT_FORGED, change.after)
            _let_go(desk, change.after.key)
        elif change.suspect:
            _tell_of(desk, Notice.RECEIPT_SUSPECT, change.after)
        elif change.restored:
            _tell_of(desk, Notice.RECEIPT_RESTORED, change.after)


def _is_proved(change: Change) -> bool:
    """Say whether a message that pays nothing, such as a reversal, is shown to be genuine."""
    return (
        not change.after.pays
        and change.before.standing is Standing.UNPROVEN
        and change.after.standing is Standing.ACCEPTED
    )


def _release(desk: Desk, entry: Entry) -> None:
    """A hold has ended by itself: what was held is believed now, unless more than its balance spoke against it."""
    tell_gap(desk, entry)
    review = reviews.open_for_message(desk.tx, entry.key)
    if review is None or review.reason != ReviewReason.BALANCE_BREAK:
        return
    _let_go(desk, entry.key)
    if json.loads(review.details).get("doubts"):
        reviews.now_about(desk.tx, review.id, ReviewReason.UNTRUSTED_SENDER)
        return
    row = messages.get(desk.tx, entry.key)
    assert row is not None, "an entry belongs to a message"
    reading = read_again(desk, row)
    if not isinstance(reading, readings.Payment | readings.Reversal):
        return
    reviews.close(desk.tx, review.id, "superseded", by="momo", now=desk.now)
    outcome = Outcome(MessageState.NOT_PAYMENT)
    believe(desk, Arrived.before(row), outcome, reading)
    messages.settle(desk.tx, row.id, outcome.state, outcome.reasons, outcome.payment_id)


def read_again(desk: Desk, row: Message) -> readings.Reading:
    """Read a stored message of a trusted sender as it was read when it came in."""
    own = desk.env.own.wordings
    reading = read(row.sender, row.body or "", network=desk.sim.network, own=own)
    return vouched.settled(desk, row.sender, reading)


def _let_go(desk: Desk, message_id: str) -> None:
    """Let the request go that waits for a held message; another one may hold it still."""
    review = reviews.open_for_message(desk.tx, message_id)
    if review is not None:
        let_go(desk, review, actor="momo")


def let_go(desk: Desk, review: Review, *, actor: str) -> None:
    """Put the request back that waits for a message which made no payment, unless another such message holds it."""
    request = None
    if review.transaction_id is not None:
        request = transactions.get(desk.tx, review.transaction_id)
    if (
        request is None
        or request.status is not TransactionStatus.MANUAL_REVIEW
        or request.held_payment_id is not None
    ):
        return
    others = reviews.open_for_transaction(desk.tx, request.id)
    if not any(other.id != review.id and _holds(desk, other) for other in others):
        settle.release(desk.tx, request, review.message_id, None, actor=actor, now=desk.now)


def _holds(desk: Desk, review: Review) -> bool:
    """Say whether a review is about a receipt that its balance holds now."""
    known = balances.of_message(desk.tx, review.message_id)
    return known is not None and known.entry.pays and known.entry.standing is Standing.HELD


def take_reversal(desk: Desk, row: Message) -> Payment | None:
    """Believe a reversal that was held, because a person says so; returns the payment that it takes back."""
    reading = read_again(desk, row)
    assert isinstance(reading, readings.Reversal), "it was read as one when it came in"
    payment = reverse(desk, Arrived.before(row), reading)
    messages.settle(desk.tx, row.id, MessageState.NOT_PAYMENT, [], None)
    return payment


def believe(
    desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Payment | readings.Reversal
) -> None:
    """Let a payment pay, or a reversal take back."""
    if isinstance(reading, readings.Payment):
        pay(desk, arrived, outcome, reading)
    else:
        reverse(desk, arrived, reading)


def tell_gap(desk: Desk, entry: Entry, *, warning: bool = False) -> None:
    """Name the amount that no message accounts for in front of one that is believed."""
    if warning:
        _tell_of(desk, Notice.BALANCE_WARNING, entry)
    elif entry.gap_minor and entry.standing is Standing.ACCEPTED:
        _tell_of(desk, Notice.MONEY_MISSING, entry)


def _tell_of(desk: Desk, notice: Notice, entry: Entry) -> None:
    payment_id = messages.payment_of(desk.tx, entry.key)
    paid = None if payment_id is None else transactions.paid_by(desk.tx, payment_id)
    network = desk.sim.network
    provider = next((one for one in PROVIDERS.values() if one.network == network), None)
    tell(
        desk.tx,
        notice,
        mode=desk.mode,
        now=desk.now,
        message_id=entry.key,
        payment_id=payment_id,
        transaction_id=None if paid is None else paid.id,
        data={
            "gap_minor": entry.gap_minor,
            "currency": None if provider is None else provider.currency,
            "telco_id": entry.telco_id,
        },
    )
