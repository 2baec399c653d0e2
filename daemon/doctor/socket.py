"""The area `socket`: the local socket between `momo` and the daemon."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.doctor.checks import Check, Status, System, settings_or_default, too_open
from daemon.runtime.locks import HomeLock, Locked


def checks(system: System) -> Iterator[Check]:
    """Check the socket."""
    path = Path(system.shop.socket)
    yield _folder(system, path.parent)
    yield _answers(system, path)


def _folder(system: System, folder: Path) -> Check:
    """Check that only its owner may open the folder, and that others may pass through it to use the socket if they are named."""
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return Check(
            "socket.folder", Status.SKIP, f"{folder} does not exist yet: the daemon creates it"
        )
    users = settings_or_default(system).access.socket_users
    allowed = 0o755 if users else 0o700
    if mode & ~allowed & 0o077:
        return too_open("socket.folder", folder, how="open", now=mode, wanted=allowed)
    if not users:
        return Check("socket.folder", Status.OK, f"only its owner may open {folder}")
    closed = next((one for one in (folder, *folder.parents) if not _passed(one)), None)
    if closed is None:
        return Check("socket.folder", Status.OK, f"{', '.join(users)} may reach the socket")
    ours = closed == folder or closed == Path(system.shop.home)
    return Check(
        "socket.folder",
        Status.FAIL,
        f"[access] socket_users names {', '.join(users)}, who cannot reach the socket: only its owner may enter {closed}",
        "momo daemon restart" if ours else "move the shop to a folder that all users may enter, and set MOMO_HOME "
        "to it; or: momo daemon install --system",
    )  # fmt: skip


def _passed(folder: Path) -> bool:
    """Return whether other users may pass through a folder."""
    return bool(folder.stat().st_mode & stat.S_IXOTH)


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
