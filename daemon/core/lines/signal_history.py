"""The signal of each modem over the last 24 hours, in memory. Pure: the time is an argument."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from daemon.core.limits import HOUR_US, MINUTE_US

SPAN_US: Final = 24 * HOUR_US
SLOT_US: Final = 10 * MINUTE_US
HOURS: Final = 24


@dataclass(frozen=True, slots=True)
class Hour:
    """The lowest and highest signal of one hour, 0 to 31 of `AT+CSQ`; None while nothing was measured."""

    at: int
    lowest: int | None
    highest: int | None


@dataclass(slots=True)
class SignalHistory:
    """What was measured, in slots of ten minutes: start, lowest and highest signal, oldest first."""

    _slots: dict[str, deque[tuple[int, int, int]]] = field(default_factory=dict)

    def add(self, device_id: str, signal: int, now: int) -> None:
        """Note a signal of a modem."""
        slots, start = self._slots.setdefault(device_id, deque()), now - now % SLOT_US
        # A clock that was set back begins again; what is newer than now would never leave.
        while slots and (slots[0][0] <= now - SPAN_US or slots[-1][0] > start):
            slots.popleft()
        if slots and slots[-1][0] == start:
            _, lowest, highest = slots.pop()
            slots.append((start, min(lowest, signal), max(highest, signal)))
        else:
            slots.append((start, signal, signal))

    def hours(self, device_id: str, now: int) -> list[Hour]:
        """Return the last 24 hours, the present one last."""
        last = now - now % HOUR_US
        found: dict[int, tuple[int, int]] = {}
        for at, lowest, highest in self._slots.get(device_id, ()):
            hour = at - at % HOUR_US
            low, high = found.get(hour, (lowest, highest))
            found[hour] = min(low, lowest), max(high, highest)
        starts = (last - back * HOUR_US for back in reversed(range(HOURS)))
        return [Hour(start, *found.get(start, (None, None))) for start in starts]
