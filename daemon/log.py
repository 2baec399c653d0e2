"""The log: one line per fact, to stderr, for people or as JSON. Never a message's text, a name, a number or a secret.

One filter (`masked`) stands in front of every line; callers still log ids and counts, not contents. structlog is
imported with the first line, which a start does not wait for, and without rich: 4 MB instead of 10.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Protocol, Self, TextIO, cast

from privacy.masking import masked


class Lines(Protocol):
    """Takes text, line by line."""

    def write(self, text: str, /) -> int:
        """Append a text."""

    def flush(self) -> None:
        """Write what is not yet written."""


class Log:
    """Writes facts through structlog, with the filter in front of every line."""

    def __init__(
        self, out: TextIO | None, *, as_json: bool = False, file: Lines | None = None
    ) -> None:
        """Write to a stream, to a file as JSON lines, or to both."""
        self._out = out
        self._as_json = as_json
        self._file = file
        self._loggers: list[Any] | None = None

    @classmethod
    def of_daemon(cls, file: Lines, captured: str, *, as_json: bool = False) -> Self:
        """Return the log of the daemon: its file, and stderr for those who watch.

        Args:
            file: The log on the disk.
            captured: Where `momo daemon start` sends stderr: nobody turns that file over, so it gets no lines, only
                what is not a line of the log, such as the traces of a crash.
            as_json: The lines on stderr are JSON too.
        """
        return cls(None if _is(sys.stderr, captured) else sys.stderr, as_json=as_json, file=file)

    def info(self, event: str, **facts: Any) -> None:
        """Log what happened as it should. `event` is a constant such as `modem.ready`; the rest are facts."""
        self._write("info", event, facts)

    def warning(self, event: str, **facts: Any) -> None:
        """Log what a person may want to look at."""
        self._write("warning", event, facts)

    def error(self, event: str, **facts: Any) -> None:
        """Log what a person must look at."""
        self._write("error", event, facts)

    def _write(self, level: str, event: str, facts: dict[str, Any]) -> None:
        if self._loggers is None:
            self._loggers = []
            if self._out is not None:
                self._loggers.append(_structlog(self._out, as_json=self._as_json))
            if self._file is not None:
                self._loggers.append(_structlog(self._file, as_json=True))
        for logger in self._loggers:
            getattr(logger, level)(event, **facts)


def _is(stream: TextIO, path: str) -> bool:
    """Say whether a stream goes into that file."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))  # noqa: PTH116 -- no pathlib here
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def _as_if_missing(package: str) -> Iterator[None]:
    """Let what is imported believe that a package is not installed (None in sys.modules, importlib's own way).

    structlog takes rich where it finds it, for tracebacks that nobody asks it to draw, and greenlet, which we have none of.
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
        import structlog  # noqa: PLC0415 -- see the module's docstring
        from structlog.typing import Processor  # noqa: PLC0415 -- the same

    renderer: Processor = structlog.dev.ConsoleRenderer(colors=False, pad_event_to=24)
    if as_json:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    bound = structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=[
            _mask_all,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(
                fmt="iso", utc=True, key="ts" if as_json else "timestamp"
            ),
            *([_name_component] if as_json else []),
            renderer,
        ],
    )
    return bound.bind()  # unbound it would be bound anew for each line


def _mask_all(_logger: Any, _method: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
    return {key: masked("" if key == "event" else key, value) for key, value in line.items()}


def _name_component(
    _logger: Any, _method: str, line: MutableMapping[str, Any]
) -> Mapping[str, Any]:
    """Add what `momo logs` filters by: the line of a stream, and the part before the dot."""
    return {"type": "item", "component": str(line["event"]).partition(".")[0], **line}
