"""Who has a device file open: looks in /proc, for a message that names the program to stop."""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
MODEM_MANAGER: Final = "ModemManager"


@dataclass(frozen=True, slots=True)
class Holder:
    """A program, by its number and its name."""

    pid: int
    name: str


def holders(path: str, proc: Path = PROC) -> list[Holder]:
    """Return the other programs that have this device open, as far as the kernel lets us see.

    The files of another user's programs are hidden from all but root, so an empty list does not
    mean that there is nobody.
    """
    wanted = os.path.realpath(path)
    return [
        Holder(pid, _name(proc, pid))
        for pid in _programs(proc)
        if pid != os.getpid() and _holds(proc, pid, wanted)
    ]


def running(name: str, proc: Path = PROC) -> int | None:
    """Return the number of a program of this name, None when none runs."""
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
