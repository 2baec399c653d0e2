"""Checks of the wall clock by witnesses: times of the network, carried forward by the monotonic clock."""

import pytest

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.upkeep.clock_check import EARLIEST_US, ClockCheck

NOW = EARLIEST_US + 300 * DAY_US
SIM = "sim"


def watch(*sent: int, boot_s: float = 1000.0) -> ClockCheck:
    """Return a check with these network times, received NOW through a phone that had been open for long."""
    made = ClockCheck()
    made.note_opened(SIM, boot_s - 1000)
    for at in sent:
        made.note_network_time(SIM, at, made.times(NOW, boot_s))
    return made


def ahead(made: ClockCheck, now: int = NOW, boot_s: float = 1000.0) -> int | None:
    doubt = made.times(now, boot_s).doubt
    return None if doubt is None else doubt.ahead_us


def test_nobody_speaks_against_a_clock_without_witnesses() -> None:
    assert ClockCheck().times(NOW, 0).doubt is None


def test_one_message_is_enough_to_doubt_in_both_directions() -> None:
    assert ahead(watch(NOW - 11 * MINUTE_US)) == 11 * MINUTE_US
    assert ahead(watch(NOW + 11 * MINUTE_US)) == -11 * MINUTE_US
    assert ahead(watch(NOW - 10 * MINUTE_US)) is None
    assert ahead(watch(NOW + 10 * MINUTE_US)) is None


def test_a_late_message_and_a_network_with_a_wrong_clock_prove_nothing_against_another() -> None:
    made = watch(NOW - SECOND_US, NOW - 3 * HOUR_US, NOW + 400 * DAY_US)
    assert made.times(NOW, 1000).doubt is None


def test_the_skew_is_that_of_the_message_that_was_on_its_way_the_shortest() -> None:
    assert ClockCheck().times(NOW, 1000).skew_us is None
    assert (
        watch(NOW - 4 * SECOND_US, NOW + SECOND_US, NOW - 9 * SECOND_US).times(NOW, 1000).skew_us
        == SECOND_US
    )
    # One network with a wrong clock is ignored while another agrees; alone, it is the only witness.
    assert watch(NOW - SECOND_US, NOW + DAY_US).times(NOW, 1000).skew_us == -SECOND_US
    assert watch(NOW + DAY_US, NOW + HOUR_US).times(NOW, 1000).skew_us == DAY_US
    # It is carried forward: a clock that is set is off by so much at once.
    assert watch(NOW).times(NOW + 61 * SECOND_US, 1001).skew_us == -60 * SECOND_US


def test_old_witnesses_are_forgotten() -> None:
    assert ahead(watch(NOW, *[NOW - HOUR_US] * 5)) == HOUR_US


def test_the_backlog_of_a_phone_that_was_just_opened_is_late_by_nature() -> None:
    made = ClockCheck()
    made.note_opened(SIM, 1000)
    made.note_network_time(SIM, NOW - 8 * HOUR_US, made.times(NOW, 1030))
    assert made.times(NOW, 1030).doubt is None
    # But no message is sent in the future.
    made.note_network_time(SIM, NOW + HOUR_US, made.times(NOW, 1030))
    assert ahead(made, boot_s=1030) == -HOUR_US


def test_a_jump_is_noticed_without_a_message_and_so_is_its_end() -> None:
    made = watch(NOW)
    later, boot_s = NOW + 9 * HOUR_US, 1000 + 9 * 3600.0
    assert made.times(later, boot_s).doubt is None
    assert ahead(made, later + DAY_US, boot_s) == DAY_US
    assert ahead(made, later - DAY_US, boot_s) == -DAY_US
    assert made.times(later, boot_s).doubt is None


def test_a_journal_that_is_ahead_and_a_year_before_the_program_are_doubts() -> None:
    made = ClockCheck()
    made.note_latest(NOW, 0)
    assert made.times(NOW - MINUTE_US, 0).doubt is None
    assert ahead(made, NOW - DAY_US, 0) == -DAY_US
    assert made.times(0, 0).doubt is not None
    # A network time that agrees with the clock overrides journal entries that a wrong clock has dated.
    made.note_network_time(SIM, NOW - DAY_US, made.times(NOW - DAY_US, 0))
    assert made.times(NOW - DAY_US, 0).doubt is None


