"""The keys of the last calls that made something, on the disk before the call: after a power cut one can be repeated safely."""

import json
import os
from typing import Final

from momo_cli import system
from momo_cli.terminal import Terminal

FILE: Final = "idem.ndjson"
KEPT: Final = 100
_MODE: Final = 0o600


def fresh_key(terminal: Terminal, command: str) -> str:
    """Make a key and keep it, with when and for what; a disk that takes no more stops no payment.

    Args:
        terminal: Where the shop's state is, and what time it is.
        command: The words of the command.
    """
    key = system.new_key()
    folder = terminal.located.places.state
    row = {"at": f"{terminal.now():%Y-%m-%dT%H:%M:%SZ}", "command": command, "key": key}
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103  # pathlib is not needed here
        _keep(f"{folder}/{FILE}", json.dumps(row))
    except OSError as problem:
        terminal.note(f"! The key of this call could not be kept: {problem.strerror}.")
    return key


def _keep(path: str, line: str) -> None:
    """Append a line; once there are twice as many as are kept, the older ones go."""
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, _MODE), "r+") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        lines = file.readlines()
    if len(lines) >= 2 * KEPT:
        shorter = f"{path}.new"
        with os.fdopen(os.open(shorter, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "w") as file:
            file.writelines(lines[-KEPT:])
        os.replace(shorter, path)  # noqa: PTH105  # the same
