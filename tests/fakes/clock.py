"""A clock that moves only when a test moves it."""


class FakeClock:
    """A wall clock, a monotonic clock, and a clock that also counts sleep."""

    def __init__(self, now_us: int = 1_795_248_030_000_000) -> None:
        self._now_us = now_us
        self._monotonic = 1000.0
        self._boottime = 1000.0
        self._boots = 1

    def now_us(self) -> int:
        return self._now_us

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._boottime

    def boot_id(self) -> str:
        return f"boot-{self._boots}"

    def reboot(self, off_s: float) -> None:
        """Turn the machine off for `seconds`; the counters restart at zero."""
        self._now_us += round(off_s * 1_000_000)
        self._monotonic = self._boottime = 10.0
        self._boots += 1

    def advance(self, seconds: float) -> None:
        """Let time pass while the machine is awake."""
        self._now_us += round(seconds * 1_000_000)
        self._monotonic += seconds
        self._boottime += seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass while the machine sleeps."""
        self._now_us += round(seconds * 1_000_000)
        self._boottime += seconds

    def jump(self, seconds: float) -> None:
        """Set the wall clock wrong."""
        self._now_us += round(seconds * 1_000_000)
