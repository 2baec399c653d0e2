"""The clock, sleep, random bytes, signals, own files and own programs of the command line; no other module uses them directly."""

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType

from daemon import wire


def now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the command line's only clock


def monotonic() -> float:
    """Return the seconds of a monotonic clock."""
    return time.monotonic()  # noqa: TID251  # the command line's only clock


def sleep(seconds: float) -> None:
    """Wait for a number of seconds."""
    time.sleep(seconds)  # noqa: TID251  # the command line's only clock


def python_argv(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of momo (see `wire.python_argv`)."""
    return wire.python_argv(os.path.abspath(wire.__file__), module, *arguments)  # noqa: PTH100  # no pathlib here


@contextmanager
def ended_by_signals(resized: Callable[[], None] | None = None) -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit while the block runs; `resized` is called if the window is resized."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers: dict[int, Callable[[int, FrameType | None], object]]
    handlers = {signal.SIGTERM: end, signal.SIGHUP: end}
    if resized is not None:
        handlers[signal.SIGWINCH] = lambda _number, _frame: resized()
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def make_own_folder(path: str) -> None:
    """Create a folder and those above it that are missing, all of mode 0700; an OSError if that is not possible.

    The mode of `os.makedirs` is only that of the last folder, but the shop's folder may be one above.
    """
    if os.path.isdir(path):  # noqa: PTH112  # pathlib is not needed here
        return
    above = os.path.dirname(path)  # noqa: PTH120  # the same
    if above not in ("", path):
        make_own_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)  # noqa: PTH102  # the same


def open_own(path: str, flags: int) -> int:
    """Open a file of mode 0600 and return the descriptor; an OSError with a text for people if it is a symbolic link."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            text = "it is a symbolic link, which momo does not follow here; remove it"
            raise OSError(errno.ELOOP, text, path) from None
        raise


def port_in_use(host: str, port: int) -> bool:
    """Return whether another program listens on a TCP port of this machine; False if that cannot be found out."""
    import socket  # noqa: PLC0415  # only setup needs it

    try:
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the daemon listens
            probe.bind(where)
    except OSError as problem:
        return problem.errno == errno.EADDRINUSE
    return False


def new_key() -> str:
    """Return 32 random hex characters, for an idempotency key."""
    return os.urandom(16).hex()
