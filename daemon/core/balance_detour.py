"""Another way between two messages of a line that join each other: money that came and left again, told too late.

Where two neighbours join, nothing seems to have happened between them, and what is told of it afterwards has no place
there. But money may have come and gone again: then all that was told, taken together, leads from the one to the other
once more, each message finding what the one before it left. Only the whole of it proves anything, and only where there
is no other whole that says as much.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.balance_line import Entry, Standing, joins, known_before, known_behind
from daemon.core.limits import MINUTE_US

OPEN: Final = frozenset({Standing.HELD, Standing.UNPROVEN})
"""Messages with a balance that is not one of the wallet's yet."""
TURNED_US_MAX: Final = MINUTE_US
"""Messages this near in time may be booked in another order than their IDs say."""


@dataclass(frozen=True, slots=True)
class _Way:
    """The longest way to a message; `sole` when there is no other of that length."""

    stops: tuple[int, ...]
    sole: bool


def detour(
    line: Sequence[Entry], start: int | None, end: int | None, through: int
) -> tuple[int, ...]:
    """Return the messages of another way between two known balances that join each other.

    Args:
        line: The messages of a line, in order.
        start: The known balance before the message that is being judged.
        end: The known balance behind it.
        through: The message that is being judged.

    Returns:
        Where the messages of the longest whole way stand, from `start` over `through` to `end`: suspect receipts, and others
        that vouch for them. Empty when there is none, and when another is as long.
    """
    if start is None or end is None or line[through].after is None:
        return ()
    return _longest(line, start, end, through) if joins(line, start, end) else ()


def open_between(line: Sequence[Entry], start: int | None, end: int | None) -> Iterator[int]:
    """Give the messages between two, both excluded, that are held or unproven."""
    for i in range(0 if start is None else start + 1, len(line) if end is None else end):
        if line[i].standing in OPEN and line[i].after is not None:
            yield i


def vouches(line: Sequence[Entry], index: int) -> bool:
    """Say whether a message is evidence for another that was found out: it came by a known route and was sent in time.

    Who sees that his forgery was found out can only from then on send what would explain it. A message of the network's
    own that comes late was sent in its time, as the service centre's clock says.
    """
    entry = line[index]
    explained = min((known.at for known in line[index + 1 :] if known.is_known), default=entry.at)
    return entry.at <= explained + TURNED_US_MAX and not entry.doubted


def is_beside_suspect(line: Sequence[Entry], index: int) -> bool:
    """Say whether a message joins a suspect receipt, which may yet be shown to be genuine, and it with it."""
    before, behind = known_before(line, index), known_behind(line, index)
    first = 0 if before is None else before + 1
    return any(
        joins(line, min(i, index), max(i, index))
        for i in range(first, len(line) if behind is None else behind)
        if line[i].standing is Standing.SUSPECT
    )


def _longest(line: Sequence[Entry], start: int, end: int, through: int) -> tuple[int, ...]:
    """Return the longest whole way if it is the only one of that length."""
    suspect = [i for i in range(start + 1, end) if line[i].standing is Standing.SUSPECT]
    others = [i for i in (through, *open_between(line, start, end)) if vouches(line, i)]
    ways = {start: _Way((start,), sole=True)}
    for i in (*sorted({*suspect, *others}), end):
        found = [
            _Way((*way.stops, i), way.sole)
            for stop, way in ways.items()
            if not stop < through < i and joins(line, stop, i)
        ]
        length = max((len(way.stops) for way in found), default=0)
        best = [way for way in found if len(way.stops) == length]
        if best:
            ways[i] = _Way(best[0].stops, best[0].sole and len(best) == 1)
    whole = ways.get(end)
    return whole.stops if whole is not None and whole.sole else ()
