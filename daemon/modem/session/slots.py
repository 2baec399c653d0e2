"""The slots of a phone's storages: which parts were handed out, and which slots may be emptied or are retried.

A slot is added when its part is handed out, and removed when the phone has emptied it. While it is registered it is not
handed out again, unless it holds another message by then.

A phone that is busy when a slot is to be emptied is retried within a minute; a permanent refusal is retried at each sweep
without another report. Some phones answer OK and keep the message (gammu#217, #590): it is read again and again, recognised
as stored each time, and reported once.
"""

import math
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from daemon.modem.session import at
from daemon.modem.session.events import StoredPart

Key = tuple[str, int]
RETRIES_S: Final = (5.0, 5.0, 10.0, 20.0)
"""Back-off after a transient error; after the last one the next sweep retries."""
FALSE_DELETES_MAX: Final = 3
"""Times that the same message may reappear in a slot that the phone reported as emptied."""
_PASSING: Final = frozenset({at.ErrorClass.TRANSIENT, at.ErrorClass.UNKNOWN})


class SlotState(StrEnum):
    """State of a slot."""

    HANDED_OUT = "handed_out"
    STORED = "stored"
    """Durable, and queued to be emptied."""
    KEPT = "kept"
    """Durable, but not emptied, because of the settings or a failure; the next sweep retries."""


class Slots:
    """Slots in use that this session has read. All calls are O(1) but `settle`."""

    def __init__(self, *, delete: bool) -> None:
        """Start empty; without `delete` no slot is ever emptied."""
        self._delete = delete
        self._held: dict[Key, tuple[StoredPart, SlotState]] = {}
        self._counts: dict[str, int] = {}
        self._unstored: dict[str, int] = {}
        self._queues: dict[str, deque[StoredPart]] = {}

    def unstored(self, storage: str) -> int:
        """Return the number of parts of that storage that were handed out and are not durable yet."""
        return self._unstored.get(storage, 0)

    def holds(self, key: Key) -> bool:
        """Return whether a slot is registered."""
        return key in self._held

    def count(self, storage: str) -> int:
        """Return the number of registered slots of that storage."""
        return self._counts.get(storage, 0)

    def hand_out(self, part: StoredPart) -> tuple[bool, StoredPart | None]:
        """Register the content of a slot.

        Returns:
            Whether to hand the part out, and the part that was registered for this slot but is no
            longer in it.
        """
        key = (part.storage, part.index)
        held = self._held.get(key)
        if held is None:
            self._counts[part.storage] = self.count(part.storage) + 1
        elif held[0].pdu == part.pdu:
            if held[1] is SlotState.KEPT:
                self._stored(held[0])
            return False, None
        if held is None or held[1] is not SlotState.HANDED_OUT:
            self._unstored[part.storage] = self.unstored(part.storage) + 1
        self._held[key] = (part, SlotState.HANDED_OUT)
        return True, None if held is None else held[0]

    def stored(self, part: StoredPart) -> None:
        """Mark a part as durable; its slot may be emptied if it still holds the part."""
        held = self._held.get((part.storage, part.index))
        if held is not None and held[0].pdu == part.pdu and held[1] is SlotState.HANDED_OUT:
            self._unstored[part.storage] -= 1
            self._stored(held[0])

    def _stored(self, part: StoredPart) -> None:
        state = SlotState.STORED if self._delete else SlotState.KEPT
        self._held[part.storage, part.index] = (part, state)
        if self._delete:
            self._queues.setdefault(part.storage, deque()).append(part)

    def next_to_free(self, selected: str) -> StoredPart | None:
        """Remove and return the next slot to empty, from the selected storage if possible."""
        queue = self._queues.get(selected)
        for parts in (queue, *self._queues.values()) if queue else self._queues.values():
            while parts:
                part = parts.popleft()
                held = self._held.get((part.storage, part.index))
                if held is not None and held[0] is part and held[1] is SlotState.STORED:
                    return part
        return None

    def again(self, part: StoredPart) -> None:
        """Put a slot back at the head of the queue, because its outcome is unknown."""
        self._queues.setdefault(part.storage, deque()).appendleft(part)

    def keep(self, part: StoredPart) -> None:
        """Mark a slot as not emptied; it is retried when a sweep sees it again."""
        if self._is_held(part):
            self._held[part.storage, part.index] = (part, SlotState.KEPT)

    def strike(self, part: StoredPart) -> None:
        """Remove the slot, because it no longer holds this part."""
        if self._is_held(part):
            self._drop((part.storage, part.index))

    def settle(self, storage: str, seen: set[int]) -> None:
        """Remove the kept slots that a complete list of the storage did not show."""
        for key in [*self._kept(storage)]:
            if key[1] not in seen:
                self._drop(key)

    def _kept(self, storage: str) -> Iterator[Key]:
        for key, (_, state) in self._held.items():
            if key[0] == storage and state is SlotState.KEPT:
                yield key

    def _is_held(self, part: StoredPart) -> bool:
        held = self._held.get((part.storage, part.index))
        return held is not None and held[0] is part

    def _drop(self, key: Key) -> None:
        _, state = self._held.pop(key)
        self._counts[key[0]] -= 1
        if state is SlotState.HANDED_OUT:
            self._unstored[key[0]] -= 1


class DeleteRetries:
    """Retry state by slot; at most one entry per slot of the phone."""

    def __init__(self) -> None:
        self._tries: dict[Key, int] = {}
        self._waiting: dict[Key, tuple[float, StoredPart]] = {}
        self._reported: dict[Key, str] = {}
        self._emptied: dict[Key, tuple[str, int]] = {}

    def postpone(self, part: StoredPart, error: at.Error | None, now: float) -> bool:
        """Schedule a retry if the error may be transient; False when only a sweep should retry."""
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
        """Return the time of the next retry."""
        return min((due for due, _ in self._waiting.values()), default=math.inf)

    def due(self, now: float) -> list[StoredPart]:
        """Remove and return the slots to retry now."""
        ready = [key for key, (due, _) in self._waiting.items() if now >= due]
        return [self._waiting.pop(key)[1] for key in ready]

    def is_news(self, part: StoredPart, why: str) -> bool:
        """Return whether this reason is new for this slot, and remember it."""
        key = (part.storage, part.index)
        said = f"{why}\n{part.pdu}"
        if self._reported.get(key) == said:
            return False
        self._reported[key] = said
        return True

    def emptied(self, part: StoredPart) -> None:
        """Record that the phone reported the slot as emptied."""
        key = (part.storage, part.index)
        self._tries.pop(key, None)
        self._waiting.pop(key, None)
        pdu, times = self._emptied.get(key, ("", 0))
        self._emptied[key] = (part.pdu, times + 1 if pdu == part.pdu else 1)

    def came_back(self, part: StoredPart) -> bool:
        """Return whether the phone keeps a message that it repeatedly reported as deleted."""
        pdu, times = self._emptied.get((part.storage, part.index), ("", 0))
        return pdu == part.pdu and times >= FALSE_DELETES_MAX
