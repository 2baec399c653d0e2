"""Joining of long messages: finds the parts of one message and makes its text (3GPP TS 23.040 clause 9.2.3.24.1).

Parts are grouped by PartKey. Under one key there may be parts of several messages at once, since references wrap around
(8 bits: every 256 messages of a sender), and a stranger can send parts too. So several parts may claim one position;
`choose` finds the assembly that the SMSC times support.

A store row must keep of a part: `Deliver.pdu` (the PDU as normalised hex; all other values can be decoded from it), and
as columns for the search the key's five fields, the position, the SMSC's time in microseconds, and the message it was
placed in. `join` makes the text from the kept PDUs, decoded again, in any order; joining the texts of the parts would
break a surrogate pair that the sender cut in two.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from daemon.modem.codec.pdu import text_of
from daemon.modem.codec.pdu_fields import Coding, Deliver, Message
from parsers.times import to_us

SPAN_US_MAX = 15 * 60 * 1_000_000
"""Parts with SMSC times further apart than this are from different messages."""
NEARER_US_MIN = 30 * 1_000_000
"""Of parts that claim one position, the nearest in SMSC time counts if it is nearer by this."""


class PartKey(Struct, frozen=True):
    """Values that all parts of one message share.

    The total is included: senders reuse a reference at once for a message of another length. The SMSC is not: parts of one
    message may come through several home SMSCs.
    """

    iccid: str
    sender: str
    width: int
    reference: int
    total: int


class Part(Struct, frozen=True):
    """Values of one part that `place` compares: position, SMSC time, user data octets."""

    position: int
    sent_at_us: int | None
    user_data: bytes


class Assembly(Struct, frozen=True):
    """The parts that form one message, in order of position.

    Attributes:
        indexes: Their indexes among the candidates.
        has_rivals: Other parts claim the same positions.
        is_clear: No rival is as near in SMSC time, within 30 s.
        span_us: The largest difference of their SMSC times from that of one part, microseconds.
    """

    indexes: tuple[int, ...]
    has_rivals: bool
    is_clear: bool
    span_us: int


def key_of(iccid: str, message: Deliver) -> PartKey | None:
    """Return the key of a part read from this SIM, or None for a whole message."""
    concat = message.concat
    if concat is None:
        return None
    return PartKey(iccid, message.sender, concat.width, concat.reference, concat.total)


def part_of(message: Deliver) -> Part:
    """Return a received message as a part; a single-part message is its own part 1."""
    sent_at_us = None
    if message.sent_at is not None:
        sent_at_us = to_us(message.sent_at)
    position = message.concat.position if message.concat else 1
    return Part(position, sent_at_us, message.user_data)


def is_repeat(one: Part, other: Part) -> bool:
    """Return whether the network delivered a part again: position, octets and time are the same.

    Octets alone do not decide: two receipts may begin alike.
    """
    return one == other


def is_near(one: Part, other: Part) -> bool:
    """Return whether two parts may be of one message by their SMSC times; an unreadable time is near to any."""
    return apart_us(one, other) <= SPAN_US_MAX


def choose(total: int, candidates: Sequence[Part]) -> Assembly | None:
    """Return the best assembly of `total` parts; None while a position lacks one.

    `candidates` have the same PartKey and have formed no message yet.
    """
    places: list[list[int]] = [[] for _ in range(total)]
    for index, part in enumerate(candidates):
        if 1 <= part.position <= total:
            places[part.position - 1].append(index)
    scarcest = min(places, key=len)
    found = [one for anchor in scarcest if (one := _around(anchor, places, candidates))]
    if not found:
        return None
    best, rival_us = min(found, key=lambda one: one[0].span_us)
    for other, _ in found:
        if other is not best and set(other.indexes) & set(best.indexes):
            rival_us = min(rival_us, other.span_us)
    clear = not best.has_rivals or rival_us - best.span_us >= NEARER_US_MIN
    return replace(best, is_clear=clear)


def _around(anchor: int, places: Sequence[Sequence[int]], candidates: Sequence[Part]) -> tuple[Assembly, int] | None:
    """Return the assembly of the parts nearest to one part, and how near the nearest rival is."""
    chosen, span, rival_us, has_rivals = list[int](), 0, SPAN_US_MAX + NEARER_US_MIN, False
    for place in places:
        near = sorted(
            (index for index in place if is_near(candidates[index], candidates[anchor])),
            key=lambda index: apart_us(candidates[index], candidates[anchor]),
        )
        if anchor in near:
            near = [anchor, *(index for index in near if index != anchor)]
        if not near:
            return None
        first = candidates[near[0]]
        others = [one for one in near if candidates[one].user_data != first.user_data]
        chosen.append(near[0])
        span = max(span, apart_us(first, candidates[anchor]))
        if others:
            has_rivals = True
            if anchor != near[0]:
                rival_us = min(rival_us, apart_us(candidates[others[0]], candidates[anchor]))
    return Assembly(tuple(chosen), has_rivals, is_clear=False, span_us=span), rival_us


def is_whole(total: int, positions: Iterable[int]) -> bool:
    """Return whether these positions are complete for a message of `total` parts."""
    return set(positions) >= set(range(1, total + 1))


def join(messages: Sequence[Message]) -> str:
    """Return the text of the parts of one message, given in any order.

    Consecutive parts in the same alphabet are joined before decoding, octets of UCS-2 and septets
    of GSM 7-bit alike, so that a character cut in two is decoded as one. A part in another alphabet
    or with other national tables is decoded on its own.
    """
    ordered = sorted(messages, key=_position)
    pieces = []
    for (coding, locking, single), run in groupby(ordered, key=_alphabet):
        parts = list(run)
        octets = b"".join(part.user_data for part in parts)
        septets = b"".join(part.septets for part in parts)
        pieces.append(text_of(coding, octets, septets, locking, single))
    return "".join(pieces)


def apart_us(one: Part, other: Part) -> int:
    """Return how far apart two parts are in SMSC time; far, if one time cannot be read."""
    if one.sent_at_us is None or other.sent_at_us is None:
        return SPAN_US_MAX
    return abs(one.sent_at_us - other.sent_at_us)


def _position(message: Message) -> int:
    return message.concat.position if message.concat else 0


def _alphabet(message: Message) -> tuple[Coding, int, int]:
    return message.coding, message.locking, message.single
