"""The file in which the daemon keeps what it knows of the clock, for its next start. A minute old at most, and never needed."""

import contextlib
import os
from pathlib import Path
from typing import Final

FILE: Final = "momo.clock"
_BYTES_MAX: Final = 2_000_000


def read(folder: str) -> str:
    """Return what was kept there, "" when nothing can be read."""
    try:
        with (Path(folder) / FILE).open("rb") as file:
            return file.read(_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def write(folder: str, text: str) -> None:
    """Keep it in the place of what was there. A disk without room is not this file's to tell of: the old one stays."""
    path = Path(folder) / FILE
    new = path.with_suffix(".new")
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(text)
        new.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
