"""The fair queue: a replay or a backlog takes at most half of the workers, and never the last one."""

import itertools

import pytest

from daemon.core.webhooks.fair_queue import (
    SERVED_MAX,
    QueueKey,
    QueuesAtLimit,
    mark_served,
    queues_at_limit,
)
from tests.fakes.each import each


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ({}, QueuesAtLimit((), (), False)),
        ({("a", False): 2}, QueuesAtLimit(("a",), (), False)),
        ({("a", True): 1}, QueuesAtLimit((), ("a",), False)),
        ({("a", True): 1, ("a", False): 1}, QueuesAtLimit(("a",), ("a",), False)),
        (
            {("a", True): 1, ("b", True): 1, ("c", False): 2},
            QueuesAtLimit(("c",), ("a", "b"), False),
        ),
        ({(name, True): 1 for name in "abcde"}, QueuesAtLimit((), tuple("abcde"), True)),
    ],
)
def test_two_for_each_of_ten(running: dict[tuple[str, bool], int], expected: QueuesAtLimit) -> None:
    assert queues_at_limit(running, per_endpoint=2, workers=10) == expected


@each(("per_endpoint", "workers"), list(itertools.product((1, 2, 3, 8), (1, 2, 10))))
def test_bulk_moves_even_with_one_place_and_leaves_one_where_there_are_two(
    per_endpoint: int, workers: int
) -> None:
    running: dict[tuple[str, bool], int] = {}
    began = 0
    while True:
        who = queues_at_limit(running, per_endpoint=per_endpoint, workers=workers)
        if who.behind or "a" in who.bulk or "a" in who.endpoints:
            break
        running["a", True] = running.get(("a", True), 0) + 1
        began += 1
    assert began >= 1
    if per_endpoint > 1:
        assert began < per_endpoint
    if workers > 1:
        assert began < workers


@pytest.mark.parametrize(
    ("running", "backlog", "behind"),
    [
        ({("a", False): 2, ("b", False): 2}, 4, False),
        ({("a", False): 2, ("b", False): 2, ("c", False): 1}, 5, True),
        ({("a", False): 2, ("b", False): 2, ("c", True): 1}, 4, True),
        ({("a", False): 2, ("b", False): 2, ("c", False): 1}, 4, False),
    ],
)
def test_a_backlog_has_all_places_of_its_endpoint_and_with_what_is_in_bulk_half_of_all(
    running: dict[tuple[str, bool], int], backlog: int, *, behind: bool
) -> None:
    who = queues_at_limit(running, backlog=backlog, per_endpoint=2, workers=10)
    assert who.behind is behind
    assert who.endpoints[:2] == ("a", "b")


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
