"""The log: one line per event, for people on stderr and as JSON in the shop's log folder.

It never contains the text of a message, a name, a phone number or a secret: every line passes `mask_value`; callers still log ids and counts, not contents. structlog is imported without rich: 4 MB of memory instead of 10.

A line that cannot be written to `momo.log` (full disk) is lost and never stops the shop; the next line is tried again.
"""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, Protocol, Self, TextIO, cast

from msgspec import Struct

from daemon.runtime.files import open_own
from parsers.masking import mask_value

NAME: Final = "momo.log"
BYTES_MAX: Final = 5_000_000
FILES_MAX: Final = 5
"""The logs stay under 50 MB for years; these are 25 MB."""
LEVELS: Final = ("info", "warning", "error")
LINES_MAX: Final = 10_000


class LineWriter(Protocol):
    """A destination of log lines."""

    def write(self, text: str, /) -> int:
        """Append text."""

    def flush(self) -> None:
        """Write buffered text."""


class Log:
    """Writes events through structlog; every line is masked."""

    def __init__(self, out: TextIO | None, *, as_json: bool = False, file: LineWriter | None = None) -> None:
        self._out = out
        self._as_json = as_json
        self._file = file
        self._loggers: list[Any] | None = None

    @classmethod
    def of_daemon(cls, file: LineWriter, captured: str, *, as_json: bool = False) -> Self:
        """Return the log of the daemon, which writes to its file and to stderr, with all that a line needs loaded.

        `captured` is the file to which `momo daemon start` redirects stderr. It is not rotated, so no log lines go
        there, only other output, such as tracebacks of a crash.
        """
        is_captured = False
        with contextlib.suppress(OSError, ValueError):
            stderr = os.fstat(sys.stderr.fileno())
            is_captured = os.path.samestat(stderr, os.stat(captured))  # noqa: PTH116 -- no pathlib here
        log = cls(None if is_captured else sys.stderr, as_json=as_json, file=file)
        log._prepared()  # later there may be no free descriptor to load it
        return log

    def info(self, event: str, **facts: Any) -> None:
        """Log a normal event. `event` is a constant such as `modem.ready`; the rest are its values."""
        self._write("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        """Log an event that may need attention."""
        self._write("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        """Log an event that needs attention."""
        self._write("error", event, facts)

    def _prepared(self) -> list[Any]:
        if self._loggers is None:
            loggers = []
            if self._out is not None:
                loggers.append(_structlog(self._out, as_json=self._as_json))
            if self._file is not None:
                loggers.append(_structlog(self._file, as_json=True))
            self._loggers = loggers
        return self._loggers

    def _write(self, level: str, event: str, facts: dict[str, Any]) -> None:
        for logger in self._prepared():
            with contextlib.suppress(OSError):  # stderr may be a file on a full disk, or a closed pipe
                getattr(logger, level)(event, **facts)


@contextlib.contextmanager
def _as_if_missing(package: str) -> Iterator[None]:
    """Make a package look uninstalled during an import (None in sys.modules, as importlib documents).

    structlog imports rich if it is installed, for tracebacks that momo does not render, and greenlet, which momo does not use.
    """
    if package in sys.modules:
        yield
        return
    modules = cast("dict[str, object]", sys.modules)
    modules[package] = None
    try:
        yield
    finally:
        del modules[package]


def _structlog(out: Any, *, as_json: bool) -> Any:
    with _as_if_missing("rich"), _as_if_missing("greenlet"):
        import structlog  # noqa: PLC0415 -- see the module docstring
        from structlog.typing import Processor  # noqa: PLC0415 -- the same

    renderer: Processor = structlog.dev.ConsoleRenderer(colors=False, pad_event_to=24)
    if as_json:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    bound = structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=[
            _mask_all,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts" if as_json else "timestamp"),
            *([_name_component] if as_json else []),
            renderer,
        ],
    )
    return bound.bind()  # an unbound logger would be bound again for each line


def _mask_all(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    return {key: mask_value("" if key == "event" else key, value) for key, value in line.items()}


def _name_component(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Add the members that `momo daemon logs` uses: the type `item`, and the component (the event's part before the dot)."""
    return {"type": "item", "component": str(line["event"]).partition(".")[0], **line}


class LogFile:
    """A text stream that writes the log file and rotates it when it is full."""

    def __init__(
        self, folder: str, *, bytes_max: int = BYTES_MAX, is_paused: Callable[[], bool] = lambda: False
    ) -> None:
        """Prepare the file in `folder`, which is created with the first line.

        While `is_paused` returns True (the disk is nearly full), only the first line is written.
        """
        self._is_paused = is_paused
        self._was_paused = self._skips = self._told = False
        self._at_line_start = True
        self._path = Path(folder) / NAME
        self._bytes_max = bytes_max
        self._fd: int | None = None
        self._size = 0

    def write(self, text: str) -> int:
        """Append text; text that cannot be written is lost."""
        if self._at_line_start:
            before, self._was_paused = self._was_paused, self._is_paused()
            self._skips = before and self._was_paused
        self._at_line_start = text.endswith("\n")  # a line may arrive in pieces
        if self._skips:
            return len(text)
        data = text.encode("utf-8", "backslashreplace")
        with contextlib.suppress(OSError):
            if self._fd is None:
                self._open()
            if self._size + len(data) > self._bytes_max:
                self.close()
                for number in range(FILES_MAX - 1, 0, -1):
                    older = self._path.with_name(f"{NAME}.{number}")
                    newer = self._path if number == 1 else self._path.with_name(f"{NAME}.{number - 1}")
                    with contextlib.suppress(FileNotFoundError):
                        newer.replace(older)
                self._open()
            assert self._fd is not None, "it was opened"
            self._size += os.write(self._fd, data)
        return len(text)

    def flush(self) -> None:
        """Do nothing, because writes are not buffered."""

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._fd = open_own(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            if error.errno == errno.ELOOP and not self._told:
                self._told = True
                sys.stderr.write(f"warning: no log is kept: {self._path}: {error.strerror}\n")
            raise
        self._size = os.fstat(self._fd).st_size


class LogFilter(Struct, frozen=True):
    """A filter of log lines.

    `since` is ISO 8601 in UTC, `level` the lowest level, `component` the part of the event's name before the dot; empty
    is any. The last `lines` are returned, or with `after`, the cursor of an earlier call, those after it from the
    oldest on.
    """

    since: str = ""
    level: str = "info"
    component: str = ""
    lines: int = 200
    after: str = ""


def read(folder: str, wanted: LogFilter) -> tuple[list[dict[str, Any]], str]:
    """Return lines, oldest first, and the cursor for the lines after them.

    A cursor is `inode:offset`, so it stays valid after a rotation. A cursor of a deleted file starts with the oldest line.
    """
    base = Path(folder)
    names = [*(f"{NAME}.{number}" for number in range(FILES_MAX - 1, 0, -1)), NAME]
    files = [base / name for name in names if (base / name).is_file()]
    # Take the cursor first: a line written meanwhile is returned twice instead of never.
    cursor = "0:0"
    if files and files[-1].name == NAME:
        seen = files[-1].stat()
        cursor = f"{seen.st_ino}:{seen.st_size}"
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


def _after(files: list[Path], wanted: LogFilter) -> list[dict[str, Any]]:
    inode, _, offset = wanted.after.partition(":")
    inodes = [str(path.stat().st_ino) for path in files]
    first = inodes.index(inode) if inode in inodes else 0
    found: list[dict[str, Any]] = []
    for number, path in enumerate(files[first:], first):
        start = int(offset) if inodes[number] == inode and offset.isdigit() else 0
        found += [row for row in _rows(path, start) if _wants(wanted, row)]
    return found[:LINES_MAX]


def _rows(path: Path, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file from an offset on; skip incomplete and invalid lines."""
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


def _wants(wanted: LogFilter, row: dict[str, Any]) -> bool:
    level = str(row.get("level", ""))
    loud = level not in LEVELS or LEVELS.index(level) >= LEVELS.index(wanted.level)
    recent = str(row.get("ts", "")) >= wanted.since
    return loud and recent and wanted.component in ("", row.get("component"))
