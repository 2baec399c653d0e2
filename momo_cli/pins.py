"""The PIN of a SIM as it is given: from a file, from stdin, or typed without being shown; never a plain flag."""

from typing import Any, Final

from daemon.wire import Path
from momo_cli.client import Client, Reply
from momo_cli.errors import usage
from momo_cli.terminal import Terminal

STDIN: Final = "-"
_DIGITS_MIN, _DIGITS_MAX = 4, 8


def pin_in(path: str, terminal: Terminal) -> str:
    """Return the PIN that a file holds, or the next line of stdin.

    Raises:
        Failure: USAGE: the file cannot be read, or holds none.
    """
    if path == STDIN:
        return checked(terminal.stdin.readline().strip())
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  # pathlib is not needed here
            return checked(file.read().strip())
    except (OSError, ValueError) as problem:
        raise usage(f"--pin-file: {path}: {problem}") from None


def is_pin(text: str) -> bool:
    """Say whether a text has the form of a PIN."""
    return text.isascii() and text.isdigit() and _DIGITS_MIN <= len(text) <= _DIGITS_MAX


def checked(text: str) -> str:
    """Return the PIN.

    Raises:
        Failure: USAGE: it is none.
    """
    if not is_pin(text):
        raise usage(f"a PIN is {_DIGITS_MIN} to {_DIGITS_MAX} digits")
    return text


def keep(client: Client, device: str, slot: int, pin: str) -> Reply:
    """Hand a PIN to the daemon, which seals it and tries it once.

    Raises:
        Failure: The daemon refused it.
    """
    body: dict[str, Any] = {"device": device, "slot_index": slot, "pin": pin}
    return client.call("POST", Path.LOCAL_SIM_PIN, body=body)
