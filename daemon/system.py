"""The only reader of time and randomness. Everything else takes `now` and entropy as arguments."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    import asyncio

_ID_BYTES: Final = 16
_POOL_BYTES: Final = 2_048
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """The hands of the clock that the service reads."""

    def now_us(self) -> int:
        """Return the wall clock: microseconds since 1970 in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards and stop while the machine sleeps."""
        ...

    def boottime(self) -> float:
        """Return seconds that never run backwards and go on while the machine sleeps."""
        ...

    def boot_id(self) -> str:
        """Return what names the run of the machine that `boottime` counts; "" when nothing does."""
        ...


class Entropy(Protocol):
    """The dice."""

    def bytes(self, count: int) -> bytes:
        """Return that many random bytes."""
        ...

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1, each as likely."""
        ...

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Return the wall clock."""
        return time.time_ns() // 1_000

    def monotonic(self) -> float:
        """Return CLOCK_MONOTONIC."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return CLOCK_BOOTTIME, or the monotonic clock where there is none."""
        number = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if number is None else time.clock_gettime(number)

    def boot_id(self) -> str:
        """Return the kernel's name for this run, "" where it has none (macOS)."""
        try:
            return _BOOT_ID.read_text().strip()
        except OSError:
            return ""


class SystemEntropy:
    """The kernel's random numbers.

    Those of ids and codes are fetched many at a time: each call to the kernel lets another thread take the interpreter,
    and the writer's turn comes back late. Longer ones, of which secrets are made, lie nowhere before they are asked for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = b""

    def bytes(self, count: int) -> bytes:
        """Return that many random bytes."""
        if count > _ID_BYTES:
            return os.urandom(count)
        with self._lock:
            if len(self._pool) < count:
                self._pool = os.urandom(_POOL_BYTES)
            drawn, self._pool = self._pool[:count], self._pool[count:]
        return drawn

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1."""
        bits = (limit - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            number = int.from_bytes(self.bytes(size), "big") >> (size * 8 - bits)
            if number < limit:
                return number

    def unit(self) -> float:
        """Return a number in [0, 1), of 53 bits."""
        return self.below(1 << 53) / (1 << 53)


def loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """Return what makes the quicker event loop; None, for asyncio's own, where it is not installed."""
    try:
        import uvloop  # noqa: PLC0415 -- not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
