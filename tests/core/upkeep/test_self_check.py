"""The steps of low disk space: the begin and the end of each."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.upkeep.self_check import DEFAULT_RETENTION as DEFAULT
from daemon.core.upkeep.self_check import (
    BackupRetention,
    DiskWatch,
    RetentionInvalid,
    SpaceStep,
    copies_to_keep,
    parse_retention,
    space_step,
)
from tests.fakes.each import each

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


NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def test_days_weeks_and_months_each_keep_their_newest() -> None:
    hourly = [NOW - timedelta(hours=number) for number in range(24 * 60)]
    found = sorted(copies_to_keep(hourly, parse_retention("2d,2w,3m")), reverse=True)
    assert [f"{at:%m-%d %H}" for at in found] == ["11-21 08", "11-20 23", "11-15 23", "10-31 23", "09-30 23"]


@each("text", ["", "7", "7x", "d7", "0d", "0d,0w", "-1d", "7d;4w", "99999d"])
def test_what_keeps_nothing_is_refused(text: str) -> None:
    with pytest.raises(RetentionInvalid):
        parse_retention(text)


def test_the_default_is_readable() -> None:
    assert parse_retention(DEFAULT) == BackupRetention(7, 4, 12)


@given(
    st.lists(st.integers(0, 24 * 365 * 3), max_size=50, unique=True),
    st.builds(BackupRetention, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)
def test_the_copy_made_last_always_stays_and_never_more_than_asked(hours_ago: list[int], keep: BackupRetention) -> None:
    copies = [NOW - timedelta(hours=hours) for hours in hours_ago]
    found = copies_to_keep(copies, keep)
    assert found <= set(copies)
    assert not copies or copies[0] in found
    assert len(found) <= keep.days + keep.weeks + keep.months + 1
    # Thinning out twice is the same as once.
    assert copies_to_keep([at for at in copies if at in found], keep) == found
