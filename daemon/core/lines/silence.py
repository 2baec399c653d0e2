"""Detection of a SIM that has become silent, from its usual messages by hour of the week. Pure.

For each SIM the messages of each hour of the last eight weeks are counted, one byte an hour. An hour without monitoring is
distinct from an hour without messages. Hours are the shop's local hours since 1970; 168 of them are a week.

The probability of a silence is the product of the probabilities that each of its hours stays empty. The probability of an
hour comes from the same hour of earlier weeks, as a gamma-Poisson count, because payments come in clusters; it is at least
the share of those weeks in which the hour was empty. So an hour that is always empty (a closed Sunday, the night) has no
weight, and a busy hour that was never empty has much weight.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US

HOURS: Final = 168
WEEKS: Final = 8
"""Older weeks are dropped: shops change their hours."""
UNMONITORED: Final = 255
COUNT_MAX: Final = 254

# A fixed limit raises false alarms every night and is slow at noon; a multiple of the usual gap raises them on Sundays.
CHANCE_MAX: Final = 1e-4
"""A silence with at most this probability is an alarm: under one false alarm in the 4,000 open hours of a year."""
SHAPE_MAX: Final = 4.0
"""Upper limit of the gamma's shape parameter, which is higher the more even the counts are; pure Poisson is infinity."""
QUIET_US_MIN: Final = 20 * MINUTE_US
"""A shorter silence is never an alarm."""
WEEKS_MIN: Final = 2
"""An hour of the week monitored less often is ignored, so the rhythm of a new SIM is not used for two weeks."""
FIRST_HOURS: Final = 3
"""On a day without any message the shop may be closed: this many of its usual hours must have passed."""
YOUNG_US: Final = 7 * DAY_US
LONGEST_TIMES: Final = 2
LONGEST_MESSAGES_MIN: Final = 50
"""Before the rhythm is known, only a silence of over twice the longest one so far is an alarm, and only after a whole week
(with its nights and days off) and this many messages."""


class Rhythm(Struct, frozen=True):
    """Message statistics of one SIM. Times are microseconds UTC, weeks are `local hour // 168`.

    Attributes:
        watched_since: Start of the monitoring.
        week: The newest week in `counts`.
        counts: `WEEKS * HOURS` bytes: week `w` is at `w % WEEKS`; `UNWATCHED` for hours without monitoring.
        messages: Number of all messages.
        last_at: Time of the last message.
        longest_gap_us: The longest time between two messages.
        silent_since: Start of the silence while there is an alarm, else None.
    """

    sim_key: str
    watched_since: int
    week: int
    counts: bytes
    messages: int
    last_at: int | None
    longest_gap_us: int
    silent_since: int | None


class Silence(Struct, frozen=True):
    """Evaluation of a silence.

    Attributes:
        alarm: The silence is too long.
        quiet_us: Its length.
        expected: Usual number of messages in this time.
        chance: Its probability if everything works.
    """

    alarm: bool
    quiet_us: int
    expected: float
    chance: float


