"""A wall clock that is wrong for one program, by libfaketime; its boot clock and its timers stay right."""

import time
from pathlib import Path

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
"""None where libfaketime is not installed."""


class WrongClock:
    """The clock of programs that run under `prefix`. A change counts within a second."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "wrong-clock"
        self.ahead_s(0)

    def ahead_s(self, seconds: int) -> None:
        """Set the clock so many seconds ahead of the right time, or behind it with a negative number."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n", encoding="ascii")
        new.replace(self._file)

    def year(self, year: int) -> None:
        """Set the clock to the begin of a year."""
        self.ahead_s(round((year - 1970) * 365.25 * 86_400) + 60 - time.time_ns() // 1_000_000_000)

    @property
    def prefix(self) -> tuple[str, ...]:
        """The program and arguments to run another program under."""
        return (
            "env",
            f"LD_PRELOAD={LIBRARY}",
            f"FAKETIME_TIMESTAMP_FILE={self._file}",
            "FAKETIME_CACHE_DURATION=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        )
