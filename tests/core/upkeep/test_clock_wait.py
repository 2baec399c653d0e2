"""A 4xx is final unless a wrong clock may be its cause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.limits import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from daemon.core.upkeep.clock_check import (
    EARLIEST_US,
    RETRY_US,
    TOLERANCE_US,
    ClockCheck,
    Times,
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
    assert (
        difference(NOW - 2 * HOUR_US, RIGHT)
        == "its clock is 2 hours behind the time of our signature"
    )
    assert (
        difference(NOW + 7 * MINUTE_US, RIGHT)
        == "its clock is 7 min ahead of the time of our signature"
    )


def refused(status: int = 400, wait_us: int | None = RETRY_US) -> AttemptOutcome:
    return AttemptOutcome(status, "", None, None, 1000, connected=True, clock_wait_us=wait_us)


@pytest.mark.parametrize("status", [PENDING, RETRYING])
@pytest.mark.parametrize("wait_us", [0, RETRY_US])
def test_it_keeps_its_state_its_steps_and_the_endpoints_streak(
    status: DeliveryStatus, wait_us: int
) -> None:
    made = decide(DeliveryFacts(status, 2, 7), refused(wait_us=wait_us), now_us=NOW, unit=0.5)
    assert made.event is DeliveryEvent.CLOCK_WRONG
    assert made.waits_for_clock
    assert (made.status, made.attempt_count, made.dead_letter) == (status, 2, None)
    assert (made.counts, made.consecutive_failures) == (False, 7)
    assert made.next_attempt_at_us == NOW + wait_us


@pytest.mark.parametrize("status", [PENDING, RETRYING])
def test_after_24_hours_of_waits_it_is_final_in_any_case(status: DeliveryStatus) -> None:
    assert CLOCK_WAITS_MAX * RETRY_US == DAY_US
    last = decide(
        DeliveryFacts(status, 0, 0, clock_waits=CLOCK_WAITS_MAX - 1),
        refused(),
        now_us=NOW,
        unit=0.5,
    )
    assert last.status is status
    made = decide(
        DeliveryFacts(status, 0, 0, clock_waits=CLOCK_WAITS_MAX), refused(), now_us=NOW, unit=0.5
    )
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
