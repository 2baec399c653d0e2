"""The result of an attempt: delivered, retried, or a dead letter."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.webhooks.delivery import (
    BULK_WAIT_S_MAX,
    LIVE_STEP_S,
    SCHEDULE_S,
    SERVED_MAX,
    TRANSITIONS,
    AttemptOutcome,
    AttemptResult,
    DeadLetterReason,
    Decision,
    DeliveryError,
    DeliveryEvent,
    DeliveryFacts,
    LinkState,
    LivePriority,
    QueueKey,
    RetryPolicy,
    TransitionError,
    classify,
    decide,
    error_code,
    is_own_link,
    mark_served,
    next_delay_us,
    next_status,
)
from daemon.wire import DeliveryStatus
from tests.fakes.each import each

PENDING, RETRYING = DeliveryStatus.PENDING, DeliveryStatus.RETRYING
DELIVERED, FAILED = DeliveryStatus.DELIVERED, DeliveryStatus.FAILED
NOW = 1_767_225_600_000_000
SECOND, HOUR = 1_000_000, 3_600_000_000


def answered(status: int | None, retry_after_s: int | None = None) -> AttemptOutcome:
    return AttemptOutcome(status, "", None, None, 1000, retry_after_s, connected=True)


def broke(code: DeliveryError, *, connected: bool = False, status: int | None = None) -> AttemptOutcome:
    return AttemptOutcome(status, "", code, "why", 1000, None, connected=connected)


def facts(status: DeliveryStatus = PENDING, attempt_count: int = 0, failures: int = 0) -> DeliveryFacts:
    return DeliveryFacts(status, attempt_count, failures)


def test_a_success_delivers_and_ends_the_streak() -> None:
    assert decide(facts(RETRYING, 4, 2), answered(200), now_us=NOW, unit=0.5) == Decision(
        event=DeliveryEvent.SUCCEEDED,
        status=DELIVERED,
        result=AttemptResult.DELIVERED,
        error_code=None,
        attempt_count=5,
        next_attempt_at_us=None,
        dead_letter=None,
        counts=False,
        consecutive_failures=0,
        flush_endpoint=False,
    )


def test_a_5xx_is_tried_again_after_the_first_step() -> None:
    assert decide(facts(), answered(503), now_us=NOW, unit=0.5) == Decision(
        event=DeliveryEvent.FAILED_FOR_NOW,
        status=RETRYING,
        result=AttemptResult.SERVER_ERROR,
        error_code=DeliveryError.HTTP_ERROR,
        attempt_count=1,
        next_attempt_at_us=NOW + 5 * SECOND,
        dead_letter=None,
        counts=True,
        consecutive_failures=1,
        flush_endpoint=False,
    )


def test_a_4xx_is_a_dead_letter_at_once_and_counts() -> None:
    assert decide(facts(failures=19), answered(404), now_us=NOW, unit=0.5) == Decision(
        event=DeliveryEvent.REFUSED,
        status=FAILED,
        result=AttemptResult.REFUSED,
        error_code=DeliveryError.HTTP_ERROR,
        attempt_count=1,
        next_attempt_at_us=None,
        dead_letter=DeadLetterReason.PERMANENT_4XX,
        counts=True,
        consecutive_failures=20,
        flush_endpoint=False,
    )


def test_every_4xx_is_final_unless_it_is_listed() -> None:
    for status in range(400, 500):
        assert decide(facts(), answered(status), now_us=NOW, unit=0.5).status is FAILED
        policy = RetryPolicy(retry_4xx=frozenset({status}))
        listed = decide(facts(), answered(status), now_us=NOW, unit=0.5, policy=policy)
        assert listed.status is RETRYING


def test_a_listed_4xx_is_retried_and_may_ask_for_time() -> None:
    policy = RetryPolicy(retry_4xx=frozenset({429}))
    decision = decide(facts(), answered(429, 90), now_us=NOW, unit=0.5, policy=policy)
    assert decision.status is RETRYING
    assert decision.next_attempt_at_us == NOW + 90 * SECOND
    assert decide(facts(), answered(404), now_us=NOW, unit=0.5, policy=policy).status is FAILED


def test_retry_after_on_a_redirect_is_not_heeded() -> None:
    decision = decide(facts(), answered(302, 9999), now_us=NOW, unit=0.5)
    assert decision.next_attempt_at_us == NOW + 5 * SECOND


def test_a_run_is_thirteen_attempts_and_then_a_dead_letter() -> None:
    now, current = NOW, facts()
    decisions: list[Decision] = []
    while not decisions or decisions[-1].status is not FAILED:
        decision = decide(current, answered(500), now_us=now, unit=0.5)
        decisions.append(decision)
        current = facts(decision.status, decision.attempt_count, decision.consecutive_failures)
        now = decision.next_attempt_at_us or now
    assert len(decisions) == 13
    assert now - NOW == sum(SCHEDULE_S) * SECOND
    assert decisions[-1].dead_letter is DeadLetterReason.RETRIES_EXHAUSTED
    assert decisions[-1].event is DeliveryEvent.EXHAUSTED
    assert decisions[-1].attempt_count == decisions[-1].consecutive_failures == 13


@each("code", [code for code in DeliveryError if code is not DeliveryError.HTTP_ERROR])
def test_every_failure_of_the_network_is_tried_again(code: DeliveryError) -> None:
    status = 302 if code is DeliveryError.REDIRECT else None
    decision = decide(facts(), broke(code, status=status), now_us=NOW, unit=0.5)
    assert (decision.status, decision.error_code, decision.dead_letter) == (RETRYING, code, None)


@pytest.mark.parametrize(("failures", "flush"), [(0, False), (2, False), (3, True), (50, True)])
def test_the_first_success_after_three_failures_flushes(failures: int, *, flush: bool) -> None:
    decision = decide(facts(PENDING, 0, failures), answered(200), now_us=NOW, unit=0.5)
    assert decision.flush_endpoint is flush


OWN_LINK = [
    broke(DeliveryError.DNS_ERROR),
    broke(DeliveryError.NETWORK_UNREACHABLE),
    broke(DeliveryError.TIMEOUT),
    broke(DeliveryError.CONNECTION_RESET),
]
THEIRS = [
    broke(DeliveryError.TIMEOUT, connected=True),
    broke(DeliveryError.CONNECTION_RESET, connected=True),
    broke(DeliveryError.CONNECTION_REFUSED),
    broke(DeliveryError.TLS_ERROR, connected=True),
    broke(DeliveryError.BLOCKED_ADDRESS),
    broke(DeliveryError.PROTOCOL_ERROR, connected=True),
    answered(503),
]


def test_an_extra_attempt_that_fails_uses_no_step_but_counts() -> None:
    extra = replace(facts(RETRYING, 12, 0), extra=True)
    decision = decide(extra, answered(500), now_us=NOW, unit=0.5)
    assert (decision.event, decision.status) == (DeliveryEvent.NOT_COUNTED, RETRYING)
    assert (decision.attempt_count, decision.consecutive_failures) == (12, 1)
    assert decision.next_attempt_at_us == NOW + 24 * HOUR


def test_an_extra_attempt_that_is_refused_is_final() -> None:
    extra = replace(facts(RETRYING, 4, 0), extra=True)
    assert decide(extra, answered(410), now_us=NOW, unit=0.5).status is FAILED


def test_a_schedule_made_shorter_meanwhile_ends_the_run() -> None:
    policy = RetryPolicy(schedule_s=(1,))
    decision = decide(facts(RETRYING, 7), answered(500), now_us=NOW, unit=0.5, policy=policy)
    assert decision.dead_letter is DeadLetterReason.RETRIES_EXHAUSTED


@pytest.mark.parametrize("status", [DELIVERED, FAILED])
@pytest.mark.parametrize("outcome", [answered(200), answered(404), answered(500)])
def test_what_is_over_takes_no_outcome(status: DeliveryStatus, outcome: AttemptOutcome) -> None:
    with pytest.raises(TransitionError):
        decide(facts(status), outcome, now_us=NOW, unit=0.5)


@given(
    status=st.sampled_from([PENDING, RETRYING]),
    attempts=st.integers(0, 20),
    failures=st.integers(0, 30),
    outcome=st.sampled_from([*OWN_LINK, *THEIRS, answered(200), answered(404)]),
    link=st.builds(LinkState, st.booleans(), st.booleans()),
    extra=st.booleans(),
    unit=st.floats(0, 1, exclude_max=True),
)
def test_what_is_not_over_is_always_due_again(
    status: DeliveryStatus,
    attempts: int,
    failures: int,
    outcome: AttemptOutcome,
    link: LinkState,
    extra: bool,
    unit: float,
) -> None:
    before = DeliveryFacts(status, attempts, failures, extra)
    decision = decide(before, outcome, now_us=NOW, unit=unit, link=link)
    over = decision.status in {DELIVERED, FAILED}
    assert over == (decision.next_attempt_at_us is None)
    assert (decision.status is FAILED) == (decision.dead_letter is not None)
    if decision.next_attempt_at_us is not None:
        assert NOW + 4 * SECOND <= decision.next_attempt_at_us <= NOW + 29 * HOUR
    assert decision.attempt_count - attempts in {0, 1}


def test_failures_of_our_own_link_flush_too() -> None:
    known = replace(facts(PENDING, 0, 0), link_failures=3)
    assert decide(known, answered(200), now_us=NOW, unit=0.5).flush_endpoint


@each("outcome", OWN_LINK)
@each("status", [PENDING, RETRYING])
def test_with_our_link_down_nothing_counts_and_no_step_is_used(outcome: AttemptOutcome, status: DeliveryStatus) -> None:
    before = facts(status, 3, 5)
    for unit, seconds in ((0.0, 10), (0.5, 35)):
        decision = decide(before, outcome, now_us=NOW, unit=unit, link=LinkState(False, True))
        assert decision == Decision(
            event=DeliveryEvent.NOT_COUNTED,
            status=status,
            result=classify(outcome),
            error_code=outcome.error_code,
            attempt_count=3,
            next_attempt_at_us=NOW + seconds * SECOND,
            dead_letter=None,
            counts=False,
            consecutive_failures=5,
            flush_endpoint=False,
        )


@pytest.mark.parametrize("outcome", OWN_LINK)
def test_with_no_other_host_known_a_step_is_used_but_nothing_counts(outcome: AttemptOutcome) -> None:
    decision = decide(facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(False, False))
    assert (decision.status, decision.attempt_count, decision.consecutive_failures) == (RETRYING, 2, 5)
    assert decision.next_attempt_at_us == NOW + 30 * SECOND
    assert not decision.counts


@pytest.mark.parametrize("outcome", OWN_LINK)
def test_when_another_host_answered_it_is_the_receivers_failure(outcome: AttemptOutcome) -> None:
    decision = decide(facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(True, True))
    assert (decision.attempt_count, decision.consecutive_failures, decision.counts) == (2, 6, True)


@pytest.mark.parametrize("outcome", THEIRS)
def test_what_the_receiver_did_counts_whatever_our_link(outcome: AttemptOutcome) -> None:
    assert not is_own_link(classify(outcome), outcome)
    decision = decide(facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(False, True))
    assert (decision.attempt_count, decision.consecutive_failures, decision.counts) == (2, 6, True)


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
        (broke(DeliveryError.HTTP_ERROR, status=503), AttemptResult.SERVER_ERROR, DeliveryError.HTTP_ERROR),
        (broke(DeliveryError.REDIRECT, status=302), AttemptResult.REDIRECT, DeliveryError.REDIRECT),
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


def test_whoever_had_a_place_last_has_the_highest_number_and_the_oldest_is_forgotten() -> None:
    served: dict[QueueKey, int] = {}
    for name in ("a", "b", "a"):
        mark_served(served, (name, False))
    assert served[("a", False)] > served[("b", False)]
    for number in range(SERVED_MAX - 1):
        mark_served(served, (f"e{number}", False))
    assert len(served) == SERVED_MAX
    assert ("b", False) not in served
    assert list(served.values()) == sorted(served.values())


def test_nothing_waits_while_nothing_live_is_on_its_way() -> None:
    assert LivePriority().wait_s(0.0, 0.0) == 0.0


def test_bulk_waits_until_what_is_live_has_made_no_step_for_a_while() -> None:
    precedence = LivePriority()
    precedence.step(100.0)
    precedence.step(100.0 + LIVE_STEP_S / 2)
    assert precedence.wait_s(100.0 + LIVE_STEP_S, 0.0) > 0.0
    assert precedence.wait_s(100.0 + 2 * LIVE_STEP_S, 0.0) == 0.0


def test_in_a_storm_of_live_payments_bulk_still_begins_now_and_then() -> None:
    precedence = LivePriority()
    now, waited = 100.0, 0.0
    while waited < 2 * BULK_WAIT_S_MAX:
        precedence.step(now)
        wait_s = precedence.wait_s(now, waited)
        if wait_s == 0.0:
            break
        now, waited = now + wait_s, waited + wait_s
    assert 0.0 < waited <= BULK_WAIT_S_MAX + 1e-9
