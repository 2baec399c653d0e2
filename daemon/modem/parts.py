"""Long messages: which parts belong together, and the text they make.

A part is looked for under its PartKey. Under one key there may be several messages at once, since
references wrap around (8 bits: every 256 messages of a sender); `place` says which of them a new
part completes, or that it starts another.

What a store row must keep of a part to do this later: `Deliver.pdu` (the PDU as normalised hex;
all else can be decoded from it again), and as columns for the search the key's five fields, the
position, the service centre's time in microseconds, and which message it was placed in. The text
is made by `join` of the kept PDUs, decoded again, in any order; joining the parts' own texts
instead would break a surrogate pair that the sender cut in two.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from daemon.modem.pdu import text_of
from daemon.modem.pdu_fields import Coding
from daemon.modem.pdu_values import Deliver, Message
from parsers.when import to_us

SPAN_US_MAX = 24 * 60 * 60 * 1_000_000
"""Parts whose service centre times lie further apart are of different messages."""


@dataclass(frozen=True, slots=True)
class PartKey:
    """What all parts of one message share.

    The total is part of it: senders reuse a reference at once for a message of another length.
    The service centre is not: parts of one message come through different ones.
    """

    iccid: str
    sender: str
    width: int
    reference: int
    total: int


@dataclass(frozen=True, slots=True)
class Part:
    """What placing needs of one part: position, service centre time, user data octets."""

    position: int
    sent_at_us: int | None
    user_data: bytes


class Fit(StrEnum):
    """What a part is to a message: a start of another, a missing piece, or one it has."""

    NEW = "new"
    JOINS = "joins"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a part belongs: `index` of the message given to `place`, None when it is new."""

    fit: Fit
    index: int | None


def key_of(iccid: str, message: Deliver) -> PartKey | None:
    """Return the key of a part read from this SIM, or None for a whole message."""
    concat = message.concat
    if concat is None:
        return None
    return PartKey(iccid, message.sender, concat.width, concat.reference, concat.total)


def part_of(message: Deliver) -> Part:
    """Return what placing needs of a received message; a whole one is its own part 1."""
    sent_at_us = None
    if message.sent_at is not None:
        sent_at_us = to_us(message.sent_at)
    position = message.concat.position if message.concat else 1
    return Part(position, sent_at_us, message.user_data)


def fits(existing: Sequence[Part], new: Part) -> Fit:
    """Say what a part is to the parts of one message, all under the same PartKey.

    A position that is filled starts a new message, unless octets and time are the same: then the
    network delivered it again. Octets alone do not tell: two receipts may well begin alike. A part
    without a readable time joins by key and position alone.
    """
    for part in existing:
        if part.position == new.position:
            return Fit.REPEAT if part == new else Fit.NEW
    if all(_apart_us(part, new) <= SPAN_US_MAX for part in existing):
        return Fit.JOINS if existing else Fit.NEW
    return Fit.NEW


def place(messages: Sequence[Sequence[Part]], new: Part) -> Placement:
    """Choose among the messages under one PartKey the one this part belongs to.

    A repeat wins; of several messages that lack it, the one nearest in time, and of equals the
    last given (give the oldest first).
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
    """Say whether these positions are all there are of a message of `total` parts."""
    return set(positions) >= set(range(1, total + 1))


def join(messages: Sequence[Message]) -> str:
    """Return the text of the parts of one message, given in any order.

    Neighbouring parts in the same alphabet are joined before they are decoded, octets of UCS-2
    and septets of GSM 7-bit alike, so that a character cut in two reads as one. A part in another
    alphabet or with other national tables is decoded by its own.
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
