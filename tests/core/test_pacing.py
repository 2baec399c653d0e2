"""A replay takes half of the places at most, and never the last one of a live payment."""

import itertools

import pytest

from daemon.core.pacing import Full, full


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ({}, Full((), ())),
        ({("a", False): 2}, Full(("a",), ())),
        ({("a", True): 1}, Full((), ("a",))),
        ({("a", True): 1, ("a", False): 1}, Full(("a",), ("a",))),
        ({("a", True): 1, ("b", True): 1, ("c", False): 2}, Full(("c",), ("a", "b"))),
        ({(name, True): 1 for name in "abcde"}, Full((), None)),
    ],
)
def test_two_for_each_of_ten(running: dict[tuple[str, bool], int], expected: Full) -> None:
    assert full(running, per_endpoint=2, workers=10) == expected


@pytest.mark.parametrize(
    ("per_endpoint", "workers"), list(itertools.product((1, 2, 3, 8), (1, 2, 10)))
)
def test_bulk_moves_even_with_one_place_and_leaves_one_where_there_are_two(
    per_endpoint: int, workers: int
) -> None:
    running: dict[tuple[str, bool], int] = {}
    began = 0
    while True:
        who = full(running, per_endpoint=per_endpoint, workers=workers)
        if who.bulk is None or "a" in who.bulk or "a" in who.endpoints:
            break
        running["a", True] = running.get(("a", True), 0) + 1
        began += 1
    assert began >= 1
    if per_endpoint > 1:
        assert began < per_endpoint
    if workers > 1:
        assert began < workers
