"""Say what a whole message is, and let a trusted payment pay what it pays."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from daemon.core import matching, trust
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.core.model import Payment
from daemon.intake.desk import Desk
from daemon.intake.parts import Unread, Whole, microseconds
from daemon.modem.pdu_fields import SenderType
from daemon.store import events, messages, payments, reviews, settle, transactions
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers import svc_code
from parsers.read import PROVIDERS, provider_of_network, read
from parsers.telco_id import normalize_telco_id

PAYING_KINDS: Final = frozenset(
    {readings.Kind.PAYMENT_RECEIVED, readings.Kind.MERCHANT_PAYMENT, readings.Kind.CASH_IN}
)
"""Only money that came in can pay."""


@dataclass(slots=True)
class Outcome:
    """What a message turned out to be, filled in step by step."""

    state: MessageState
    kind: str | None = None
    provider: str | None = None
    wording: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    trusted: bool | None = None
    reasons: list[str] = field(default_factory=list)
    payment_id: str | None = None


def conclude_unread(desk: Desk, unread: Unread) -> MessageState:
    """Write down that nothing could be read."""
    return _write(
        desk, unread.message_id, None, Outcome(MessageState.UNPARSED, reasons=[unread.why])
    )


def conclude(desk: Desk, whole: Whole) -> MessageState:
    """Read a whole message, decide whether it is trusted money, and write everything down.

    The order is decisions.md's: trust is decided before a payment row is made, so that a forged text with a real ID
    cannot occupy it.
    """
    network = desk.sim.network
    provider = None if network is None else provider_of_network(network)
    doubts = trust.doubts(
        trust.Evidence(
            sender=whole.last.sender,
            sender_is_alphanumeric=whole.last.sender_type is SenderType.ALPHANUMERIC,
            network=network,
            network_senders=() if provider is None else PROVIDERS[provider].senders,
        )
    )
    outcome = Outcome(
        MessageState.NOT_PAYMENT, provider=provider, trusted=not doubts, reasons=doubts
    )
    read_as = _read(whole, network, trusted=not doubts)
    if isinstance(read_as, readings.Unreadable):
        outcome.state = MessageState.UNPARSED
        outcome.reasons = [*doubts, read_as.why]
    else:
        outcome.kind = read_as.kind
        outcome.wording = read_as.wording
        outcome.fields = readings.fields(read_as)
    if isinstance(read_as, readings.Payment) and read_as.kind in PAYING_KINDS:
        if read_as.unverified:
            # No genuine message has confirmed this wording yet, so it is shown and never pays by itself.
            doubts = [*doubts, "wording_unverified"]
            outcome.reasons = doubts
            outcome.trusted = False
        if doubts:
            outcome.state = MessageState.HELD
            _ask(desk, whole.message_id, ReviewReason.UNTRUSTED_SENDER, {"doubts": doubts})
        else:
            assert provider is not None
            _pay(desk, whole, outcome, read_as)
    return _write(desk, whole.message_id, whole.body, outcome)


def _read(whole: Whole, network: str | None, *, trusted: bool) -> readings.Reading:
    if len(whole.body) > MESSAGE_CHARACTERS_MAX:
        return readings.Unreadable("longer than any payment message")
    if not trusted:
        # A stranger's text is read by every wording, so that a person sees what it pretends to be.
        return read(None, whole.body)
    return read(whole.last.sender, whole.body, network=network)


def _pay(desk: Desk, whole: Whole, outcome: Outcome, read_as: readings.Payment) -> None:
    """Make the payment of a trusted message, and let it pay."""
    payments.touch_line(desk.tx, desk.line_id, desk.source.sim_key, desk.now)
    if read_as.telco_id is None:
        outcome.state = MessageState.HELD
        outcome.reasons = [ReviewReason.NO_TELCO_ID]
        _ask(desk, whole.message_id, ReviewReason.NO_TELCO_ID, {})
        return
    since = desk.sim.first_seen_at
    if desk.line is not None and desk.line.line_created_at is not None:
        since = desk.line.line_created_at
    historical = trust.is_history(whole.sent_at, since)
    row = _row(desk, whole, outcome, read_as, read_as.telco_id)
    payment = payments.add(desk.tx, {**row, "historical": historical})
    if payment is None:
        _same_id_again(desk, whole, outcome, row)
        return
    outcome.payment_id = payment.id
    outcome.state = MessageState.PAYMENT
    if historical:
        outcome.state = MessageState.HISTORICAL
        settle.give_holder(desk.tx, desk.env.outbox, payment, rejected=False, now=desk.now)
        return
    _match(desk, outcome, payment, payer_proven=not read_as.payer_phone_typed)


def _match(desk: Desk, outcome: Outcome, payment: Payment, *, payer_proven: bool) -> None:
    """Let a payment pay; a payer's number that the payer could have typed is no proof of who paid."""
    tx, now, outbox = desk.tx, desk.now, desk.env.outbox
    codes = svc_code.candidates(payment.reference_text or "")
    decision = matching.match(
        payment if payer_proven else replace(payment, payer_phone=None),
        transactions.by_codes_in_use(tx, payment.mode, codes, now),
        transactions.expecting(tx, payment.mode, payment.telco_transaction_id),
        late_policy=desk.env.config.transactions.late_policy,
    )
    if isinstance(decision, matching.Verify):
        how = settle.Settlement(decision.verdict, decision.matched_by, decision.late)
        settle.verify(tx, outbox, decision.transaction, payment, how, now)
    elif isinstance(decision, matching.Hold):
        outcome.state = MessageState.HELD
        outcome.reasons = [*outcome.reasons, decision.reason]
        payments.set_standing(tx, payment.id, "review")
        settle.ask_person(tx, outbox, payment, decision, now)
    else:
        settle.give_holder(tx, outbox, payment, rejected=decision.rejected, now=now)


