"""Store each part of a message as the phone gave it, and find the parts that form one message.

Any sender can send a part under the network's name. So parts join only when their SMSC is the same or both are home, every part
that claims a position is kept, and an assembly with rivals or swapped parts waits for six seconds (docs/shop/concepts.md).

Encode a text from a source without PDUs as the parts that the network would have sent, marked as synthesised.

The same message always gives the same parts, so a source may hand it over again. They name an SMSC only if the source has
it from the network: a made-up PDU must never look as if it came through a home one.

The parts of SMS that the message journal has and the database lacks.

A copy of the database has all parts of the journal up to some moment and none after it. So the journal is read backward until
a long run of parts is known.
"""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core import ids
from daemon.core.inputs import ReadPart
from daemon.core.limits import HOUR_US, MINUTE_US, SECOND_US
from daemon.core.messages.message_journal import Key, Record, digest
from daemon.core.messages.trust import is_home
from daemon.core.model import Message
from daemon.modem.codec import parts
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import Deliver, Garbled, StatusReport
from daemon.runtime.message_journal import MessageJournal
from daemon.steps.context import Context, JoinedMessage, microseconds
from daemon.store.engine import Store
from daemon.store.messages import messages
from daemon.store.messages.messages import PartRow
from daemon.store.payments import texts
from daemon.wire import MessageState, Mode
from parsers.times import from_us, to_us

PROMPT_SPAN_US: Final = MINUTE_US
UNJOINED_MAX: Final = 20
"""An assembly counts at once when its parts bear SMSC times within a minute and arrived in their order, have no rival, and no
more home parts than this lay unjoined in the last hour."""
ASSEMBLE_AFTER_US: Final = 6 * SECOND_US
"""Any other assembly counts after this time, so that its rivals can come. A customer waits at the counter meanwhile: of 1,000
genuine receipts 26 have swapped parts, and 15 s or more delayed 25 of them."""

DECODED_MAX: Final = 256
_decoded: dict[str, Deliver] = {}


class Unread(Struct, frozen=True):
    """A part that the codec cannot read, stored as its own message so that the operator can look at it."""

    message_id: str
    why: str


class Waiting(Struct, frozen=True):
    """A stored part of a message that lacks parts, or that waits for rival parts."""

    message_id: str


def store_part(context: Context, part: ReadPart) -> JoinedMessage | Unread | Waiting | None:
    """Store one part; return None if it was stored before or the network delivered it twice."""
    sha256 = _digest(context, part.pdu)
    value = codec.decode(part.pdu, tpdu_length=part.tpdu_length)
    key = parts.key_of(context.source.sim_key, value) if isinstance(value, Deliver) else None
    if key is not None and isinstance(value, Deliver):
        return _store_one_of_many(context, part, sha256, value, key)
    if _is_known(context, part, sha256):
        return None
    if isinstance(value, Garbled):
        return _store_unread(context, part, sha256, f"garbled: {value.why}")
    if isinstance(value, StatusReport) and _record_report(context, value):
        return None
    if not isinstance(value, Deliver):
        return _store_unread(context, part, sha256, f"not a received SMS: {type(value).__name__}")
    return _store_only_part(context, part, sha256, value)


def _store_only_part(context: Context, part: ReadPart, sha256: str, value: Deliver) -> JoinedMessage | None:
    """Store a message of one part."""
    sent_at = microseconds(value.sent_at)
    message_id, is_new = _add_message(context, part, value, sha256, sent_at, total=1)
    _add_part(context, part, value.pdu, sha256, (message_id, 1, sent_at))
    if is_new:
        return JoinedMessage(message_id, value, value.text, sent_at, (value,))
    _attach(context, message_id, 1)
    return None


