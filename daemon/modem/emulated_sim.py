"""Who the emulated phone is and the SIM in it: numbers, PIN, and what the network keeps for it.

A SIM is a thing of its own, since it moves: taken out of one phone and put into another it takes
along its messages, its PIN's tries and what waits for it at the network.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from daemon.modem.emulated_memory import Slot, Status, Storage, checked

SIM_STORAGE: Final = "SM"
PIN_TRIES: Final = 3
PUK_TRIES: Final = 10
"""3GPP TS 31.101 clause 9.5 and TS 51.011 clause 9.3; more wrong PUKs kill the SIM for good."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the phone and its SIM say they are. The defaults carry right check digits."""

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


@dataclass(slots=True)
class Sim:
    """A SIM card. Not to be in two phones at once; the phones see to nothing there."""

    iccid: str
    imsi: str
    number: str
    smsc: str
    operator: str
    operator_code: str
    capacity: int = 30
    pin: str = ""
    """Asked for at each power-on; empty asks for none."""
    puk: str = "12345678"
    pin_tries: int = PIN_TRIES
    puk_tries: int = PUK_TRIES
    records: dict[int, Slot] = field(default_factory=dict)
    """Messages by record, the first is 0, while the SIM is in no phone."""
    waiting: deque[tuple[str, str | None]] = field(default_factory=deque)
    """What the network keeps for it: PDU, and the storage it was meant for."""

    @classmethod
    def of(cls, identity: Identity) -> "Sim":
        """Make the SIM that such a phone is sold with."""
        who = identity
        return cls(who.iccid, who.imsi, who.number, who.smsc, who.operator, who.operator_code)

    @property
    def dead(self) -> bool:
        """Say whether too many wrong PUKs have ended it."""
        return self.puk_tries == 0

    def enter_pin(self, pin: str) -> bool:
        """Try a PIN; a right one gives all tries back (TS 51.011 clause 8.9)."""
        if self.pin_tries and pin == self.pin:
            self.pin_tries = PIN_TRIES
            return True
        self.pin_tries = max(0, self.pin_tries - 1)
        return False

    def enter_puk(self, puk: str, pin: str) -> bool:
        """Try a PUK; a right one sets this PIN and gives all tries back (clause 8.13)."""
        if self.puk_tries and puk == self.puk:
            self.pin, self.pin_tries, self.puk_tries = pin, PIN_TRIES, PUK_TRIES
            return True
        self.puk_tries = max(0, self.puk_tries - 1)
        return False

    def lift(self, storage: Storage) -> None:
        """Take along what lies in the phone's `SM` storage."""
        self.capacity = storage.capacity
        self.records = {i - storage.first_index: slot for i, slot in storage.slots.items()}

    def lay(self, first_index: int) -> Storage:
        """Return its messages as a phone's storage that counts from there."""
        storage = Storage(SIM_STORAGE, self.capacity, first_index)
        storage.slots = {record + first_index: slot for record, slot in self.records.items()}
        storage.resize(self.capacity)
        self.records = {}
        return storage

    def as_data(self) -> dict[str, object]:
        """Return all of it, ready for JSON."""
        return {
            **{name: getattr(self, name) for name in _TEXTS},
            **{name: getattr(self, name) for name in _COUNTS},
            "records": [
                [record, slot.pdu, int(slot.status)] for record, slot in self.records.items()
            ],
            "waiting": [list(kept) for kept in self.waiting],
        }

    @classmethod
    def from_data(cls, data: dict[str, object]) -> "Sim":
        """Make a SIM of what `as_data` gave; what is left out is as on a new one.

        Raises:
            ValueError: it is none.
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
            for record, pdu, status in data.get("records", ()):  # type: ignore[attr-defined]  # JSON; what is no list raises below
                sim.records[int(record)] = Slot(checked(pdu), Status(status))
            for pdu, storage in data.get("waiting", ()):  # type: ignore[attr-defined]  # JSON; what is no list raises below
                sim.waiting.append((checked(pdu), storage))
        except (TypeError, ValueError) as error:
            raise ValueError(f"no SIM: {error}") from error
        return sim


_TEXTS: Final = ("iccid", "imsi", "number", "smsc", "operator", "operator_code", "pin", "puk")
_COUNTS: Final = ("capacity", "pin_tries", "puk_tries")
