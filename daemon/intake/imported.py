"""Keep a message that came out of a file, such as the backup of an old phone: history, whatever its time says.

A file proves less than a phone: anybody can write one. So it makes payments that are shown, counted and found by their
ID, and nothing else. It matches no request, sends nothing, opens no review but one, and stays out of what is learned
from phones: the chain of balances, the service centres, the line's rhythm (decisions.md section 4, rule 4;
docs/decisions/0039).
"""

from typing import Final

from daemon.core.doubts import counting, text_doubt
from daemon.core.model import Payment
from daemon.intake.desk import Desk
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.pay import ask, pay
from daemon.intake.reverse import reverse
from daemon.intake.twins import own_id
from daemon.intake.weigh import UNVERIFIED
from daemon.store import balances, payments
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers.telco_id import normalize_telco_id

TAKES_BACK_LIVE: Final = "takes_back_a_live_payment"


def keep(desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Reading) -> None:
    """Say what a message of the network's own sender was; fills in `outcome`."""
    if isinstance(reading, readings.Payment):
        _keep_payment(desk, arrived, outcome, reading)
    elif isinstance(reading, readings.Reversal):
        _keep_reversal(desk, arrived, outcome, reading)


def _keep_payment(
    desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Payment
) -> None:
    outcome.state = MessageState.HISTORICAL
    telco_id = own_id(reading)
    against: list[str] = [
        *counting(
            doubt
            for text in (reading.reference, reading.payer_name)
            if (doubt := text_doubt(text)) is not None
        )
    ]
    if telco_id is None:
        against.append(ReviewReason.NO_TELCO_ID)
    if reading.unverified:
        against.append(UNVERIFIED)
    if telco_id is None or against:
        outcome.trusted = False
        outcome.reasons = against
        return
    payment = _payment(desk, arrived, telco_id)
    told_by = balances.with_id(desk.tx, arrived.chain, telco_id)
    if payment is not None:
        outcome.payment_id = payment.id
        _tell_apart(outcome, payment, reading)
    elif told_by is not None:
        # A phone read it and it is held: what becomes of it is not this file's to say.
        outcome.state = MessageState.DUPLICATE
        outcome.reasons = [f"duplicate_of:{told_by.key}"]
    else:
        pay(desk, arrived, outcome, reading)


def _tell_apart(outcome: Outcome, payment: Payment, reading: readings.Payment) -> None:
    """Say whether a payment with a known ID is the same again; of another one there is nothing to decide any more."""
    same = (payment.amount_minor, payment.currency) == (
        reading.amount.minor,
        reading.amount.currency,
    )
    if same:
        outcome.state = MessageState.DUPLICATE
        outcome.reasons = [f"duplicate_of:{payment.id}"]
    else:
        outcome.payment_id = None
        outcome.trusted = False
        outcome.reasons = [ReviewReason.ID_CONFLICT]


def _keep_reversal(
    desk: Desk, arrived: Arrived, outcome: Outcome, reading: readings.Reversal
) -> None:
    """Take back a payment that is history too; one that a phone read is put before a person first."""
    original = reading.original_telco_id
    payment = None if original is None else _payment(desk, arrived, normalize_telco_id(original))
    if payment is not None and not payment.historical and payment.reversed_at is None:
        outcome.state = MessageState.HELD
        outcome.trusted = False
        outcome.reasons = [TAKES_BACK_LIVE]
        ask(desk, arrived.id, ReviewReason.UNTRUSTED_SENDER, {"doubts": [TAKES_BACK_LIVE]})
        return
    outcome.state = MessageState.HISTORICAL
    reverse(desk, arrived, reading)


def _payment(desk: Desk, arrived: Arrived, telco_id: str) -> Payment | None:
    found = payments.with_telco_id(desk.tx, desk.mode, telco_id)
    return next((one for one in found if one.provider == arrived.provider), None)
