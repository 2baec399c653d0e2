"""What can be wrong with the emulated phone, and what it writes down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.modem.emulated_memory import checked


@dataclass(frozen=True, slots=True)
class Notice:
    """One `+CMTI`; `offset` is where it ends in the stream of all bytes the phone ever sent.

    For a message that went out as `+CMT`, stored nowhere, `storage` is empty and `index` -1.
    """

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
    silent_until: str = ""
    """What ends that by itself: `reset` is `AT+CFUN=1,1`, `power` is being pulled out."""
    hang_on: str = ""
    """Hangs at the first command that begins so, such as `+CMGL`."""
    echo_stays: bool = False
    """`ATE0` is answered OK and changes nothing."""
    error_count: int = 0
    """So many of the next commands fail."""
    error_on: str = ""
    """Only commands that begin so, such as `+CMGL`; empty is all but `AT` itself."""
    error_line: str = "+CMS ERROR: 500"
    """What they are answered."""
    no_prompt: bool = False
    """`AT+CMGS` gets no answer at all."""
    hang_after_send: bool = False
    """A message is sent, and after it the phone says nothing until it is reset."""
    fail_send_count: int = 0
    """`fail_send` holds for so many messages; 0 is for all."""
    fail_send: str = ""
    """A message to send is answered so and not sent."""
    send_and_fail: str = ""
    """A message to send is sent and answered so."""
    lose_reports: bool = False
    """Status reports never come."""
    report_status: int = 0
    """TP-ST of the reports that come."""
    no_network: bool = False
    """Out of coverage."""
    signal: int = 20
    """What `AT+CSQ` says."""
    storm_ms: int = 0
    """An unasked line every so many milliseconds, where the shell has a clock; 0 is none."""
    lose_byte_every: int = 0
    """Each so manyth byte that the phone says is lost; 0 is none."""
    lose_typed_every: int = 0
    """The same of what is typed."""
    bytes_per_s: int = 0
    """How fast the line is, where the shell has a clock; 0 is as fast as it goes."""
    garbage_before: bytes = b""
    """Written before each answer."""
    garbage_after: bytes = b""
    noise: str = ""
    """An unasked line between each command and its answer, such as `^RSSI:14`."""
    calm: bool = False
    """Says nothing by itself that its family would say; notices come all the same."""
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
        if name == "silent_until" and value not in {"", "reset", "power"}:
            raise ValueError(f"fault {name!r} is 'reset', 'power' or empty")
        if name == "swap_pdu" and isinstance(value, str) and value:
            value = checked(value)
        return value


EVENTS: Final = ("calm", "reboot", "reboot-loud", "sim-out", "full", "other-port", "pin", "puk")
"""What happens once, by the names that `Phone.play` takes beside those of faults."""
PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    "hang": {"silent": True},
    "hang-until-reset": {"silent": True, "silent_until": "reset"},
    "hang-until-replug": {"silent": True, "silent_until": "power"},
    "hang-on-list": {"hang_on": "+CMGL", "silent_until": "power"},
    "garbage": {"garbage_before": b"\xff\xfe\x80\x00rubbish\r\n", "garbage_after": b"\xf0\x9f"},
    "byte-loss": {"lose_byte_every": 400},
    "deaf-bytes": {"lose_typed_every": 200},
    "echo": {"echo_stays": True},
    "sim-busy": {"error_count": 5, "error_line": "+CME ERROR: 14", "error_on": "+C"},
    "errors": {"error_count": 5, "error_line": "+CMS ERROR: 500", "error_on": "+CM"},
    "noise": {"noise": "^RSSI:14", "noise_inside": True},
    "storm": {"storm_ms": 10, "noise": "^RSSI:14"},
    "no-notices": {"lose_notices": True},
    "no-network": {"no_network": True, "signal": 99},
    "weak-signal": {"signal": 3},
    "slow": {"bytes_per_s": 960},
    "delete-fails": {"fail_delete_in": 1},
    "delete-lies": {"ignore_deletes": True},
    "send-fails": {"fail_send": "+CMS ERROR: 500"},
    "send-busy": {"fail_send": "+CMS ERROR: 42", "fail_send_count": 1},
    "send-refused": {"fail_send": "+CMS ERROR: 21"},
    "send-hangs": {"hang_after_send": True, "silent_until": "reset"},
    "no-prompt": {"no_prompt": True},
    "send-unsure": {"send_and_fail": "+CMS ERROR: 513"},
}
"""Faults by a name for people; each may be mended by setting its fields back."""


def mended() -> dict[str, object]:
    """Return the changes after which nothing is wrong."""
    healthy = Faults()
    return {name: getattr(healthy, name) for name in Faults.__slots__}


def read_fault(text: str) -> Mapping[str, object]:
    """Return the changes that a name, or `field=value`, stands for.

    Raises:
        ValueError: it is neither.
    """
    if text in PRESETS:
        return PRESETS[text]
    if text == "none":
        return mended()
    name, equals, value = text.partition("=")
    now = getattr(Faults(), name, None) if name in Faults.__slots__ else None
    if now is None or not equals:
        known = ", ".join((*EVENTS, *PRESETS, "none"))
        raise ValueError(f"no fault {text!r}; there are {known}, and FIELD=VALUE")
    if isinstance(now, bool):
        return {name: value.lower() in {"1", "true", "yes", "on"}}
    return {name: int(value) if isinstance(now, int) else value}