def _store_one_of_many(
    context: Context, part: ReadPart, sha256: str, value: Deliver, key: parts.PartKey
) -> JoinedMessage | Waiting | None:
    """Store a part of a long message; return the message if it is complete and counts at once."""
    new = parts.part_of(_remember(value))
    stored = _candidates(context, key, value.smsc, new.sent_at_us, sha256)
    if (
        stored is None
        or _is_read_whole(context, part)
        or any(
            one.position == new.position
            and one.sent_at == new.sent_at_us
            and parts.is_repeat(parts.part_of(_decode(one.pdu)), new)
            for one in stored
        )
    ):
        return None
    taken = {one.message_id for one in stored if one.position == new.position or not one.is_open}
    free = (one.message_id for one in stored if one.message_id not in taken)
    joined_to = next(free, None)
    back = _lacking(context, stored, new.position)
    message_id, is_new = back or joined_to, back is None
    if message_id is None:
        message_id, is_new = _add_message(context, part, value, sha256, new.sent_at_us, total=key.total)
    _add_part(context, part, value.pdu, sha256, (message_id, new.position, new.sent_at_us))
    if not is_new:
        _attach(context, message_id, key.total)
        return None
    own = PartRow(message_id, new.position, value.pdu, new.sent_at_us, context.now, is_open=True)
    group = [own, *(one for one in stored if one.is_open)]
    chosen, members = None, list[PartRow]()
    if parts.is_whole(key.total, (one.position for one in group)):
        chosen = parts.choose(key.total, [parts.part_of(_decode(one.pdu)) for one in group])
    if chosen is not None:
        members = [group[index] for index in chosen.indexes]
    at_once = chosen is not None and _counts_at_once(context, members, chosen, joined_to)
    if at_once and all(one.message_id == joined_to for one in members):
        return _join(context, members, adds=1)
    if joined_to is not None:
        messages.count_part(context.tx, joined_to)
    if at_once:
        return _join(context, members)
    # A later part than the first, beside one that is in a message: it may be the genuine one, and the other a stranger's.
    rival = new.position > 1 and any(one.position == new.position and not one.is_open for one in stored)
    if chosen is not None or (rival and is_new):
        first = message_id if chosen is None else members[0].message_id
        messages.assemble_later(context.tx, first, context.now + ASSEMBLE_AFTER_US)
    return Waiting(message_id)


def _lacking(context: Context, stored: Sequence[PartRow], position: int) -> str | None:
    """Return the concluded message among these that lacks this part: it came back from the hub, without its parts."""
    for message_id in dict.fromkeys(one.message_id for one in stored if not one.is_open):
        # `stored` may be cut.
        own = messages.stored_parts(context.tx, message_id)
        if all(one.position != position for one in own):
            return message_id
    return None


def _attach(context: Context, message_id: str, total: int) -> None:
    """Let a message that came back from the hub have a part again, and its text with the last one. It stays as it is."""
    messages.count_parts(context.tx, message_id)
    own = messages.stored_parts(context.tx, message_id)
    if len(own) == total and all(one.pdu for one in own):
        messages.put_text(context.tx, message_id, parts.join([_decode(one.pdu) for one in own]))


def assemble(context: Context, row: Message) -> list[JoinedMessage]:
    """Return the messages formed by parts that have waited for rivals; none if other messages took the parts.

    Of rivals the one nearest in SMSC time counts if it is nearer by 30 s; the messages of the others wait again. Else each
    message that they form is `ambiguous`.
    """
    messages.assemble_later(context.tx, row.id, None)
    own = messages.stored_parts(context.tx, row.id)
    if not own or not own[0].is_open:
        return []
    value = _decode(own[0].pdu)
    key = parts.key_of(row.sim_key, value)
    assert key is not None, "an incomplete message has parts"
    found: list[JoinedMessage] = []
    while True:
        stored = _candidates(context, key, value.smsc, own[0].sent_at)
        group = [one for one in stored or () if one.is_open]
        chosen = parts.choose(key.total, [parts.part_of(_decode(one.pdu)) for one in group])
        if chosen is None:
            return found or _beside_whole(context, key, own, stored or ())
        members = [group[index] for index in chosen.indexes]
        if found and not found[0].ambiguous:
            at = context.now + ASSEMBLE_AFTER_US
            messages.assemble_later(context.tx, members[0].message_id, at)
            return found
        found.append(_join(context, members, ambiguous=bool(found) or not chosen.is_clear))


def _beside_whole(
    context: Context, key: parts.PartKey, own: Sequence[PartRow], stored: Sequence[PartRow]
) -> list[JoinedMessage]:
    """Return what parts form with the other parts of a concluded message of the same minute, whose place another part took."""
    if context.imported or context.mode is Mode.TEST:
        return []
    mine = {one.position: one for one in own}
    for whole in dict.fromkeys(one.message_id for one in stored if not one.is_open):
        theirs = {one.position: one for one in stored if one.message_id == whole}
        if len(theirs) != key.total or not mine.keys() < theirs.keys():
            continue
        values = [_decode(one.pdu) for _, one in sorted({**theirs, **mine}.items())]
        new = [parts.part_of(one) for one in values]
        near = all(parts.apart_us(one, new[0]) <= PROMPT_SPAN_US for one in new)
        same = all(parts.part_of(_decode(theirs[at].pdu)).user_data == new[at - 1].user_data for at in mine)
        if near and not same:
            return [JoinedMessage(own[0].message_id, values[-1], parts.join(values), theirs[1].sent_at, tuple(values), ambiguous=True)]  # fmt: skip
    return []


