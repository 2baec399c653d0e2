"""Parsing of amounts, JSON values, days and periods of time that are typed on the command line."""

import json
import re
import sys
from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.show.terminal import Terminal
from momo_cli.times import moment, parse_stamp, stamp
from parsers.pasted import plain_amount

_AMOUNT: Final = re.compile(r"(?:([A-Za-z]{3}|GH[₵¢]|₵)\s*)?(\d{1,9})(\.\d{1,2})?", re.ASCII)
_COMMA: Final = re.compile(r"\d+,\d{1,2}", re.ASCII)
HTTP_NAMES: Final = {"loopback": "127.0.0.1:8420", "lan": "0.0.0.0:8420", "off": "off"}
"""The names that stand for an address in `--http`."""
_PORT_MAX: Final = 65_535
_CEDI: Final = ("GH₵", "GH¢", "₵", "GHC")


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine's own: `localhost`, or a loopback address without brackets."""
    from ipaddress import ip_address  # noqa: PLC0415  # few commands need it

    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def amount_of(text: str, flag: str = "AMOUNT") -> tuple[str, str | None]:
    """Parse an amount: `12`, `12.50`, `1,200.50`, `GHS 12.50`.

    Returns it with two decimals, and the currency, None if none was given; fails (exit 2) with a hint for `12,50`.
    """
    word = plain_amount(text)
    match = _AMOUNT.fullmatch(word)
    if match is None:
        hint = f"; did you mean {word.replace(',', '.')}?" if _COMMA.fullmatch(word) else ""
        raise usage(f"{flag}: {text!r} is not an amount like 12 or 12.50{hint}")
    currency, whole, cents = match.groups()
    value = f"{whole}.{(cents or '')[1:].ljust(2, '0')}"
    if currency is None:
        return value, None
    return value, "GHS" if currency.upper() in _CEDI else currency.upper()


def read_json(text: str, flag: str) -> Any:
    """Parse JSON (the text itself, the file after `@`, or stdin for `@-`); fail (exit 2) if it is none."""
    if text == "@-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 -- pathlib costs start-up time
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise usage(f"{flag}: {text[1:]}: {error}") from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise usage(f"{flag}: not JSON: {error}") from None


def check_choice(value: str | None, flag: str, choices: Collection[str]) -> None:
    """Check that a value, if it was given, is one of the choices; fail (exit 2) if not."""
    if value is not None and value not in choices:
        raise usage(f"{flag}: {value!r} is not one of {', '.join(choices)}")


def http_address(text: str) -> str:
    """Parse the value of `--http`: `HOST:PORT`, `off`, or `loopback` or `lan` for port 8420; fail (exit 2) if it is none."""
    if text in HTTP_NAMES:
        return HTTP_NAMES[text]
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > _PORT_MAX:
        names = ", ".join(HTTP_NAMES)
        raise usage(
            f"--http: {text!r} is not HOST:PORT, such as 127.0.0.1:8420, and none of {names}"
        )
    return text


def only_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a body that were given: all that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def json_object(text: str, flag: str) -> dict[str, Any]:
    """Parse a JSON object, or the file named after `@`; fail (exit 2) if it is not an object."""
    value = read_json(text, flag)
    if not isinstance(value, dict):
        raise usage(f'{flag} must be a JSON object, like {{"order": 17}}')
    return value


def day_of(text: str, flag: str, now: datetime, zone: tzinfo) -> str | None:
    """Parse a day: `today` (returns None: the shop's today), `yesterday`, `2026-01-31`; return it in ISO 8601."""
    word = text.strip()
    if word == "today":
        return None
    if word == "yesterday":
        return (now.astimezone(zone).date() - timedelta(days=1)).isoformat()
    try:
        return date.fromisoformat(word).isoformat()
    except ValueError:
        form = "write for example yesterday or 2026-01-31"
        raise usage(f"{flag}: {text!r} is not a day; {form}") from None


def time_of(text: str | None, flag: str, terminal: Terminal) -> str | None:
    """Parse a time into the API's form; None if it was not given."""
    return None if text is None else moment(text, flag, terminal.now(), terminal.zone)


def end_of(text: str | None, flag: str, terminal: Terminal) -> str | None:
    """Parse a time that is given as an end; a day (`yesterday`, `2026-01-31`) is included up to its last moment."""
    if text is None or not _names_a_day(text):
        return time_of(text, flag, terminal)
    day = parse_stamp(time_of(text, flag, terminal))
    assert day is not None, "time_of() returned it"
    local = day.astimezone(terminal.zone)
    return stamp((local.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=terminal.zone))


def period(since: str | None, until: str | None, terminal: Terminal) -> dict[str, Any]:
    """Return `--from` and `--to` (a day to its end) in the API's form; fail (exit 2) if the end is not later."""
    first, last = time_of(since, "--from", terminal), end_of(until, "--to", terminal)
    begin, end = parse_stamp(first), parse_stamp(last)
    if begin is not None and end is not None and begin >= end:
        raise usage(f"--to {until} is not after --from {since}")
    return {"from": first, "to": last}


def _names_a_day(text: str) -> bool:
    word = text.strip()
    if word in ("today", "yesterday"):
        return True
    try:
        date.fromisoformat(word)
    except ValueError:
        return False
    return True
