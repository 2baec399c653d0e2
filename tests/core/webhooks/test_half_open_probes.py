"""Half-open probes: a failing endpoint is probed after 5, 15 and then every 30 s."""

import pytest

from daemon.core.webhooks.fair_queue import is_breaker_open, probe_at

S = 1_000_000


@pytest.mark.parametrize(
    ("failures", "link_failures", "out"),
    [(0, 0, False), (2, 2, False), (3, 0, True), (0, 3, True), (20, 1, True)],
)
def test_three_failures_of_either_kind_make_an_outage(
    failures: int, link_failures: int, *, out: bool
) -> None:
    assert is_breaker_open(failures, link_failures) is out


@pytest.mark.parametrize(
    ("failures", "link_failures", "wait_s"),
    [(3, 0, 5), (4, 0, 15), (5, 0, 30), (19, 0, 30), (0, 3, 5), (1, 4, 15)],
)
def test_a_probe_waits_longer_with_each_failure(
    failures: int, link_failures: int, wait_s: int
) -> None:
    assert probe_at(failures, link_failures, 7 * S, 6 * S, 8 * S) == (7 + wait_s) * S
    assert probe_at(failures, link_failures, 7 * S, 7 * S, 8 * S) == (7 + wait_s) * S


def test_what_never_failed_goes_at_once() -> None:
    assert probe_at(0, 3, None, 0, 8 * S) == 0


def test_after_a_resume_the_first_goes_at_once() -> None:
    assert probe_at(0, 3, 7 * S, 8 * S, 8 * S) == 8 * S


def test_a_clock_that_was_set_back_after_a_resume_changes_no_wait() -> None:
    assert probe_at(0, 3, 7 * S, 3_600 * S, 8 * S) == (7 + 5) * S


def test_a_failure_that_a_clock_which_was_ahead_noted_makes_nothing_wait() -> None:
    assert probe_at(0, 3, 3_600 * S, 6 * S, 8 * S) == 0
