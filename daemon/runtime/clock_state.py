"""The file with the state of the clock check, for the next start. It is at most a minute old, and optional."""

import contextlib
import os
from pathlib import Path
from typing import Final

from daemon.runtime.private_files import open_own

FILE: Final = "momo.clock"
_BYTES_MAX: Final = 2_000_000


def read(folder: str) -> str:
    """Return the saved text, "" if it cannot be read."""
    try:
        with (Path(folder) / FILE).open("rb") as file:
            return file.read(_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def write(folder: str, text: str) -> None:
    """Save the text, replacing the old file. On an error, such as a full disk, the old file stays, and no error is raised."""
    path = Path(folder) / FILE
    new = path.with_suffix(".new")
    try:
        new.unlink(missing_ok=True)
        fd = open_own(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(fd, "w") as file:
            file.write(text)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
