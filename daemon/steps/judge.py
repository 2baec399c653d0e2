"""Judge a message from a network's own sender by rules 3, 5 and 6 of decisions.md section 4.

The steps, in this order:

1. A transaction ID that is already known makes the message a duplicate or a conflict.
2. `core.messages.trust` and `core.messages.balance` find the reasons against the message.
3. Its entry in the line's balance chain is written, and earlier entries are updated. A hold that this message resolves
   ends, and the held payment pays now.
4. The message is accepted, or held with a review.

Test messages skip all of this.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from daemon.core.limits import HISTORY_US, SECOND_US
from daemon.core.messages.balance import BalanceCheck, Change, Ruling, decide, is_conclusive, judge
from daemon.core.messages.balance_chain import (
    Absence,
    Entry,
    Gap,
    Standing,
    Why,
    effects_of,
    id_number,
    is_in_chain,
)
from daemon.core.messages.trust import (
    Claim,
    Doubt,
    Facts,
    IdReuse,
    classify_id_reuse,
    concerns_route,
    doubts_about,
    holding_doubts,
    proves_smsc,
)
from daemon.core.model import Message, Payment, Review
from daemon.steps import confirmed_wordings, settle
from daemon.steps.context import Context, Outcome, StoredMessage, microseconds
from daemon.steps.pay import is_imported, open_message_review, pay, reverse, transaction_for
from daemon.store.journal import Notice, add_notice
from daemon.store.messages import balances, messages
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import MessageState, Mode, ReviewReason, TransactionStatus
from parsers import reading as readings
from parsers.money import read_money, render
from parsers.read import PROVIDERS, read
from parsers.reading import normalize_telco_id

UNVERIFIED: Final = "wording_unverified"
"""No genuine message has confirmed this wording yet. The message is shown and never pays without an operator."""


def judge_message(
    context: Context, arrived: StoredMessage, outcome: Outcome, reading: readings.Reading
) -> None:
    """Judge a message from the network's own sender, apply the ruling to earlier messages, and fill in `outcome`."""
    if context.mode is not Mode.LIVE or not is_in_chain(reading):
        _accept_or_hold(context, arrived, outcome, reading, None, [])
        return
    if handle_known_id(context, arrived, outcome, reading):
        return
    ruling, doubts = _judge(context, arrived, reading)
    if ruling.why is Why.ID_TAKEN:
        hold_conflict(context, arrived, outcome, _taken_by(context, arrived, reading))
        return
    apply_ruling(context, ruling)
    notify_gap(context, ruling.entry, warning=ruling.warning)
    _accept_or_hold(context, arrived, outcome, reading, ruling, doubts)


def _judge(
    context: Context, arrived: StoredMessage, reading: readings.Reading
) -> tuple[Ruling, Sequence[Doubt]]:
    """Judge a message among those of its line and store its chain entry."""
    facts = _doubt_facts(context, arrived, reading)
    entries = balances.nearest(context.tx, arrived.chain, arrived.at)
    ruling, doubts = _judge_among(context, arrived, reading, facts, entries)
    if not is_conclusive(entries, ruling):
        entries = balances.entries_around(context.tx, arrived.chain, arrived.at)
        ruling, doubts = _judge_among(context, arrived, reading, facts, entries)
    if ruling.why is Why.ID_TAKEN:
        return ruling, doubts
    balances.add(
        context.tx,
        arrived.chain,
        ruling.entry,
        payment_method_id=arrived.payment_method_id,
        why=ruling.why,
        doubts=doubts,
    )
    new_smsc = arrived.smsc is not None and arrived.smsc not in facts.smscs_known
    if new_smsc and proves_smsc(ruling, doubts):
        balances.learn_smsc(
            context.tx, arrived.sim_key, arrived.smsc or "", arrived.id, context.now
        )
    return ruling, doubts


def _judge_among(
    context: Context,
    arrived: StoredMessage,
    reading: readings.Reading,
    facts: Facts,
    entries: Sequence[Entry],
) -> tuple[Ruling, Sequence[Doubt]]:
    doubts = doubts_about(facts, entries)
    balance = None if isinstance(reading, readings.Unreadable) else reading.balance
    new = balances.new_entry(
        arrived.id,
        at=arrived.at,
        stored_at=arrived.stored_at,
        telco_id=facts.telco_id,
        pays=isinstance(reading, readings.Payment),
        effects=effects_of(reading),
        after=None if balance is None else balance.minor,
        doubted=concerns_route(doubts),
    )
    check = BalanceCheck(context.env.config.trust.balance_check)
    return judge(entries, new, away=_away(context, entries), check=check), doubts


