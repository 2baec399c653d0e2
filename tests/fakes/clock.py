"""A clock that moves only when it is told to."""


class FakeClock:
    """Three hands: wall clock, monotonic, and one that goes on through sleep."""

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
        """Let the machine be off for so long: the counters begin anew."""
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
