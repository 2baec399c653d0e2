"""The signal over 24 hours: extremes by hour, gaps where nothing was measured, and no growth."""

from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.lines.signal_history import HOURS, SignalHistory

T0 = 1_700_000_000_000_000 // HOUR_US * HOUR_US


def test_each_hour_has_its_weakest_and_strongest_signal() -> None:
    history = SignalHistory()
    for minute, signal in ((0, 17), (9, 5), (30, 21), (75, 12)):
        history.add("a", signal, T0 + minute * MINUTE_US)
    hours = history.hours("a", T0 + 80 * MINUTE_US)
    assert len(hours) == HOURS
    assert [(hour.lowest, hour.highest) for hour in hours[-3:]] == [(None, None), (5, 21), (12, 12)]
    assert hours[-1].at == T0 + HOUR_US
    assert all(hour.lowest is None for hour in history.hours("other", T0))


def test_what_is_older_than_a_day_is_forgotten() -> None:
    history = SignalHistory()
    for minute in range(0, 3 * 24 * 60, 5):
        history.add("a", 10, T0 + minute * MINUTE_US)
    assert len(history._slots["a"]) <= 24 * 6


def test_a_clock_that_is_set_back_begins_again() -> None:
    history = SignalHistory()
    history.add("a", 10, T0 + 48 * HOUR_US)
    history.add("a", 20, T0)
    hours = history.hours("a", T0)
    assert [hour.lowest for hour in hours if hour.lowest is not None] == [20]
