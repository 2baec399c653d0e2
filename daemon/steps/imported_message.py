"""Keep an imported message, such as one from the backup of an old phone, as history.

A file proves less than a phone, because it is easily forged. So an imported payment is shown, counted and found by its
ID, and no more: it matches no transaction, sends no webhook, and opens at most one kind of review. It adds nothing to
the data learned from phones: the balance chain, the service centres, the line's rhythm (docs/decisions/0025).
"""

from typing import Final

from daemon.core.inputs import MessageOutcome
from daemon.core.messages.trust import text_doubt
from daemon.core.model import Payment
from daemon.steps.context import Context, StoredMessage
from daemon.steps.judge import own_id, wording_doubts
from daemon.steps.pay import open_message_review, pay, reverse
from daemon.store.messages import balances
from daemon.store.payments import payments
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers.reading import normalize_telco_id

REVERSES_LIVE_PAYMENT: Final = "takes_back_a_live_payment"


def keep_imported(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reading) -> None:
    """Record an imported message from the network's own sender; fill in `outcome`."""
    if isinstance(reading, readings.Payment):
        _keep_payment(context, arrived, outcome, reading)
    elif isinstance(reading, readings.Reversal):
        _keep_reversal(context, arrived, outcome, reading)


def _keep_payment(context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Payment) -> None:
    outcome.state = MessageState.HISTORICAL
    telco_id = own_id(reading)
    against: list[str] = [
        doubt for text in (reading.reference, reading.payer_name) if (doubt := text_doubt(text)) is not None
    ]
    if telco_id is None:
        against.append(ReviewReason.NO_TELCO_ID)
    against += wording_doubts(reading)
    if telco_id is None or against:
        outcome.trusted = False
        outcome.reasons = against
        return
    payment = _payment(context, arrived, telco_id)
    known = balances.with_id(context.tx, arrived.chain, telco_id)
    if payment is not None:
        same = (payment.amount_minor, payment.currency) == (reading.amount.minor, reading.amount.currency)
        if same:
            outcome.state, outcome.payment_id = MessageState.DUPLICATE, payment.id
            outcome.reasons = [f"duplicate_of:{payment.id}"]
        else:  # a conflict, which opens no review
            outcome.trusted, outcome.reasons = False, [ReviewReason.ID_CONFLICT]
    elif known:
        # A phone read this payment and it is held. The file must not decide it.
        outcome.state = MessageState.DUPLICATE
        outcome.reasons = [f"duplicate_of:{known[0].key}"]
    else:
        pay(context, arrived, outcome, reading)


def _keep_reversal(
    context: Context, arrived: StoredMessage, outcome: MessageOutcome, reading: readings.Reversal
) -> None:
    """Reverse a payment that is history too. Hold the reversal of a payment that a phone read, and open a review."""
    original = reading.original_telco_id
    payment = None if original is None else _payment(context, arrived, normalize_telco_id(original))
    if payment is not None and not payment.historical and payment.reversed_at is None:
        outcome.state = MessageState.HELD
        outcome.trusted = False
        outcome.reasons = [REVERSES_LIVE_PAYMENT]
        open_message_review(context, arrived.id, ReviewReason.DOUBTFUL_MESSAGE, {"doubts": [REVERSES_LIVE_PAYMENT]})
        return
    outcome.state = MessageState.HISTORICAL
    reverse(context, arrived, reading)


def _payment(context: Context, arrived: StoredMessage, telco_id: str) -> Payment | None:
    found = payments.with_telco_id(context.tx, context.mode, telco_id)
    return next((one for one in found if one.provider == arrived.provider), None)
