"""What is typed on the command line or read from a file: amounts, JSON, days, times, texts, passwords and PINs."""

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

from daemon.wire import Path
from momo_cli.errors import usage
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, Reply
from momo_cli.times import moment, parse_stamp, stamp
from parsers.pasted import plain_amount

_AMOUNT: Final = re.compile(r"(?:([A-Za-z]{3}|GH[₵¢]|₵)\s*)?(\d{1,9})(\.\d{1,2})?", re.ASCII)
_COMMA: Final = re.compile(r"\d+,\d{1,2}", re.ASCII)
HTTP_NAMES: Final = {"loopback": "127.0.0.1:8420", "lan": "0.0.0.0:8420", "off": "off"}
"""The names that stand for an address in `--http`."""
_PORT_MAX: Final = 65_535


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
    return value, "GHS" if currency.upper() in ("GH₵", "GH¢", "₵", "GHC") else currency.upper()


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
    except (ValueError, RecursionError) as error:
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
        raise usage(f"--http: {text!r} is not HOST:PORT, such as 127.0.0.1:8420, and none of {names}")
    return text


def only_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a body that were given: all that are not None."""
    return {name: value for name, value in values.items() if value is not None}


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


STDIN: Final = "-"
BYTES_MAX: Final = 8_000_000
NO_TEXT: Final = "it is not text (UTF-8)"


@contextmanager
def file_errors(label: str) -> Iterator[None]:
    """Turn the errors of reading or writing a file into usage errors that begin with the label (exit 2)."""
    try:
        yield
    except OSError as problem:
        raise usage(f"{label}: {problem.strerror}") from None
    except ValueError:
        raise usage(f"{label}: {NO_TEXT}") from None


def read_text(terminal: Terminal, path: str) -> str:
    """Return the text of a file, or of stdin for `-`; fail (exit 2) if it cannot be read or is too large."""
    with file_errors(path):
        if path == STDIN:
            text = terminal.stdin.read(BYTES_MAX + 1)
        else:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
                text = file.read(BYTES_MAX + 1)
    if len(text) > BYTES_MAX:
        raise usage(f"{path}: longer than {BYTES_MAX:,} characters")
    return text


@contextmanager
def secret_file(path: str | None, flag: str) -> Iterator[Callable[[str], None]]:
    """Create the file before the secret is created, because a secret that cannot be written would be lost.

    Yields a function that writes the secret as one line. Without a path it does nothing. The file gets mode 0600, must
    not exist yet (exit 2), and is removed if the block fails. `flag` is the flag with the path, for the message.
    """
    if path is None:
        yield lambda _secret: None
        return
    with file_errors(f"{flag}: {path}"):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:

        def keep(secret: str) -> None:
            file.write(f"{secret}\n")
            file.flush()
            os.fsync(file.fileno())

        try:
            yield keep
        except BaseException:
            os.unlink(path)  # noqa: PTH108  # pathlib is not needed here
            raise


_CHARACTERS_MIN: Final = 10
_DIGITS_MIN, _DIGITS_MAX = 4, 8


def read_password_file(path: str) -> str:
    """Read a password from a file, without its final line end; fail (exit 2) if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
            return file.read().removesuffix("\n")
    except (OSError, ValueError) as problem:
        raise usage(f"--password-file: {path}: {problem}") from None


def owners_password(terminal: Terminal, path: str | None, question: str = "The owner's password: ") -> str:
    """Return the password in the file or stdin, else ask for it; fail (exit 2) if neither is possible."""
    given = _given_password(terminal, path)
    return terminal.ask_secret(question, "--password-file FILE") if given is None else given


def new_password(terminal: Terminal, path: str | None, asks: str = "Choose a password for the owner") -> str:
    """Return a new password in the file or stdin, else ask for it twice; fail (exit 2) if neither is possible."""
    given = _given_password(terminal, path)
    if given is not None:
        return given
    while True:
        question = f"{asks} ({_CHARACTERS_MIN} characters or more): "
        first = terminal.ask_secret(question, "--password-file FILE")
        if len(first) < _CHARACTERS_MIN:
            terminal.complain(f"That has {len(first)} characters; {_CHARACTERS_MIN} are needed.")
        elif terminal.ask_secret("The same again: ", "--password-file FILE") != first:
            terminal.complain("The two passwords differ.")
        else:
            return first


def _given_password(terminal: Terminal, path: str | None) -> str | None:
    if path == STDIN:
        return terminal.stdin.readline().removesuffix("\n")
    return None if path is None else read_password_file(path)


def read_pin_file(path: str, terminal: Terminal) -> str:
    """Return the PIN in a file, or on the next line of stdin; fail (exit 2) if there is none."""
    if path == STDIN:
        return checked_pin(terminal.stdin.readline().strip())
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  # pathlib is not needed here
            return checked_pin(file.read().strip())
    except (OSError, ValueError) as problem:
        raise usage(f"--pin-file: {path}: {problem}") from None


def is_pin(text: str) -> bool:
    """Return whether a text has the form of a PIN."""
    return text.isascii() and text.isdigit() and _DIGITS_MIN <= len(text) <= _DIGITS_MAX


def checked_pin(text: str) -> str:
    """Return the PIN; fail (exit 2) if it does not have the form of one."""
    if not is_pin(text):
        raise usage(f"a PIN is {_DIGITS_MIN} to {_DIGITS_MAX} digits")
    return text


def send_pin(client: Client, device: str, slot: int, pin: str) -> Reply:
    """Send a PIN to the daemon, which encrypts it and tries it once, or refuses it."""
    body: dict[str, Any] = {"device": device, "slot_index": slot, "pin": pin}
    return client.call("POST", Path.LOCAL_SIM_PIN, body=body)
