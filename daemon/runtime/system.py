"""The only source of time and randomness, and what the process may use. All other modules get `now` and entropy as arguments."""

import contextlib
import ctypes
import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import asyncio

OPEN_FILES: Final = 4_096
_ID_BYTES: Final = 16
_POOL_BYTES: Final = 2_048
_M_ARENA_MAX: Final = -8
"""The number of this parameter in glibc's malloc.h."""
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """The clocks that the service reads."""

    def now_us(self) -> int:
        """Return the wall-clock time in microseconds since 1970 in UTC."""

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes backwards and stops while the machine sleeps."""

    def boottime(self) -> float:
        """Return seconds of a clock that never goes backwards and continues while the machine sleeps."""

    def boot_id(self) -> str:
        """Return the id of the machine's boot that `boottime` counts from; "" if unknown."""


class Entropy(Protocol):
    """The random numbers that the service uses."""

    def bytes(self, count: int) -> bytes:
        """Return that many random bytes."""

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1, all equally likely."""

    def unit(self) -> float:
        """Return a number in [0, 1)."""


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Return the wall-clock time."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Return CLOCK_MONOTONIC."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return CLOCK_BOOTTIME."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        """Return the kernel's boot id, "" where it cannot be read."""
        try:
            return _BOOT_ID.read_text().strip()
        except OSError:
            return ""


class SystemEntropy:
    """The kernel's random numbers.

    Bytes for ids and codes are fetched in bulk: each system call releases the interpreter to another thread, which delays
    the writer. Longer requests, for secrets, are read when needed and never kept in the pool.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = b""
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        """Return that many random bytes."""
        if count > _ID_BYTES:
            return os.urandom(count)
        with self._lock:
            begin = self._drawn
            if len(self._pool) - begin < count:
                self._pool, begin = os.urandom(_POOL_BYTES), 0
            self._drawn = begin + count
            return self._pool[begin : self._drawn]

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1."""
        bits = (limit - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            number = int.from_bytes(self.bytes(size), "big") >> (size * 8 - bits)
            if number < limit:
                return number

    def unit(self) -> float:
        """Return a number in [0, 1) with 53 random bits."""
        return self.below(1 << 53) / (1 << 53)


def raise_open_files_max() -> None:
    """Allow as many open files as the machine permits, up to a limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def use_one_heap() -> None:
    """Let all threads share one heap of the C library.

    They wait for each other anyway, and several heaps keep 20 MB more after some thousand payments. Only glibc has several.
    """
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def open_files_max() -> int:
    """Return how many files may be open at the same time."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_FILES if soft == resource.RLIM_INFINITY else soft


def loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """Return the factory of the faster event loop (uvloop), or None for asyncio's own if uvloop is not installed."""
    try:
        import uvloop  # noqa: PLC0415 -- not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
