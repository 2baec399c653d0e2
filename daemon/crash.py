"""What is left when the daemon dies of a fault of ours: a file that can be shown to anybody.

It says where each part of the program stood, and of the error its kind and its masked text. The values of variables, which
may be a customer's name or a message, are not in it.
"""

import contextlib
import os
import platform
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from daemon.api.envelope import VERSION
from daemon.wire import Places
from privacy.faults import story

KEPT: Final = 10
"""Newest files that stay: a daemon that dies at every start must not fill the disk."""


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
            file.write(head + story(error) + "\n")
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
            sys.stderr.write(f"error: a thread died: {story(died.exc_value)}\n")
            sys.stderr.flush()

    threading.excepthook = say