def _doubt_facts(context: Context, arrived: StoredMessage, reading: readings.Reading) -> Facts:
    """Return the facts that the doubts are judged by; an unreadable message has only its route."""
    readable = None if isinstance(reading, readings.Unreadable) else reading
    assert arrived.provider is not None, "a trusted message is of a network that we know"
    return Facts(
        provider=arrived.provider,
        telco_id=own_id(reading),
        sent_at=arrived.sent_at,
        printed_at=None if readable is None else microseconds(readable.printed_at),
        reference=None if readable is None else readable.reference,
        payer_name=None if readable is None else readable.payer_name,
        smsc=arrived.smsc,
        smscs_known=balances.smscs(context.tx, arrived.sim_key),
    )


def _away(context: Context, entries: Sequence[Entry]) -> list[Absence]:
    """Return the times without a modem: before the SIM was first seen, and each absence since.

    SMSC times are whole seconds, so the second in which a modem returns does not count as absence.
    """
    since = min((entry.at for entry in entries), default=context.now)
    history = Absence(0, context.sim.first_seen_at - HISTORY_US)
    absences = balances.absences(context.tx, context.sim.sim_key, since)
    return [
        history,
        *(
            replace(away, until=None if away.until is None else away.until - SECOND_US)
            for away in absences
        ),
    ]


def _accept_or_hold(
    context: Context,
    arrived: StoredMessage,
    outcome: Outcome,
    reading: readings.Reading,
    ruling: Ruling | None,
    doubts: Iterable[Doubt],
) -> None:
    """Accept a message, or hold it and open a review. Do nothing for a message about no money."""
    if not isinstance(reading, readings.Payment | readings.Reversal):
        return
    against: list[str] = [*holding_doubts(doubts, ruling)]
    if reading.unverified and isinstance(reading, readings.Payment):
        # A reversal in such a wording is accepted: to mistrust money by mistake is the safe error.
        against.append(UNVERIFIED)
    if ruling is not None and _is_held(ruling):
        _hold(context, arrived, outcome, reading, ruling, against)
    elif against:
        outcome.state = MessageState.HELD
        outcome.trusted = False
        outcome.reasons = against
        open_message_review(context, arrived.id, ReviewReason.UNTRUSTED_SENDER, {"doubts": against})
    else:
        accept_message(context, arrived, outcome, reading)


def _is_held(ruling: Ruling) -> bool:
    """Return whether a ruling holds the message. A reversal whose balance joins no other is held like a receipt."""
    return ruling.holds or (not ruling.entry.pays and ruling.entry.standing is Standing.UNPROVEN)


def _hold(
    context: Context,
    arrived: StoredMessage,
    outcome: Outcome,
    reading: readings.Payment | readings.Reversal,
    ruling: Ruling,
    against: list[str],
) -> None:
    """Hold a message because of its balance and open a review; the transaction that it names waits for the decision."""
    outcome.state = MessageState.HELD
    outcome.trusted = False
    outcome.reasons = [ReviewReason.BALANCE_BREAK, *against]
    transaction, waits = None, False
    if isinstance(reading, readings.Payment):
        transaction, waits = transaction_for(context, arrived, reading)
    if transaction is not None and waits and not against:
        # An untrusted message never changes a transaction. Only a receipt with the balance as its single doubt does.
        transactions.hold(context.tx, transaction.id, None)
    currency = PROVIDERS[arrived.chain.provider].currency
    details: dict[str, Any] = {
        "why": ruling.why,
        "gaps": [_gap(gap, currency) for gap in ruling.gaps],
    }
    if against:
        details["doubts"] = against
    transaction_id = None if transaction is None else transaction.id
    open_message_review(context, arrived.id, ReviewReason.BALANCE_BREAK, details, transaction_id)


def _gap(gap: Gap, currency: str) -> dict[str, Any]:
    """Return an unaccounted amount as the details of a review show it."""
    return {
        "amount": render(gap.minor, currency),
        "currency": currency,
        "since_message_id": gap.since,
    }


def accept_message(
    context: Context,
    arrived: StoredMessage,
    outcome: Outcome,
    reading: readings.Payment | readings.Reversal,
) -> None:
    """Record a payment and match it, or apply a reversal."""
    if isinstance(reading, readings.Payment):
        pay(context, arrived, outcome, reading)
    else:
        reverse(context, arrived, reading)


