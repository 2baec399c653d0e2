"""The states of a delivery: every pair of state and event, the result of each outcome, and the retry delays."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.webhooks.delivery import (
    SCHEDULE_S,
    TRANSITIONS,
    AttemptOutcome,
    AttemptResult,
    DeliveryError,
    DeliveryEvent,
    TransitionError,
    classify,
    error_code,
    next_delay_us,
    next_status,
)
from daemon.wire import DeliveryStatus
from tests.core.webhooks.test_delivery import (
    DELIVERED,
    FAILED,
    HOUR,
    PENDING,
    RETRYING,
    SECOND,
    answered,
    broke,
)
from tests.fakes.each import each

ALLOWED = {
    (PENDING, DeliveryEvent.SUCCEEDED): DELIVERED,
    (PENDING, DeliveryEvent.FAILED_FOR_NOW): RETRYING,
    (PENDING, DeliveryEvent.REFUSED): FAILED,
    (PENDING, DeliveryEvent.NOT_COUNTED): PENDING,
    (PENDING, DeliveryEvent.CLOCK_WRONG): PENDING,
    (PENDING, DeliveryEvent.ENDPOINT_PAUSED): PENDING,
    (PENDING, DeliveryEvent.ENDPOINT_DELETED): FAILED,
    (RETRYING, DeliveryEvent.SUCCEEDED): DELIVERED,
    (RETRYING, DeliveryEvent.FAILED_FOR_NOW): RETRYING,
    (RETRYING, DeliveryEvent.EXHAUSTED): FAILED,
    (RETRYING, DeliveryEvent.REFUSED): FAILED,
    (RETRYING, DeliveryEvent.NOT_COUNTED): RETRYING,
    (RETRYING, DeliveryEvent.CLOCK_WRONG): RETRYING,
    (RETRYING, DeliveryEvent.ENDPOINT_PAUSED): RETRYING,
    (RETRYING, DeliveryEvent.ENDPOINT_DELETED): FAILED,
    (DELIVERED, DeliveryEvent.REDELIVER): PENDING,
    (FAILED, DeliveryEvent.REDELIVER): PENDING,
    (FAILED, DeliveryEvent.REPLAY): PENDING,
}


@each(("status", "event"), list(itertools.product(DeliveryStatus, DeliveryEvent)))
def test_every_pair_of_the_table(status: DeliveryStatus, event: DeliveryEvent) -> None:
    wanted = ALLOWED.get((status, event))
    if wanted is not None:
        assert next_status(status, event) is wanted
    else:
        with pytest.raises(TransitionError) as caught:
            next_status(status, event)
        assert str(caught.value) == f"event {event} is not allowed for a {status} delivery"
        assert (caught.value.status, caught.value.event) == (status, event)


def test_the_table_has_a_row_for_every_status() -> None:
    assert set(TRANSITIONS) == set(DeliveryStatus)


@each(
    ("outcome", "result", "code"),
    [
        (answered(200), AttemptResult.DELIVERED, None),
        (answered(204), AttemptResult.DELIVERED, None),
        (answered(299), AttemptResult.DELIVERED, None),
        (answered(301), AttemptResult.REDIRECT, DeliveryError.REDIRECT),
        (answered(304), AttemptResult.REDIRECT, DeliveryError.REDIRECT),
        (answered(400), AttemptResult.REFUSED, DeliveryError.HTTP_ERROR),
        (answered(410), AttemptResult.REFUSED, DeliveryError.HTTP_ERROR),
        (answered(429), AttemptResult.REFUSED, DeliveryError.HTTP_ERROR),
        (answered(500), AttemptResult.SERVER_ERROR, DeliveryError.HTTP_ERROR),
        (answered(599), AttemptResult.SERVER_ERROR, DeliveryError.HTTP_ERROR),
        (answered(101), AttemptResult.PROTOCOL_ERROR, DeliveryError.PROTOCOL_ERROR),
        (answered(600), AttemptResult.PROTOCOL_ERROR, DeliveryError.PROTOCOL_ERROR),
        (answered(None), AttemptResult.PROTOCOL_ERROR, DeliveryError.PROTOCOL_ERROR),
        (
            broke(DeliveryError.HTTP_ERROR, status=503),
            AttemptResult.SERVER_ERROR,
            DeliveryError.HTTP_ERROR,
        ),
        (
            broke(DeliveryError.REDIRECT, status=302),
            AttemptResult.REDIRECT,
            DeliveryError.REDIRECT,
        ),
        # An interrupted answer: the interruption decides, also if a status line was received.
        (broke(DeliveryError.TIMEOUT, status=200), AttemptResult.TIMEOUT, DeliveryError.TIMEOUT),
    ]
    + [
        (broke(code), AttemptResult(code.value), code)
        for code in DeliveryError
        if code not in {DeliveryError.HTTP_ERROR, DeliveryError.REDIRECT}
    ],
)
def test_each_outcome_has_its_result_and_its_code(
    outcome: AttemptOutcome, result: AttemptResult, code: DeliveryError | None
) -> None:
    assert classify(outcome) is result
    assert error_code(result) is code


def test_the_error_codes_are_the_published_ones() -> None:
    assert " ".join(DeliveryError) == (
        "timeout dns_error connection_refused connection_reset network_unreachable tls_error redirect "
        "blocked_address http_error protocol_error"
    )


def test_the_schedule_is_the_published_one() -> None:
    assert SCHEDULE_S == (5, 30, 120, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 86400)
    # 75.7 h from the first attempt to the last.
    assert sum(SCHEDULE_S) / 3600 == pytest.approx(75.7, abs=0.05)


@pytest.mark.parametrize(
    ("number", "unit", "asked", "delay"),
    [
        (1, 0.5, None, 5 * SECOND),
        (1, 0.0, None, 4 * SECOND),
        (12, 0.5, None, 24 * HOUR),
        (1, 0.5, 3, 5 * SECOND),  # never sooner than the step
        (1, 0.5, 60, 60 * SECOND),
        (1, 0.5, 999_999_999, 12 * HOUR),  # at most 12 h
        (12, 0.5, 999_999_999, 24 * HOUR),  # but a longer step stays
    ],
)
def test_a_delay_is_its_step_or_what_was_asked_for_within_12_hours(
    number: int, unit: float, asked: int | None, delay: int
) -> None:
    assert next_delay_us(number, SCHEDULE_S, 0.2, unit, asked) == delay


@given(number=st.integers(1, 12), unit=st.floats(0, 1, exclude_max=True), jitter=st.floats(0, 0.9))
def test_a_delay_stays_within_the_jitter(number: int, unit: float, jitter: float) -> None:
    step = SCHEDULE_S[number - 1] * SECOND
    delay = next_delay_us(number, SCHEDULE_S, jitter, unit)
    assert step * (1 - jitter) - 1 <= delay <= step * (1 + jitter) + 1
