"""One daemon per home: an advisory lock that the kernel drops when its holder dies, however it dies."""

import fcntl
import os
from pathlib import Path

from daemon.core.errors import MomoError


class Locked(MomoError):
    """Another daemon (or a setup that is running) holds this home."""


class HomeLock:
    """Holds the lock from `take` until `release` or the end of the process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd: int | None = None

    def take(self) -> None:
        """Take the lock at once, or refuse.

        Raises:
            Locked: With the process that holds it.
        """
        Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(fd, 32).decode(errors="replace").strip()
            os.close(fd)
            who = f"process {holder}" if holder else "another process"
            raise Locked(f"{who} already runs this shop ({self._path})") from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._fd = fd

    def release(self) -> None:
        """Let go; the file stays, so that nobody locks a file that is about to vanish."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
