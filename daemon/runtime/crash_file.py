"""Crash files: written when the daemon ends by an unexpected error, and free of private data.

They contain the traceback, the error's type and its masked text. They contain no values of variables, because these may be
a customer's name or a message.
"""

import contextlib
import os
import platform
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from daemon.runtime.files import open_own
from daemon.wire import VERSION, Places
from parsers.masking import describe_traceback

KEPT: Final = 10
"""Number of newest files to keep: a daemon that crashes at every start must not fill the disk."""


def write(places: Places, error: BaseException, now: datetime) -> Path | None:
    """Write a crash file and return its path, or None if it cannot be written.

    It goes into the shop's state folder, with the time `now` in its name.
    """
    folder = Path(places.state)
    path = folder / f"crash-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.txt"
    head = f"momo {VERSION}, python {platform.python_version()}, {platform.system()}\n\n"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(head + describe_traceback(error) + "\n")
    except OSError:
        return None
    for old in sorted(folder.glob("crash-*.txt"))[:-KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return path


def mask_threads() -> None:
    """Mask the errors of threads; the interpreter would print them unmasked."""

    def say(died: threading.ExceptHookArgs) -> None:
        if died.exc_value is not None:
            sys.stderr.write(f"error: a thread died: {describe_traceback(died.exc_value)}\n")
            sys.stderr.flush()

    threading.excepthook = say
