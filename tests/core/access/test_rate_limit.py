"""The rate limit of one key."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.access.callers import KEYS_MAX, Rates
from daemon.core.limits import MINUTE_US, SECOND_US

NOW = 1_800_000_000 * SECOND_US


def test_a_burst_goes_through_and_the_next_call_waits_for_one_filling() -> None:
    rates = Rates(60, 5)
    taken = [rates.take("a", NOW) for _ in range(6)]
    assert [one is not None and one.allowed for one in taken] == [True] * 5 + [False]
    assert [one.remaining for one in taken if one] == [4, 3, 2, 1, 0, 0]
    last = taken[-1]
    assert last is not None
    assert (last.limit, last.reset_s, last.retry_after_s) == (60, 5, 1)
    again = rates.take("a", NOW + SECOND_US)
    assert again is not None
    assert again.allowed


def test_no_limit_says_nothing() -> None:
    assert Rates(0, 60).take("a", NOW) is None


def test_one_key_does_not_use_up_anothers_calls() -> None:
    rates = Rates(60, 1)
    assert [rates.take(key, NOW).allowed for key in "aba"] == [True, True, False]  # type: ignore[union-attr]  # there is a limit


def test_a_refused_call_costs_nothing() -> None:
    rates = Rates(60, 1)
    for _ in range(100):
        rates.take("a", NOW)
    taken = rates.take("a", NOW + SECOND_US)
    assert taken is not None
    assert taken.allowed


def test_a_clock_set_back_locks_nobody_out_for_longer_than_a_filling() -> None:
    rates = Rates(60, 5)
    for _ in range(5):
        rates.take("a", NOW + 3600 * SECOND_US)
    rates.take("a", NOW)
    taken = rates.take("a", NOW + SECOND_US)
    assert taken is not None
    assert taken.allowed


def test_the_memory_is_bounded() -> None:
    rates = Rates(60, 5)
    for number in range(3 * KEYS_MAX):
        rates.take(str(number), NOW)
    assert len(rates._full_at) <= KEYS_MAX


@given(
    per_min=st.integers(1, 6000),
    burst=st.integers(1, 100),
    gaps=st.lists(st.integers(0, 5 * SECOND_US), max_size=200),
)
def test_never_more_than_the_burst_and_the_filling(
    per_min: int, burst: int, gaps: list[int]
) -> None:
    rates, now, allowed = Rates(per_min, burst), NOW, 0
    for gap in gaps:
        now += gap
        taken = rates.take("a", now)
        assert taken is not None
        allowed += taken.allowed
        assert taken.allowed == (taken.retry_after_s == 0)
        assert 0 <= taken.remaining < burst + 1
        assert allowed <= burst + (now - NOW) // (MINUTE_US // per_min) + 1
