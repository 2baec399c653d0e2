"""The network took a payment back: say so on it, to those who asked to hear it, and to the owner.

A verified payment is never changed silently and never changes its status: the money was there, the goods may be gone,
and what to do about it is the owner's business (decisions.md section 2, the last row of the table).
"""

from daemon.core.limits import TELCO_CLOCK_AHEAD_US
from daemon.core.model import Payment, Reversal
from daemon.intake.desk import Desk
from daemon.intake.outcome import Arrived
from daemon.store import payments, reversals, transactions
from daemon.store.notices import Notice, tell
from parsers import reading as readings
from parsers.telco_id import normalize_telco_id


def reverse(desk: Desk, arrived: Arrived, read_as: readings.Reversal) -> Payment | None:
    """Attach a trusted reversal to its payment by the original transaction ID, and return that payment.

    It may be matched, unmatched, in review, or not here yet (None): then it is reversed the moment it comes.
    """
    if read_as.original_telco_id is None:
        _tell_unmatched(desk, arrived, read_as)
        return None
    telco_id = normalize_telco_id(read_as.original_telco_id)
    at = arrived.at if arrived.at <= desk.now + TELCO_CLOCK_AHEAD_US else arrived.stored_at
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    reversal = reversals.add(
        desk.tx,
        {
            "message_id": arrived.id,
            "mode": desk.mode,
            "provider": arrived.provider,
            "original_telco_id": telco_id,
            "amount_minor": None if read_as.amount is None else read_as.amount.minor,
            "at": at,
            "created_at": desk.now,
        },
    )
    found = payments.with_telco_id(desk.tx, desk.mode, telco_id)
    payment = next((one for one in found if one.provider == arrived.provider), None)
    if reversal is None:
        return payment
    if payment is None and desk.imported:
        return None  # what an old file takes back may come further down in it
    if payment is None:
        _tell_unmatched(desk, arrived, read_as)
    elif payments.reverse(desk.tx, payment.id, at):
        _attach(desk, payment, reversal)
    return payment


def _attach(desk: Desk, payment: Payment, reversal: Reversal) -> None:
    transaction = transactions.reverse(desk.tx, payment.id, reversal.at)
    if transaction is not None and not desk.imported:
        desk.env.outbox.reverse(desk.tx, transaction, payment, reversal, desk.now)
    about = None if transaction is None else transaction.id
    reversals.tell(
        desk.tx,
        payment,
        transaction_id=about,
        message_id=reversal.message_id,
        now=desk.now,
        taken_back_minor=reversal.amount_minor,
    )


def _tell_unmatched(desk: Desk, arrived: Arrived, read_as: readings.Reversal) -> None:
    amount = read_as.amount
    tell(
        desk.tx,
        Notice.REVERSAL_UNMATCHED,
        mode=desk.mode,
        now=desk.now,
        message_id=arrived.id,
        data={
            "original_telco_id": read_as.original_telco_id,
            "amount_minor": None if amount is None else amount.minor,
            "currency": None if amount is None else amount.currency,
        },
    )
