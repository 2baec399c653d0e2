"""The area `socket`: the door between `momo` and the daemon."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.doctor.checks import Check, Patient, Status
from daemon.lock import HomeLock, Locked


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the socket."""
    path = Path(patient.shop.socket)
    folder = path.parent
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        yield Check("socket.folder", Status.SKIP, f"{folder} is not there: the daemon makes it")
    else:
        if mode & 0o077:
            yield Check(
                "socket.folder",
                Status.FAIL,
                f"others may enter {folder} (mode {mode:04o})",
                f"chmod 700 {folder}",
                remedy=lambda: _close(folder),
            )
        else:
            yield Check("socket.folder", Status.OK, f"only its owner may enter {folder}")
    yield _answers(patient, path)


def _answers(patient: Patient, path: Path) -> Check:
    if not path.exists():
        if patient.running is None:
            return Check(
                "socket.answers", Status.SKIP, "there is no socket: the daemon does not run"
            )
        return Check(
            "socket.answers",
            Status.FAIL,
            f"the daemon runs and {path} is gone: somebody removed it",
            "momo daemon stop, then momo daemon start",
        )
    if not stat.S_ISSOCK(path.stat().st_mode):
        return Check(
            "socket.answers", Status.FAIL, f"{path} is no socket: it is in the way",
            f"move {path} away",
        )  # fmt: skip
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return Check(
                "socket.answers",
                Status.WARN,
                f"{path} was left behind by a daemon that is gone; the next start removes it",
                "momo daemon start",
                remedy=lambda: _remove(patient, path),
            )
        except OSError as error:
            return Check(
                "socket.answers", Status.FAIL, f"{path} cannot be reached: {error}",
                "momo daemon status",
            )  # fmt: skip
    return Check("socket.answers", Status.OK, f"somebody answers at {path}")


def _close(folder: Path) -> str:
    folder.chmod(0o700)
    return f"chmod 700 {folder}"


def _remove(patient: Patient, path: Path) -> str:
    """Remove a socket that nobody serves. The lock makes sure that no daemon is about to."""
    lock = HomeLock(patient.shop.lock)
    try:
        lock.take()
    except Locked as error:
        return f"left alone: {error}"
    try:
        path.unlink(missing_ok=True)
    finally:
        lock.release()
    return f"removed {path}"
