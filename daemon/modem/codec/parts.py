"""Joining of long messages: finds the parts of one message and makes its text.

Parts are grouped by PartKey. Under one key there may be several messages at once, since references
wrap around (8 bits: every 256 messages of a sender); `place` returns the message that a new part
belongs to, or that it starts another.

A store row must keep of a part: `Deliver.pdu` (the PDU as normalised hex; all other values can be
decoded from it), and as columns for the search the key's five fields, the position, the SMSC's time
in microseconds, and the message it was placed in. `join` makes the text from the kept PDUs, decoded
again, in any order; joining the texts of the parts would break a surrogate pair that the sender
cut in two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from daemon.modem.codec.pdu import text_of
from daemon.modem.codec.pdu_fields import Coding, Deliver, Message
from parsers.times import to_us

SPAN_US_MAX = 24 * 60 * 60 * 1_000_000
"""Parts with SMSC times further apart than this are from different messages."""


@dataclass(frozen=True, slots=True)
class PartKey:
    """Values that all parts of one message share.

    The total is included: senders reuse a reference at once for a message of another length. The
    SMSC is not: parts of one message come through different ones.
    """

    iccid: str
    sender: str
    width: int
    reference: int
    total: int


@dataclass(frozen=True, slots=True)
class Part:
    """Values of one part that `place` compares: position, SMSC time, user data octets."""

    position: int
    sent_at_us: int | None
    user_data: bytes


class Fit(StrEnum):
    """Relation of a part to a message: starts another one, is a missing part, or is a repetition."""

    NEW = "new"
    JOINS = "joins"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Placement:
    """Result of `place`: `index` of the message that the part belongs to, None when it is new."""

    fit: Fit
    index: int | None


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


def fits(existing: Sequence[Part], new: Part) -> Fit:
    """Return the relation of a part to the parts of one message with the same PartKey.

    A part at an occupied position starts a new message, unless octets and time are the same: then
    the network delivered it again. Octets alone do not decide: two receipts may begin alike. A part
    without a readable time joins by key and position alone.
    """
    for part in existing:
        if part.position == new.position:
            return Fit.REPEAT if part == new else Fit.NEW
    if all(_apart_us(part, new) <= SPAN_US_MAX for part in existing):
        return Fit.JOINS if existing else Fit.NEW
    return Fit.NEW


def place(messages: Sequence[Sequence[Part]], new: Part) -> Placement:
    """Choose the message with the same PartKey that this part belongs to.

    A repetition takes precedence; then the nearest in time of the messages that lack the part, and
    of equally near ones the last given (give the oldest first).
    """
    best: Placement = Placement(Fit.NEW, None)
    best_apart_us = SPAN_US_MAX
    for index, existing in enumerate(messages):
        fit = fits(existing, new)
        if fit is Fit.REPEAT:
            return Placement(fit, index)
        if fit is Fit.JOINS:
            apart_us = min(_apart_us(part, new) for part in existing)
            if apart_us <= best_apart_us:
                best, best_apart_us = Placement(fit, index), apart_us
    return best


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


def _apart_us(one: Part, other: Part) -> int:
    if one.sent_at_us is None or other.sent_at_us is None:
        return SPAN_US_MAX
    return abs(one.sent_at_us - other.sent_at_us)


def _position(message: Message) -> int:
    return message.concat.position if message.concat else 0


def _alphabet(message: Message) -> tuple[Coding, int, int]:
    return message.coding, message.locking, message.single
