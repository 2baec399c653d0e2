"""The signal of each modem over the last 24 hours. Pure: the time is an argument.

It is kept in memory; each hour that has ended is stored, so that a restart loses no more than the present one.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from daemon.core.limits import HOUR_US, MINUTE_US

SPAN_US: Final = 24 * HOUR_US
SLOT_US: Final = 10 * MINUTE_US
HOURS: Final = 24


class Hour(Struct, frozen=True):
    """The lowest and highest signal of one hour, 0 to 31 of `AT+CSQ`; None while nothing was measured."""

    at: int
    lowest: int | None
    highest: int | None


class StoredHour(Struct, frozen=True):
    """The lowest and highest signal of one modem in one hour, which begins at `at`."""

    device_id: str
    at: int
    lowest: int
    highest: int


class SignalHistory(Struct):
    """The measured signals, in slots of ten minutes: start, lowest and highest, oldest first.

    Attributes:
        restored: The stored hours were added.
        stored_until: The start of the first hour that is not stored yet.
    """

    _slots: dict[str, deque[tuple[int, int, int]]] = field(default_factory=dict)
    restored: bool = False
    stored_until: int = 0

    def add(self, device_id: str, signal: int, now: int) -> None:
        """Note a signal of a modem."""
        slots, start = self._slots.setdefault(device_id, deque()), now - now % SLOT_US
        # After the clock was set back the history begins again: slots in the future would never leave.
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

    def restore(self, stored: Iterable[StoredHour]) -> None:
        """Add the hours that an earlier process stored."""
        for hour in stored:
            here = self._slots.setdefault(hour.device_id, deque())
            merged = {slot[0]: slot for slot in [(hour.at, hour.lowest, hour.highest), *here]}
            self._slots[hour.device_id] = deque(merged[at] for at in sorted(merged))
            self.stored_until = max(self.stored_until, hour.at + HOUR_US)
        self.restored = True

    def ended(self, now: int) -> list[StoredHour]:
        """Return the hours that have ended and are not stored yet."""
        present = now - now % HOUR_US
        # After a clock that was ahead, everything since is stored anew.
        since = self.stored_until if self.stored_until <= now else 0
        return [
            StoredHour(device_id, hour.at, hour.lowest, hour.highest)
            for device_id in self._slots
            for hour in self.hours(device_id, now)
            if since <= hour.at < present and hour.lowest is not None and hour.highest is not None
        ]
