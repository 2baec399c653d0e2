"""The lock that allows one daemon per shop, and the search for programs that have a device file open.

The lock is advisory; the kernel releases it when the process ends. The search in /proc names the program to stop.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from daemon.core.errors import MomoError
from daemon.runtime.files import open_own

PROC: Final = Path("/proc")
MODEM_MANAGER: Final = "ModemManager"


class Locked(MomoError):
    """Another daemon, or a running setup, has locked this shop."""


class HomeLock:
    """The lock; held from `take` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self) -> None:
        """Take the lock without waiting.

        Raises:
            Locked: Another process has it; the text names the process.
            OSError: The file cannot be opened, or is a symbolic link.
        """
        Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            fd = open_own(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            if error.errno != errno.EROFS:
                raise
            # On a read-only disk the daemon starts too, to say so; the lock itself needs no write.
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(fd, 32).decode(errors="replace").strip()
            os.close(fd)
            who = f"process {holder}" if holder else "another process"
            raise Locked(f"{who} already runs this shop ({self._path})") from error
        with contextlib.suppress(OSError):  # a full or read-only disk; the number is only for messages
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Release the lock. The file stays: otherwise another process could lock a file that is being deleted."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class Holder(Struct, frozen=True):
    """A program, by its process number and name."""

    pid: int
    name: str


def holders(path: str, proc: Path = PROC) -> list[Holder]:
    """Return the other programs that have this device open, as far as the kernel lets us see.

    The files of another user's programs are visible only to root, so an empty list does not mean
    that the device is free.
    """
    wanted = os.path.realpath(path)
    return [
        Holder(pid, _name(proc, pid)) for pid in _programs(proc) if pid != os.getpid() and _holds(proc, pid, wanted)
    ]


def running(name: str, proc: Path = PROC) -> int | None:
    """Return the process number of a program of this name, None when none runs."""
    return next((pid for pid in _programs(proc) if _name(proc, pid) == name), None)


def _programs(proc: Path) -> list[int]:
    try:
        return sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal())
    except OSError:
        return []


def _name(proc: Path, pid: int) -> str:
    try:
        return (proc / str(pid) / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _holds(proc: Path, pid: int, wanted: str) -> bool:
    try:
        files = list((proc / str(pid) / "fd").iterdir())
    except OSError:  # another user's program, or it has just ended
        return False
    for file in files:
        with contextlib.suppress(OSError):
            if str(file.readlink()) == wanted:
                return True
    return False
