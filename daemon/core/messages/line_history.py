"""The history of a line: its usual traffic, the times without a modem, and the money that no message accounts for. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.messages.balance_chain import Absence, ChainEntry, Standing

USUAL_DAYS: Final = 14
"""The number of days that define the usual traffic of a line."""
SETTLED_DAYS: Final = 7
"""From so many days on, the mean of a stretch does not depend on one busy hour."""
SURROUNDINGS_US: Final = HOUR_US
FIRST_DAY_ENDS_US: Final = 18 * HOUR_US
"""Ghana's time is UTC."""


def away_for(absences: Iterable[Absence], since: int, until: int) -> int:
    """Return how long the modem was away between two times, microseconds."""
    return sum(
        max(0, min(until, until if one.until is None else one.until) - max(since, one.since))
        for one in absences
    )


def usual_receipts(times: Sequence[int], since: int, until: int, now: int) -> float:
    """Return the number of receipts that a line usually gets between two times.

    Args:
        times: The times of the receipts in the chain, oldest first, microseconds; those of the last 15 days are enough.
        since: Start of the stretch.
        until: End of the stretch.
        now: The present time.

    Returns:
        The mean over the same stretch of the last 14 days. In the first week a stretch may have been busy by chance, so its
        surroundings count too if they were quieter. On the first day half the pace so far, until 18:00.
    """
    if not times or until <= since:
        return 0.0
    days = min(USUAL_DAYS, (now - times[0]) // DAY_US)
    if days < 1:
        # The closing time is not known yet: the silence of the night must not confirm a forged row of the evening.
        until = min(until, since // DAY_US * DAY_US + FIRST_DAY_ENDS_US)
        elapsed = max(since - times[0], MINUTE_US)
        return sum(at < since for at in times) * max(0, until - since) / elapsed / 2
    usual = _mean(times, since, until, days)
    if days >= SETTLED_DAYS:
        return usual
    length = until - since
    around = _mean(times, since - SURROUNDINGS_US, until + SURROUNDINGS_US, days)
    return min(usual, around * length / (length + 2 * SURROUNDINGS_US))


def _mean(times: Sequence[int], since: int, until: int, days: int) -> float:
    """Return the mean number of receipts in the same stretch of the last days."""
    counted = 0
    for day in range(1, days + 1):
        start, end = since - day * DAY_US, min(until - day * DAY_US, since)
        counted += sum(start <= at < end for at in times)
    return counted / days


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
        (entry.gap_minor, entry.at)
        for entry in chain
        if entry.gap_minor and entry.standing is Standing.ACCEPTED
    ]
    return Unaccounted(
        sum(gap for gap, _ in open_gaps if gap > 0),
        -sum(gap for gap, _ in open_gaps if gap < 0),
        min((at for _, at in open_gaps), default=None),
    )
