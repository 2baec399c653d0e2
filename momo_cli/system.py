"""The clock, sleep and random bytes of the command line; no other module uses them directly."""

import os
import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # the command line's only clock


def monotonic() -> float:
    """Return the seconds of a monotonic clock."""
    return time.monotonic()  # noqa: TID251  # the command line's only clock


def sleep(seconds: float) -> None:
    """Wait for a number of seconds."""
    time.sleep(seconds)  # noqa: TID251  # the command line's only clock


def new_key() -> str:
    """Return 32 random hex characters, for an idempotency key."""
    return os.urandom(16).hex()
