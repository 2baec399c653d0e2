"""Parsing of typed durations and times: `30s`, `10m`, `24h`, `7d`, `today`, ISO 8601."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from momo_cli.errors import usage

_DURATION: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d)?", re.ASCII)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def is_duration(text: str) -> bool:
    """Return whether the text is a number with a unit, such as `10m`."""
    match = _DURATION.fullmatch(text)
    return match is not None and match.group(2) is not None


def duration_s(text: str, flag: str) -> float:
    """Return a typed duration, or a bare number, in seconds; fail (exit 2) and name the flag if it is neither."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise usage(f"{flag}: {text!r} is not a duration; write for example 30s, 10m, 24h or 7d")
    return int(match.group(1)) * _SECONDS[match.group(2) or "s"]


def moment(text: str, flag: str, now: datetime, zone: tzinfo) -> str:
    """Parse a time and return it in the API's form: ISO 8601, UTC, with `Z`.

    `text` is `now`, `today`, `yesterday`, a duration before now (`24h`, `-24h`) or ISO 8601; fails (exit 2) for others.
    `zone` is the time zone of days and of times without one.
    """
    word = text.strip()
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "now":
        found = now
    elif word == "today":
        found = midnight
    elif word == "yesterday":
        found = midnight - timedelta(days=1)
    elif _DURATION.fullmatch(word.lstrip("-")) and not word.isdigit():
        found = now - timedelta(seconds=duration_s(word.lstrip("-"), flag))
    else:
        found = _iso(word, flag)
        if found.tzinfo is None:
            found = found.replace(tzinfo=zone)
    return stamp(found)


def _iso(word: str, flag: str) -> datetime:
    try:
        return datetime.fromisoformat(word)
    except ValueError:
        raise usage(
            f"{flag}: {word!r} is not a time; write for example 24h (ago), today, 2026-01-31 or 2026-01-31T14:00:00Z"
        ) from None


def stamp(at: datetime) -> str:
    """Return a time as ISO 8601 in UTC with milliseconds and `Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_stamp(text: object) -> datetime | None:
    """Parse a time of the API; return None if it is missing or invalid."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