def handle_known_id(
    context: Context, arrived: StoredMessage, outcome: Outcome, reading: readings.Reading
) -> bool:
    """Return whether a message with this transaction ID is already known. If so, record it as a duplicate or a conflict."""
    telco_id = own_id(reading)
    if telco_id is None or isinstance(reading, readings.Unreadable):
        return False
    pays = isinstance(reading, readings.Payment)
    payment = None
    if pays:
        found = payments.with_telco_id(context.tx, context.mode, telco_id)
        payment = next((one for one in found if one.provider == arrived.provider), None)
    amount, currency = None, None
    if reading.amount is not None:
        amount, currency = reading.amount.minor, reading.amount.currency
    first = balances.with_id(context.tx, arrived.chain, telco_id)
    if first is not None:
        earlier = _claim(context, first, arrived.sim_key)
        known_as = first.key
    elif payment is not None:
        if is_imported(context.tx, payment):
            # An imported message has no chain entry, so this one gets it. `pay` handles the known ID.
            return False
        earlier = Claim(True, payment.amount_minor, payment.currency, payment.sim_key)
        known_as = payment.message_id
    else:
        return False
    if (
        classify_id_reuse(earlier, Claim(pays, amount, currency, arrived.sim_key))
        is IdReuse.CONFLICT
    ):
        details = {"message_id": known_as}
        hold_conflict(
            context,
            arrived,
            outcome,
            details if payment is None else {"payment_id": payment.id, **details},
        )
        return True
    if payment is not None:
        outcome.payment_id = known_as = payment.id
    if pays:
        outcome.state = MessageState.DUPLICATE
    outcome.reasons = [f"duplicate_of:{known_as}"]
    return True


def own_id(reading: readings.Reading) -> str | None:
    """Return the ID of a message's own transaction, trimmed and in upper case; None if it names none.

    A reversal that only repeats the ID of the payment it takes back has no ID of its own.
    """
    if isinstance(reading, readings.Unreadable) or reading.telco_id is None:
        return None
    if isinstance(reading, readings.Reversal) and reading.telco_id == reading.original_telco_id:
        return None
    return normalize_telco_id(reading.telco_id)


def _claim(context: Context, first: Entry, line: str) -> Claim:
    """Return the claim of the first message with an ID."""
    row = messages.get(context.tx, first.key)
    assert row is not None, "an entry belongs to a message"
    fields = json.loads(row.fields)
    amount = read_money(fields.get("amount") or "", currency=fields.get("currency"))
    if amount is None:
        return Claim(first.pays, None, None, line)
    return Claim(first.pays, amount.minor, amount.currency, line)


def hold_conflict(
    context: Context, arrived: StoredMessage, outcome: Outcome, details: dict[str, Any]
) -> None:
    """Hold a message with another one's transaction ID, and open a review."""
    outcome.state = MessageState.HELD
    outcome.reasons = [ReviewReason.ID_CONFLICT]
    open_message_review(context, arrived.id, ReviewReason.ID_CONFLICT, details)


def _taken_by(
    context: Context, arrived: StoredMessage, reading: readings.Reading
) -> dict[str, Any]:
    """Return the details of a conflict: the id of the message with the same ID in another spelling (leading zeros)."""
    number = id_number(own_id(reading))
    entries = balances.entries_around(context.tx, arrived.chain, arrived.at)
    found = (entry.key for entry in entries if id_number(entry.telco_id) == number)
    return {"message_id": next(found)}


def apply_ruling(context: Context, ruling: Ruling) -> None:
    """Store the changes of a ruling to earlier messages, and act on each."""
    for change in ruling.changes:
        balances.change(context.tx, change.after)
    for change in ruling.changes:
        if change.released or _is_proved(change):
            _end_hold(context, change.after)
        elif change.forged:
            _notify(context, Notice.RECEIPT_FORGED, change.after)
            _release_waiting_for(context, change.after.key)
        elif change.suspect:
            _notify(context, Notice.RECEIPT_SUSPECT, change.after)
        elif change.restored:
            _notify(context, Notice.RECEIPT_RESTORED, change.after)


def _is_proved(change: Change) -> bool:
    """Return whether the change proves a message genuine that pays nothing, such as a reversal."""
    return (
        not change.after.pays
        and change.before.standing is Standing.UNPROVEN
        and change.after.standing is Standing.ACCEPTED
    )


