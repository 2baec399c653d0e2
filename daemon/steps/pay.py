"""Record the payment of a trusted message and match it, or apply a reversal.

A reversal does not change the status of a verified payment: the money was there and the goods may be gone. The webhooks are
sent, and the owner decides about the consequences.
"""

from collections.abc import Sequence
from typing import Any, Final

from daemon.core.ids import payment_id
from daemon.core.inputs import MessageOutcome
from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance_chain import Standing
from daemon.core.model import Payment, Reversal, Transaction
from daemon.core.payments import matching
from daemon.core.payments.reviews import is_history
from daemon.core.upkeep.clock_check import Times
from daemon.env import Env
from daemon.steps import hand_up, settle
from daemon.steps.context import Context, StoredMessage, microseconds
from daemon.steps.suggest import suggest
from daemon.store.engine import Reader, Tx
from daemon.store.journal import Notice, add_notice
from daemon.store.lines import devices
from daemon.store.messages import balances, messages
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import MessageState, Mode, ReviewReason, TransactionStatus
from parsers import reading as readings
from parsers import svc_code
from parsers.reading import normalize_telco_id

TELCO_CLOCK_AHEAD_US: Final = 10 * MINUTE_US
"""A network time further ahead of ours than this is ignored."""
OPEN_MAX: Final = 20
"""The most open reviews of messages of one sender within an hour."""


def pay(context: Context, arrived: StoredMessage, outcome: MessageOutcome, read_as: readings.Payment) -> None:
    """Record the payment of a trusted message, match it, and fill in `outcome`."""
    if not context.imported:
        payments.record_line_activity(context.tx, arrived.payment_method_id, arrived.sim_key, context.now)
    if context.mode is Mode.TEST:
        devices.see_sandbox(context.tx, context.now, arrived.device_id)
    if read_as.telco_id is None:
        outcome.state = MessageState.HELD
        outcome.reasons = [ReviewReason.NO_TELCO_ID]
        open_message_review(context, arrived.id, ReviewReason.NO_TELCO_ID, {})
        return
    row = _row(context, arrived, read_as, read_as.telco_id)
    decision = None
    if not row["historical"]:
        # Matched before it is stored, so that its standing is written once.
        decision = _decide(context, Payment(seq=0, **row))
        row["standing"] = _STANDINGS.get(type(decision), "open")
        if context.env.place.hands_up(decision, row["reference_text"]):
            row["standing"] = hand_up.STANDING
    # An older message may have had a payment before, whose approval was taken back.
    fresh = arrived.stored_at == context.now
    payment = payments.add(context.tx, row, again=not fresh)
    if payment is None:
        _handle_known_id(context, arrived, outcome, row)
        return
    outcome.payment_id = payment.id
    outcome.state = MessageState.PAYMENT
    if payment.reversed_at is not None:
        payments.set_standing(context.tx, payment.id, "open")
        _keep_reversed(context, payment)
        return
    if decision is None:
        outcome.state = MessageState.HISTORICAL
        how = settle.Holding(fresh=fresh)
        settle.add_holder(context.tx, context.env.outbox, payment, how, context.now)
        _tell_old(context, arrived, payment)
        return
    if payment.standing == hand_up.STANDING:
        hand_up.hand_up(context.tx, payment, actor="momo", now=context.now)
        return
    _carry_out(context, outcome, payment, decision, fresh=fresh)


def _tell_old(context: Context, arrived: StoredMessage, payment: Payment) -> None:
    """Tell a receipt that counts as history although its number was set up long ago."""
    # Old messages on a SIM are read when it is set up. One that comes later may be new, with a wrong time.
    if not context.imported and context.now - context.since > OLD_RECEIPT_US:
        data = {
            "telco_transaction_id": payment.telco_id_as_read,
            "amount_minor": payment.amount_minor,
            "currency": payment.currency,
        }
        add_notice(
            context.tx, Notice.RECEIPT_OLD, context.now, payment, message_id=arrived.id, mode=context.mode, data=data
        )


OLD_RECEIPT_US: Final = DAY_US
"""A receipt that counts as history is told if its number was set up longer ago."""
_STANDINGS: Final = {matching.Verify: "used", matching.Hold: "review"}
"""The standing of a new payment by the decision about it, if it is not open."""


