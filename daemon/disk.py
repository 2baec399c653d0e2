"""The disk of the shop: how much is free, and the file that keeps a little of it for payments."""

import contextlib
import os
from pathlib import Path
from typing import Final

from daemon.core.disk_room import BALLAST_BYTES

BALLAST: Final = "momo.ballast"


def free_bytes(folder: str) -> int:
    """Return how many bytes we may still write there.

    Raises:
        OSError: Nobody knows.
    """
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def keep_ballast(folder: str, size: int = BALLAST_BYTES) -> bool:
    """Take room that `drop_ballast` gives back; returns whether it is taken now and was not.

    Raises:
        OSError: There is no room for it; then nothing is left behind.
    """
    path = Path(folder) / BALLAST
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size == size:
            return False
        path.unlink()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        _fill(fd, size)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    return True


def drop_ballast(folder: str) -> bool:
    """Give the room back; returns whether there was any.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        (Path(folder) / BALLAST).unlink()
    except FileNotFoundError:
        return False
    return True


def _fill(fd: int, size: int) -> None:
    """Give a file its room on the disk: a file of that size with nothing in it would have none."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    block = b"\0" * 65_536
    for begin in range(0, size, len(block)):
        os.write(fd, block[: size - begin])
