"""Store each part of a message as the phone gave it (decisions.md section 1), and process a message when it is complete.

Processing reads it, judges it, and lets a trusted payment pay.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.inputs import ReadPart
from daemon.core.limits import MESSAGE_CHARACTERS_MAX
from daemon.core.messages import trust
from daemon.core.model import Message
from daemon.modem.codec import parts
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_fields import Deliver, Garbled, SenderType, StatusReport
from daemon.steps import confirmed_wordings, imported_message
from daemon.steps.context import Context, JoinedMessage, Outcome, StoredMessage, microseconds
from daemon.steps.judge import judge_message
from daemon.steps.pay import open_message_review
from daemon.store import journal
from daemon.store.messages import messages
from daemon.store.payments import texts
from daemon.wire import MessageState, ReviewReason
from parsers import reading as readings
from parsers.read import provider_of_network, read


@dataclass(frozen=True, slots=True)
class Unread:
    """A part that the codec cannot read, stored as its own message so that the operator can look at it."""

    message_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stored part of a message that still lacks parts."""

    message_id: str


def store_part(context: Context, part: ReadPart) -> JoinedMessage | Unread | Waiting | None:
    """Store one part; return None if it was stored before or the network delivered it twice."""
    sha256 = _digest(context, part.pdu)
    if _is_known(context, part, sha256):
        return None
    value = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
    if isinstance(value, Garbled):
        return _store_unread(context, part, sha256, f"garbled: {value.why}")
    if isinstance(value, StatusReport) and _record_report(context, value):
        return None
    if not isinstance(value, Deliver):
        return _store_unread(context, part, sha256, f"not a received SMS: {type(value).__name__}")
    key = parts.key_of(context.source.sim_key, value)
    if key is not None:
        return _store_one_of_many(context, part, sha256, value, key)
    sent_at = microseconds(value.sent_at)
    message_id = _add_message(context, value, sent_at, total=1)
    _add_part(context, part, value.pdu, sha256, (message_id, 1, sent_at))
    return JoinedMessage(message_id, value, value.text, sent_at)


def process_message(context: Context, whole: JoinedMessage) -> MessageState:
    """Read a complete message, decide whether it is trusted money, and store the result.

    Trust is decided before a payment row is made (decisions.md), so that a forged text with a real ID cannot occupy the ID.
    """
    network = context.sim.network
    provider = None if network is None else provider_of_network(network)
    doubts = sender_doubts(context, whole.last)
    outcome = Outcome(
        MessageState.NOT_PAYMENT, provider=provider, trusted=not doubts, reasons=doubts
    )
    read_as = _read(context, whole, trusted=not doubts)
    if isinstance(read_as, readings.Unreadable):
        outcome.state = MessageState.UNPARSED
        outcome.reasons = [*doubts, read_as.why]
    else:
        outcome.kind = read_as.kind
        outcome.wording = read_as.wording
        outcome.fields = readings.fields(read_as)
    if not doubts:
        judge = imported_message.keep_imported if context.imported else judge_message
        judge(context, StoredMessage.now(context, whole, provider), outcome, read_as)
    elif isinstance(read_as, readings.Payment) and not context.imported:
        outcome.state = MessageState.HELD
        open_message_review(
            context, whole.message_id, ReviewReason.UNTRUSTED_SENDER, {"doubts": doubts}
        )
    return _write(context, whole.message_id, whole.body, outcome)


def read_message(context: Context, whole: JoinedMessage) -> readings.Reading:
    """Read a complete message as `process_message` does, and store nothing."""
    return _read(context, whole, trusted=not sender_doubts(context, whole.last))


def record_unreadable(context: Context, unread: Unread) -> MessageState:
    """Store a message that cannot be read."""
    return _write(
        context, unread.message_id, None, Outcome(MessageState.UNPARSED, reasons=[unread.why])
    )


def store_unread(context: Context, part: ReadPart, why: str) -> Unread | None:
    """Store a part without reading it; return None if it was stored before."""
    sha256 = _digest(context, part.pdu)
    if messages.has_part(context.tx, context.source.sim_key, sha256):
        return None
    return _store_unread(context, part, sha256, why)


def sender_doubts(context: Context, value: Deliver) -> list[str]:
    """Return the reasons against a message's sender; empty if it is trusted."""
    network = context.sim.network
    provider = None if network is None else provider_of_network(network)
    return trust.untrusted_reasons(
        trust.SenderEvidence(
            sender=value.sender,
            sender_is_alphanumeric=value.sender_type is SenderType.ALPHANUMERIC,
            network=network,
            network_senders=confirmed_wordings.trusted_senders(context, provider),
        )
    )


def _read(context: Context, whole: JoinedMessage, *, trusted: bool) -> readings.Reading:
    own = context.env.own_wordings.wordings
    if len(whole.body) > MESSAGE_CHARACTERS_MAX:
        return readings.Unreadable("longer than any payment message")
    if not trusted:
        # The text of an untrusted sender is read by every wording, so that the operator sees the claimed payment.
        return read(None, whole.body, own=own)
    reading = read(whole.last.sender, whole.body, network=context.sim.network, own=own)
    return confirmed_wordings.confirmed_reading(context, whole.last.sender, reading)


def _write(context: Context, message_id: str, body: str | None, outcome: Outcome) -> MessageState:
    messages.record_result(
        context.tx,
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
        payment_method_id=context.line_id,
        received_at=context.now,
    )
    journal.add(
        context.tx,
        type="message.received",
        mode=context.mode,
        at=context.now,
        payment_id=outcome.payment_id,
        message_id=message_id,
        data={"state": outcome.state, "kind": outcome.kind},
    )
    return outcome.state


