"""The history of a line: its usual traffic, the times without a modem, and the money that no message accounts for. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance_chain import Absence, ChainEntry, Standing

USUAL_DAYS: Final = 14
"""The number of days that define the usual traffic of a line."""
WEEK_US: Final = 7 * DAY_US
FIRST_DAY_ENDS_US: Final = 18 * HOUR_US
"""Ghana's time is UTC."""


def away_for(absences: Iterable[Absence], since: int, until: int) -> int:
    """Return how long the modem was away between two times, microseconds."""
    return sum(
        max(0, min(until, until if one.until is None else one.until) - max(since, one.since)) for one in absences
    )


def usual_receipts(times: Sequence[int], since: int, until: int) -> float:
    """Return the number of receipts that a line usually gets between two times.

    `times` are those of its last 15 days, oldest first. It is the mean of the same stretch one and two weeks before:
    nothing on a weekday on which the shop is usually closed. In the first week the mean of the same stretch of the days
    before. On the first day half the pace so far, until 18:00.
    """
    if not times or until <= since:
        return 0.0
    since = max(since, until - USUAL_DAYS * DAY_US)
    total, at = 0.0, since
    while at < until:
        end = min(until, at + HOUR_US)
        total += _usual(times, at, end)
        at = end
    return total


def _usual(times: Sequence[int], since: int, until: int) -> float:
    """Return the usual number of receipts of a stretch of an hour or less."""
    first = times[0]
    for step, most in ((WEEK_US, 2), (DAY_US, 6)):
        back = [step * n for n in range(1, most + 1) if first <= since - step * n]
        if back:
            found = (bisect_left(times, until - by) - bisect_left(times, since - by) for by in back)
            return sum(found) / len(back)
    # The closing time is not known yet: the silence of the first night must not confirm a forged row of the evening.
    until = min(until, first // DAY_US * DAY_US + FIRST_DAY_ENDS_US)
    elapsed = max(since - first, MINUTE_US)
    return bisect_left(times, since) * max(0, until - since) / elapsed / 2


class Unaccounted(Struct, frozen=True):
    """The amount of a line's money that no message accounts for.

    Attributes:
        came_in_minor: Money that came in without a message.
        went_out_minor: Money that left without a message.
        since: Time of the first message that showed it, microseconds; None when everything is accounted for.
    """

    came_in_minor: int
    went_out_minor: int
    since: int | None


def unaccounted(chain: Iterable[ChainEntry]) -> Unaccounted:
    """Add up the gaps of a line. Gaps before held messages are not known yet and do not count."""
    open_gaps = [
        (entry.gap_minor, entry.at) for entry in chain if entry.gap_minor and entry.standing is Standing.ACCEPTED
    ]
    return Unaccounted(
        sum(gap for gap, _ in open_gaps if gap > 0),
        -sum(gap for gap, _ in open_gaps if gap < 0),
        min((at for _, at in open_gaps), default=None),
    )
