"""The result of an attempt: delivered, retried, or a dead letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.webhooks.delivery import (
    SCHEDULE_S,
    AttemptOutcome,
    AttemptResult,
    DeadLetterReason,
    Decision,
    DeliveryError,
    DeliveryEvent,
    DeliveryFacts,
    LinkState,
    RetryPolicy,
    TransitionError,
    decide,
)
from daemon.wire import DeliveryStatus
from tests.fakes.each import each

PENDING, RETRYING = DeliveryStatus.PENDING, DeliveryStatus.RETRYING
DELIVERED, FAILED = DeliveryStatus.DELIVERED, DeliveryStatus.FAILED
NOW = 1_767_225_600_000_000
SECOND, HOUR = 1_000_000, 3_600_000_000


def answered(status: int | None, retry_after_s: int | None = None) -> AttemptOutcome:
    return AttemptOutcome(status, "", None, None, 1000, retry_after_s, connected=True)


def broke(
    code: DeliveryError, *, connected: bool = False, status: int | None = None
) -> AttemptOutcome:
    return AttemptOutcome(status, "", code, "why", 1000, None, connected=connected)


def facts(
    status: DeliveryStatus = PENDING, attempt_count: int = 0, failures: int = 0
) -> DeliveryFacts:
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
