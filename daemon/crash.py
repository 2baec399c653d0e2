"""What is left when the daemon dies of a fault of ours: a file that can be shown to anybody.

It says where each part of the program stood, and of the error its kind and its masked text. The values of variables, which
may be a customer's name or a message, are not in it.
"""

import contextlib
import os
import platform
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from daemon.api.envelope import VERSION
from daemon.log import fault
from daemon.wire import Places

KEPT: Final = 10
"""Newest files that stay: a daemon that dies at every start must not fill the disk."""
_CHAIN: Final = 5


def text(error: BaseException) -> str:
    """Return a crash as text: the error, where it came from, and what it came of, the last one first."""
    told: list[str] = []
    current: BaseException | None = error
    while current is not None and len(told) < _CHAIN:
        frames = traceback.extract_tb(current.__traceback__)
        where = [f"  {_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
        told.append("\n".join([fault(current), *where]))
        current = current.__cause__ or current.__context__
    return "\nwhich came of\n".join(told)


def write(places: Places, error: BaseException, now: datetime) -> Path | None:
    """Write a crash down; returns the file, None when the disk does not take it.

    Args:
        places: The shop's; the file goes into its folder for state.
        error: What nobody caught.
        now: For its name.
    """
    folder = Path(places.state)
    path = folder / f"crash-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.txt"
    head = f"momo {VERSION}, python {platform.python_version()}, {platform.system()}\n\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(head + text(error) + "\n")
    except OSError:
        return None
    for old in sorted(folder.glob("crash-*.txt"))[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path


def mask_threads() -> None:
    """Let a thread that dies say so masked; the interpreter would print its error as it is."""

    def say(died: threading.ExceptHookArgs) -> None:
        if died.exc_value is not None:
            sys.stderr.write(f"error: a thread died: {text(died.exc_value)}\n")
            sys.stderr.flush()

    threading.excepthook = say


def _short(filename: str) -> str:
    """Return where a file is in its package: the folders above it are this machine's own."""
    parts = Path(filename).parts
    for root in ("site-packages", "daemon", "parsers"):
        if root in parts:
            at = len(parts) - 1 - parts[::-1].index(root)
            return "/".join(parts[at + (root == "site-packages") :])
    return parts[-1] if parts else filename
