"""Times: the printed ones, and ISO 8601 with its zone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.times import from_us, read_iso, read_local, read_printed, render, to_us
from tests.fakes.each import each


def test_printed_times_are_utc() -> None:
    expected = datetime(2026, 9, 7, 11, 2, 51, tzinfo=UTC)
    assert read_printed("2026-09-07 11:02:51") == expected
    assert read_printed(" 2026-09-07T11:02:51 ") == expected
    assert read_printed("2026-09-07 11:02") == expected.replace(second=0)


@pytest.mark.parametrize(
    "text", ["", "2026-13-01 00:00:00", "2026-02-30 00:00:00", "2026-09-07 25:00:00", "07/09/26", "2026-09-07"]
)
def test_what_is_no_printed_time_is_none(text: str) -> None:
    assert read_printed(text) is None


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:00Z", 1767225600000000),
        ("2026-01-01T00:00:00.5z", 1767225600500000),
        ("2026-01-01T00:00:00.123456789Z", 1767225600123456),
        ("2026-01-01T01:00:00+01:00", 1767225600000000),
        ("2025-12-31T19:00-0500", 1767225600000000),
    ],
)
def test_iso_times_with_a_zone_are_read(text: str, us: int) -> None:
    assert read_iso(text) == us


@each(
    "text",
    [
        *("", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-02-30T00:00:00Z"),
        *("2026-01-01T24:00:01Z", "2026-01-01T00:00:00+99:00", "0001-01-01T00:00:00+23:59", "now"),
        *("1767225600", "2026-01-01T00:00:00Zx", "٢٠٢٦-01-01T00:00:00Z"),
    ],
)
def test_times_without_a_zone_and_other_texts_are_none(text: str) -> None:
    assert read_iso(text) is None


def test_times_are_rendered_with_milliseconds_and_z() -> None:
    assert render(0) == "1970-01-01T00:00:00.000Z"
    assert render(1767225600123999) == "2026-01-01T00:00:00.123Z"


@given(st.integers(0, 250_000_000_000_000_000))
@settings(max_examples=200, deadline=None)
def test_what_is_rendered_reads_back_to_the_millisecond(us: int) -> None:
    assert read_iso(render(us)) == us - us % 1000
    assert to_us(from_us(us)) == us


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_text_whatever_makes_a_time_raise(text: str) -> None:
    read_iso(text)
    read_printed(text)


@each(
    ("date", "time", "order", "text"),
    [
        ("15/10/24", "12:16 PM", "dmy", "2024-10-15T12:16"),
        ("15/10/24", "12:16 AM", "dmy", "2024-10-15T00:16"),
        ("10/19/15", "08:33 PM", "mdy", "2015-10-19T20:33"),
        ("19/6/26", "10:38 pm", "dmy", "2026-06-19T22:38"),
        ("17-JUL-26", "09:00:00 pm", "dmy", "2026-07-17T21:00:00"),
        ("08-July-2021", "17:21", "dmy", "2021-07-08T17:21"),
        ("26-07-29", "05:28", "ymd", "2026-07-29T05:28"),
        ("2026-01-31", "11:26:23", "dmy", "2026-01-31T11:26:23"),
        ("03/06/2026", "08:54:09", "dmy", "2026-06-03T08:54:09"),
        ("08/25/2026", "", "mdy", "2026-08-25"),
    ],
)
def test_local_times_are_read_as_exactly_as_they_are_printed(date: str, time: str, order: str, text: str) -> None:
    read = read_local(date, time, order)
    assert read is not None
    assert read[1] == text
    assert read[0] == datetime.fromisoformat(text)


@each(
    ("date", "time"),
    [
        ("31/02/26", "10:00"),
        ("10/13/26", "10:00"),
        ("17-Foo-26", "10:00"),
        ("1/1/2026", "24:00"),
        ("1/1/2026", "13:00 PM"),
        ("1/1/2026", "0:10 AM"),
        ("1/1/2026", "10"),
        ("2026", "10:00"),
        ("", ""),
    ],
)
def test_what_is_no_local_time_gives_none(date: str, time: str) -> None:
    assert read_local(date, time) is None
