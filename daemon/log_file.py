"""The log on the disk: `momo.log` in the shop's log folder, JSON lines, five files of 5 MB at most; written and read here.

A log that cannot be written (a full disk) never stops the shop: the line is lost and the next one is tried. The lines
were masked before they come here (`log.py`).
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NAME: Final = "momo.log"
BYTES_MAX: Final = 5_000_000
FILES_MAX: Final = 5
"""operations.md 2.11: logs under 50 MB for a year; these are 25 MB."""
LEVELS: Final = ("info", "warning", "error")
LINES_MAX: Final = 10_000


class LogFile:
    """Takes lines, as a text stream does, and begins a new file when one is full."""

    def __init__(
        self,
        folder: str,
        *,
        bytes_max: int = BYTES_MAX,
        stands_still: Callable[[], bool] = lambda: False,
    ) -> None:
        """Write into a folder, which is made with the first line; nothing while `stands_still` but the first line."""
        self._stands_still = stands_still
        self._stood = self._skips = False
        self._begins = True
        self._path = Path(folder) / NAME
        self._bytes_max = bytes_max
        self._fd: int | None = None
        self._size = 0

    def write(self, text: str) -> int:
        """Append a text; what cannot be written is lost."""
        if self._begins:
            stood, self._stood = self._stood, self._stands_still()
            self._skips = stood and self._stood
        self._begins = text.endswith("\n")  # a line may come in pieces
        if self._skips:
            return len(text)
        data = text.encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError):
            if self._fd is None:
                self._open()
            if self._size + len(data) > self._bytes_max:
                self._turn()
            assert self._fd is not None, "it was opened"
            self._size += os.write(self._fd, data)
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write goes to the system at once."""

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _turn(self) -> None:
        self.close()
        for number in range(FILES_MAX - 1, 0, -1):
            older = self._path.with_name(f"{NAME}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{NAME}.{number - 1}")
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._open()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines are asked for.

    Attributes:
        since: Not before this time, as ISO 8601 in UTC; "" is any.
        level: At least this.
        component: The part of an event's name before the dot; "" is any.
        lines: The last so many.
        after: Only what came after a cursor that was given out; then from the oldest on.
    """

    since: str = ""
    level: str = "info"
    component: str = ""
    lines: int = 200
    after: str = ""


def read(folder: str, wanted: Wanted) -> tuple[list[dict[str, Any]], str]:
    """Return lines, oldest first, and the cursor of what comes after them.

    A cursor is `inode:offset`, so that it outlives the turn to a new file. One of a file that is gone begins with the
    oldest line that there is.
    """
    files = _files(folder)
    # Before the reading: what is written meanwhile comes again rather than never.
    cursor = _cursor(files)
    if wanted.after:
        found = _after(files, wanted)
    else:
        found = []
        for path in reversed(files):
            kept = [row for row in _rows(path) if _wants(wanted, row)]
            found = kept + found
            if len(found) >= wanted.lines:
                break
        found = found[-wanted.lines :]
    return found, cursor


def _files(folder: str) -> list[Path]:
    """Return the files, oldest first."""
    base = Path(folder)
    names = [*(f"{NAME}.{number}" for number in range(FILES_MAX - 1, 0, -1)), NAME]
    return [base / name for name in names if (base / name).is_file()]


def _after(files: list[Path], wanted: Wanted) -> list[dict[str, Any]]:
    inode, _, offset = wanted.after.partition(":")
    places = [str(path.stat().st_ino) for path in files]
    first = places.index(inode) if inode in places else 0
    found: list[dict[str, Any]] = []
    for number, path in enumerate(files[first:], first):
        start = int(offset) if places[number] == inode and offset.isdigit() else 0
        found += [row for row in _rows(path, start) if _wants(wanted, row)]
    return found[:LINES_MAX]


def _rows(path: Path, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield what a file says from a place on; a line that is cut off or none of ours is passed over."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                with contextlib.suppress(ValueError):
                    row = json.loads(line)
                    if isinstance(row, dict) and line.endswith(b"\n"):
                        yield row
    except FileNotFoundError:
        return


def _wants(wanted: Wanted, row: dict[str, Any]) -> bool:
    level = str(row.get("level", ""))
    loud = level not in LEVELS or LEVELS.index(level) >= LEVELS.index(wanted.level)
    recent = str(row.get("ts", "")) >= wanted.since
    return loud and recent and wanted.component in ("", row.get("component"))


def _cursor(files: list[Path]) -> str:
    if not files or files[-1].name != NAME:
        return "0:0"
    seen = files[-1].stat()
    return f"{seen.st_ino}:{seen.st_size}"
