"""Process a complete message: read it, judge it, and let a trusted payment pay."""

from collections.abc import Iterable

from msgspec.structs import replace

from daemon.core.inputs import MessageOutcome
from daemon.core.messages import trust
from daemon.core.model import Message
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_fields import Deliver, SenderType
from daemon.steps import confirmed_wordings, imported_message
from daemon.steps.context import INTERNAL_ERROR, Context, JoinedMessage, StoredMessage
from daemon.steps.judge import choose_reading, judge_message
from daemon.steps.pay import review_sender
from daemon.steps.store_parts import Unread
from daemon.store import journal
from daemon.store.messages import messages
from daemon.wire import MessageState, Mode, ReviewReason
from parsers import reading as readings
from parsers.money import render
from parsers.pasted import MESSAGE_CHARACTERS_MAX
from parsers.read import provider_of_network, read
from parsers.svc_code import candidates


def process_message(context: Context, whole: JoinedMessage) -> MessageState:
    """Read a complete message, decide whether it is trusted money, and store the result.

    Trust is decided before a payment row is made, so that a forged text with a real ID cannot occupy the ID.
    """
    network = context.sim.network
    provider = None if network is None else provider_of_network(network)
    doubts = sender_doubts(context, whole.parts)
    outcome = MessageOutcome(MessageState.NOT_PAYMENT, provider=provider, trusted=not doubts, reasons=doubts)
    read_as = _read(context, whole, trusted=not doubts)
    if doubts and confirmed_wordings.is_proved_by_test_payment(context, whole, read_as, doubts):
        doubts = sender_doubts(context, whole.parts)
        outcome.trusted, outcome.reasons = not doubts, doubts
        read_as = _read(context, whole, trusted=not doubts)
    arrived = StoredMessage.now(context, whole, provider)
    if isinstance(read_as, readings.Unreadable) and read_as.perhaps and not doubts:
        read_as, arrived = choose_reading(context, arrived, read_as), replace(arrived, typed=True)
    if isinstance(read_as, readings.Unreadable):
        outcome.state = MessageState.UNPARSED
        outcome.reasons = [*doubts, read_as.why]
    else:
        outcome.kind = read_as.kind
        outcome.wording = read_as.wording
        outcome.fields = readings.fields(read_as)
    if not doubts and whole.ambiguous and isinstance(read_as, readings.Payment | readings.Reversal):
        outcome.state = MessageState.HELD
        outcome.trusted = False
        outcome.reasons = [ReviewReason.AMBIGUOUS_PARTS]
        review_sender(context, whole.message_id, whole.last.sender, ReviewReason.AMBIGUOUS_PARTS)
    elif not doubts:
        judge = imported_message.keep_imported if context.imported else judge_message
        if _is_split(whole, read_as):
            arrived = replace(arrived, split=True)
        judge(context, arrived, outcome, read_as)
    elif isinstance(read_as, readings.Payment) and not context.imported:
        outcome.state = MessageState.HELD
        known = confirmed_wordings.trusted_senders(context, provider)
        if context.mode is Mode.TEST or not (known or "sender_is_a_number" in doubts):
            # A number, and a name beside the network's own, are only listed; the sandbox rehearses the review.
            reason = ReviewReason.UNKNOWN_SENDER
            review_sender(context, whole.message_id, whole.last.sender, reason, doubts)
    return _write(context, whole.message_id, whole.body, outcome)


def _is_split(whole: JoinedMessage, read_as: readings.Reading) -> bool:
    """Return whether no part of a long receipt has both a payment code and the balance.

    The balance then proves nothing about the code: the part with the code may be another sender's.
    """
    if not isinstance(read_as, readings.Payment) or read_as.balance is None:
        return False
    codes = candidates(read_as.reference or "")
    if len(whole.parts) == 1 or not codes:
        return False
    balance = render(read_as.balance.minor, read_as.balance.currency)
    return not any(
        balance in part.text.replace(",", "") and set(codes) <= set(candidates(part.text)) for part in whole.parts
    )


def read_message(context: Context, whole: JoinedMessage) -> readings.Reading:
    """Read a complete message as `process_message` does, and store nothing."""
    return _read(context, whole, trusted=not sender_doubts(context, whole.parts))


def record_unreadable(context: Context, unread: Unread) -> MessageState:
    """Store a message that cannot be read."""
    return _write(context, unread.message_id, None, MessageOutcome(MessageState.UNPARSED, reasons=[unread.why]))


def record_fault(context: Context, whole: JoinedMessage) -> MessageState:
    """Store a complete message that met an internal error; `momo messages reparse` reads it when momo is mended.

    One with rivals is stored without its text, and so not read again: then it would look like the only one.
    """
    body = None if whole.ambiguous else whole.body
    outcome = MessageOutcome(MessageState.UNPARSED, reasons=[INTERNAL_ERROR])
    return _write(context, whole.message_id, body, outcome)


def sender_doubts(context: Context, parts: Iterable[Deliver]) -> list[str]:
    """Return the reasons against the sender of any part of a message; empty if it is trusted."""
    network = context.sim.network
    provider = None if network is None else provider_of_network(network)
    senders = confirmed_wordings.trusted_senders(context, provider)
    found = [
        doubt
        for value in parts
        for doubt in trust.untrusted_reasons(
            value.sender, network, senders, is_alphanumeric=value.sender_type is SenderType.ALPHANUMERIC
        )
    ]
    return list(dict.fromkeys(found))


def _read(context: Context, whole: JoinedMessage, *, trusted: bool) -> readings.Reading:
    own = context.env.own_wordings.wordings
    if len(whole.body) > MESSAGE_CHARACTERS_MAX:
        return readings.Unreadable("longer than any payment message")
    if not trusted:
        # The text of an untrusted sender is read by every wording, so that the operator sees the claimed payment.
        return read(None, whole.body, own=own)
    reading = read(whole.last.sender, whole.body, network=context.sim.network, own=own)
    return confirmed_wordings.confirmed_reading(context, whole.last.sender, reading)


def _write(context: Context, message_id: str, body: str | None, outcome: MessageOutcome) -> MessageState:
    line_id, now = context.line_id, context.now
    messages.record_result(context.tx, message_id, outcome, body=body, payment_method_id=line_id, received_at=now)
    data = {"state": outcome.state, "kind": outcome.kind}
    journal.add(
        context.tx,
        "message.received",
        context.now,
        payment_id=outcome.payment_id,
        message_id=message_id,
        mode=context.mode,
        data=data,
    )
    return outcome.state


def reload_joined(context: Context, row: Message) -> JoinedMessage | None:
    """Return a stored message as a complete one; None if its parts are gone or unreadable."""
    stored = [codec.decode(one.pdu) for one in messages.stored_parts(context.tx, row.id)]
    values = tuple(one for one in stored if isinstance(one, Deliver))
    if row.body is None or not values or len(values) < len(stored):
        return None
    return JoinedMessage(row.id, values[-1], row.body, row.sent_at, values)