def _row(context: Context, arrived: StoredMessage, read_as: readings.Payment, telco_id: str) -> dict[str, Any]:
    """Return the row of a message's payment, with every column but `seq`."""
    printed_at = microseconds(read_as.printed_at)
    return {
        "id": payment_id(context.env.account_key, arrived.id),
        "mode": context.mode,
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
        "historical": context.imported or context.is_history(arrived.sent_at),
        "standing": "open",
        "reversed_at": None,
    }


def _carry_out(
    context: Context, outcome: MessageOutcome, payment: Payment, decision: matching.Decision, *, fresh: bool = False
) -> None:
    """Carry out the decision about a payment; `fresh` is as in `settle.Settlement`."""
    tx, now, outbox = context.tx, context.now, context.env.outbox
    method = context.line if payment.payment_method_id == context.line_id else None
    if isinstance(decision, matching.Verify):
        how = settle.Settlement(
            decision.verdict,
            decision.matched_by,
            decision.late,
            payer_known_by=decision.payer_known_by,
            fresh=fresh,
            referred=not fresh,
            method=method,
        )
        settle.verify(tx, outbox, decision.transaction, payment, how, now)
    elif isinstance(decision, matching.Hold):
        outcome.state = MessageState.HELD
        outcome.reasons = [*outcome.reasons, decision.reason]
        if not fresh:
            _hold_payment(context, payment)
        settle.open_payment_review(tx, outbox, payment, decision, now)
    else:
        holding = settle.Holding(rejected=decision.rejected, fresh=fresh, method=method)
        holder = settle.add_holder(tx, outbox, payment, holding, now)
        if not decision.rejected:
            suggest(context, payment, holder)


def settle_released(env: Env, tx: Tx, payment: Payment, times: Times) -> None:
    """Match a payment that is free again, as if it had come now; it is not handed up again.

    History, and one that the network has taken back meanwhile, pays no transaction and is not forwarded. One whose SMS is not
    here, because it came back from the hub alone, is history: a stolen key could have made it up.
    """
    if not payments.has_sms(tx, payment.id):
        payment = payments.set_historical(tx, payment, historical=True)
    if payment.reversed_at is not None or payment.historical:
        how = settle.Holding(rejected=payment.reversed_at is not None)
        settle.add_holder(tx, env.outbox, payment, how, times.wall_us)
        return
    message = messages.get(tx, payment.message_id)
    assert message is not None, "a payment belongs to a message"
    context, outcome = Context.for_message(env, tx, message, times), MessageOutcome(MessageState.PAYMENT)
    _carry_out(context, outcome, payment, _decide(context, payment))


def _decide(context: Context, payment: Payment) -> matching.Decision:
    codes = svc_code.candidates(payment.reference_text or "")
    now = context.times.lower_bound_us
    coded = transactions.by_codes_in_use(context.tx, payment.mode, codes, now)
    expecting = transactions.expecting(context.tx, payment.mode, payment.telco_transaction_id)
    return matching.match(
        payment,
        coded,
        expecting,
        late_policy=context.env.config.transactions.late_policy,
        approved=payments.approved_numbers(context.tx, payment, [*coded, expecting]),
        dated=context.times.confirmed,
    )


def _hold_payment(context: Context, payment: Payment) -> None:
    """Hold a payment for review; one that already has a holder (from an import) counts as history until the decision."""
    if transactions.paid_by(context.tx, payment.id) is None:
        payments.set_standing(context.tx, payment.id, "review")
    else:
        payments.set_historical(context.tx, payment, historical=True)