def new_rhythm(sim_key: str, now_us: int, offset_us: int) -> Rhythm:
    """Return new statistics for a SIM; `offset_us` is the UTC offset of the shop's time zone."""
    hour = _hour(now_us, offset_us)
    unwatched = bytes([UNMONITORED]) * (WEEKS * HOURS)
    return mark_monitored(Rhythm(sim_key, now_us, hour // HOURS, unwatched, 0, None, 0, None), hour)


def mark_monitored_now(rhythm: Rhythm, now_us: int, offset_us: int) -> Rhythm:
    """Mark the present hour as monitored; return the same object if it already was."""
    return mark_monitored(rhythm, _hour(now_us, offset_us))


def mark_monitored(rhythm: Rhythm, hour: int) -> Rhythm:
    """Mark an hour as monitored."""
    rhythm = _turned(rhythm, hour // HOURS)
    return rhythm if _count(rhythm, hour) != UNMONITORED else _with(rhythm, hour, 0)


def count_message(rhythm: Rhythm, sent_us: int, received_us: int, offset_us: int) -> Rhythm:
    """Count a message in the hour of its sending; if that is before the monitoring, only update the totals and times."""
    last = rhythm.last_at
    gap = 0 if last is None else received_us - last
    rhythm = replace(
        rhythm,
        messages=rhythm.messages + 1,
        last_at=received_us if last is None else max(last, received_us),
        longest_gap_us=max(rhythm.longest_gap_us, gap),
    )
    if sent_us < rhythm.watched_since:
        return rhythm
    hour = _hour(sent_us, offset_us)
    rhythm = _turned(rhythm, hour // HOURS)
    if hour // HOURS <= rhythm.week - WEEKS:
        return rhythm
    before = _count(rhythm, hour)
    return _with(rhythm, hour, 1 if before == UNMONITORED else min(before + 1, COUNT_MAX))


def evaluate(rhythm: Rhythm, quiet_from_us: int, now_us: int, offset_us: int) -> Silence:
    """Evaluate the silence from `quiet_from_us` until now."""
    quiet_us = max(0, now_us - quiet_from_us)
    chance, expected, busy_today = 1.0, 0.0, 0.0
    first = _hour(quiet_from_us, offset_us)
    today = (now_us + offset_us) // DAY_US * 24
    for hour, share in _hours(quiet_from_us + offset_us, now_us + offset_us):
        usual = _usual(rhythm, hour, first)
        if len(usual) < WEEKS_MIN:
            continue
        mean = sum(usual) / len(usual)
        chance *= _empty_chance(usual, share)
        expected += mean * share
        if hour >= today and mean >= 1:
            busy_today += share
    unlikely = chance <= CHANCE_MAX and (first >= today or busy_today >= FIRST_HOURS)
    alarm = quiet_us >= QUIET_US_MIN and (unlikely or _longest_ever(rhythm, quiet_us, now_us))
    return Silence(alarm, quiet_us, expected, chance)


def day(rhythm: Rhythm, now_us: int, offset_us: int) -> list[tuple[int | None, float | None]]:
    """Return for each hour of today its messages, and those of earlier weeks on average; None where it was not monitored."""
    now = _hour(now_us, offset_us)
    first = now - now % 24
    found: list[tuple[int | None, float | None]] = []
    for hour in range(first, first + 24):
        usual = _usual(rhythm, hour, first)
        here = UNMONITORED if hour > now or hour // HOURS != rhythm.week else _count(rhythm, hour)
        mean = sum(usual) / len(usual) if usual else None
        found.append((None if here == UNMONITORED else here, mean))
    return found


def to_text(counts: bytes) -> str:
    """Return the counts as text for the database."""
    return counts.hex()


def from_text(text: str) -> bytes:
    """Parse the counts from the database."""
    counts = bytes.fromhex(text)
    assert len(counts) == WEEKS * HOURS
    return counts


def _longest_ever(rhythm: Rhythm, quiet_us: int, now_us: int) -> bool:
    return (
        rhythm.messages >= LONGEST_MESSAGES_MIN
        and now_us - rhythm.watched_since - quiet_us >= YOUNG_US
        and quiet_us > LONGEST_TIMES * rhythm.longest_gap_us
    )


def _empty_chance(usual: list[int], share: float) -> float:
    """Return the probability of no message in a share of an hour, from the counts of that hour in earlier weeks."""
    weeks = len(usual)
    # One empty week is added: the fewer weeks there are, the less certain is the mean.
    mean = sum(usual) / (weeks + 1)
    if not mean:
        return 1.0
    own = sum(usual) / weeks
    variance = sum((count - own) ** 2 for count in usual) / (weeks - 1)
    crowding = SHAPE_MAX
    if variance > own:
        crowding = min(SHAPE_MAX, own * own / (variance - own))
    chance: float = (crowding / (crowding + mean * share)) ** crowding
    empty_before = usual.count(0) / weeks
    return max(chance, 1 - (1 - empty_before) * share if empty_before else 0.0)


def _hours(start_us: int, end_us: int) -> Iterator[tuple[int, float]]:
    """Yield each hour of a time span with the share of it inside the span; of a long span only the last week."""
    start_us = max(start_us, end_us - HOURS * HOUR_US)
    for hour in range(start_us // HOUR_US, (end_us - 1) // HOUR_US + 1):
        begins, ends = max(start_us, hour * HOUR_US), min(end_us, (hour + 1) * HOUR_US)
        yield hour, (ends - begins) / HOUR_US


def _usual(rhythm: Rhythm, hour: int, before: int) -> list[int]:
    """Return the counts of the same hour in the weeks before the silence began."""
    found = []
    for earlier in range(hour - HOURS, hour - WEEKS * HOURS, -HOURS):
        if earlier < before and rhythm.week - WEEKS < earlier // HOURS <= rhythm.week:
            count = _count(rhythm, earlier)
            if count != UNMONITORED:
                found.append(count)
    return found


def _hour(at_us: int, offset_us: int) -> int:
    return (at_us + offset_us) // HOUR_US


def _place(hour: int) -> int:
    return hour // HOURS % WEEKS * HOURS + hour % HOURS


def _count(rhythm: Rhythm, hour: int) -> int:
    return rhythm.counts[_place(hour)]


def _with(rhythm: Rhythm, hour: int, count: int) -> Rhythm:
    place = _place(hour)
    return replace(rhythm, counts=rhythm.counts[:place] + bytes([count]) + rhythm.counts[place + 1 :])


def _turned(rhythm: Rhythm, week: int) -> Rhythm:
    """Clear the slots of the oldest weeks for the new ones."""
    if week <= rhythm.week:
        return rhythm
    counts = bytearray(rhythm.counts)
    for new in range(max(rhythm.week, week - WEEKS) + 1, week + 1):
        place = new % WEEKS * HOURS
        counts[place : place + HOURS] = bytes([UNMONITORED]) * HOURS
    return replace(rhythm, week=week, counts=bytes(counts))