def _end_hold(context: Context, entry: Entry) -> None:
    """Accept a held message after a later one resolved its hold, unless it has other doubts than its balance."""
    notify_gap(context, entry)
    review = reviews.open_for_message(context.tx, entry.key)
    if review is None or review.reason != ReviewReason.BALANCE_BREAK:
        return
    _release_waiting_for(context, entry.key)
    if json.loads(review.details).get("doubts"):
        reviews.set_reason(context.tx, review.id, ReviewReason.UNTRUSTED_SENDER)
        return
    row = messages.get(context.tx, entry.key)
    assert row is not None, "an entry belongs to a message"
    reading = read_again(context, row)
    if not isinstance(reading, readings.Payment | readings.Reversal):
        return
    reviews.close(context.tx, review.id, "superseded", by="momo", now=context.now)
    outcome = Outcome(MessageState.NOT_PAYMENT)
    accept_message(context, StoredMessage.before(row), outcome, reading)
    messages.record_release(context.tx, row.id, outcome.state, outcome.reasons, outcome.payment_id)


def notify_gap(context: Context, entry: Entry, *, warning: bool = False) -> None:
    """Record a notice about the amount that no message accounts for before an accepted message."""
    if warning:
        _notify(context, Notice.BALANCE_WARNING, entry)
    elif entry.gap_minor and entry.standing is Standing.ACCEPTED:
        _notify(context, Notice.MONEY_MISSING, entry)


def _notify(context: Context, notice: Notice, entry: Entry) -> None:
    payment_id = messages.payment_of(context.tx, entry.key)
    paid = None if payment_id is None else transactions.paid_by(context.tx, payment_id)
    network = context.sim.network
    provider = next((one for one in PROVIDERS.values() if one.network == network), None)
    add_notice(
        context.tx,
        notice,
        mode=context.mode,
        now=context.now,
        message_id=entry.key,
        payment_id=payment_id,
        transaction_id=None if paid is None else paid.id,
        data={
            "gap_minor": entry.gap_minor,
            "currency": None if provider is None else provider.currency,
            "telco_id": entry.telco_id,
        },
    )


def apply_decision(context: Context, message_id: str, *, genuine: bool) -> None:
    """Apply an operator's decision to a held message and re-evaluate the later ones."""
    known = balances.of_message(context.tx, message_id)
    undecided = {Standing.HELD, Standing.UNPROVEN, Standing.FORGED} if genuine else {Standing.HELD}
    if known is None or known.entry.standing not in undecided:
        return
    entries = balances.entries_around(context.tx, known.chain, known.entry.at)
    others = [entry for entry in entries if entry.key != message_id]
    ruling = decide([*others, known.entry], message_id, genuine=genuine)
    balances.change(context.tx, ruling.entry, why=Why.PERSON)
    notify_gap(context, ruling.entry)
    apply_ruling(context, ruling)


def accept_reversal(context: Context, row: Message) -> Payment | None:
    """Accept a held reversal on an operator's decision; return the payment that it takes back."""
    reading = read_again(context, row)
    assert isinstance(reading, readings.Reversal), "it was read as one when it came in"
    payment = reverse(context, StoredMessage.before(row), reading)
    messages.record_release(context.tx, row.id, MessageState.NOT_PAYMENT, [], None)
    return payment


def read_again(context: Context, row: Message) -> readings.Reading:
    """Read a stored message of a trusted sender by the rules that applied when it came in."""
    own = context.env.own_wordings.wordings
    reading = read(row.sender, row.body or "", network=context.sim.network, own=own)
    return confirmed_wordings.confirmed_reading(context, row.sender, reading)


def release_waiting(context: Context, review: Review, *, actor: str) -> None:
    """Release the transaction that waits for a message without a payment, unless another such message keeps it waiting."""
    transaction = None
    if review.transaction_id is not None:
        transaction = transactions.get(context.tx, review.transaction_id)
    if (
        transaction is None
        or transaction.status is not TransactionStatus.MANUAL_REVIEW
        or transaction.held_payment_id is not None
    ):
        return
    others = reviews.open_for_transaction(context.tx, transaction.id)
    if not any(other.id != review.id and _holds(context, other) for other in others):
        settle.release(
            context.tx, transaction, review.message_id, None, actor=actor, now=context.now
        )


def _release_waiting_for(context: Context, message_id: str) -> None:
    """Release the transaction that waits for a held message, unless another held message keeps it waiting."""
    review = reviews.open_for_message(context.tx, message_id)
    if review is not None:
        release_waiting(context, review, actor="momo")


def _holds(context: Context, review: Review) -> bool:
    """Return whether a review is about a receipt that is held for its balance."""
    known = balances.of_message(context.tx, review.message_id)
    return known is not None and known.entry.pays and known.entry.standing is Standing.HELD