def _handle_known_id(context: Context, arrived: StoredMessage, outcome: MessageOutcome, row: dict[str, Any]) -> None:
    """Handle a second trusted message with one ID: make an imported payment live, record a duplicate, or open a review."""
    others = payments.with_telco_id(context.tx, context.mode, row["telco_transaction_id"])
    first = next(other for other in others if other.provider == row["provider"])
    payment = make_live(context.tx, first, row)
    if payment is not None:
        outcome.payment_id = payment.id
        outcome.state = MessageState.PAYMENT
        _carry_out(context, outcome, payment, _decide(context, payment))
        return
    same = (
        first.amount_minor == row["amount_minor"]
        and first.currency == row["currency"]
        and first.payment_method_id == row["payment_method_id"]
        and (first.balance_minor == row["balance_minor"] or is_proved(context.tx, first))
    )
    if same:
        outcome.payment_id = first.id
        if payments.has_sms(context.tx, first.id):
            outcome.state = MessageState.DUPLICATE
            outcome.reasons = [f"duplicate_of:{first.id}"]
            return
        # It came back from the hub alone, and this is its SMS.
        outcome.state = MessageState.PAYMENT
        messages.record_release(
            context.tx, first.message_id, MessageState.DUPLICATE, [f"duplicate_of:{first.id}"], first.id
        )
        payments.set_message(context.tx, first.id, arrived.id)
        return
    outcome.state = MessageState.HELD
    outcome.reasons = [ReviewReason.ID_CONFLICT]
    open_message_review(context, arrived.id, ReviewReason.ID_CONFLICT, {"payment_id": first.id})


def is_proved(reader: Reader, payment: Payment) -> bool:
    """Return whether the balance chain has no doubt about a payment's message, or does not know it."""
    known = balances.of_message(reader, payment.message_id)
    return known is None or known.entry.standing is Standing.ACCEPTED


def is_unconfirmed_history(reader: Reader, payment: Payment) -> bool:
    """Return whether only a person with the password may let a payment pay (`daemon.core.payments.reviews.is_history`)."""
    if payment.decided_here and not payments.has_sms(reader, payment.id):
        return True
    return payment.historical and is_history(payment, messages.get(reader, payment.message_id))


def is_without_phone(reader: Reader, payment: Payment) -> bool:
    """Return whether no phone here has read a payment: an imported message made it, or it came back from the hub alone."""
    row = messages.get(reader, payment.message_id) if payment.historical else None
    return not payments.has_sms(reader, payment.id) or (row is not None and row.imported)


def make_live(tx: Tx, first: Payment, row: dict[str, Any]) -> Payment | None:
    """Replace the values of a payment that no phone here had read by those that one has read now.

    Return it, or None if that is no longer allowed. `first` is the payment with the message's transaction ID, `row` the one
    that the phone's message would make.
    """
    same = all(getattr(first, name) == row[name] for name in ("amount_minor", "currency", "payment_method_id"))
    free = first.standing == "open" and first.reversed_at is None
    if not (same and free and not row["historical"] and is_without_phone(tx, first)):
        return None
    messages.record_release(tx, first.message_id, MessageState.DUPLICATE, [f"duplicate_of:{first.id}"], first.id)
    return payments.overwrite_imported(tx, first.id, row)


def _keep_reversed(context: Context, payment: Payment) -> None:
    """Keep a payment that was reversed before it came. It pays no transaction and is not forwarded."""
    how = settle.Holding(rejected=True)
    holder = settle.add_holder(context.tx, context.env.outbox, payment, how, context.now)
    payments.record_reversal(
        context.tx, payment, transaction_id=holder.id, message_id=payment.message_id, now=context.now
    )


def transaction_for(
    context: Context, arrived: StoredMessage, read_as: readings.Payment
) -> tuple[Transaction | None, bool]:
    """Return the transaction that a held receipt would pay, and whether it waits for the receipt from now on.

    Only an open transaction waits, in MANUAL_REVIEW.
    """
    if read_as.telco_id is None:
        return None, False
    payment = Payment(seq=0, **_row(context, arrived, read_as, read_as.telco_id))
    if payment.historical:
        return None, False
    decision = _decide(context, payment)
    if isinstance(decision, matching.Unmatched):
        return None, False
    transaction = decision.transaction
    waits = transaction is not None and transaction.status is TransactionStatus.PENDING
    if isinstance(decision, matching.Verify):
        return transaction, waits and not decision.late
    return transaction, waits and decision.moves


