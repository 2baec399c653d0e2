"""Files of the shop and its disk.

Private files are opened without following links and checked for other writers, so that no other user may redirect or write
them. The ballast file reserves space for payments. A crash file, written when the daemon ends by an unexpected error, has
the traceback, the error's type and its masked text, and no values of variables, because these may be a customer's name or a
message.
"""

import contextlib
import errno
import grp
import os
import platform
import pwd
import stat
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.upkeep.self_check import BALLAST_BYTES
from daemon.wire import VERSION, Places
from parsers.masking import describe_traceback

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

CLOCK_FILE: Final = "momo.clock"
_CLOCK_BYTES_MAX: Final = 2_000_000
LINK: Final = "it is a symbolic link, which momo does not follow here; remove it"


def package_folder(name: str) -> "Traversable":
    """Return a folder of the package `daemon`, which may be inside a zip file."""
    folder = Path(__file__).parents[1] / name
    if folder.is_dir():
        return folder
    from importlib import resources  # noqa: PLC0415 -- 0.5 MB, and only a zip file needs it

    return resources.files("daemon") / name


def open_own(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file of mode 0600 for this process alone, as `os.open`, and return the descriptor.

    Raises:
        OSError: As `os.open`; ELOOP with a text for people if the file is a symbolic link (open(2), O_NOFOLLOW).
    """
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, LINK, str(path)) from None
        raise


def read_clock(folder: str) -> str:
    """Return the state of the clock check at most a minute before the last end; "" if it cannot be read."""
    try:
        with (Path(folder) / CLOCK_FILE).open("rb") as file:
            return file.read(_CLOCK_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def write_clock(folder: str, text: str) -> None:
    """Save the state of the clock check. On an error, such as a full disk, the old file stays, and no error is raised."""
    path = Path(folder) / CLOCK_FILE
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


def other_writers(path: str | os.PathLike[str], uid: int) -> str:
    """Return the other users that may write a file or folder, with the command that changes it; empty if only root and `uid` may.

    The rule is that of ssh(1) for its settings. As on Debian, the group of the owner alone is not another writer:
    with the common umask 0002 each new file is writable by that group.

    Raises:
        OSError: The file cannot be read.
    """
    found = Path(path).stat()  # a link is followed, because the file that is read counts
    name = os.fspath(path)
    if found.st_uid not in (uid, 0):
        return f"{name} belongs to another user ({_user(found.st_uid)}): chown {_user(uid)} {name}"
    others = found.st_mode & stat.S_IWOTH
    group = found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid, found.st_uid)
    if others or group:
        return f"{'every user' if others else 'its group'} may write {name}: chmod go-w {name}"
    return ""


def _is_private(gid: int, uid: int) -> bool:
    """Return whether the owner is the only member of the group; root's group counts as root."""
    if gid == 0:
        return True
    try:
        owner = pwd.getpwuid(uid).pw_name
        members = set(grp.getgrgid(gid).gr_mem)
    except KeyError:
        return False
    members |= {each.pw_name for each in pwd.getpwall() if each.pw_gid == gid}
    return members == {owner}


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


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
        os.posix_fallocate(fd, 0, size)
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
