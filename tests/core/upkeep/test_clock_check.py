"""Checks of the wall clock by witnesses: times of the network, carried forward by the monotonic clock."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.upkeep.clock_check import (
    AGREES_US,
    EARLIEST_US,
    HOSTS_AGREE_US,
    HOSTS_MAX,
    LATEST_US,
    RETRY_US,
    TOLERANCE_US,
    ClockCheck,
    Times,
    Witness,
    clock_wait_us,
    difference,
)
from daemon.core.webhooks.delivery import (
    CLOCK_WAITS_MAX,
    AttemptOutcome,
    DeadLetterReason,
    DeliveryEvent,
    DeliveryFacts,
    RetryPolicy,
    decide,
)
from daemon.wire import DeliveryStatus
from tests.fakes.each import each

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
    assert watch(NOW - 4 * SECOND_US, NOW + SECOND_US, NOW - 9 * SECOND_US).times(NOW, 1000).skew_us == SECOND_US
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
    told = [watch(NOW - span).times(NOW, 1000).doubt for span in (11 * MINUTE_US, 5 * HOUR_US, 50 * DAY_US)]
    assert [str(one.why).split(" is ")[1].split(" ahead")[0] for one in told if one] == ["11 min", "5 hours", "50 days"]


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


PENDING, RETRYING, FAILED = DeliveryStatus.PENDING, DeliveryStatus.RETRYING, DeliveryStatus.FAILED


def times(*, ahead_us: int | None = 0, past_us: int | None = None) -> Times:
    """Return NOW by a clock so far ahead of a message (None: no message), with an earlier known time."""
    check = ClockCheck()
    if past_us is not None:
        check.note_latest(past_us, 0)
    if ahead_us is not None:
        check.note_opened("sim", -1000)
        check.note_network_time("sim", NOW - ahead_us, check.times(NOW, 0))
    return check.times(NOW, 0)


RIGHT = times()
DOUBTED = times(ahead_us=DAY_US)
UNCONFIRMED = times(ahead_us=None, past_us=NOW - DAY_US)


@each(
    ("date_us", "signed", "wait_us"),
    [
        (None, RIGHT, None),
        (NOW, RIGHT, None),
        (NOW + TOLERANCE_US, RIGHT, None),
        (NOW - TOLERANCE_US, RIGHT, None),
        (NOW + TOLERANCE_US + SECOND_US, RIGHT, RETRY_US),
        (NOW - TOLERANCE_US - SECOND_US, RIGHT, RETRY_US),
        (None, DOUBTED, RETRY_US),
        (DOUBTED.best_us, DOUBTED, RETRY_US),
        (NOW, UNCONFIRMED, None),
        (NOW - DAY_US, UNCONFIRMED, RETRY_US),
        (None, UNCONFIRMED, RETRY_US),
    ],
)
def test_when_a_4xx_waits(date_us: int | None, signed: Times, wait_us: int | None) -> None:
    assert clock_wait_us(date_us, signed, signed) == wait_us


def test_a_receiver_on_this_machine_has_our_clock() -> None:
    assert clock_wait_us(None, UNCONFIRMED, UNCONFIRMED, remote=False) is None


def test_it_is_signed_again_at_once_if_the_time_became_known_during_the_attempt() -> None:
    assert clock_wait_us(None, DOUBTED, RIGHT) == 0
    assert clock_wait_us(NOW - DAY_US, UNCONFIRMED, times(ahead_us=DAY_US)) == 0


def test_the_difference_is_told_in_words() -> None:
    assert difference(None, RIGHT) == ""
    assert difference(NOW + TOLERANCE_US, RIGHT) == ""
    assert difference(NOW - 2 * HOUR_US, RIGHT) == "its clock is 2 hours behind the time of our signature"
    assert difference(NOW + 7 * MINUTE_US, RIGHT) == "its clock is 7 min ahead of the time of our signature"


def refused(status: int = 400, wait_us: int | None = RETRY_US) -> AttemptOutcome:
    return AttemptOutcome(status, "", None, None, 1000, connected=True, clock_wait_us=wait_us)


@pytest.mark.parametrize("status", [PENDING, RETRYING])
@pytest.mark.parametrize("wait_us", [0, RETRY_US])
def test_it_keeps_its_state_its_steps_and_the_endpoints_streak(status: DeliveryStatus, wait_us: int) -> None:
    made = decide(DeliveryFacts(status, 2, 7), refused(wait_us=wait_us), now_us=NOW, unit=0.5)
    assert made.event is DeliveryEvent.CLOCK_WRONG
    assert made.waits_for_clock
    assert (made.status, made.attempt_count, made.dead_letter) == (status, 2, None)
    assert (made.counts, made.consecutive_failures) == (False, 7)
    assert made.next_attempt_at_us == NOW + wait_us


@pytest.mark.parametrize("status", [PENDING, RETRYING])
def test_after_24_hours_of_waits_it_is_final_in_any_case(status: DeliveryStatus) -> None:
    assert CLOCK_WAITS_MAX * RETRY_US == DAY_US
    last = decide(DeliveryFacts(status, 0, 0, clock_waits=CLOCK_WAITS_MAX - 1), refused(), now_us=NOW, unit=0.5)
    assert last.status is status
    made = decide(DeliveryFacts(status, 0, 0, clock_waits=CLOCK_WAITS_MAX), refused(), now_us=NOW, unit=0.5)
    assert (made.status, made.dead_letter) == (FAILED, DeadLetterReason.PERMANENT_4XX)
    assert (made.counts, made.consecutive_failures) == (True, 1)


def test_a_4xx_that_is_retried_by_the_settings_follows_its_schedule() -> None:
    policy = RetryPolicy(retry_4xx=frozenset({429}))
    made = decide(DeliveryFacts(PENDING, 0, 0), refused(429), now_us=NOW, unit=0.5, policy=policy)
    assert made.event is DeliveryEvent.FAILED_FOR_NOW


@given(status=st.integers(200, 599).filter(lambda one: one // 100 != 4))
def test_only_a_4xx_waits(status: int) -> None:
    made = decide(DeliveryFacts(PENDING, 0, 0), refused(status), now_us=NOW, unit=0.5)
    assert not made.waits_for_clock


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
    assert str(times.doubt.why) == "the clock of this machine is 23 hours ahead of the clocks of the webhook receivers"
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


@given(ahead=AHEAD, late=SMALL, dates=st.lists(AHEAD, max_size=6), phone=AHEAD, later_s=st.floats(0, 1e6))
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
def test_one_receiver_with_a_wrong_clock_changes_nothing(ahead: int, forged: int, honest: list[int]) -> None:
    check = dated(ClockCheck(), NOW + forged, *(NOW - one for one in honest))
    assert abs(check.times(NOW + ahead, BOOT_S).best_us - NOW) <= AGREES_US


@given(ahead=AHEAD, dates=st.lists(AHEAD, max_size=6), past=st.integers(0, 400 * DAY_US))
def test_receivers_never_make_anything_expire_sooner(ahead: int, dates: list[int], past: int) -> None:
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
