"""The retention of backups."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.upkeep.self_check import DEFAULT_RETENTION as DEFAULT
from daemon.core.upkeep.self_check import (
    BackupRetention,
    RetentionInvalid,
    copies_to_keep,
    parse_retention,
)
from tests.fakes.each import each

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def test_days_weeks_and_months_each_keep_their_newest() -> None:
    hourly = [NOW - timedelta(hours=number) for number in range(24 * 60)]
    found = sorted(copies_to_keep(hourly, parse_retention("2d,2w,3m")), reverse=True)
    assert [f"{at:%m-%d %H}" for at in found] == [
        "11-21 08",
        "11-20 23",
        "11-15 23",
        "10-31 23",
        "09-30 23",
    ]


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
def test_the_copy_made_last_always_stays_and_never_more_than_asked(
    hours_ago: list[int], keep: BackupRetention
) -> None:
    copies = [NOW - timedelta(hours=hours) for hours in hours_ago]
    found = copies_to_keep(copies, keep)
    assert found <= set(copies)
    assert not copies or copies[0] in found
    assert len(found) <= keep.days + keep.weeks + keep.months + 1
    # Thinning out twice is the same as once.
    assert copies_to_keep([at for at in copies if at in found], keep) == found
