"""Is a SIM quieter than it should be? Learned from its own rhythm by hour of the week. Pure.

Kept of each SIM: how many messages came in each hour of the last eight weeks, one byte an hour. An hour that nobody
watched is not an hour without messages. Hours are the shop's own (local) hours since 1970; 168 of them are a week.

A silence is judged by how likely it would be, had nothing changed: the chances that each of its hours stays empty,
multiplied. An hour's chance comes from the same hour of the weeks before, as a gamma-Poisson count, since payments come
in crowds; where that hour has been empty before, it may be so again, at least as often. So an hour that is always empty
(a closed Sunday, the night) says nothing, and a busy one that is never empty says much, soon.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US

HOURS: Final = 168
WEEKS: Final = 8
"""Older weeks are forgotten: shops change their hours."""
UNWATCHED: Final = 255
COUNT_MAX: Final = 254

CHANCE_MAX: Final = 1e-4
"""A silence this unlikely is an alarm. A shop is open some 4,000 hours a year: less than one false alarm."""
CROWDING_MAX: Final = 4.0
"""No rhythm is believed to be more even than this (the shape of the gamma); pure chance would be infinity."""
QUIET_US_MIN: Final = 20 * MINUTE_US
"""Not worth a word before."""
WEEKS_MIN: Final = 2
"""An hour of the week that was watched less often says nothing. So a new SIM is not judged by its rhythm for two weeks."""
FIRST_HOURS: Final = 3
"""On a day without any message the shop may simply be closed: so many of its usual hours must have passed."""
YOUNG_US: Final = 7 * DAY_US
LONGEST_TIMES: Final = 2
LONGEST_MESSAGES_MIN: Final = 50
"""Before the rhythm is known, only a silence of twice the longest ever is an alarm: after a whole week, nights and the
day off included, and with messages enough to call it a rhythm."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What is known of one SIM's messages. Times are microseconds UTC, weeks are `local hour // 168`.

    Attributes:
        watched_since: When we began to learn.
        week: The newest week in `counts`.
        counts: `WEEKS * HOURS` bytes: week `w` stands at `w % WEEKS`; `UNWATCHED` where nobody looked.
        messages: How many came in all.
        last_at: When the last one came.
        longest_gap_us: The longest time between two of them.
        silent_since: The alarm: since when it is silent; None while it is not.
    """

    sim_key: str
    watched_since: int
    week: int
    counts: bytes
    messages: int
    last_at: int | None
    longest_gap_us: int
    silent_since: int | None


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, judged.

    Attributes:
        alarm: It is too long.
        quiet_us: How long it is.
        expected: How many messages usually come in such a time.
        chance: How likely it would be if nothing were wrong.
    """

    alarm: bool
    quiet_us: int
    expected: float
    chance: float


def begin(sim_key: str, now_us: int, offset_us: int) -> Rhythm:
    """Begin to learn; `offset_us` is what the shop's zone is ahead of UTC."""
    hour = _hour(now_us, offset_us)
    unwatched = bytes([UNWATCHED]) * (WEEKS * HOURS)
    return watched(Rhythm(sim_key, now_us, hour // HOURS, unwatched, 0, None, 0, None), hour)


def watched_now(rhythm: Rhythm, now_us: int, offset_us: int) -> Rhythm:
    """Note that the SIM could receive in this hour; returns the same value when that was known."""
    return watched(rhythm, _hour(now_us, offset_us))


def watched(rhythm: Rhythm, hour: int) -> Rhythm:
    """Note that somebody looks in this hour."""
    rhythm = _turned(rhythm, hour // HOURS)
    return rhythm if _count(rhythm, hour) != UNWATCHED else _with(rhythm, hour, 0)


def heard(rhythm: Rhythm, sent_us: int, received_us: int, offset_us: int) -> Rhythm:
    """Count a message in the hour in which it was sent to us; one that is older than our watch only proves life."""
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
    return _with(rhythm, hour, 1 if before == UNWATCHED else min(before + 1, COUNT_MAX))


def judge(rhythm: Rhythm, quiet_from_us: int, now_us: int, offset_us: int) -> Silence:
    """Say whether the silence from `quiet_from_us` until now is too long."""
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


def to_text(counts: bytes) -> str:
    """Write the counts for the database."""
    return counts.hex()


def from_text(text: str) -> bytes:
    """Read them again."""
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
    """Return how likely no message comes in this share of an hour in which so many came in the weeks before."""
    weeks = len(usual)
    # As if there had been one more week, without any: the fewer weeks, the less we are sure of.
    mean = sum(usual) / (weeks + 1)
    if not mean:
        return 1.0
    own = sum(usual) / weeks
    variance = sum((count - own) ** 2 for count in usual) / (weeks - 1)
    crowding = CROWDING_MAX
    if variance > own:
        crowding = min(CROWDING_MAX, own * own / (variance - own))
    chance: float = (crowding / (crowding + mean * share)) ** crowding
    empty_before = usual.count(0) / weeks
    return max(chance, 1 - (1 - empty_before) * share if empty_before else 0.0)


def _hours(start_us: int, end_us: int) -> Iterator[tuple[int, float]]:
    """Return each hour of a time and the share of it that lies within; of a long time only the last week."""
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
            if count != UNWATCHED:
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
    return replace(
        rhythm, counts=rhythm.counts[:place] + bytes([count]) + rhythm.counts[place + 1 :]
    )


def _turned(rhythm: Rhythm, week: int) -> Rhythm:
    """Forget the weeks whose places are wanted for new ones."""
    if week <= rhythm.week:
        return rhythm
    counts = bytearray(rhythm.counts)
    for new in range(max(rhythm.week, week - WEEKS) + 1, week + 1):
        place = new % WEEKS * HOURS
        counts[place : place + HOURS] = bytes([UNWATCHED]) * HOURS
    return replace(rhythm, week=week, counts=bytes(counts))
