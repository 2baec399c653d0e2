"""The steps of a disk that runs full: when each begins, and when it is over."""

import pytest

from daemon.core.disk_room import DiskWatch, Room, room

MB = 1_000_000


@pytest.mark.parametrize(
    ("free", "step"),
    [(500, Room.PLENTY), (499, Room.LOW), (100, Room.LOW), (99, Room.TIGHT), (20, Room.TIGHT), (19, Room.FULL)],
)  # fmt: skip
def test_steps_begin_below_500_100_and_20_megabytes(free: int, step: Room) -> None:
    assert room(free * MB) is step


@pytest.mark.parametrize(
    ("before", "free", "step"),
    [
        (Room.LOW, 599, Room.LOW), (Room.LOW, 600, Room.PLENTY), (Room.TIGHT, 119, Room.TIGHT),
        (Room.TIGHT, 120, Room.LOW), (Room.FULL, 900, Room.PLENTY),
    ],
)  # fmt: skip
def test_a_step_is_over_when_there_is_a_little_more_than_began_it(
    before: Room, free: int, step: Room
) -> None:
    assert room(free * MB, before) is step


def test_the_reserve_that_was_given_back_is_no_reason_to_take_orders_again() -> None:
    assert room((19 + 16) * MB, Room.FULL) is Room.FULL
    assert room(40 * MB, Room.FULL) is Room.TIGHT


def test_what_began_is_over_once_and_what_is_still_true_is_said() -> None:
    seen = DiskWatch()
    seen.see(10 * MB)
    assert seen.turns() == (Room.FULL, [])
    seen.noted(*seen.turns())
    assert seen.turns() == (None, [])
    seen.see(300 * MB)
    assert seen.turns() == (Room.LOW, [Room.FULL])
    # Until it is written down it is to be told.
    assert seen.turns() == (Room.LOW, [Room.FULL])
    seen.noted(*seen.turns())
    seen.see(10 * MB)
    seen.noted(*seen.turns())
    seen.see(9_000 * MB)
    assert seen.turns() == (None, [Room.LOW, Room.FULL])
