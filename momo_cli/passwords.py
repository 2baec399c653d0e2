"""The owner's password: asked without an echo, or read from a file or stdin; never a flag, where others could see it."""

from typing import Final

from momo_cli.errors import usage
from momo_cli.terminal import Terminal

STDIN: Final = "-"
_CHARACTERS_MIN: Final = 10


def password_in(path: str) -> str:
    """Read a password from a file; one line end at its end is dropped.

    Raises:
        Failure: USAGE, when the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
            return file.read().removesuffix("\n")
    except (OSError, ValueError) as problem:
        raise usage(f"--password-file: {path}: {problem}") from None


def owners_password(terminal: Terminal, path: str | None) -> str:
    """Return the password from where it was said to be, else from the person at the terminal.

    Raises:
        Failure: USAGE, when it was not said and there is nobody to ask, or the file cannot be read.
    """
    if path == STDIN:
        return terminal.stdin.readline().removesuffix("\n")
    if path is not None:
        return password_in(path)
    return terminal.ask_secret("The owner's password: ", "--password-file FILE")


def new_password(terminal: Terminal, path: str | None) -> str:
    """Return a new password from where it was said to be, else typed twice by the person at the terminal.

    Raises:
        Failure: USAGE, when it was not said and there is nobody to ask, or the file cannot be read.
    """
    if path == STDIN:
        return terminal.stdin.readline().removesuffix("\n")
    if path is not None:
        return password_in(path)
    while True:
        first = terminal.ask_secret(
            f"Choose a password for the owner ({_CHARACTERS_MIN} characters or more): ",
            "--password-file FILE",
        )
        if len(first) < _CHARACTERS_MIN:
            terminal.complain(f"That has {len(first)} characters; {_CHARACTERS_MIN} are needed.")
        elif terminal.ask_secret("The same again: ", "--password-file FILE") != first:
            terminal.complain("Those were two different passwords.")
        else:
            return first
