"""Backup retention: keep the newest copy of some days, some weeks and some months. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from daemon.core.errors import MomoError

DEFAULT: Final = "7d,4w,12m"
_PART: Final = re.compile(r"([0-9]{1,4})([dwm])", re.ASCII)


class RetentionInvalid(MomoError):
    """The text is not a valid retention rule."""


class BackupRetention(Struct, frozen=True):
    """A retention rule: the number of days, weeks and months that keep their newest copy."""

    days: int
    weeks: int
    months: int


def parse_retention(text: str) -> BackupRetention:
    """Parse a rule such as `7d,4w,12m`; a period that is not named keeps no copy."""
    found = {"d": 0, "w": 0, "m": 0}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise RetentionInvalid(f"{text!r} is not of the form {DEFAULT}")
        found[match.group(2)] = int(match.group(1))
    if not any(found.values()):
        raise RetentionInvalid(f"{text!r} keeps no copy at all")
    return BackupRetention(found["d"], found["w"], found["m"])


def copies_to_keep(newest_first: Sequence[datetime], keep: BackupRetention) -> set[datetime]:
    """Return the copies to keep; the first one always is.

    `newest_first` are their times, with zone, in the order in which they were made, which is not that of the times if the
    clock was wrong. Only periods with a copy count.
    """
    found = set(newest_first[:1])
    periods = ((keep.days, "%Y-%m-%d"), (keep.weeks, "%G-%V"), (keep.months, "%Y-%m"))
    for most, form in periods:
        seen: set[str] = set()
        for at in newest_first:
            if len(seen) == most:
                break
            period = at.strftime(form)
            if period not in seen:
                seen.add(period)
                found.add(at)
    return found
