"""The clock, sleep, random bytes and signals of the command line; no other module uses them directly."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType


def now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the command line's only clock


def monotonic() -> float:
    """Return the seconds of a monotonic clock."""
    return time.monotonic()  # noqa: TID251  # the command line's only clock


def sleep(seconds: float) -> None:
    """Wait for a number of seconds."""
    time.sleep(seconds)  # noqa: TID251  # the command line's only clock


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


def new_key() -> str:
    """Return 32 random hex characters, for an idempotency key."""
    return os.urandom(16).hex()
