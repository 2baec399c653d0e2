"""The steps of low disk space: the begin and the end of each."""

import pytest

from daemon.core.upkeep.self_check import DiskWatch, SpaceStep, space_step

MB = 1_000_000


@pytest.mark.parametrize(
    ("free", "step"),
    [(500, SpaceStep.PLENTY), (499, SpaceStep.LOW), (100, SpaceStep.LOW), (99, SpaceStep.TIGHT), (20, SpaceStep.TIGHT), (19, SpaceStep.FULL)],
)  # fmt: skip
def test_steps_begin_below_500_100_and_20_megabytes(free: int, step: SpaceStep) -> None:
    assert space_step(free * MB) is step


@pytest.mark.parametrize(
    ("before", "free", "step"),
    [
        (SpaceStep.LOW, 599, SpaceStep.LOW), (SpaceStep.LOW, 600, SpaceStep.PLENTY), (SpaceStep.TIGHT, 119, SpaceStep.TIGHT),
        (SpaceStep.TIGHT, 120, SpaceStep.LOW), (SpaceStep.FULL, 900, SpaceStep.PLENTY),
    ],
)  # fmt: skip
def test_a_step_is_over_when_there_is_a_little_more_than_began_it(
    before: SpaceStep, free: int, step: SpaceStep
) -> None:
    assert space_step(free * MB, before) is step


def test_the_reserve_that_was_given_back_is_no_reason_to_take_orders_again() -> None:
    assert space_step((19 + 16) * MB, SpaceStep.FULL) is SpaceStep.FULL
    assert space_step(40 * MB, SpaceStep.FULL) is SpaceStep.TIGHT


def test_what_began_is_over_once_and_what_is_still_true_is_said() -> None:
    seen = DiskWatch()
    seen.see(10 * MB)
    assert seen.turns() == (SpaceStep.FULL, [])
    seen.noted(*seen.turns())
    assert seen.turns() == (None, [])
    seen.see(300 * MB)
    assert seen.turns() == (SpaceStep.LOW, [SpaceStep.FULL])
    # Until it is recorded, it is still to be reported.
    assert seen.turns() == (SpaceStep.LOW, [SpaceStep.FULL])
    seen.noted(*seen.turns())
    seen.see(10 * MB)
    seen.noted(*seen.turns())
    seen.see(9_000 * MB)
    assert seen.turns() == (None, [SpaceStep.LOW, SpaceStep.FULL])
