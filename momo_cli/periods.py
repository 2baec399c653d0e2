"""From when to when, as people say it and as the API takes it: days, and times between two of them."""

from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from momo_cli.errors import usage
from momo_cli.terminal import Terminal
from momo_cli.times import moment, parse_stamp, stamp


def day_of(text: str, flag: str, now: datetime, zone: tzinfo) -> str | None:
    """Read a day: `today` (None: the shop's own), `yesterday`, `2026-01-31`; as the API takes it."""
    word = text.strip()
    if word == "today":
        return None
    if word == "yesterday":
        return (now.astimezone(zone).date() - timedelta(days=1)).isoformat()
    try:
        return date.fromisoformat(word).isoformat()
    except ValueError:
        raise usage(
            f"{flag}: {text!r} is not a day; write for example yesterday or 2026-01-31"
        ) from None


def period(since: str | None, until: str | None, terminal: Terminal) -> dict[str, Any]:
    """Read `--from` and `--to` as the API takes them; a day named by `--to` is in it, to its end.

    Raises:
        Failure: USAGE, for what is no time, and for an end that is not after the beginning.
    """
    now, zone = terminal.now(), terminal.zone
    first = None if since is None else moment(since, "--from", now, zone)
    last = None if until is None else moment(until, "--to", now, zone)
    if until is not None and last is not None and _names_a_day(until):
        found = parse_stamp(last)
        assert found is not None, "it was made here"
        local = found.astimezone(zone)
        last = stamp((local.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=zone))
    begin, end = parse_stamp(first), parse_stamp(last)
    if begin is not None and end is not None and begin >= end:
        raise usage(f"--to {until} is not after --from {since}")
    return {"from": first, "to": last}


def _names_a_day(text: str) -> bool:
    word = text.strip()
    return word in ("today", "yesterday") or (len(word) == 10 and word.count("-") == 2)
