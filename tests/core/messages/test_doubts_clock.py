"""Plausible transaction IDs: compared with the ID clock of a line, at the exact limits of IDs, minutes and votes."""

from datetime import UTC, datetime

import pytest

from daemon.core.limits import DAY_US
from daemon.core.messages.trust import (
    ID_SEEN_MAX,
    ID_SLACK_DAYS,
    ID_SPEED_FACTOR_MAX,
    IDS_PER_DAY,
    Doubt,
    id_doubt,
)
from parsers.times import to_us
from tests.core.messages.test_doubts import NOW_ID, WEEK, seen
from tests.fakes.rows import AT

LOW, HIGH = Doubt.ID_TOO_LOW, Doubt.ID_TOO_HIGH


@pytest.mark.parametrize("provider", IDS_PER_DAY)
@pytest.mark.parametrize("days", [0, 1, -1])
def test_what_is_believed_of_an_id_ends_at_the_very_id(provider: str, days: int) -> None:
    per_day = IDS_PER_DAY[provider]
    slack, haste = ID_SLACK_DAYS * per_day, ID_SPEED_FACTOR_MAX * per_day
    line = [seen(0, NOW_ID)] * 3
    lowest, highest = NOW_ID - slack + min(days, 0) * haste, NOW_ID + slack + max(days, 0) * haste
    at = AT + days * DAY_US
    judged = [
        id_doubt(provider, f"{number}", at, line)
        for number in (lowest - 1, lowest, highest, highest + 1)
    ]
    assert judged == [LOW, None, None, HIGH]


def test_the_figures_are_the_measured_ones() -> None:
    assert dict(IDS_PER_DAY) == {"momo_mtn": 67_000_000, "momo_telecel": 10_000_000}
    assert (ID_SLACK_DAYS, ID_SPEED_FACTOR_MAX, ID_SEEN_MAX) == (3, 3, 9)


def test_three_messages_are_a_clock_and_half_of_them_no_majority() -> None:
    assert id_doubt("momo_mtn", "111111111", AT, WEEK[:3]) is LOW
    false = seen(0, 99_999_999_999)
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*WEEK[:2], false, false]) is None
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*WEEK[:1], false, false]) is LOW


def test_the_nine_nearest_in_time_vote() -> None:
    false, true = [seen(0, 99_999_999_999)] * 5, [seen(1, NOW_ID)] * 5
    assert id_doubt("momo_mtn", f"{NOW_ID}", AT, [*true, *false]) is LOW


@pytest.mark.parametrize(
    ("minute", "second", "microsecond", "doubted"),
    [(6, 0, 0, False), (5, 59, 999_999, True), (11, 0, 0, False), (11, 0, 1, True)],
)
def test_two_minutes_around_the_minute_of_an_id_are_believed(
    minute: int, second: int, microsecond: int, *, doubted: bool
) -> None:
    sent = to_us(datetime(2026, 11, 21, 8, minute, second, microsecond, tzinfo=UTC))
    found = id_doubt("momo_at", "PP261121.0808.A12345", sent, [])
    assert found is (Doubt.ID_OF_ANOTHER_TIME if doubted else None)
