"""The area `socket`: the local socket between `momo` and the daemon."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.doctor.checks import Check, Status, System, chmod
from daemon.runtime.locks import HomeLock, Locked


def checks(system: System) -> Iterator[Check]:
    """Check the socket."""
    path = Path(system.shop.socket)
    folder = path.parent
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        yield Check(
            "socket.folder", Status.SKIP, f"{folder} does not exist yet: the daemon creates it"
        )
    else:
        if mode & 0o077:
            yield Check(
                "socket.folder",
                Status.FAIL,
                f"other users may open {folder} (mode {mode:04o})",
                f"chmod 700 {folder}",
                remedy=chmod(folder, 0o700),
            )
        else:
            yield Check("socket.folder", Status.OK, f"only its owner may open {folder}")
    yield _answers(system, path)


def _answers(system: System, path: Path) -> Check:
    if not path.exists():
        if system.running is None:
            return Check(
                "socket.answers", Status.SKIP, "there is no socket: the daemon does not run"
            )
        return Check(
            "socket.answers",
            Status.FAIL,
            f"the daemon runs, but {path} was removed",
            "momo daemon stop, then momo daemon start",
        )
    if not stat.S_ISSOCK(path.stat().st_mode):
        return Check(
            "socket.answers", Status.FAIL, f"{path} is another file, not a socket",
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
                f"{path} is left over from a daemon that has ended; the next start removes it",
                "momo daemon start",
                remedy=lambda: _remove(system, path),
            )
        except OSError as error:
            return Check(
                "socket.answers", Status.FAIL, f"{path} cannot be reached: {error}",
                "momo daemon status",
            )  # fmt: skip
    return Check("socket.answers", Status.OK, f"the daemon answers at {path}")


def _remove(system: System, path: Path) -> str:
    """Remove an unused socket. The lock ensures that no daemon is starting."""
    lock = HomeLock(system.shop.lock)
    try:
        lock.take()
    except Locked as error:
        return f"not removed: {error}"
    try:
        path.unlink(missing_ok=True)
    finally:
        lock.release()
    return f"removed {path}"
