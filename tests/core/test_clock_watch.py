"""When the wall clock is believed: it has witnesses, and they are carried forward by a clock that nobody can set."""

import pytest

from daemon.core.clock_watch import BUILT_US, ClockWatch
from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US

NOW = BUILT_US + 300 * DAY_US
SIM = "sim"


def watch(*sent: int, boot_s: float = 1000.0) -> ClockWatch:
    """Return one that heard these, NOW, of a phone that had been open for long."""
    made = ClockWatch()
    made.opened(SIM, boot_s - 1000)
    for at in sent:
        made.heard(SIM, at, NOW, boot_s)
    return made


def ahead(made: ClockWatch, now: int = NOW, boot_s: float = 1000.0) -> int | None:
    doubt = made.doubt(now, boot_s)
    return None if doubt is None else doubt.ahead_us


def test_nobody_speaks_against_a_clock_without_witnesses() -> None:
    assert ClockWatch().doubt(NOW, 0) is None


def test_one_message_is_enough_to_doubt_in_both_directions() -> None:
    assert ahead(watch(NOW - 11 * MINUTE_US)) == 11 * MINUTE_US
    assert ahead(watch(NOW + 11 * MINUTE_US)) == -11 * MINUTE_US
    assert ahead(watch(NOW - 10 * MINUTE_US)) is None
    assert ahead(watch(NOW + 10 * MINUTE_US)) is None


def test_a_late_message_and_a_network_with_a_wrong_clock_prove_nothing_against_another() -> None:
    made = watch(NOW - SECOND_US, NOW - 3 * HOUR_US, NOW + 400 * DAY_US)
    assert made.doubt(NOW, 1000) is None


def test_the_skew_is_that_of_the_message_that_was_on_its_way_the_shortest() -> None:
    assert ClockWatch().skew_us(NOW, 1000) is None
    assert (
        watch(NOW - 4 * SECOND_US, NOW + SECOND_US, NOW - 9 * SECOND_US).skew_us(NOW, 1000)
        == SECOND_US
    )
    # One network with a wrong clock says nothing while another agrees; alone, it is all that is known.
    assert watch(NOW - SECOND_US, NOW + DAY_US).skew_us(NOW, 1000) == -SECOND_US
    assert watch(NOW + DAY_US, NOW + HOUR_US).skew_us(NOW, 1000) == DAY_US
    # It is carried forward: a clock that is set is off by so much at once.
    assert watch(NOW).skew_us(NOW + 61 * SECOND_US, 1001) == -60 * SECOND_US


def test_old_witnesses_are_forgotten() -> None:
    assert ahead(watch(NOW, *[NOW - HOUR_US] * 5)) == HOUR_US


def test_the_backlog_of_a_phone_that_was_just_opened_is_late_by_nature() -> None:
    made = ClockWatch()
    made.opened(SIM, 1000)
    made.heard(SIM, NOW - 8 * HOUR_US, NOW, 1030)
    assert made.doubt(NOW, 1030) is None
    # But nothing is sent in the future.
    made.heard(SIM, NOW + HOUR_US, NOW, 1030)
    assert ahead(made, boot_s=1030) == -HOUR_US


def test_a_jump_is_noticed_without_a_message_and_so_is_its_end() -> None:
    made = watch(NOW)
    later, boot_s = NOW + 9 * HOUR_US, 1000 + 9 * 3600.0
    assert made.doubt(later, boot_s) is None
    assert ahead(made, later + DAY_US, boot_s) == DAY_US
    assert ahead(made, later - DAY_US, boot_s) == -DAY_US
    assert made.doubt(later, boot_s) is None


def test_a_journal_that_is_ahead_and_a_year_before_the_program_are_doubts() -> None:
    made = ClockWatch()
    made.written_before(NOW, 0)
    assert made.doubt(NOW - MINUTE_US, 0) is None
    assert ahead(made, NOW - DAY_US, 0) == -DAY_US
    assert made.doubt(0, 0) is not None
    # A network that agrees with the clock outweighs what was once written by a wrong one.
    made.heard(SIM, NOW - DAY_US, NOW - DAY_US, 0)
    assert made.doubt(NOW - DAY_US, 0) is None


