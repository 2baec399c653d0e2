"""Slots that a phone did not empty when told to: which are tried again, when, and what is told once.

A phone that is busy is asked again within a minute; one that refuses for good, at each sweep and
without another word. Some say OK and keep the message (gammu#217, #590): it then comes again and
again, is known as stored each time, and that too is told once.
"""

import math
from typing import Final

from daemon.modem import at
from daemon.modem.session_values import StoredPart

Key = tuple[str, int]

RETRIES_S: Final = (5.0, 5.0, 10.0, 20.0)
"""After so long an error that may pass is tried again; then the next sweep does it."""
LIES_MAX: Final = 3
"""So often the same message was in a slot again that the phone had said it emptied."""
_PASSING: Final = frozenset({at.ErrorClass.TRANSIENT, at.ErrorClass.UNKNOWN})


class Refusals:
    """Bounded by the slots of the phone: one entry each at most."""

    def __init__(self) -> None:
        """Start with none."""
        self._tries: dict[Key, int] = {}
        self._waiting: dict[Key, tuple[float, StoredPart]] = {}
        self._told: dict[Key, str] = {}
        self._emptied: dict[Key, tuple[str, int]] = {}

    def postpone(self, part: StoredPart, error: at.Error | None, now: float) -> bool:
        """Put a slot off if the error may pass; False when it is not worth it before a sweep."""
        key = (part.storage, part.index)
        tries = self._tries.get(key, 0)
        passing = error is None or at.error_class(error) in _PASSING
        if not passing or tries >= len(RETRIES_S):
            self._tries.pop(key, None)
            return False
        self._tries[key] = tries + 1
        self._waiting[key] = (now + RETRIES_S[tries], part)
        return True

    def deadline(self) -> float:
        """Return when the next slot is to be tried again."""
        return min((due for due, _ in self._waiting.values()), default=math.inf)

    def due(self, now: float) -> list[StoredPart]:
        """Hand over the slots to try again now."""
        ready = [key for key, (due, _) in self._waiting.items() if now >= due]
        return [self._waiting.pop(key)[1] for key in ready]

    def is_news(self, part: StoredPart, why: str) -> bool:
        """Say whether this was not told of this slot yet; note that it is told."""
        key = (part.storage, part.index)
        said = f"{why}\n{part.pdu}"
        if self._told.get(key) == said:
            return False
        self._told[key] = said
        return True

    def emptied(self, part: StoredPart) -> None:
        """Note that the phone says it has emptied the slot."""
        key = (part.storage, part.index)
        self._tries.pop(key, None)
        self._waiting.pop(key, None)
        pdu, times = self._emptied.get(key, ("", 0))
        self._emptied[key] = (part.pdu, times + 1 if pdu == part.pdu else 1)

    def came_back(self, part: StoredPart) -> bool:
        """Say whether the phone goes on to show what it says it has deleted."""
        pdu, times = self._emptied.get((part.storage, part.index), ("", 0))
        return pdu == part.pdu and times >= LIES_MAX
