"""The priority of clock witnesses: messages, then phones with the network's time, then receivers that agree."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.upkeep.clock_check import (
    AGREES_US,
    EARLIEST_US,
    HOSTS_AGREE_US,
    HOSTS_MAX,
    LATEST_US,
    ClockCheck,
    Witness,
)

NOW = EARLIEST_US + 300 * DAY_US
BOOT_S = 1000.0
AHEAD = st.integers(-50 * 365 * DAY_US, 50 * 365 * DAY_US)
"""How far the wall clock is ahead of the right time."""
SMALL = st.integers(0, 20 * SECOND_US)


def dated(check: ClockCheck, *dates: int) -> ClockCheck:
    for number, at_us in enumerate(dates):
        check.note_date(f"shop{number}.example", at_us, BOOT_S)
    return check


def heard(check: ClockCheck, *sent: int) -> ClockCheck:
    check.note_opened("sim", 0)
    for at_us in sent:
        check.note_network_time("sim", at_us, check.times(NOW, BOOT_S))
    return check


def test_one_receiver_is_no_witness_however_often_it_answers() -> None:
    check = ClockCheck()
    for second in range(5):
        check.note_date("shop.example", NOW - DAY_US + second * HOUR_US, BOOT_S + second * 3600)
    times = check.times(NOW, BOOT_S)
    assert (times.doubt, times.witness, times.best_us) == (None, None, NOW)


def test_two_receivers_that_agree_tell_the_time_of_a_wrong_clock() -> None:
    times = dated(ClockCheck(), NOW - DAY_US, NOW - DAY_US + SECOND_US).times(NOW, BOOT_S)
    assert times.doubt is not None
    assert (
        str(times.doubt.why)
        == "the clock of this machine is 23 hours ahead of the clocks of the webhook receivers"
    )
    assert times.witness is Witness.RECEIVERS
    assert abs(times.best_us - (NOW - DAY_US)) <= SECOND_US


def test_receivers_that_disagree_or_are_half_of_all_say_nothing() -> None:
    apart = dated(ClockCheck(), NOW - DAY_US, NOW - DAY_US + HOSTS_AGREE_US + SECOND_US)
    assert apart.times(NOW, BOOT_S).doubt is None
    halves = dated(ClockCheck(), NOW - DAY_US, NOW - DAY_US, NOW, NOW)
    assert halves.times(NOW, BOOT_S).doubt is None


def test_receivers_never_confirm_the_clock() -> None:
    check = dated(ClockCheck(), NOW, NOW, NOW)
    check.note_latest(NOW - DAY_US, BOOT_S)
    times = check.times(NOW, BOOT_S)
    assert (times.doubt, times.confirmed, times.lower_bound_us) == (None, False, NOW - DAY_US)


def test_only_the_last_date_of_so_many_hosts_is_kept() -> None:
    check = dated(ClockCheck(), *[NOW - DAY_US] * 2, *[NOW - 2 * DAY_US] * HOSTS_MAX)
    doubt = check.times(NOW, BOOT_S).doubt
    assert doubt is not None
    assert doubt.ahead_us == 2 * DAY_US


def test_a_phone_that_the_network_never_set_says_nothing() -> None:
    check = ClockCheck()
    for at_us in (0, EARLIEST_US - SECOND_US, LATEST_US + SECOND_US):
        check.note_phone_clock("/dev/ttyUSB0", at_us, BOOT_S)
        assert check.times(NOW, BOOT_S).witness is None
    check.note_phone_clock("/dev/ttyUSB0", NOW - HOUR_US, BOOT_S)
    times = check.times(NOW, BOOT_S)
    assert (times.witness, times.best_us) == (Witness.PHONE, NOW - HOUR_US)
    assert times.doubt is not None
    check.note_phone_clock("/dev/ttyUSB0", 0, BOOT_S)
    assert check.times(NOW, BOOT_S).witness is None


def test_a_clock_a_few_minutes_behind_the_network_signs_with_the_networks_time() -> None:
    behind = heard(ClockCheck(), NOW + 7 * MINUTE_US).times(NOW, BOOT_S)
    assert (behind.doubt, behind.best_us) == (None, NOW + 7 * MINUTE_US)
    # Ahead of it the clock may be right, because a message can come late.
    late = heard(ClockCheck(), NOW - 7 * MINUTE_US).times(NOW, BOOT_S)
    assert (late.doubt, late.best_us) == (None, NOW)


def test_a_clock_before_this_program_uses_what_it_knows() -> None:
    assert heard(ClockCheck(), NOW).times(0, BOOT_S).best_us == NOW
    remembers = ClockCheck()
    remembers.note_latest(NOW, BOOT_S)
    assert remembers.times(SECOND_US, BOOT_S).best_us == NOW
    assert ClockCheck().times(SECOND_US, BOOT_S).best_us == SECOND_US


@given(
    ahead=AHEAD,
    late=SMALL,
    dates=st.lists(AHEAD, max_size=6),
    phone=AHEAD,
    later_s=st.floats(0, 1e6),
)
def test_no_date_and_no_phone_outvotes_the_networks_time_of_a_message(
    ahead: int, late: int, dates: list[int], phone: int, later_s: float
) -> None:
    check = heard(ClockCheck(), NOW - late)
    check.note_phone_clock("/dev/ttyUSB0", NOW + phone, BOOT_S)
    dated(check, *(NOW + one for one in dates))
    passed_us = round(later_s * SECOND_US)
    times = check.times(NOW + passed_us + ahead, BOOT_S + later_s)
    assert times.witness is Witness.MESSAGES
    assert abs(times.best_us - (NOW + passed_us)) <= AGREES_US
    wrong = abs(ahead + late) > AGREES_US or times.wall_us < EARLIEST_US
    assert (times.doubt is not None) == wrong
    assert times.confirmed == (times.doubt is None)


@given(ahead=AHEAD, dates=st.lists(AHEAD, max_size=6))
def test_no_date_outvotes_a_phone_that_the_network_set(ahead: int, dates: list[int]) -> None:
    check = ClockCheck()
    check.note_phone_clock("/dev/ttyUSB0", NOW, BOOT_S)
    dated(check, *(NOW + one for one in dates))
    assert abs(check.times(NOW + ahead, BOOT_S).best_us - NOW) <= AGREES_US


@given(ahead=AHEAD, forged=AHEAD, honest=st.lists(SMALL, min_size=2, max_size=5))
def test_one_receiver_with_a_wrong_clock_changes_nothing(
    ahead: int, forged: int, honest: list[int]
) -> None:
    check = dated(ClockCheck(), NOW + forged, *(NOW - one for one in honest))
    assert abs(check.times(NOW + ahead, BOOT_S).best_us - NOW) <= AGREES_US


@given(ahead=AHEAD, dates=st.lists(AHEAD, max_size=6), past=st.integers(0, 400 * DAY_US))
def test_receivers_never_make_anything_expire_sooner(
    ahead: int, dates: list[int], past: int
) -> None:
    without, with_dates = ClockCheck(), dated(ClockCheck(), *(NOW + one for one in dates))
    for check in (without, with_dates):
        check.note_latest(NOW - past, BOOT_S)
    before, after = (check.times(NOW + ahead, BOOT_S) for check in (without, with_dates))
    assert after.lower_bound_us <= before.lower_bound_us
    assert before.confirmed or not after.confirmed


def test_better_knowledge_is_acted_on_once() -> None:
    check = ClockCheck()
    assert check.knows_more(check.times(NOW, BOOT_S))
    check.note_acted_on(check.times(NOW, BOOT_S))
    assert not check.knows_more(check.times(NOW + 60 * SECOND_US, BOOT_S + 60))
    assert check.knows_more(check.times(NOW + 2 * HOUR_US, BOOT_S + 60))  # the clock was set
    heard(check, NOW - HOUR_US)
    assert check.knows_more(check.times(NOW, BOOT_S))
    check.note_acted_on(check.times(NOW, BOOT_S))
    assert not check.knows_more(check.times(NOW, BOOT_S))
    # The clock is set to the network's time: the best time is the same, and now the clock is confirmed.
    assert check.knows_more(check.times(NOW - HOUR_US, BOOT_S))
