"""The message storages of the emulated phone (3GPP TS 27.005 clause 3.2.2): numbered slots."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

CAPACITY_MAX: Final = 65_535
"""More than any phone has; room for the backlogs that benchmarks read."""


class Status(IntEnum):
    """The `<stat>` of a message in PDU mode (27.005 clause 3.1)."""

    UNREAD = 0
    READ = 1
    UNSENT = 2
    SENT = 3


@dataclass(slots=True)
class Slot:
    """One stored message; `length` counts the octets after the SMSC, as `+CMGL:` gives it."""

    pdu: str
    status: Status
    length: int = field(init=False)

    def __post_init__(self) -> None:
        """Work out the length once, since a list of thousands needs it at once."""
        self.length = max(0, len(self.pdu) // 2 - 1 - int(self.pdu[:2], 16))


def checked(pdu: str) -> str:
    """Return the PDU in upper-case hex.

    Anything that is whole octets will do: a real SIM holds empty and broken records too.

    Raises:
        ValueError: it is not hex, empty, or half an octet is missing.
    """
    octets = bytes.fromhex(pdu)
    if not octets:
        raise ValueError("a PDU has at least one octet")
    return octets.hex().upper()


class Storage:
    """Numbered slots of one memory; a new message takes the lowest free number, as SIMs do."""

    def __init__(self, name: str, capacity: int, first_index: int = 1) -> None:
        """Make an empty storage.

        Raises:
            ValueError: a capacity that no phone has.
        """
        if not 0 <= capacity <= CAPACITY_MAX:
            raise ValueError(f"capacity {capacity} is not 0 to {CAPACITY_MAX}")
        self.name = name
        self.capacity = capacity
        self.first_index = first_index
        self.slots: dict[int, Slot] = {}
        self._free = list(self.indexes())

    def indexes(self) -> range:
        """Return every number a slot of this storage may have."""
        return range(self.first_index, self.first_index + self.capacity)

    def free(self) -> int:
        """Return how many more messages fit."""
        return len(self._free)

    def add(self, slot: Slot) -> int | None:
        """Store a message; return its number, or None when there is no room."""
        if not self._free:
            return None
        index = heapq.heappop(self._free)
        self.slots[index] = slot
        return index

    def remove(self, index: int) -> Slot | None:
        """Free a slot; return what it held, None if it was free already."""
        slot = self.slots.pop(index, None)
        if slot is not None and index in self.indexes():
            heapq.heappush(self._free, index)
        return slot

    def ordered(self, statuses: Iterable[Status]) -> list[tuple[int, Slot]]:
        """Return the messages of these statuses by rising number."""
        wanted = frozenset(statuses)
        return [(i, s) for i, s in sorted(self.slots.items()) if s.status in wanted]

    def resize(self, capacity: int) -> None:
        """Change the capacity; what is stored stays, even where it is now too much.

        Raises:
            ValueError: a capacity that no phone has.
        """
        if not 0 <= capacity <= CAPACITY_MAX:
            raise ValueError(f"capacity {capacity} is not 0 to {CAPACITY_MAX}")
        self.capacity = capacity
        self._free = [index for index in self.indexes() if index not in self.slots]
