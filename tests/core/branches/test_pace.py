"""The size of a branch's requests follows its line."""

from daemon.core.branches import answer
from daemon.core.branches.facts import BYTES_MAX


def test_a_quick_line_gets_the_largest_requests() -> None:
    assert answer.after_answer(BYTES_MAX, 500, 0.004) == BYTES_MAX
    assert answer.after_answer(8_000, 8_000, 0.02) == 16_000


def test_a_slow_answer_lowers_the_limit_to_what_fits() -> None:
    assert answer.after_answer(BYTES_MAX, 40_000, 10.0) == 20_000


def test_a_small_request_that_was_quick_does_not_lower_the_limit() -> None:
    assert answer.after_answer(100_000, 1_000, 0.5) == 100_000


def test_after_failures_requests_become_small_and_stay_above_the_least() -> None:
    limit = answer.after_failure(BYTES_MAX, 200_000)
    assert limit == 50_000
    assert answer.after_failure(limit, 900) == answer.BYTES_MIN
