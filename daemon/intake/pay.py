"""Make the payment of a trusted message, and let it pay what it pays."""

from typing import Any

from daemon.core import matching, trust
from daemon.core.ids import time_ordered
from daemon.core.model import Payment, Transaction
from daemon.intake.desk import Desk
from daemon.intake.from_file import take_over
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.parts import microseconds
from daemon.intake.suggest import suggest
from daemon.store import (
    approved_payers,
    payments,
    reversals,
    reviews,
    settle,
    transactions,
)
from daemon.wire import MessageState, Mode, ReviewReason, TransactionStatus
from parsers import reading as readings
from parsers import svc_code
from parsers.telco_id import normalize_telco_id


def pay(desk: Desk, arrived: Arrived, outcome: Outcome, read_as: readings.Payment) -> None:
    """Make the payment of a trusted message, let it pay, and say in `outcome` what became of it."""
    if desk.mode is Mode.LIVE and not desk.imported:
        payments.touch_line(desk.tx, arrived.payment_method_id, arrived.sim_key, desk.now)
    if read_as.telco_id is None:
        outcome.state = MessageState.HELD
        outcome.reasons = [ReviewReason.NO_TELCO_ID]
        ask(desk, arrived.id, ReviewReason.NO_TELCO_ID, {})
        return
    row = _row(desk, arrived, read_as, read_as.telco_id)
    payment = payments.add(desk.tx, row)
    if payment is None:
        _same_id_again(desk, arrived, outcome, row)
        return
    outcome.payment_id = payment.id
    outcome.state = MessageState.PAYMENT
    if payment.reversed_at is not None:
        _came_reversed(desk, payment)
        return
    if payment.historical:
        outcome.state = MessageState.HISTORICAL
        settle.give_holder(desk.tx, desk.env.outbox, payment, rejected=False, now=desk.now)
        return
    _match(desk, outcome, payment)


def request_for(
    desk: Desk, arrived: Arrived, read_as: readings.Payment
) -> tuple[Transaction | None, bool]:
    """Return the request that a held receipt would pay, and whether that one waits for it from now on.

    Only an open request waits, in MANUAL_REVIEW (decisions.md section 2, `balance_break`).
    """
    if read_as.telco_id is None:
        return None, False
    payment = Payment(seq=0, **_row(desk, arrived, read_as, read_as.telco_id))
    if payment.historical:
        return None, False
    decision = _decide(desk, payment)
    if isinstance(decision, matching.WalkIn):
        return None, False
    request = decision.transaction
    waits = request is not None and request.status is TransactionStatus.PENDING
    if isinstance(decision, matching.Verify):
        return request, waits and not decision.late
    return request, waits and decision.moves


def ask(
    desk: Desk,
    message_id: str,
    reason: ReviewReason,
    details: dict[str, Any],
    request_id: str | None = None,
) -> None:
    """Put a message that made no payment before a person; `request_id` is the request that it would pay."""
    review_id = desk.env.new_id()
    reviews.open_review(
        desk.tx,
        review_id=review_id,
        mode=desk.mode,
        reason=reason,
        message_id=message_id,
        transaction_id=request_id,
        details=details,
        now=desk.now,
    )
    about = None if request_id is None else transactions.get(desk.tx, request_id)
    if about is not None:
        desk.env.outbox.review(
            desk.tx, about, None, review_id=review_id, reason=reason, now=desk.now
        )


def _came_reversed(desk: Desk, payment: Payment) -> None:
    """Keep a payment that the network took back before it came here: it pays nothing and is not forwarded."""
    holder = settle.give_holder(desk.tx, desk.env.outbox, payment, rejected=True, now=desk.now)
    reversals.tell(
        desk.tx, payment, transaction_id=holder.id, message_id=payment.message_id, now=desk.now
    )


