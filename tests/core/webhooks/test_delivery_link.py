"""The result of an attempt that did not reach its host: a fault of our own connection, or of the receiver."""

import pytest
from msgspec.structs import replace

from daemon.core.webhooks.delivery import (
    AttemptOutcome,
    Decision,
    DeliveryEvent,
    LinkState,
    classify,
    decide,
    is_own_link,
)
from daemon.wire import DeliveryStatus
from tests.core.webhooks.test_delivery import (
    NOW,
    OWN_LINK,
    PENDING,
    RETRYING,
    SECOND,
    THEIRS,
    answered,
    facts,
)
from tests.fakes.each import each


def test_failures_of_our_own_link_flush_too() -> None:
    known = replace(facts(PENDING, 0, 0), link_failures=3)
    assert decide(known, answered(200), now_us=NOW, unit=0.5).flush_endpoint


@each("outcome", OWN_LINK)
@each("status", [PENDING, RETRYING])
def test_with_our_link_down_nothing_counts_and_no_step_is_used(
    outcome: AttemptOutcome, status: DeliveryStatus
) -> None:
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
def test_with_no_other_host_known_a_step_is_used_but_nothing_counts(
    outcome: AttemptOutcome,
) -> None:
    decision = decide(
        facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(False, False)
    )
    assert (decision.status, decision.attempt_count, decision.consecutive_failures) == (
        RETRYING,
        2,
        5,
    )
    assert decision.next_attempt_at_us == NOW + 30 * SECOND
    assert not decision.counts


@pytest.mark.parametrize("outcome", OWN_LINK)
def test_when_another_host_answered_it_is_the_receivers_failure(outcome: AttemptOutcome) -> None:
    decision = decide(
        facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(True, True)
    )
    assert (decision.attempt_count, decision.consecutive_failures, decision.counts) == (2, 6, True)


@pytest.mark.parametrize("outcome", THEIRS)
def test_what_the_receiver_did_counts_whatever_our_link(outcome: AttemptOutcome) -> None:
    assert not is_own_link(classify(outcome), outcome)
    decision = decide(
        facts(RETRYING, 1, 5), outcome, now_us=NOW, unit=0.5, link=LinkState(False, True)
    )
    assert (decision.attempt_count, decision.consecutive_failures, decision.counts) == (2, 6, True)
