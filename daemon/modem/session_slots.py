"""The book of slots: which part was handed out from which slot, and which slots may be emptied.

A slot is entered when its part is handed out, and struck when the phone has emptied it. While it
is in the book it is not handed out again, unless it holds another message by then.
"""

from collections import deque
from collections.abc import Iterator
from enum import StrEnum

from daemon.modem.session_values import StoredPart

Key = tuple[str, int]


class SlotState(StrEnum):
    """How far a slot has come."""

    HANDED_OUT = "handed_out"
    STORED = "stored"
    """Durable, and in the queue of those to empty."""
    KEPT = "kept"
    """Durable, but not emptied: settings say so, or it did not work; the next sweep tries again."""


class Slots:
    """Slots in use, as far as this session has read them. All calls are O(1) but `settle`."""

    def __init__(self, *, delete: bool) -> None:
        """Start an empty book; without `delete` no slot is ever emptied."""
        self._delete = delete
        self._held: dict[Key, tuple[StoredPart, SlotState]] = {}
        self._counts: dict[str, int] = {}
        self._unstored: dict[str, int] = {}
        self._queues: dict[str, deque[StoredPart]] = {}

    def unstored(self, storage: str) -> int:
        """Return how many parts of that storage were handed out and are not durable yet."""
        return self._unstored.get(storage, 0)

    def count(self, storage: str) -> int:
        """Return how many slots of that storage are in the book."""
        return self._counts.get(storage, 0)

    def hand_out(self, part: StoredPart) -> tuple[bool, StoredPart | None]:
        """Enter what a slot holds.

        Returns:
            Whether to hand the part out, and the part that was in the book for this slot but is
            in the slot no more.
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
        """Note that a part is durable; its slot may be emptied if it still is the slot's."""
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
        """Take the next slot to empty out of the queue, of the selected storage if it has one."""
        queue = self._queues.get(selected)
        for parts in (queue, *self._queues.values()) if queue else self._queues.values():
            while parts:
                part = parts.popleft()
                held = self._held.get((part.storage, part.index))
                if held is not None and held[0] is part and held[1] is SlotState.STORED:
                    return part
        return None

    def again(self, part: StoredPart) -> None:
        """Put a slot back to the head of the queue: nothing is known of how its turn ended."""
        self._queues.setdefault(part.storage, deque()).appendleft(part)

    def keep(self, part: StoredPart) -> None:
        """Note that a slot could not be emptied; it is tried again when a sweep sees it again."""
        if self._is_held(part):
            self._held[part.storage, part.index] = (part, SlotState.KEPT)

    def strike(self, part: StoredPart) -> None:
        """Note that the slot no longer holds this part."""
        if self._is_held(part):
            self._drop((part.storage, part.index))

    def settle(self, storage: str, seen: set[int]) -> None:
        """Strike the kept slots that a complete list of the storage did not show."""
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