def _match(desk: Desk, outcome: Outcome, payment: Payment) -> None:
    """Let a payment pay."""
    tx, now, outbox = desk.tx, desk.now, desk.env.outbox
    decision = _decide(desk, payment)
    if isinstance(decision, matching.Verify):
        how = settle.Settlement(
            decision.verdict,
            decision.matched_by,
            decision.late,
            payer_known_by=decision.payer_known_by,
        )
        settle.verify(tx, outbox, decision.transaction, payment, how, now)
    elif isinstance(decision, matching.Hold):
        outcome.state = MessageState.HELD
        outcome.reasons = [*outcome.reasons, decision.reason]
        _wait(desk, payment)
        settle.ask_person(tx, outbox, payment, decision, now)
    else:
        holder = settle.give_holder(tx, outbox, payment, rejected=decision.rejected, now=now)
        if not decision.rejected:
            suggest(desk, payment, holder)


def _wait(desk: Desk, payment: Payment) -> None:
    """Let a payment wait for a person; what has a holder, from a file, is not sent to anybody meanwhile."""
    if transactions.paid_by(desk.tx, payment.id) is None:
        payments.set_standing(desk.tx, payment.id, "review")
    else:
        payments.set_history(desk.tx, payment, historical=True)


def _decide(desk: Desk, payment: Payment) -> matching.Decision:
    codes = svc_code.candidates(payment.reference_text or "")
    coded = transactions.by_codes_in_use(desk.tx, payment.mode, codes, desk.env.sure_us())
    expecting = transactions.expecting(desk.tx, payment.mode, payment.telco_transaction_id)
    return matching.match(
        payment,
        coded,
        expecting,
        late_policy=desk.env.config.transactions.late_policy,
        approved=approved_payers.numbers_of(desk.tx, payment, [*coded, expecting]),
        dated=desk.env.clock_vouched(),
    )


def _same_id_again(desk: Desk, arrived: Arrived, outcome: Outcome, row: dict[str, Any]) -> None:
    """A second trusted message with one ID: the same again, the first a phone read, or something a person must see."""
    others = payments.with_telco_id(desk.tx, desk.mode, row["telco_transaction_id"])
    first = next(other for other in others if other.provider == row["provider"])
    payment = take_over(desk.tx, first, row)
    if payment is not None:
        outcome.payment_id = payment.id
        outcome.state = MessageState.PAYMENT
        _match(desk, outcome, payment)
        return
    same = (
        first.amount_minor == row["amount_minor"]
        and first.currency == row["currency"]
        and first.payment_method_id == row["payment_method_id"]
    )
    if same:
        outcome.state = MessageState.DUPLICATE
        outcome.payment_id = first.id
        outcome.reasons = [f"duplicate_of:{first.id}"]
        return
    outcome.state = MessageState.HELD
    outcome.reasons = [ReviewReason.ID_CONFLICT]
    ask(desk, arrived.id, ReviewReason.ID_CONFLICT, {"payment_id": first.id})


def _row(desk: Desk, arrived: Arrived, read_as: readings.Payment, telco_id: str) -> dict[str, Any]:
    """Return the row of the payment that a message makes, with every column but `seq`."""
    since = desk.sim.first_seen_at
    if desk.line is not None and desk.line.line_created_at is not None:
        since = desk.line.line_created_at
    printed_at = microseconds(read_as.printed_at)
    return {
        "id": time_ordered(desk.env.new_id(), desk.now),
        "mode": desk.mode,
        "provider": arrived.provider,
        "telco_transaction_id": normalize_telco_id(telco_id),
        "telco_id_as_read": telco_id,
        "message_id": arrived.id,
        "payment_method_id": arrived.payment_method_id,
        "sim_key": arrived.sim_key,
        "device_id": arrived.device_id,
        "slot_index": arrived.slot_index,
        "kind": read_as.kind,
        "amount_minor": read_as.amount.minor,
        "currency": read_as.amount.currency,
        "fee_minor": None if read_as.fee is None else read_as.fee.minor,
        "balance_minor": None if read_as.balance is None else read_as.balance.minor,
        "payer_name": read_as.payer_name,
        "payer_phone": read_as.payer_phone,
        "payer_proven": not read_as.payer_phone_typed,
        "reference_text": read_as.reference,
        "telco_at": arrived.at if printed_at is None else printed_at,
        "stored_at": arrived.stored_at,
        # A line that was made by a clock that was ahead was not made later than now.
        "historical": desk.imported or trust.is_history(arrived.sent_at, min(since, desk.now)),
        "standing": "open",
        "reversed_at": None,
    }