def pair_again(context: Context, row: Message) -> list[JoinedMessage]:
    """Return what the parts of a message whose pairing was wrong form with those that lay beside it, each `ambiguous`."""
    own = messages.stored_parts(context.tx, row.id)
    key = parts.key_of(row.sim_key, _decode(own[0].pdu)) if row.parts_total > 1 and own else None
    if key is None:
        return []
    beside = dict[str, list[PartRow]]()
    for one in _candidates(context, key, row.smsc, own[0].sent_at) or ():
        if one.message_id != row.id:
            beside.setdefault(one.message_id, []).append(one)
    wrong = [replace(one, is_open=False) for one in own]
    return [one for mine in beside.values() for one in _beside_whole(context, key, mine, wrong)]


def _candidates(
    context: Context, key: parts.PartKey, smsc: str | None, sent_at: int | None, sha256: str = ""
) -> list[PartRow] | None:
    """Return the parts with this key that may be of one message with a part through this SMSC, the nearest first.

    None if the part with this digest is stored already.
    """
    homes = _homes(context)
    return messages.parts_like(
        context.tx,
        key={
            "sim_key": key.iccid,
            "sender": key.sender,
            "width": key.width,
            "reference": key.reference,
            "total": key.total,
            "imported": context.imported,
        },
        smsc=smsc,
        homes=homes if is_home(smsc, homes) else (),
        sent_at=sent_at,
        span=parts.SPAN_US_MAX,
        sha256=sha256,
    )


def _homes(context: Context) -> Sequence[str]:
    return context.homes if context.mode is Mode.LIVE else ()


def _counts_at_once(
    context: Context, members: Sequence[PartRow], chosen: parts.Assembly, joined_to: str | None
) -> bool:
    """Return whether an assembly counts at once. `joined_to` got one of its parts, and does not count it yet."""
    if chosen.has_rivals:
        return False
    if context.imported or context.mode is Mode.TEST:
        return True
    arrived = [one.received_at for one in members]
    if chosen.span_us > PROMPT_SPAN_US or arrived != sorted(arrived):
        return False
    since = context.now - HOUR_US
    unjoined = messages.count_unjoined(
        context.tx, context.source.sim_key, _homes(context), since, UNJOINED_MAX + 1, joined_to
    )
    return unjoined <= UNJOINED_MAX


def _join(context: Context, members: Sequence[PartRow], *, ambiguous: bool = False, adds: int = 0) -> JoinedMessage:
    """Put the parts of an assembly into one message, which has so many parts that it does not count yet."""
    target = members[0].message_id
    values = [_decode(one.pdu) for one in members]
    body = parts.join(values)
    messages.gather_parts(context.tx, target, members, body, adds)
    return JoinedMessage(target, values[-1], body, members[0].sent_at, tuple(values), ambiguous)


def store_unread(context: Context, part: ReadPart, why: str) -> Unread | None:
    """Store a part without reading it; return None if it was stored before."""
    sha256 = _digest(context, part.pdu)
    if messages.has_part(context.tx, context.source.sim_key, sha256):
        return None
    return _store_unread(context, part, sha256, why)


FROM_FILE: Final = "file:"


"""Prefix of an imported PDU before hashing. With it the text is not hex."""


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


def _store_unread(context: Context, part: ReadPart, sha256: str, why: str) -> Unread | None:
    message_id, is_new = _add_message(context, part, None, sha256, None, total=1)
    _add_part(context, part, part.pdu, sha256, (message_id, 1, None))
    return Unread(message_id, why) if is_new else None


def _add_part(context: Context, part: ReadPart, pdu: str, sha256: str, place: tuple[str, int, int | None]) -> None:
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
            "synthesised": part.synthesised,
        },
    )


def _add_message(
    context: Context, part: ReadPart, value: Deliver | None, sha256: str, sent_at: int | None, *, total: int
) -> tuple[str, bool]:
    """Store the message that the part with this digest opens; return its id, and whether it is new.

    One that is not new came back from the hub without its parts.
    """
    concat = None if value is None else value.concat
    message_id = ids.message_id(context.env.account_key, context.source.sim_key, sha256, sent_at)
    is_new = messages.add(
        context.tx,
        {
            "id": message_id,
            "mode": context.mode,
            "imported": context.imported,
            "recovered": context.recovered,
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
            "source": context.source.name,
            "level": context.source.level,
            "synthesised": part.synthesised,
        },
    )
    return message_id, is_new


def _digest(context: Context, pdu: str) -> str:
    """Return the digest of a part. A part from a file has another digest than a phone's, so it cannot replace it.

    A part that a source handed over as history has the usual one: handed over again, it stays history.
    """
    from_file = context.imported and not context.source.history
    return digest(f"{FROM_FILE}{pdu}") if from_file else digest(pdu)


