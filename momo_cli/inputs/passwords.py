"""The owner's password and the PIN of a SIM: typed without echo, or read from a file or stdin.

Never from a plain flag, which other users of the machine can see.
"""

from typing import Any, Final

from daemon.wire import Path
from momo_cli.errors import usage
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, Reply

STDIN: Final = "-"
_CHARACTERS_MIN: Final = 10
_DIGITS_MIN, _DIGITS_MAX = 4, 8


def read_password_file(path: str) -> str:
    """Read a password from a file, without its final line end; fail (exit 2) if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
            return file.read().removesuffix("\n")
    except (OSError, ValueError) as problem:
        raise usage(f"--password-file: {path}: {problem}") from None


def owners_password(
    terminal: Terminal, path: str | None, question: str = "The owner's password: "
) -> str:
    """Return the password in the file or stdin, else ask for it; fail (exit 2) if neither is possible."""
    given = _given_password(terminal, path)
    return terminal.ask_secret(question, "--password-file FILE") if given is None else given


def new_password(
    terminal: Terminal, path: str | None, asks: str = "Choose a password for the owner"
) -> str:
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
