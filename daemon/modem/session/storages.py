"""The message storages of a phone: their names, selection, fill level and slots, and the parser of the lists of messages.

A slot is added when its part is handed out, and removed when the phone has emptied it. While it is registered it is not
handed out again, unless it holds another message by then. A phone that is busy when a slot is to be emptied is retried
within a minute; a permanent refusal is retried at each sweep without another report. Some phones answer OK and keep the
message (gammu#217, #590): it is read again and again, recognised as stored each time, and reported once.
"""

import math
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from daemon.modem.session import at
from daemon.modem.session.events import StoredPart, Watermark

LIST: Final = "+CMGL:"
READ: Final = "+CMGR:"
HIGH_PERCENT: Final = 80
"""Fill level that is reported: a three-part message still fits into a SIM of 15 slots."""


class Storages:
    """The storages to read; the first one receives."""

    def __init__(self) -> None:
        self.all: tuple[str, ...] = ()
        self.usable: tuple[str, ...] = ()
        """All storages except those that the phone refused since the last sweep."""
        self.selected = ""
        """Empty when unknown."""
        self.own: dict[str, int] = {}
        """Outgoing messages on the phone, which are not deleted, as of the last list."""
        self.to_list: dict[str, None] = {}
        self._refused: set[str] = set()
        self._fills: dict[str, at.Fill] = {}
        self._high: set[str] = set()
        self._unclean: dict[str, int] = {}

    def begin(self, names: tuple[str, ...], fill: at.Fill | None) -> None:
        """Start over: the first storage is selected, `fill` is its fill level, and all are to be listed."""
        self.all = self.usable = names
        self.selected = names[0]
        self.own.clear()
        self._unclean.clear()
        self._fills.clear()
        if fill is not None:
            self._fills[names[0]] = fill
        self._high &= set(names)
        self.to_list = dict.fromkeys(names)

    @property
    def first(self) -> str:
        """Return the storage for received messages."""
        return self.usable[0]

    @property
    def fill(self) -> at.Fill | None:
        """Return the fill level of the first storage, None when unknown."""
        return self._fills.get(self.all[0])

    @property
    def counted(self) -> tuple[tuple[str, int, int], ...]:
        """Return name, used and total of each counted storage."""
        known = ((name, self._fills.get(name)) for name in self.usable)
        return tuple((name, fill.used, fill.total) for name, fill in known if fill is not None)

    def retry(self) -> None:
        """Use refused storages again, because a sweep begins."""
        self.usable = self.all
        self._refused.clear()

    def used(self, storage: str) -> int:
        """Return how many messages a storage had when it was last counted; 0 if unknown."""
        fill = self._fills.get(storage)
        return 0 if fill is None else fill.used

    def total(self, storage: str) -> int:
        """Return how many slots a storage has; 0 if unknown."""
        fill = self._fills.get(storage)
        return 0 if fill is None else fill.total

    def sweep(self) -> None:
        """List every storage soon."""
        self.to_list.update(dict.fromkeys(self.usable))

    def next_to_list(self) -> str:
        """Return the storage to list next: the fullest, or the selected one of equally full ones."""
        waiting = sorted(self.to_list, key=lambda name: name != self.selected)
        return max(waiting, key=self._percent)

    def next_to_empty(self) -> str:
        """Return the storage to empty next: a nearly full one before the selected one."""
        return max(sorted(self._high), key=self._percent, default=self.selected)

    def is_high(self, storage: str) -> bool:
        """Return whether a storage was nearly full when it was last counted."""
        return storage in self._high

    def _percent(self, storage: str) -> int:
        fill = self._fills.get(storage)
        return fill.used * 100 // fill.total if fill is not None and fill.total else 0

    def is_refused(self, storage: str) -> bool:
        """Return whether the phone refused to select it."""
        return storage in self._refused

    def refuse(self, storage: str) -> None:
        """Continue without a storage."""
        self._refused.add(storage)
        self.usable = tuple(name for name in self.usable if name != storage)
        self.to_list.pop(storage, None)

    def full(self, storage: str) -> None:
        """Record a storage that the phone reported as full; an unnamed one is the first."""
        if not self.all:
            return  # reported before the start has read the list of storages
        name = storage if storage in self.all else self.all[0]
        fill = self._fills.get(name)
        if fill is not None:
            self._fills[name] = at.Fill(name, max(fill.used, fill.total), fill.total)

    def count(self, storage: str, fill: at.Fill | None) -> Watermark | None:
        """Record the fill level of a storage; return a `Watermark` when it crossed the threshold."""
        if fill is None:
            self._fills.pop(storage, None)
            return None
        self._fills[storage] = fill
        high = fill.total > 0 and self._percent(storage) >= HIGH_PERCENT
        if high == (storage in self._high):
            return None
        (self._high.add if high else self._high.discard)(storage)
        return Watermark(storage, fill.used, fill.total, high)

    def clean(self, storage: str) -> bool:
        """Record a list without unreadable entries; return whether no storage has any now."""
        self._unclean.pop(storage, None)
        return not self._unclean

    def unclean(self, storage: str) -> int:
        """Record a list with unreadable entries; return the number of such lists in a row."""
        times = self._unclean[storage] = self._unclean.get(storage, 0) + 1
        return times


class MessageListParser:
    """Parses one answer with messages, line by line.

    The PDU of a header is the next line that is all hex; other lines may come in between. A header without a PDU before
    the next header or the end is a message that could not be read. It is `clean` while no loss of a header or PDU was
    detected, and `confused` when headers of the other command came, so that this is another command's answer. `headers`
    counts the received ones.
    """

    __slots__ = ("_header", "_prefix", "clean", "confused", "headers")

    def __init__(self) -> None:
        self.begin("")

    def begin(self, prefix: str) -> None:
        """Expect headers with this prefix from now on; empty expects none."""
        self._prefix = prefix
        self._header: at.Header | None = None
        self.headers = 0
        self.clean = True
        self.confused = False

    @property
    def waits(self) -> bool:
        """Return whether a header waits for its PDU."""
        return self._header is not None

    def is_part(self, line: str) -> bool:
        """Return whether the line could be a header or a PDU, to be passed to `take`."""
        return line.startswith((LIST, READ)) or at.is_hex(line)

    def take(self, line: str) -> tuple[at.Header, str] | None:
        """Process a header or a PDU; return the message when it is complete."""
        if line[0] == "+":
            self._take_header(line)
            return None
        header, self._header = self._header, None
        if header is None:
            self.clean = False
            return None
        return header, line.upper()

    def end(self) -> None:
        """Process the end of the answer."""
        if self._header is not None:
            self._header = None
            self.clean = False

    def _take_header(self, line: str) -> None:
        if not self._prefix:
            return
        if not line.startswith(self._prefix):
            self.confused = True
            return
        self.headers += 1
        self.end()
        self._header = at.cmgl_header(line) if self._prefix == LIST else at.cmgr_header(line)
        if self._header is None:
            self.clean = False


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

        Return whether to hand the part out, and the part that was registered for this slot but is no longer in it.
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

    def all_durable(self, storage: str, indexes: set[int]) -> list[StoredPart]:
        """Return the parts in these slots of a storage if all are durable, else none."""
        held = [self._held.get((storage, index)) for index in indexes]
        parts = [one[0] for one in held if one and one[1] is not SlotState.HANDED_OUT]
        return parts if len(parts) == len(indexes) else []

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
