"""Message commands of the emulated phone in PDU mode (3GPP TS 27.005 clause 3)."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from tests.phones.command_lines import Handler, Refusal, number, split_arguments
from tests.phones.quirks import Family
from tests.phones.sim import Slot, Status, Storage

_LISTED: Final = {  # clause 3.1, <stat>
    "": (Status.UNREAD,),
    "0": (Status.UNREAD,),
    "1": (Status.READ,),
    "2": (Status.UNSENT,),
    "3": (Status.SENT,),
    "4": tuple(Status),
}
_FLAGGED: Final = {  # clause 3.5.4, <delflag>
    1: (Status.READ,),
    2: (Status.READ, Status.SENT),
    3: (Status.READ, Status.SENT, Status.UNSENT),
    4: tuple(Status),
}
_NO_NOTICES: Final = (0, 0, 0, 0, 0)
_BAD_INDEX: Final = 321
_NOT_ALLOWED: Final = 302
_NOT_EXPECTED: Final = 340
WEB: Final = "WEB"
"""Inbox of a stick that shows its messages on a web page; no command selects it."""
WEB_CAPACITY: Final = 500


class Deletion(Struct, frozen=True):
    """One message deleted by `AT+CMGD`."""

    storage: str
    index: int
    pdu: str
    flag: int
    """0 for a single delete, else the `<delflag>` of a mass delete."""
    command: int
    """Number of the command that deleted it; 1 is the phone's first command."""
    at_ns: int
    """Time of the deletion on the driver's clock."""