def _same_id_again(desk: Desk, whole: Whole, outcome: Outcome, row: dict[str, Any]) -> None:
    """A second trusted message with one ID: the same again, or something a person must see."""
    others = payments.with_telco_id(desk.tx, desk.mode, row["telco_transaction_id"])
    first = next(other for other in others if other.provider == row["provider"])
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
    _ask(desk, whole.message_id, ReviewReason.ID_CONFLICT, {"payment_id": first.id})


def _row(
    desk: Desk, whole: Whole, outcome: Outcome, read_as: readings.Payment, telco_id: str
) -> dict[str, Any]:
    sent_at = desk.now if whole.sent_at is None else whole.sent_at
    printed_at = microseconds(read_as.printed_at)
    return {
        "id": desk.env.new_id(),
        "mode": desk.mode,
        "provider": outcome.provider,
        "telco_transaction_id": normalize_telco_id(telco_id),
        "telco_id_as_read": telco_id,
        "message_id": whole.message_id,
        "payment_method_id": desk.line_id,
        "sim_key": desk.source.sim_key,
        "device_id": desk.source.device_id,
        "slot_index": desk.source.slot_index,
        "kind": read_as.kind,
        "amount_minor": read_as.amount.minor,
        "currency": read_as.amount.currency,
        "fee_minor": None if read_as.fee is None else read_as.fee.minor,
        "balance_minor": None if read_as.balance is None else read_as.balance.minor,
        "payer_name": read_as.payer_name,
        "payer_phone": read_as.payer_phone,
        "reference_text": read_as.reference,
        "telco_at": sent_at if printed_at is None else printed_at,
        "stored_at": desk.now,
        "standing": "open",
        "reversed_at": None,
    }


def _ask(desk: Desk, message_id: str, reason: ReviewReason, details: dict[str, Any]) -> None:
    """Put a message that made no payment before a person."""
    reviews.open_review(
        desk.tx,
        review_id=desk.env.new_id(),
        mode=desk.mode,
        reason=reason,
        message_id=message_id,
        details=details,
        now=desk.now,
    )
    events.add(
        desk.tx,
        type="review.opened",
        mode=desk.mode,
        at=desk.now,
        message_id=message_id,
        data={"reason": reason},
    )


def _write(desk: Desk, message_id: str, body: str | None, outcome: Outcome) -> MessageState:
    messages.conclude(
        desk.tx,
        message_id,
        body=body,
        state=outcome.state,
        kind=outcome.kind,
        provider=outcome.provider,
        wording=outcome.wording,
        fields=outcome.fields,
        trusted=outcome.trusted,
        reasons=outcome.reasons,
        payment_id=outcome.payment_id,
        payment_method_id=desk.line_id,
        received_at=desk.now,
    )
    events.add(
        desk.tx,
        type="message.received",
        mode=desk.mode,
        at=desk.now,
        payment_id=outcome.payment_id,
        message_id=message_id,
        data={"state": outcome.state, "kind": outcome.kind},
    )
    return outcome.state