def open_message_review(
    context: Context,
    message_id: str,
    reason: ReviewReason,
    details: dict[str, Any],
    transaction_id: str | None = None,
    *,
    tell: bool = True,
) -> None:
    """Open a review for a message without a payment; `details` are facts for the operator.

    `tell` sends `transaction.review_required` for the transaction that the message would pay; not for an untrusted
    message, which any phone can send.
    """
    review_id = context.env.new_id()
    reviews.open_review(
        context.tx,
        review_id=review_id,
        mode=context.mode,
        reason=reason,
        message_id=message_id,
        transaction_id=transaction_id,
        details=details,
        now=context.now,
    )
    about = None if transaction_id is None else transactions.get(context.tx, transaction_id)
    if about is not None and tell:
        context.env.outbox.review(context.tx, about, None, review_id=review_id, reason=reason, now=context.now)


def review_sender(
    context: Context, message_id: str, sender: str | None, reason: ReviewReason, doubts: Sequence[str] = ()
) -> None:
    """Open a review of a message of a sender, or in a wording, that is not known yet, or of parts that have rivals.

    Beside so many open ones of the sender within an hour it is only listed: what a person decides about those decides it too.
    """
    since = context.now - HOUR_US
    if reviews.open_of_sender_since(context.tx, context.sim.sim_key, sender or "", since) < OPEN_MAX:
        details = {"doubts": list(doubts)} if doubts else {}
        tell = reason is not ReviewReason.AMBIGUOUS_PARTS
        open_message_review(context, message_id, reason, details, tell=tell)


def reverse(context: Context, arrived: StoredMessage, read_as: readings.Reversal) -> Payment | None:
    """Attach a trusted reversal to its payment by the original transaction ID, and return that payment.

    The payment may be matched, unmatched or in review. If it has not come yet, return None; it is reversed when it comes.
    """
    if read_as.original_telco_id is None:
        _notify_unmatched(context, arrived, read_as)
        return None
    telco_id = normalize_telco_id(read_as.original_telco_id)
    at = arrived.at if arrived.at <= context.now + TELCO_CLOCK_AHEAD_US else arrived.stored_at
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    reversal = payments.add_reversal(
        context.tx,
        {
            "message_id": arrived.id,
            "mode": context.mode,
            "provider": arrived.provider,
            "original_telco_id": telco_id,
            "amount_minor": None if read_as.amount is None else read_as.amount.minor,
            "at": at,
            "created_at": context.now,
        },
    )
    payment = reversed_payment(context, arrived, read_as)
    if reversal is None:
        return payment
    if payment is None and context.imported:
        return None  # the reversed payment may come further down in an old file
    if payment is None:
        _notify_unmatched(context, arrived, read_as)
    elif payments.reverse(context.tx, payment.id, at):
        _attach(context, payment, reversal)
    return payment


def reversed_payment(context: Context, arrived: StoredMessage, read_as: readings.Reversal) -> Payment | None:
    """Return the payment that a reversal names; None if it names none, or it has not come yet."""
    telco_id = normalize_telco_id(read_as.original_telco_id or "")
    found = payments.with_telco_id(context.tx, context.mode, telco_id)
    return next((one for one in found if one.provider == arrived.provider), None)


def _attach(context: Context, payment: Payment, reversal: Reversal) -> None:
    transaction = transactions.reverse(context.tx, payment.id, reversal.at)
    if transaction is not None and not context.imported:
        context.env.outbox.reverse(context.tx, transaction, payment, reversal, context.now)
    about = None if transaction is None else transaction.id
    # Money that is gone settles nothing: the order that it settled is short again.
    settled = None if transaction is None else transactions.get(context.tx, transaction.settles or "")
    if settled is not None:
        settle.unsettle(context.tx, context.env.outbox, settled, actor="momo", now=context.now)
    payments.record_reversal(
        context.tx,
        payment,
        transaction_id=about,
        message_id=reversal.message_id,
        now=context.now,
        taken_back_minor=reversal.amount_minor,
        **({} if settled is None else {"settled": settled.svc_code}),
    )


def _notify_unmatched(context: Context, arrived: StoredMessage, read_as: readings.Reversal) -> None:
    amount = read_as.amount
    data = {
        "original_telco_id": read_as.original_telco_id,
        "amount_minor": None if amount is None else amount.minor,
        "currency": None if amount is None else amount.currency,
    }
    add_notice(context.tx, Notice.REVERSAL_UNMATCHED, context.now, message_id=arrived.id, mode=context.mode, data=data)