def test_the_witness_tells_the_time_while_the_clock_is_wrong() -> None:
    made = watch(NOW)
    assert made.believed_us(NOW + SECOND_US, 1000) == NOW + SECOND_US
    assert made.believed_us(NOW + DAY_US, 1060) == NOW + MINUTE_US


def test_the_span_is_told_in_words_that_fit() -> None:
    told = [
        watch(NOW - span).doubt(NOW, 1000) for span in (11 * MINUTE_US, 5 * HOUR_US, 50 * DAY_US)
    ]
    assert [one.why.split(" is ")[1].split(" ahead")[0] for one in told if one] == [
        "11 min", "5 hours", "50 days",
    ]  # fmt: skip


def test_what_has_surely_passed_is_what_was_known_before_and_what_was_counted_since() -> None:
    made = ClockWatch()
    assert made.sure_us(NOW, 0) == NOW  # nothing is known
    made.written_before(NOW - DAY_US, 10)
    assert not made.vouched(NOW, 10)
    assert made.sure_us(NOW, 70) == NOW - DAY_US + MINUTE_US
    made.heard(SIM, NOW, NOW, 70)
    assert made.vouched(NOW, 70)
    assert made.sure_us(NOW, 70) == NOW


def test_a_clock_that_ran_on_is_vouched_for_and_one_that_was_set_is_not() -> None:
    made = ClockWatch()
    made.look(NOW, 0)
    assert made.vouched(NOW + HOUR_US, 3600)
    assert made.step(NOW + HOUR_US, 3600) == 0
    assert not made.vouched(NOW + 2 * HOUR_US, 3600)
    assert made.step(NOW + 2 * HOUR_US, 3600) == HOUR_US
    assert made.sure_us(NOW + 2 * HOUR_US, 3600) == NOW + HOUR_US


def test_only_orders_of_another_clock_are_misdated_and_each_once() -> None:
    made = ClockWatch()
    made.look(NOW, 0)
    made.made("right", NOW, 0)
    made.made("wrong", NOW + DAY_US, 0)
    (found,) = made.misdated(NOW + SECOND_US, 1)
    assert (found.transaction_id, found.by_us) == ("wrong", -DAY_US)
    made.dated([found])
    assert made.misdated(NOW + SECOND_US, 1) == []


def test_another_boot_knows_only_the_time_that_had_come() -> None:
    first = watch(NOW)
    first.look(NOW, 1000)
    memory = first.memory(NOW, 1000, "a")
    again, elsewhere = ClockWatch(), ClockWatch()
    assert again.remember(memory, NOW, 1060, "a")
    assert elsewhere.remember(memory, NOW, 10, "b")
    assert ahead(again, NOW + DAY_US, 1060) == DAY_US - MINUTE_US
    assert elsewhere.doubt(NOW + DAY_US, 10) is None
    assert elsewhere.sure_us(NOW + DAY_US, 70) == NOW + MINUTE_US
    # Without a name for the boot no counter can be laid beside another.
    nameless = ClockWatch()
    assert nameless.remember(first.memory(NOW, 1000, ""), NOW, 1060, "")
    assert nameless.doubt(NOW + DAY_US, 1060) is None


@pytest.mark.parametrize(("by_us", "step_us"), [(-DAY_US, -DAY_US), (DAY_US, 0), (-MINUTE_US, 0)])
def test_another_boot_knows_only_that_its_clock_was_set_back(by_us: int, step_us: int) -> None:
    first, then = watch(NOW), ClockWatch()
    first.look(NOW, 1000)
    assert then.remember(first.memory(NOW, 1000, "a"), NOW + by_us, 10, "b")
    assert then.step(NOW + by_us + 60 * SECOND_US, 70) == step_us
