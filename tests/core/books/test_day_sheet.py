"""Days and hours in a zone with daylight saving time, and their totals."""

from datetime import UTC, date, timedelta
from zoneinfo import ZoneInfo

from daemon.core.books.day_sheet import Bucket, buckets, day, spans
from daemon.core.limits import DAY_US, HOUR_US
from parsers.times import from_us

CAIRO = ZoneInfo("Africa/Cairo")
LONG = date(2026, 10, 29)
"""Clocks go back from 24:00 to 23:00."""


def test_a_day_may_have_25_hours() -> None:
    since, until = day(LONG, CAIRO)
    assert until - since == 25 * HOUR_US
    assert day(LONG, UTC)[1] - day(LONG, UTC)[0] == DAY_US


def test_a_period_is_parted_where_the_clocks_change_and_nowhere_else() -> None:
    since, until = day(LONG - timedelta(days=3), CAIRO)[0], day(LONG + timedelta(days=3), CAIRO)[1]
    found = spans(since, until, CAIRO)
    assert [span.offset // HOUR_US for span in found] == [3, 2]
    assert (found[0].since, found[0].until, found[1].until) == (since, found[1].since, until)
    assert from_us(found[0].until).astimezone(CAIRO).strftime("%d %H:%M") == "29 23:00"
    assert len(spans(since, until, UTC)) == 1


def test_an_hour_that_comes_twice_is_one_row() -> None:
    first = spans(*day(LONG, CAIRO), CAIRO)[0].until - HOUR_US
    rows = [Bucket(first, "GHS", 1, 500), Bucket(first + HOUR_US, "GHS", 2, 700)]
    assert [(row["hour"], row["count"], row["amount"]) for row in buckets(rows, "hour", CAIRO)] == [
        ("2026-10-29 23:00", 3, "12.00")
    ]
