"""The emulated SIM (numbers, PIN, messages that the network keeps for it), the phone's identity, and message storages.

A SIM is a separate object, because it can be moved to another phone with its messages, its PIN tries and the messages that
wait for it at the network. A storage has numbered slots (3GPP TS 27.005 clause 3.2.2).
"""

import heapq
from collections import deque
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from msgspec import Struct, field

CAPACITY_MAX: Final = 65_535
"""More than any phone has; enough for the backlogs that benchmarks read."""
SIM_STORAGE: Final = "SM"
PIN_TRIES: Final = 3
PUK_TRIES: Final = 10
"""3GPP TS 31.101 clause 9.5 and TS 51.011 clause 9.3; more wrong PUKs block the SIM for ever."""


class Status(IntEnum):
    """The `<stat>` of a message in PDU mode (27.005 clause 3.1)."""

    UNREAD = 0
    READ = 1
    UNSENT = 2
    SENT = 3


class Slot(Struct):
    """One stored message; `length` counts the octets after the SMSC, as `+CMGL:` gives it."""

    pdu: str
    status: Status
    length: int = 0

    def __post_init__(self) -> None:
        """Compute the length once, since a list of thousands needs it at once."""
        self.length = max(0, len(self.pdu) // 2 - 1 - int(self.pdu[:2], 16))


def validated_pdu(pdu: str) -> str:
    """Return the PDU in upper-case hex.

    Any whole octets are accepted: a real SIM holds empty and broken records too.

    Raises:
        ValueError: the text is not hex, is empty, or has an odd number of digits.
    """
    octets = bytes.fromhex(pdu)
    if not octets:
        raise ValueError("a PDU has at least one octet")
    return octets.hex().upper()


class Storage:
    """Numbered slots of one memory; a new message gets the lowest free number, as on SIMs."""

    def __init__(self, name: str, capacity: int, first_index: int = 1) -> None:
        """Create an empty storage.

        Raises:
            ValueError: a capacity that no phone has.
        """
        self.name = name
        self.first_index = first_index
        self.slots: dict[int, Slot] = {}
        self.resize(capacity)

    def indexes(self) -> range:
        """Return the slot numbers of this storage."""
        return range(self.first_index, self.first_index + self.capacity)

    def free(self) -> int:
        """Return the number of free slots."""
        return len(self._free)

    def add(self, slot: Slot) -> int | None:
        """Store a message; return its number, or None when the storage is full."""
        if not self._free:
            return None
        index = heapq.heappop(self._free)
        self.slots[index] = slot
        return index

    def remove(self, index: int) -> Slot | None:
        """Free a slot; return its content, None if it was free already."""
        slot = self.slots.pop(index, None)
        if slot is not None and index in self.indexes():
            heapq.heappush(self._free, index)
        return slot

    def ordered(self, statuses: Iterable[Status]) -> list[tuple[int, Slot]]:
        """Return the messages with these statuses, ordered by number."""
        wanted = frozenset(statuses)
        return [(i, s) for i, s in sorted(self.slots.items()) if s.status in wanted]

    def resize(self, capacity: int) -> None:
        """Change the capacity; stored messages stay, even beyond the new capacity.

        Raises:
            ValueError: a capacity that no phone has.
        """
        if not 0 <= capacity <= CAPACITY_MAX:
            raise ValueError(f"capacity {capacity} is not 0 to {CAPACITY_MAX}")
        self.capacity = capacity
        self._free = [index for index in self.indexes() if index not in self.slots]


class Identity(Struct, frozen=True):
    """Identity of the phone and its SIM. The defaults have correct check digits."""

    imei: str = "004401000000014"
    iccid: str = "8923301000000000019"
    imsi: str = "620010000000001"
    manufacturer: str = "Generic"
    model: str = "GSM-1"
    revision: str = "1.00"
    number: str = ""
    """The SIM's own number for `AT+CNUM`; empty on most SIMs."""
    smsc: str = "+233240000099"
    operator: str = "MTN"
    operator_code: str = "62001"


class Sim(Struct):
    """A SIM card. It must not be in two phones at once; this is not checked."""

    iccid: str
    imsi: str
    number: str
    smsc: str
    operator: str
    operator_code: str
    capacity: int = 30
    pin: str = ""
    """Required at each power-on; empty means no PIN."""
    puk: str = "12345678"
    pin_tries: int = PIN_TRIES
    puk_tries: int = PUK_TRIES
    records: dict[int, Slot] = field(default_factory=dict)
    """Messages by record, from 0, while the SIM is in no phone."""
    waiting: deque[tuple[str, str | None]] = field(default_factory=deque)
    """Messages that the network keeps for it: PDU and target storage."""

    @classmethod
    def of(cls, identity: Identity) -> "Sim":
        """Create the SIM that belongs to this identity."""
        who = identity
        return cls(who.iccid, who.imsi, who.number, who.smsc, who.operator, who.operator_code)

    @property
    def dead(self) -> bool:
        """Return whether too many wrong PUKs have blocked the SIM for ever."""
        return self.puk_tries == 0

    def enter_pin(self, pin: str) -> bool:
        """Try a PIN; a correct one restores all tries (TS 51.011 clause 8.9)."""
        if self.pin_tries and pin == self.pin:
            self.pin_tries = PIN_TRIES
            return True
        self.pin_tries = max(0, self.pin_tries - 1)
        return False

    def enter_puk(self, puk: str, pin: str) -> bool:
        """Try a PUK; a correct one sets this PIN and restores all tries (clause 8.13)."""
        if self.puk_tries and puk == self.puk:
            self.pin, self.pin_tries, self.puk_tries = pin, PIN_TRIES, PUK_TRIES
            return True
        self.puk_tries = max(0, self.puk_tries - 1)
        return False

    def lift(self, storage: Storage) -> None:
        """Copy the messages of the phone's `SM` storage to the SIM."""
        self.capacity = storage.capacity
        self.records = {i - storage.first_index: slot for i, slot in storage.slots.items()}

    def lay(self, first_index: int) -> Storage:
        """Move the messages to a new `SM` storage that counts from `first_index`, and return it."""
        storage = Storage(SIM_STORAGE, self.capacity, first_index)
        storage.slots = {record + first_index: slot for record, slot in self.records.items()}
        storage.resize(self.capacity)
        self.records = {}
        return storage

    def as_data(self) -> dict[str, object]:
        """Return all values, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            **{name: getattr(self, name) for name in _COUNTS},
            "records": [[record, slot.pdu, int(slot.status)] for record, slot in self.records.items()],
            "waiting": [list(kept) for kept in self.waiting],
        }

    @classmethod
    def from_data(cls, data: dict[str, object]) -> "Sim":
        """Create a SIM from the result of `as_data`; omitted values are as on a new SIM.

        Raises:
            ValueError: the data is not a valid SIM.
        """
        texts = {name: data[name] for name in _TEXTS if name in data}
        counts = {name: data[name] for name in _COUNTS if name in data}
        extra = data.keys() - {*_TEXTS, *_COUNTS, "records", "waiting"}
        right = all(type(text) is str for text in texts.values()) and all(
            type(count) is int and count >= 0 for count in counts.values()
        )
        if extra or not right:
            raise ValueError(f"no SIM: {data!r}")
        sim = cls.of(Identity())
        for name in (*texts, *counts):
            setattr(sim, name, data[name])
        try:
            for record, pdu, status in data.get("records", ()):  # type: ignore[attr-defined]  # JSON; a value that is not a list raises below
                sim.records[int(record)] = Slot(validated_pdu(pdu), Status(status))
            for pdu, storage in data.get("waiting", ()):  # type: ignore[attr-defined]  # JSON; a value that is not a list raises below
                sim.waiting.append((validated_pdu(pdu), storage))
        except (TypeError, ValueError) as error:
            raise ValueError(f"no SIM: {error}") from error
        return sim


_TEXTS: Final = ("iccid", "imsi", "number", "smsc", "operator", "operator_code", "pin", "puk")
_COUNTS: Final = ("capacity", "pin_tries", "puk_tries")
