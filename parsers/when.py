"""Times as text: what receipts print, and ISO 8601 as the API speaks it. Inside, microseconds since 1970 in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_PRINTED: Final = re.compile(r"(\d{4}-\d\d-\d\d)[\sT]{1,3}(\d\d:\d\d(?::\d\d)?)", re.ASCII)
_ISO: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<part>\d{1,9}))?"
    r"(?P<zone>[Zz]|[+-]\d\d:?\d\d)",
    re.ASCII,
)


def read_printed(text: str) -> datetime | None:
    """Read a receipt's `2026-09-07 11:02:51`; Ghana's clock is UTC all year.

    Returns:
        An aware datetime in UTC, or None when it is no such time.
    """
    match = _PRINTED.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00").astimezone(UTC)
    except ValueError:
        return None


def read_iso(text: str) -> int | None:
    """Read ISO 8601 with a zone (`Z` or an offset); fractions beyond microseconds are cut off.

    Returns:
        Microseconds since 1970 in UTC, or None: no zone, no such day, not this form.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    zone = "+00:00" if match["zone"] in "Zz" else match["zone"]
    part = (match["part"] or "")[:6].ljust(6, "0")
    seconds = match["time"] if len(match["time"]) == 8 else f"{match['time']}:00"
    try:
        # Brought to UTC first: a time that lies outside the calendar there could not be rendered again.
        return to_us(
            datetime.fromisoformat(f"{match['date']}T{seconds}.{part}{zone}").astimezone(UTC)
        )
    except (ValueError, OverflowError):
        return None


def render(us: int) -> str:
    """Return microseconds since 1970 as ISO 8601 UTC with milliseconds: `2026-01-01T00:00:00.000Z`."""
    return f"{from_us(us).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def to_us(when: datetime) -> int:
    """Return an aware datetime as microseconds since 1970."""
    assert when.tzinfo is not None, "a time without a zone is not a time"
    return (when - _EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Return microseconds since 1970 as an aware datetime in UTC."""
    return _EPOCH + us * _MICROSECOND