FROM_FILE: Final = "file:"


"""Prefix of an imported PDU before hashing. With it the text is not hex."""


Stored = tuple[int, str, int | None]


"""Position, PDU and SMSC time of a stored part."""


def _store_one_of_many(
    context: Context, part: ReadPart, sha256: str, value: Deliver, key: parts.PartKey
) -> JoinedMessage | Waiting | None:
    """Store a part of a long message together with its other parts."""
    new = parts.part_of(value)
    known = messages.candidates_for_part(
        context.tx,
        sim_key=key.iccid,
        sender=key.sender,
        width=key.width,
        reference=key.reference,
        total=key.total,
        sent_at=new.sent_at_us,
        imported=context.imported,
    )
    stored = [messages.parts_of(context.tx, message.id) for message in known]
    place = parts.place([_as_parts(rows, new.position) for rows in stored], new)
    if place.fit is parts.Fit.REPEAT:
        return None
    have: list[Stored] = []
    if place.index is None:
        message_id = _add_message(context, value, new.sent_at_us, total=key.total)
    else:
        message_id, have = known[place.index].id, stored[place.index]
        messages.count_part(context.tx, message_id)
    _add_part(context, part, value.pdu, sha256, (message_id, new.position, new.sent_at_us))
    if not parts.is_whole(key.total, (new.position, *(row[0] for row in have))):
        return Waiting(message_id)
    body = parts.join([value, *(_decode(row) for row in have)])
    first_at = min([*have, (new.position, value.pdu, new.sent_at_us)])[2]
    return JoinedMessage(message_id, value, body, first_at)


def _record_report(context: Context, value: StatusReport) -> bool:
    """Record a status report for an SMS that momo sent; return False if the SMS is not known."""
    return texts.report(
        context.tx,
        context.source.sim_key,
        reference=value.reference,
        number=value.recipient,
        outcome=value.outcome,
        now=context.now,
    )


def reload_joined(context: Context, row: Message) -> JoinedMessage | None:
    """Return a stored message as a complete one; None if its parts are gone or unreadable."""
    stored = messages.parts_of(context.tx, row.id)
    last = codec.decode(stored[-1][1]) if stored else None
    if row.body is None or not isinstance(last, Deliver):
        return None
    return JoinedMessage(row.id, last, row.body, row.sent_at)


def _store_unread(context: Context, part: ReadPart, sha256: str, why: str) -> Unread:
    message_id = _add_message(context, None, None, total=1)
    _add_part(context, part, part.pdu, sha256, (message_id, 1, None))
    return Unread(message_id, why)


def _add_part(
    context: Context, part: ReadPart, pdu: str, sha256: str, place: tuple[str, int, int | None]
) -> None:
    """Store a part. `pdu` begins with its SMSC field, so that it can be decoded alone."""
    message_id, position, sent_at = place
    messages.add_part(
        context.tx,
        {
            "sim_key": context.source.sim_key,
            "sha256": sha256,
            "pdu": pdu,
            "message_id": message_id,
            "position": position,
            "sent_at": sent_at,
            "storage": part.storage,
            "slot": part.slot,
            "received_at": context.now,
        },
    )


def _add_message(
    context: Context, value: Deliver | None, sent_at: int | None, *, total: int
) -> str:
    concat = None if value is None else value.concat
    message_id = context.env.new_id()
    messages.add(
        context.tx,
        {
            "id": message_id,
            "mode": context.mode,
            "imported": context.imported,
            "sim_key": context.source.sim_key,
            "device_id": context.source.device_id,
            "slot_index": context.source.slot_index,
            "payment_method_id": context.line_id,
            "sender": None if value is None else value.sender,
            "sender_type": None if value is None else value.sender_type,
            "smsc": None if value is None else value.smsc,
            "sent_at": sent_at,
            "parts_total": total,
            "parts_seen": 1,
            "reference_width": None if concat is None else concat.width,
            "reference": None if concat is None else concat.reference,
            "body": None,
            "state": MessageState.INCOMPLETE,
            "kind": None,
            "provider": None,
            "wording": None,
            "fields": "{}",
            "trusted": None,
            "reasons": "[]",
            "payment_id": None,
            "received_at": context.now,
            "created_at": context.now,
        },
    )
    return message_id


def _digest(context: Context, pdu: str) -> str:
    """Return the digest of a part. An imported part has another digest than a phone's, so it cannot replace it."""
    return digest(f"{FROM_FILE}{pdu}") if context.imported else digest(pdu)


def _is_known(context: Context, part: ReadPart, sha256: str) -> bool:
    """Return whether a part was stored before; for an import also whether a phone has read its complete message."""
    if messages.has_part(context.tx, context.source.sim_key, sha256):
        return True
    return context.imported and messages.has_whole(
        context.tx, context.source.sim_key, digest(part.pdu)
    )


def digest(pdu: str) -> str:
    """Return the SHA-256 of the PDU's octets, or of its text where it is no hex."""
    try:
        octets = bytes.fromhex(pdu)
    except ValueError:
        octets = pdu.encode()
    return hashlib.sha256(octets).hexdigest()


def _as_parts(rows: Sequence[Stored], position: int) -> list[parts.Part]:
    """Return stored parts as values for `modem.codec.parts`.

    Only the part at the same position is decoded, because only its octets are compared.
    """
    return [
        parts.Part(row[0], row[2], _decode(row).user_data if row[0] == position else b"")
        for row in rows
    ]


def _decode(row: Stored) -> Deliver:
    """Decode a stored part; it decoded without error when it was stored."""
    value = codec.decode(row[1])
    assert isinstance(value, Deliver)
    return value