def test_the_witness_tells_the_time_while_the_clock_is_wrong() -> None:
    made = watch(NOW)
    assert made.times(NOW + SECOND_US, 1000).best_us == NOW + SECOND_US
    assert made.times(NOW + DAY_US, 1060).best_us == NOW + MINUTE_US


def test_the_span_is_told_in_words_that_fit() -> None:
    told = [
        watch(NOW - span).times(NOW, 1000).doubt
        for span in (11 * MINUTE_US, 5 * HOUR_US, 50 * DAY_US)
    ]
    assert [str(one.why).split(" is ")[1].split(" ahead")[0] for one in told if one] == [
        "11 min", "5 hours", "50 days",
    ]  # fmt: skip


def test_what_has_surely_passed_is_what_was_known_before_and_what_was_counted_since() -> None:
    made = ClockCheck()
    assert made.times(NOW, 0).lower_bound_us == NOW  # there is no known time
    made.note_latest(NOW - DAY_US, 10)
    assert not made.times(NOW, 10).confirmed
    assert made.times(NOW, 70).lower_bound_us == NOW - DAY_US + MINUTE_US
    made.note_network_time(SIM, NOW, made.times(NOW, 70))
    assert made.times(NOW, 70).confirmed
    assert made.times(NOW, 70).lower_bound_us == NOW


def test_a_clock_that_ran_on_is_confirmed_and_one_that_was_set_is_not() -> None:
    made = ClockCheck()
    made.note_reading(made.times(NOW, 0))
    assert made.times(NOW + HOUR_US, 3600).confirmed
    assert made.step_us(made.times(NOW + HOUR_US, 3600)) == 0
    assert not made.times(NOW + 2 * HOUR_US, 3600).confirmed
    assert made.step_us(made.times(NOW + 2 * HOUR_US, 3600)) == HOUR_US
    assert made.times(NOW + 2 * HOUR_US, 3600).lower_bound_us == NOW + HOUR_US


def test_only_orders_of_another_clock_are_misdated_and_each_once() -> None:
    made = ClockCheck()
    made.note_reading(made.times(NOW, 0))
    made.note_created("right", made.times(NOW, 0))
    made.note_created("wrong", made.times(NOW + DAY_US, 0))
    (found,) = made.misdated(made.times(NOW + SECOND_US, 1))
    assert (found.transaction_id, found.by_us) == ("wrong", -DAY_US)
    made.note_corrected([found])
    assert made.misdated(made.times(NOW + SECOND_US, 1)) == []


def test_another_boot_knows_only_the_time_that_had_come() -> None:
    first = watch(NOW)
    first.note_reading(first.times(NOW, 1000))
    state = first.dump(first.times(NOW, 1000), "a")
    again, elsewhere = ClockCheck(), ClockCheck()
    assert again.restore(state, NOW, 1060, "a")
    assert elsewhere.restore(state, NOW, 10, "b")
    assert ahead(again, NOW + DAY_US, 1060) == DAY_US - MINUTE_US
    assert elsewhere.times(NOW + DAY_US, 10).doubt is None
    assert elsewhere.times(NOW + DAY_US, 70).lower_bound_us == NOW + MINUTE_US
    # Without the boot's id, two readings of the boot clock cannot be compared.
    nameless = ClockCheck()
    assert nameless.restore(first.dump(first.times(NOW, 1000), ""), NOW, 1060, "")
    assert nameless.times(NOW + DAY_US, 1060).doubt is None


@pytest.mark.parametrize(("by_us", "step_us"), [(-DAY_US, -DAY_US), (DAY_US, 0), (-MINUTE_US, 0)])
def test_another_boot_knows_only_that_its_clock_was_set_back(by_us: int, step_us: int) -> None:
    first, then = watch(NOW), ClockCheck()
    first.note_reading(first.times(NOW, 1000))
    assert then.restore(first.dump(first.times(NOW, 1000), "a"), NOW + by_us, 10, "b")
    assert then.step_us(then.times(NOW + by_us + 60 * SECOND_US, 70)) == step_us