def _is_known(context: Context, part: ReadPart, sha256: str) -> bool:
    """Return whether a part was stored before; for an import also whether a phone has read its complete message."""
    return messages.has_part(context.tx, context.source.sim_key, sha256) or _is_read_whole(context, part)


def _is_read_whole(context: Context, part: ReadPart) -> bool:
    """Return whether a part is of an import, and a phone has read its complete message."""
    return context.imported and messages.has_whole(context.tx, context.source.sim_key, digest(part.pdu))


def _decode(pdu: str) -> Deliver:
    """Decode a stored part; it decoded without error when it was stored.

    Remembered, also from its own intake: the parts of a message are compared, chosen and joined.
    """
    value = _decoded.get(pdu)
    if value is None:
        found = codec.decode(pdu)
        assert isinstance(found, Deliver)
        value = _remember(found)
    return value


def _remember(value: Deliver) -> Deliver:
    if len(_decoded) >= DECODED_MAX:
        _decoded.clear()
    _decoded[value.pdu] = value
    return value


TEXT_MAX: Final = 10_000
"""UTF-16 units of a text that are kept; the longest SMS has less than 40,000, a payment message less than 500."""
_SENDER_KEPT: Final = 10
_NOT_A_SENDER: Final = "?"
"""Before a sender that no PDU can hold. No network's name begins with it."""
_FIRST_S: Final = to_us(datetime(1990, 1, 1, tzinfo=UTC)) // SECOND_US
_END_S: Final = to_us(datetime(2090, 1, 1, tzinfo=UTC)) // SECOND_US
"""The times that a PDU can hold: its year has two digits."""


def text_parts(
    sender: str, text: str, sent_at: int | None, *, storage: str, slot: int, smsc: str | None = None
) -> list[ReadPart]:
    """Return the parts of a message, in order. No value of a source makes it raise.

    A sender longer than 11 characters, or outside the SMS alphabet, is marked, so that it never equals another one
    after cutting. A time that no PDU can hold counts as unknown. `storage` and `slot` say where the source keeps it, to
    show. `smsc` is None if the source does not tell it.
    """
    # Cut as the encoder counts, so that there are never more parts than a message can have.
    units = text.encode("utf-16-be", "surrogatepass")[: 2 * TEXT_MAX]
    text = units.decode("utf-16-be", "replace")
    at = None if sent_at is None else sent_at // SECOND_US
    content = "\0".join((sender, str(at), text))
    reference = int.from_bytes(hashlib.sha256(content.encode(errors="replace")).digest()[:2], "big")
    moment = None if at is None or not _FIRST_S <= at < _END_S else from_us(at * SECOND_US)
    try:
        pdus = encode_deliver(sender, text, moment, smsc=smsc, reference=reference, width=16)
    except ValueError:
        plain = "".join(c for c in sender if c.isascii() and c.isalnum())[:_SENDER_KEPT]
        marked = f"{_NOT_A_SENDER}{plain}"
        pdus = encode_deliver(marked, text, moment, smsc=smsc, reference=reference, width=16)
    # A PDU begins with the SMSC, which is no part of the TPDU: an octet with its length, 00 for none, and its octets.
    return [ReadPart(storage, slot, len(pdu) // 2 - 1 - int(pdu[:2], 16), pdu, synthesised=True) for pdu in pdus]


PARTS_AT_ONCE: Final = 500
"""Parts of the message journal that are looked for at once."""
KNOWN_RUN: Final = 1_000
"""Known parts in a row that end the search. Intakes that run at the same time write to the journal and to the database in
different orders; ten phones with a batch each are fewer parts than this."""


async def missing(store: Store, message_journal: MessageJournal) -> list[Record]:
    """Return the parts of the message journal that the database lacks, in order; each part once.

    Raises:
        OSError: The journal cannot be read.
        Unavailable: The database cannot be read.
    """
    everything = message_journal.was_fetched
    backward = message_journal.backward()
    found: dict[Key, Record] = {}
    run = 0
    while everything or run < KNOWN_RUN:
        chunk = await asyncio.to_thread(_take, backward)
        if not chunk:
            break
        keys = [key for key, _ in chunk]
        known = await store.read(partial(messages.known_parts, keys=keys))
        for key, record in chunk:
            run = run + 1 if key in known else 0
            if key not in known:
                found.pop(key, None)  # the earlier record has the time when the part was received
                found[key] = record
    return [*reversed(found.values())]


def _take(backward: Iterator[Record]) -> list[tuple[Key, Record]]:
    return [(record.key, record) for record in islice(backward, PARTS_AT_ONCE)]
