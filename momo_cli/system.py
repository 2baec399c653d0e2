"""The only place in the command line that reads the clock, waits or takes random bytes."""

import os
import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the time, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # this module is the command line's one clock


def monotonic() -> float:
    """Return seconds on a clock that never goes back."""
    return time.monotonic()  # noqa: TID251  # this module is the command line's one clock


def sleep(seconds: float) -> None:
    """Wait; only the commands that wait for something call this."""
    time.sleep(seconds)  # noqa: TID251  # this module is the command line's one clock


def new_key() -> str:
    """Return 32 hex characters that nobody has used before, for an idempotency key."""
    return os.urandom(16).hex()
