"""Times as text: as receipts print them, and ISO 8601 for the API. Inside, times are microseconds since 1970 in UTC."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH: Final = _EPOCH.replace(tzinfo=None)
_MICROSECOND: Final = timedelta(microseconds=1)
_PRINTED: Final = re.compile(r"(\d{4}-\d\d-\d\d)[\sT]{1,3}(\d\d:\d\d(?::\d\d)?)", re.ASCII)
_ISO: Final = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt](?P<time>\d\d:\d\d(?::\d\d)?)(?:\.(?P<part>\d{1,9}))?"
    r"(?P<zone>[Zz]|[+-]\d\d:?\d\d)",
    re.ASCII,
)

_DAY: Final = re.compile(r"(\d{4}|\d{1,2})[/.\- ](\d{1,2}|[A-Za-z]{3,9})[/.\- ](\d{4}|\d{1,2})", re.ASCII)
_CLOCK: Final = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:\s{0,3}(?P<half>[aApP])\.?[mM]\.?)?", re.ASCII
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_printed(text: str) -> datetime | None:
    """Read a receipt's `2026-09-07 11:02:51` as an aware datetime; Ghana's clock is UTC all year.

    None for anything else.
    """
    match = _PRINTED.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00").astimezone(UTC)
    except ValueError:
        return None


def read_local(date: str, time: str, order: str = "dmy") -> tuple[datetime, str] | None:
    """Read a local time in a common printed form: `15/10/24` and `12:16 PM`, `17-JUL-26` and `21:00`.

    The month may be a word of three letters or more; four digits in front are the year in any `order` (`dmy`, `mdy` or
    `ymd`). The time has hours and minutes, with or without seconds, in 24-hour form or with am/pm, or is empty. Return
    the time without a zone, and the same as ISO text, as exact as printed; None if it is not such a time.
    """
    day = _read_day(date, order)
    clock = _CLOCK.fullmatch(time.strip()) if time else None
    if day is None or (time and clock is None):
        return None
    if clock is None:
        return datetime(*day), f"{day[0]:04d}-{day[1]:02d}-{day[2]:02d}"  # noqa: DTZ001 - local, said so
    hour = int(clock["hour"])
    if clock["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if clock["half"] in "pP" else 0)
    try:
        when = datetime(*day, hour, int(clock["minute"]), int(clock["second"] or 0))  # noqa: DTZ001 - local
    except ValueError:
        return None
    return when, when.isoformat(timespec="seconds" if clock["second"] else "minutes")


def _read_day(text: str, order: str) -> tuple[int, int, int] | None:
    match = _DAY.fullmatch(text.strip())
    if match is None:
        return None
    parts = dict(zip("ymd" if len(match[1]) == 4 else order, match.groups(), strict=True))
    try:
        month = int(parts["m"]) if parts["m"].isdigit() else _MONTHS.index(parts["m"][:3].lower()) + 1
        year = int(parts["y"])
        when = datetime(year + 2000 if year < 100 else year, month, int(parts["d"]))  # noqa: DTZ001 - a day
    except ValueError:
        return None
    return when.year, when.month, when.day


def read_iso(text: str) -> int | None:
    """Read ISO 8601 with a zone (`Z` or an offset) as microseconds since 1970 in UTC; further digits are cut off.

    None if the zone is missing, the day does not exist, or the form is wrong.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    zone = "+00:00" if match["zone"] in "Zz" else match["zone"]
    part = (match["part"] or "")[:6].ljust(6, "0")
    seconds = match["time"] if len(match["time"]) == 8 else f"{match['time']}:00"
    try:
        # Convert to UTC here: a time that is outside the calendar in UTC could not be rendered.
        return to_us(datetime.fromisoformat(f"{match['date']}T{seconds}.{part}{zone}").astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def render(us: int) -> str:
    """Render microseconds since 1970 as ISO 8601 in UTC with milliseconds: `2026-01-01T00:00:00.000Z`."""
    second, rest = divmod(us, 1_000_000)
    return f"{_to_second(second)}.{rest // 1_000:03d}Z"


@lru_cache(maxsize=256)
def _to_second(second: int) -> str:
    """Render a second without its zone. Cached: most times of an answer are of the same few seconds."""
    return (_NAIVE_EPOCH + timedelta(seconds=second)).isoformat()


def to_us(when: datetime) -> int:
    """Convert an aware datetime to microseconds since 1970."""
    assert when.tzinfo is not None, "the time must have a zone"
    return (when - _EPOCH) // _MICROSECOND


def from_us(us: int) -> datetime:
    """Convert microseconds since 1970 to an aware datetime in UTC."""
    return _EPOCH + us * _MICROSECOND
