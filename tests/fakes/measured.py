"""Times of a slow test's parts, which pytest prints at its end, also from a worker of xdist and when the test passes."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MEASURED: Final = "measured"
"""The property of a test's report that is printed (tests/conftest.py)."""


def _work() -> float:
    """Return the processor's seconds of this process's ended children, without daemons that they left."""
    times = os.times()
    return times.children_user + times.children_system


def _clock() -> float:
    """Return the seconds since some moment in the past."""
    return os.times().elapsed


@dataclass
class Watch:
    """Takes the times of a test's parts.

    Attributes:
        report: pytest's `record_property`.
    """

    report: Callable[[str, object], None]
    _clock: float = field(default_factory=_clock)
    _spent: float = field(default_factory=_work)

    def ends(self, part: str) -> float:
        """Report the part that ends now. Return how many seconds of processor time its commands took."""
        passed, spent = _clock() - self._clock, _work() - self._spent
        self._clock += passed
        self._spent += spent
        self.report(MEASURED, f"{part}: {passed:.0f} s, of the processor {spent:.0f} s")
        return spent
