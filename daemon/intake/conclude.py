"""Say what a whole message is, and let a trusted payment pay what it pays."""

from daemon.core import trust
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.intake import imported, vouched
from daemon.intake.desk import IMPORTED, Desk
from daemon.intake.outcome import Arrived, Outcome
from daemon.intake.parts import Unread, Whole
from daemon.intake.pay import ask
from daemon.intake.weigh import weigh
from daemon.modem.pdu_fields import SenderType
from daemon.modem.pdu_values import Deliver
from daemon.store import events, messages
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers.read import provider_of_network, read


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
    doubts = doubts_of_sender(desk, whole.last)
    outcome = Outcome(
        MessageState.NOT_PAYMENT, provider=provider, trusted=not doubts, reasons=doubts
    )
    read_as = _read(desk, whole, trusted=not doubts)
    if isinstance(read_as, readings.Unreadable):
        outcome.state = MessageState.UNPARSED
        outcome.reasons = [*doubts, read_as.why]
    else:
        outcome.kind = read_as.kind
        outcome.wording = read_as.wording
        outcome.fields = readings.fields(read_as)
    if not doubts:
        judge = imported.keep if desk.imported else weigh
        judge(desk, Arrived.now(desk, whole, provider), outcome, read_as)
    elif isinstance(read_as, readings.Payment) and not desk.imported:
        outcome.state = MessageState.HELD
        ask(desk, whole.message_id, ReviewReason.UNTRUSTED_SENDER, {"doubts": doubts})
    return _write(desk, whole.message_id, whole.body, outcome)


def reading_of(desk: Desk, whole: Whole) -> readings.Reading:
    """Say what a whole message says, as `conclude` would, and write nothing."""
    return _read(desk, whole, trusted=not doubts_of_sender(desk, whole.last))


def doubts_of_sender(desk: Desk, value: Deliver) -> list[str]:
    """Return why a message's sender cannot be trusted, empty when it can."""
    network = desk.sim.network
    provider = None if network is None else provider_of_network(network)
    return trust.doubts(
        trust.Evidence(
            sender=value.sender,
            sender_is_alphanumeric=value.sender_type is SenderType.ALPHANUMERIC,
            network=network,
            network_senders=vouched.senders(desk, provider),
        )
    )


def _read(desk: Desk, whole: Whole, *, trusted: bool) -> readings.Reading:
    own = desk.env.own.wordings
    if len(whole.body) > MESSAGE_CHARACTERS_MAX:
        return readings.Unreadable("longer than any payment message")
    if not trusted:
        # A stranger's text is read by every wording, so that a person sees what it pretends to be.
        return read(None, whole.body, own=own)
    reading = read(whole.last.sender, whole.body, network=desk.sim.network, own=own)
    return vouched.settled(desk, whole.last.sender, reading)


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
        reasons=[IMPORTED, *outcome.reasons] if desk.imported else outcome.reasons,
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
