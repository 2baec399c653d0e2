"""Store every part as the phone gave it, and say when a message is whole (decisions.md section 1)."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from daemon.core.model import Message
from daemon.core.requests import ReadPart
from daemon.intake.desk import IMPORTED, Desk
from daemon.modem import parts as joining
from daemon.modem import pdu as codec
from daemon.modem.pdu_values import Deliver, Garbled, StatusReport
from daemon.store import messages, texts
from daemon.wire import MessageState
from parsers.when import to_us

FROM_FILE: Final = "file:"
"""In front of a file's PDU, which is no hex then."""

Stored = tuple[int, str, int | None]
"""Position, PDU and SMSC time of a stored part."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A message whose last part is in.

    Attributes:
        last: The part that completed it, decoded; all parts share sender and SMSC type.
        sent_at: SMSC time of its first part, None when that cannot be read.
    """

    message_id: str
    last: Deliver
    body: str
    sent_at: int | None


@dataclass(frozen=True, slots=True)
class Unread:
    """A part that no codec reads: stored as a message of its own, so that a person can look at it."""

    message_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Stored; its message still lacks parts."""

    message_id: str


def take(desk: Desk, part: ReadPart) -> Whole | Unread | Waiting | None:
    """Store one part; None when it was stored before, or the network delivered it twice."""
    sha256 = _digest(desk, part.pdu)
    if _is_known(desk, part, sha256):
        return None
    value = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
    if isinstance(value, Garbled):
        return _store_unread(desk, part, sha256, f"garbled: {value.why}")
    if isinstance(value, StatusReport) and _take_report(desk, value):
        return None
    if not isinstance(value, Deliver):
        return _store_unread(desk, part, sha256, f"not a received SMS: {type(value).__name__}")
    key = joining.key_of(desk.source.sim_key, value)
    if key is not None:
        return _take_one_of_many(desk, part, sha256, value, key)
    sent_at = microseconds(value.sent_at)
    message_id = _add_message(desk, value, sent_at, total=1)
    _add_part(desk, part, value.pdu, sha256, (message_id, 1, sent_at))
    return Whole(message_id, value, value.text, sent_at)


def _take_one_of_many(
    desk: Desk, part: ReadPart, sha256: str, value: Deliver, key: joining.PartKey
) -> Whole | Waiting | None:
    """Store a part of a long message with the other parts it belongs to."""
    new = joining.part_of(value)
    known = messages.under_key(
        desk.tx,
        sim_key=key.iccid,
        sender=key.sender,
        width=key.width,
        reference=key.reference,
        total=key.total,
        sent_at=new.sent_at_us,
        imported=desk.imported,
    )
    stored = [messages.parts_of(desk.tx, message.id) for message in known]
    place = joining.place([_as_parts(rows, new.position) for rows in stored], new)
    if place.fit is joining.Fit.REPEAT:
        return None
    have: list[Stored] = []
    if place.index is None:
        message_id = _add_message(desk, value, new.sent_at_us, total=key.total)
    else:
        message_id, have = known[place.index].id, stored[place.index]
        messages.count_part(desk.tx, message_id)
    _add_part(desk, part, value.pdu, sha256, (message_id, new.position, new.sent_at_us))
    if not joining.is_whole(key.total, (new.position, *(row[0] for row in have))):
        return Waiting(message_id)
    body = joining.join([value, *(_decode(row) for row in have)])
    first_at = min([*have, (new.position, value.pdu, new.sent_at_us)])[2]
    return Whole(message_id, value, body, first_at)


def _take_report(desk: Desk, value: StatusReport) -> bool:
    """Note what became of an SMS of ours; False for a report on one that we do not know."""
    return texts.report(
        desk.tx,
        desk.source.sim_key,
        reference=value.reference,
        number=value.recipient,
        outcome=value.outcome,
        now=desk.now,
    )


def whole_again(desk: Desk, row: Message) -> Whole | None:
    """Return a stored message as it was when its last part came in; None when its parts are gone or unreadable."""
    stored = messages.parts_of(desk.tx, row.id)
    last = codec.decode(stored[-1][1]) if stored else None
    if row.body is None or not isinstance(last, Deliver):
        return None
    return Whole(row.id, last, row.body, row.sent_at)


def take_unread(desk: Desk, part: ReadPart, why: str) -> Unread | None:
    """Store a part without reading it; None when it was stored before."""
    sha256 = _digest(desk, part.pdu)
    if messages.has_part(desk.tx, desk.source.sim_key, sha256):
        return None
    return _store_unread(desk, part, sha256, why)


def microseconds(at: datetime | None) -> int | None:
    """Return an aware time as microseconds since 1970 in UTC."""
    return None if at is None else to_us(at)


def _store_unread(desk: Desk, part: ReadPart, sha256: str, why: str) -> Unread:
    message_id = _add_message(desk, None, None, total=1)
    _add_part(desk, part, part.pdu, sha256, (message_id, 1, None))
    return Unread(message_id, why)


def _add_part(
    desk: Desk, part: ReadPart, pdu: str, sha256: str, place: tuple[str, int, int | None]
) -> None:
    """Store a part; `pdu` is normalised to begin with its SMSC field, so that it decodes alone."""
    message_id, position, sent_at = place
    messages.add_part(
        desk.tx,
        {
            "sim_key": desk.source.sim_key,
            "sha256": sha256,
            "pdu": pdu,
            "message_id": message_id,
            "position": position,
            "sent_at": sent_at,
            "storage": part.storage,
            "slot": part.slot,
            "received_at": desk.now,
        },
    )


def _add_message(desk: Desk, value: Deliver | None, sent_at: int | None, *, total: int) -> str:
    concat = None if value is None else value.concat
    message_id = desk.env.new_id()
    messages.add(
        desk.tx,
        {
            "id": message_id,
            "mode": desk.mode,
            "sim_key": desk.source.sim_key,
            "device_id": desk.source.device_id,
            "slot_index": desk.source.slot_index,
            "payment_method_id": desk.line_id,
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
            "reasons": json.dumps([IMPORTED] if desk.imported else []),
            "payment_id": None,
            "received_at": desk.now,
            "created_at": desk.now,
        },
    )
    return message_id


def _digest(desk: Desk, pdu: str) -> str:
    """Return what a part is known by. A file's is known by another name than a phone's: it may not stand in for it."""
    return digest(f"{FROM_FILE}{pdu}") if desk.imported else digest(pdu)


def _is_known(desk: Desk, part: ReadPart, sha256: str) -> bool:
    """Say whether a part was stored before; to a file also what a phone has read, as far as its message is whole."""
    if messages.has_part(desk.tx, desk.source.sim_key, sha256):
        return True
    return desk.imported and messages.has_whole(desk.tx, desk.source.sim_key, digest(part.pdu))


def digest(pdu: str) -> str:
    """Return the SHA-256 of the PDU's octets, or of its text where it is no hex."""
    try:
        octets = bytes.fromhex(pdu)
    except ValueError:
        octets = pdu.encode()
    return hashlib.sha256(octets).hexdigest()


def _as_parts(rows: Sequence[Stored], position: int) -> list[joining.Part]:
    """Return stored parts as `joining` wants them.

    Octets are compared with those of a part in the same place only, so only that one is decoded.
    """
    return [
        joining.Part(row[0], row[2], _decode(row).user_data if row[0] == position else b"")
        for row in rows
    ]


def _decode(row: Stored) -> Deliver:
    """Decode a stored part, which decodes as it did when it was stored."""
    value = codec.decode(row[1])
    assert isinstance(value, Deliver)
    return value
