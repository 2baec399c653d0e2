"""The disk of the shop: its free space, and the ballast file that reserves space for payments."""

import contextlib
import os
from pathlib import Path
from typing import Final

from daemon.core.upkeep.disk_space import BALLAST_BYTES

BALLAST: Final = "momo.ballast"


def free_bytes(folder: str) -> int:
    """Return the free space in bytes for this user.

    Raises:
        OSError: It cannot be determined.
    """
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def keep_ballast(folder: str, size: int = BALLAST_BYTES) -> bool:
    """Create the ballast file, which `drop_ballast` removes; return whether it was missing.

    Raises:
        OSError: The disk has no space for it; then no file is left.
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
    """Remove the ballast file; return whether there was one.

    Raises:
        OSError: It cannot be removed.
    """
    try:
        (Path(folder) / BALLAST).unlink()
    except FileNotFoundError:
        return False
    return True


def _fill(fd: int, size: int) -> None:
    """Allocate the blocks of a file; a sparse file of that size would reserve nothing."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    block = b"\0" * 65_536
    for begin in range(0, size, len(block)):
        os.write(fd, block[: size - begin])


def sync(path: str | os.PathLike[str]) -> None:
    """Sync a file, or a folder after a file in it was created or renamed, to the disk.

    Raises:
        OSError: It cannot be synced.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