class Messages:
    """The storages and the `AT+C...` commands on them."""

    def __init__(self, capacities: Mapping[str, int], family: Family) -> None:
        """Create empty storages; the first named receives.

        Raises:
            ValueError: no storage, or a capacity out of range.
        """
        self.storages = {name: Storage(name, capacity, family.first_index) for name, capacity in capacities.items()}
        if not self.storages:
            raise ValueError("a phone has at least one storage")
        self._family = family
        self._first = next(iter(self.storages))
        if family.web_inbox:
            self.storages[WEB] = Storage(WEB, WEB_CAPACITY)
        self.selected = [self._first] * 3
        self.notices: tuple[int, ...] = _NO_NOTICES
        self.muted = False
        """The phone announces no messages, see `Family.mute_when_full`."""
        self.deleted: list[Deletion] = []
        self.last_read: tuple[str, int] | None = None
        """Storage and number of the message read last, for the fault `swap_pdu`."""
        self.ignore_deletes = False
        """Some phones answer OK to a delete and keep the message."""
        self.unacknowledged: str | None = None
        """Forwarded, unstored message that waits for `AT+CNMA`."""
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        """Forwarded messages that were answered with `AT+CNMA=2`; the network has them again."""
        self.command = 0
        self.at_ns = 0
        self.table: dict[str, Handler] = {
            "+CPMS": self._select,
            "+CNMI": self._notify,
            "+CMGL": self._list,
            "+CMGR": self._read,
            "+CMGD": self._delete,
        }
        if 1 in family.services:
            self.table["+CNMA"] = self._acknowledge

    def reset(self) -> None:
        """Reset the selected storages and notices, as at power-on; messages stay."""
        self.selected = [self._first] * 3
        self.notices = _NO_NOTICES
        self.muted = False

    def notifies(self) -> bool:
        """Return whether `+CMTI` is enabled; mode 0 keeps it in the phone (clause 3.4.1)."""
        return self.notices[0] > 0 and self.notices[1] in {1, 3} and not self.muted

    def passes_on(self) -> bool:
        """Return whether received messages are sent as `+CMT` and not stored.

        With mt=3 only those of class 3 would be; message classes are not emulated.
        """
        return self.notices[0] > 0 and self.notices[1] == 2

    def receives_in(self) -> Storage:
        """Return the storage for a message that is not forwarded."""
        if self._family.web_inbox:
            return self.storages[WEB]
        return self.storages.get(self._family.receives_in) or self.storages[self.selected[2]]

    def _select(self, operator: str, argument: str) -> list[str]:
        known = [name for name in self.storages if name != WEB]
        places = self._family.places
        if operator == "=?":
            every = "(" + ",".join(f'"{name}"' for name in known) + ")"
            return ["+CPMS: " + (self._family.offer or ",".join([every] * places))]
        if operator == "?":
            shown = (f'"{name}",{self._fill(name)}' for name in self.selected[:places])
            return ["+CPMS: " + ",".join(shown)]
        names = split_arguments(argument)
        if operator != "=" or len(names) > places or not set(known) >= set(names):
            raise Refusal("CMS", _NOT_ALLOWED)
        self.selected[: len(names)] = names
        return ["+CPMS: " + ",".join(self._fill(name) for name in self.selected[:places])]

    def _fill(self, name: str) -> str:
        storage = self.storages[name]
        return f"{len(storage.slots)},{storage.capacity}"

    def _notify(self, operator: str, argument: str) -> list[str]:
        if operator == "?":
            return ["+CNMI: " + ",".join(map(str, self.notices))]
        allowed_at = self._family.notices
        if operator == "=?":
            ranges = ("(" + ",".join(map(str, allowed)) + ")" for allowed in allowed_at)
            return ["+CNMI: " + (self._family.notices_offer or ",".join(ranges))]
        if operator not in {"=", ""}:
            raise Refusal("CMS", _NOT_ALLOWED)
        parts = [] if not argument else split_arguments(argument)
        if len(parts) > len(allowed_at):
            raise Refusal("CMS", _NOT_ALLOWED)
        given = [
            number(part, allowed, Refusal("CMS", _NOT_ALLOWED))
            for part, allowed in zip(parts, allowed_at, strict=False)
        ]
        self.notices = (*given, *_NO_NOTICES[len(given) :])
        self.muted = False
        return []

    def _acknowledge(self, operator: str, argument: str) -> list[str]:
        if operator == "=?":
            return ["+CNMA: (0-2)"]
        if operator not in {"", "="} or argument not in {"", "0", "1", "2"}:
            raise Refusal("CMS", _NOT_ALLOWED)
        pdu, self.unacknowledged = self.unacknowledged, None
        if pdu is None:
            raise Refusal("CMS", _NOT_EXPECTED)
        (self.refused if argument == "2" else self.acknowledged).append(pdu)
        return []

    def _list(self, operator: str, argument: str) -> list[str]:
        if operator == "=?":
            return ["+CMGL: (0-4)"]
        statuses = _LISTED.get(argument)
        if operator not in {"=", ""} or statuses is None:
            raise Refusal("CMS", _NOT_ALLOWED)
        storage = self.storages[self.selected[0]]
        lines = []
        for index, slot in storage.ordered(statuses):
            lines.append(f"+CMGL: {index},{slot.status:d},,{slot.length}\r\n{slot.pdu}")
            self._seen(storage, index, slot)
        return lines

    def _read(self, operator: str, argument: str) -> list[str]:
        if operator == "=?":
            return []
        if operator != "=":
            raise Refusal("CMS", _NOT_ALLOWED)
        storage = self.storages[self.selected[0]]
        index = number(argument, storage.indexes(), Refusal("CMS", _BAD_INDEX))
        slot = storage.slots.get(index)
        if slot is None:
            if self._family.empty_slot_error:
                raise Refusal("CMS", _BAD_INDEX)
            return []
        line = f"+CMGR: {slot.status:d},,{slot.length}\r\n{slot.pdu}"
        self._seen(storage, index, slot)
        return [line]

    def _seen(self, storage: Storage, index: int, slot: Slot) -> None:
        if slot.status is Status.UNREAD:
            slot.status = Status.READ
        self.last_read = (storage.name, index)

    def _delete(self, operator: str, argument: str) -> list[str]:
        storage = self.storages[self.selected[0]]
        if operator == "=?":
            return [f"+CMGD: ({','.join(map(str, sorted(storage.slots)))}),(0-4)"]
        parts = split_arguments(argument)
        if operator != "=" or len(parts) > 2:
            raise Refusal("CMS", _NOT_ALLOWED)
        flag = number(parts[1], range(5), Refusal("CMS", _NOT_ALLOWED)) if len(parts) == 2 else 0
        if flag:
            # The index must be present but is ignored (clause 3.5.4).
            number(parts[0] or "0", range(1 << 16), Refusal("CMS", _BAD_INDEX))
            doomed: Iterable[int] = [index for index, _ in storage.ordered(_FLAGGED[flag])]
        else:
            doomed = [number(parts[0], storage.indexes(), Refusal("CMS", _BAD_INDEX))]
        if not self.ignore_deletes:
            for index in doomed:
                self._remove(storage, index, flag)
        return []

    def _remove(self, storage: Storage, index: int, flag: int) -> None:
        slot = storage.remove(index)
        if slot is not None:
            self.deleted.append(Deletion(storage.name, index, slot.pdu, flag, self.command, self.at_ns))
