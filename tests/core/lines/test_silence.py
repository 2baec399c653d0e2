"""Alarms about a silent SIM: weeks of a simulated shop, checked hour by hour."""

import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US
from daemon.core.lines import silence
from daemon.core.lines.silence import HOURS, UNMONITORED, WEEKS, Rhythm

MONDAY = 1_795_392_000_000_000
"""2026-11-23T00:00Z."""
Rate = Callable[[int, int], float]
"""Messages in an hour, by day of the week (0 is Monday) and hour."""


def market(day: int, hour: int) -> float:
    """A busy shop, 8 to 18, closed on Sundays."""
    return 30.0 if day != 6 and 8 <= hour < 18 else 0.0


def kiosk(day: int, hour: int) -> float:
    """A quiet one, open every day."""
    return 3.0 if 8 <= hour < 20 else 0.0


def hourly(
    rate: Rate, until_us: int, seed: int = 1, closed: frozenset[int] = frozenset()
) -> Iterator[tuple[int, Rhythm]]:
    """Let a shop live from its first Monday, watched all the time; `closed` are days without customers.

    Yields each hour's end and the rhythm at that time.
    """
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    dice = random.Random(seed)
    for start in range(MONDAY, until_us, HOUR_US):
        rhythm = silence.mark_monitored_now(rhythm, start, 0)
        day, hour = divmod((start - MONDAY) // HOUR_US, 24)
        expected = 0.0 if day in closed else rate(day % 7, hour)
        # Customers come in crowds: some hours have twice as many as others.
        expected *= dice.choice((0.6, 1.0, 1.4))
        at = dice.expovariate(expected) if expected else 2.0
        while at < 1:
            sent = start + int(at * HOUR_US)
            rhythm = silence.count_message(rhythm, sent, sent, 0)
            at += dice.expovariate(expected)
        yield start + HOUR_US, rhythm


def live(rate: Rate, until_us: int, seed: int = 1, closed: frozenset[int] = frozenset()) -> Rhythm:
    """Return the rhythm at the end."""
    return list(hourly(rate, until_us, seed, closed))[-1][1]


def time(weeks: int, day: int, hour: float) -> int:
    return MONDAY + (weeks * 7 + day) * DAY_US + int(hour * HOUR_US)


def alarm_after(rhythm: Rhythm, most_us: int = 3 * DAY_US) -> int | None:
    """Return the length of the silence at the alarm, in minutes."""
    assert rhythm.last_at is not None
    for quiet in range(0, most_us, 5 * MINUTE_US):
        if silence.evaluate(rhythm, rhythm.last_at, rhythm.last_at + quiet, 0).alarm:
            return quiet // MINUTE_US
    return None


@pytest.mark.parametrize("seed", range(5))
def test_a_busy_shop_that_falls_silent_at_noon_is_noticed_within_two_hours(seed: int) -> None:
    after = alarm_after(live(market, time(4, 2, 12), seed))
    assert after is not None
    assert 20 <= after <= 120


@pytest.mark.parametrize("seed", range(5))
def test_a_quiet_shop_is_noticed_the_same_day(seed: int) -> None:
    after = alarm_after(live(kiosk, time(5, 2, 9), seed))
    assert after is not None
    assert 90 <= after <= 11 * 60


@pytest.mark.parametrize("rate", [market, kiosk])
@pytest.mark.parametrize("seed", range(3))
def test_nights_and_closed_sundays_are_no_alarm(rate: Rate, seed: int) -> None:
    """Simulate eight weeks, and check the silence each hour as the daemon does."""
    for now, rhythm in hourly(rate, time(8, 0, 0), seed):
        if rhythm.last_at is not None:
            assert not silence.evaluate(rhythm, rhythm.last_at, now, 0).alarm, now


def test_a_whole_closed_sunday_is_expected_to_bring_nothing() -> None:
    rhythm = live(market, time(4, 5, 20))
    assert rhythm.last_at is not None
    judged = silence.evaluate(rhythm, rhythm.last_at, time(4, 6, 23.5), 0)
    assert judged.expected < 1
    assert judged.chance > 0.1
    assert not judged.alarm


def test_a_day_off_is_given_three_hours() -> None:
    rhythm = live(market, time(4, 2, 20))
    assert rhythm.last_at is not None
    assert not silence.evaluate(rhythm, rhythm.last_at, time(4, 3, 10.9), 0).alarm
    assert silence.evaluate(rhythm, rhythm.last_at, time(4, 3, 11.1), 0).alarm


def test_days_off_are_learned_and_make_it_patient() -> None:
    """A shop that stayed closed on two of its last four Thursdays may do so again."""
    thursdays = frozenset({2 * 7 + 3, 3 * 7 + 3})
    rhythm = live(market, time(4, 2, 20), closed=thursdays)
    assert rhythm.last_at is not None
    assert not silence.evaluate(rhythm, rhythm.last_at, time(4, 3, 13), 0).alarm


def test_the_first_week_never_alarms() -> None:
    rhythm = live(market, time(0, 2, 12))
    assert alarm_after(rhythm, 4 * DAY_US) is None


def test_the_second_week_alarms_only_at_twice_the_longest_silence() -> None:
    """The night before Monday is the longest, from Saturday's last to Monday's first: 38 hours."""
    after = alarm_after(live(market, time(1, 2, 12)), 6 * DAY_US)
    assert after is not None
    assert 75 * 60 < after < 80 * 60


def test_a_handful_of_messages_is_no_rhythm() -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    for day in range(10):
        at = time(0, day, 9)
        rhythm = silence.count_message(rhythm, at, at, 0)
    assert alarm_after(rhythm, 8 * DAY_US) is None


def test_hours_that_nobody_watched_are_not_empty_hours() -> None:
    """A laptop that was off on two Tuesdays does not count them as Tuesdays without messages."""
    full = live(market, time(4, 1, 12))
    lame = live(market, time(4, 1, 12))
    counts = bytearray(lame.counts)
    for week in (2, 3):
        for hour in range(24):
            absolute = (time(week, 1, hour)) // HOUR_US
            counts[absolute // HOURS % WEEKS * HOURS + absolute % HOURS] = UNMONITORED
    lame = silence.Rhythm(
        "sim", lame.watched_since, lame.week, bytes(counts), lame.messages, lame.last_at, lame.longest_gap_us, None
    )
    quick, slow = alarm_after(full), alarm_after(lame)
    assert quick is not None
    assert slow is not None
    assert slow <= quick + 60


def test_the_shops_own_clock_counts() -> None:
    """The same instants are other hours of the week elsewhere."""
    zone = 3 * HOUR_US
    rhythm = silence.new_rhythm("sim", MONDAY - zone, zone)
    assert rhythm.week == MONDAY // HOUR_US // HOURS
    same = silence.new_rhythm("sim", MONDAY, 0)
    assert rhythm.counts == same.counts


def test_a_message_from_before_the_watch_only_proves_life() -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    old = silence.count_message(rhythm, MONDAY - DAY_US, MONDAY + MINUTE_US, 0)
    assert old.counts == rhythm.counts
    assert old.last_at == MONDAY + MINUTE_US


def test_a_message_that_was_kept_for_us_counts_when_it_was_sent() -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    late = silence.count_message(rhythm, MONDAY + 2 * HOUR_US, MONDAY + 9 * HOUR_US, 0)
    hour = (MONDAY + 2 * HOUR_US) // HOUR_US
    assert late.counts[hour // HOURS % WEEKS * HOURS + hour % HOURS] == 1
    assert late.counts.count(1) == 1


def test_eight_weeks_are_remembered_and_no_more() -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    for week in range(20):
        rhythm = silence.mark_monitored_now(rhythm, time(week, 0, 9), 0)
        rhythm = silence.count_message(rhythm, time(week, 0, 9), time(week, 0, 9), 0)
    assert rhythm.counts.count(1) == WEEKS
    rhythm = silence.mark_monitored_now(rhythm, time(60, 0, 9), 0)
    assert rhythm.counts.count(UNMONITORED) == WEEKS * HOURS - 1


def test_an_hour_counts_254_and_not_more() -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, 0)
    for _ in range(300):
        rhythm = silence.count_message(rhythm, MONDAY, MONDAY, 0)
    assert max(count for count in rhythm.counts if count != UNMONITORED) == 254
    assert rhythm.messages == 300


def test_the_database_gives_back_what_it_was_given() -> None:
    rhythm = live(kiosk, time(2, 0, 0))
    assert silence.from_text(silence.to_text(rhythm.counts)) == rhythm.counts


@given(
    st.lists(st.integers(0, 30 * DAY_US), max_size=60).map(sorted),
    st.integers(0, 60 * DAY_US),
    st.integers(-12 * HOUR_US, 14 * HOUR_US),
)
def test_whatever_comes_is_judged(times: list[int], quiet: int, zone: int) -> None:
    rhythm = silence.new_rhythm("sim", MONDAY, zone)
    for at in times:
        rhythm = silence.count_message(rhythm, MONDAY + at, MONDAY + at, zone)
    last = rhythm.last_at or MONDAY
    judged = silence.evaluate(rhythm, last, last + quiet, zone)
    assert 0 <= judged.chance <= 1
    assert judged.quiet_us == quiet
    assert judged.expected >= 0
    assert len(rhythm.counts) == WEEKS * HOURS
