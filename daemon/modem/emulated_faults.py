"""What can be wrong with the emulated phone, and what it writes down."""

from collections.abc import Mapping
from dataclasses import dataclass

from daemon.modem.emulated_memory import checked


@dataclass(frozen=True, slots=True)
class Notice:
    """One `+CMTI`; `offset` is where it ends in the stream of all bytes the phone ever sent."""

    storage: str
    index: int
    pdu: str
    offset: int


@dataclass(frozen=True, slots=True)
class Sent:
    """One SMS that the phone was told to send."""

    pdu: str
    reference: int
    command: int
    at_ns: int


@dataclass(slots=True)
class Faults:
    """What is wrong with the phone right now. Any of these may be changed at any time."""

    silent: bool = False
    """Hangs: reads, does nothing, says nothing."""
    garbage_before: bytes = b""
    """Written before each answer."""
    garbage_after: bytes = b""
    noise: str = ""
    """An unasked line between each command and its answer, such as `^RSSI:14`."""
    noise_inside: bool = False
    """That line comes between all lines of an answer too, also between a header and its PDU."""
    lose_notices: bool = False
    """Stores what arrives and never announces it."""
    chunk: int = 0
    """`data_to_send` gives at most so many bytes at a time; 0 is all."""
    fail_delete_in: int = 0
    """The `AT+CMGD` that many from now (1 is the next) is an error and deletes nothing; 0 is none."""
    ignore_deletes: bool = False
    """`AT+CMGD` answers OK and deletes nothing."""
    swap_pdu: str = ""
    """This message takes the slot that is read next, right after the answer; once."""

    def change(self, changes: Mapping[str, object]) -> None:
        """Set faults by name, all or none; bytes may be given as hex text.

        Raises:
            ValueError: an unknown fault, or a value it cannot have.
        """
        values = {name: self._value(name, value) for name, value in changes.items()}
        for name, value in values.items():
            setattr(self, name, value)

    def _value(self, name: str, value: object) -> object:
        now = getattr(self, name, None) if name in self.__slots__ else None
        if now is None:
            raise ValueError(f"no fault {name!r}; there are {', '.join(self.__slots__)}")
        if isinstance(now, bytes) and isinstance(value, str):
            value = bytes.fromhex(value)
        if type(value) is not type(now) or (isinstance(value, int) and value < 0):
            raise ValueError(f"fault {name!r} cannot be {value!r}")
        if name == "swap_pdu" and isinstance(value, str) and value:
            value = checked(value)
        return value
