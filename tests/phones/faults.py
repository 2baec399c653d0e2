"""Faults that can be injected into the emulated phone, its logs, and its end of the serial line with simulated loss."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from tests.phones.sim import validated_pdu

EVENTS: Final = ("calm", "reboot", "reboot-loud", "sim-out", "full", "other-port", "pin", "puk")
"""One-time events, by the names that `Phone.play` accepts in addition to those of faults."""
INPUT_BYTES_MAX: Final = 4096
"""A longer line is dropped; an SMS to send has at most 2 * 176 characters."""
_CANCEL: Final = 0x1B
_SEND: Final = 0x1A


class Notice(Struct, frozen=True):
    """One `+CMTI`; `offset` is the position of its end in the stream of all bytes sent.

    For an unstored message that was sent as `+CMT`, `storage` is empty and `index` -1.
    """

    storage: str
    index: int
    pdu: str
    offset: int


class Sent(Struct, frozen=True):
    """One SMS that the phone sent."""

    pdu: str
    reference: int
    command: int
    at_ns: int


class Faults(Struct):
    """Active faults of the phone. All fields may be changed at any time."""

    silent: bool = False
    """Hangs: reads input, does not react."""
    silent_until: str = ""
    """Event that ends the hang: `reset` is `AT+CFUN=1,1`, `power` is unplugging."""
    hang_on: str = ""
    """Hangs at the first command with this prefix, such as `+CMGL`."""
    echo_stays: bool = False
    """`ATE0` is answered OK and has no effect."""
    error_count: int = 0
    """Number of the next commands that fail."""
    error_on: str = ""
    """Only commands with this prefix fail, such as `+CMGL`; empty is all but `AT` itself."""
    error_line: str = "+CMS ERROR: 500"
    """Answer to the failing commands."""
    no_prompt: bool = False
    """`AT+CMGS` gets no answer at all."""
    hang_after_send: bool = False
    """After sending a message the phone is silent until it is reset."""
    fail_send_count: int = 0
    """Number of messages that `fail_send` applies to; 0 is all."""
    fail_send: str = ""
    """Answer to a message to send, which is not sent."""
    send_and_fail: str = ""
    """Answer to a message to send, which is sent all the same."""
    hides_imei: bool = False
    """Until the PIN is entered, the phone does not report its IMEI, as some makes do."""
    lose_reports: bool = False
    """Status reports are lost."""
    report_status: int = 0
    """TP-ST of status reports."""
    network_time_s: int = 0
    """Seconds since 1970 when the caller's clock was 0: the network sets the phone's clock. 0: it never did, which is
    the default, and the phone answers `AT+CCLK?` with a year of its own."""
    no_network: bool = False
    """Out of coverage."""
    signal: int = 20
    """Answer to `AT+CSQ`."""
    storm_ms: int = 0
    """Interval of unsolicited lines in milliseconds, for drivers with a clock; 0 is none."""
    lose_byte_every: int = 0
    """Every n-th byte from the phone is lost; 0 is none."""
    lose_typed_every: int = 0
    """Every n-th byte to the phone is lost; 0 is none."""
    bytes_per_s: int = 0
    """Speed of the line, for drivers with a clock; 0 is unlimited."""
    garbage_before: bytes = b""
    """Bytes sent before each answer."""
    garbage_after: bytes = b""
    noise: str = ""
    """An unsolicited line between each command and its answer, such as `^RSSI:14`."""
    calm: bool = False
    """Suppresses the noise of the family; notices are still sent."""
    noise_inside: bool = False
    """The noise line is also sent between all lines of an answer, even between a header and its PDU."""
    lose_notices: bool = False
    """Stores received messages without announcing them."""
    chunk: int = 0
    """Maximum number of bytes that `data_to_send` returns at a time; 0 is all."""
    fail_delete_in: int = 0
    """The n-th `AT+CMGD` from now (1 is the next) fails and deletes no message; 0 is none."""
    ignore_deletes: bool = False
    """`AT+CMGD` answers OK and deletes no message."""
    refuse_single_deletes: bool = False
    """`AT+CMGD` with an index alone fails; with a flag it works."""
    ussd: str = ""
    """What goes wrong with USSD; the names are in `ussd`."""
    swap_pdu: str = ""
    """This message replaces the content of the slot that is read next, right after the answer; once."""

    def change(self, changes: Mapping[str, object]) -> None:
        """Set faults by name, all or none of them; bytes may be given as hex text.

        Raises:
            ValueError: an unknown fault, or an invalid value.
        """
        values = {name: self._value(name, value) for name, value in changes.items()}
        for name, value in values.items():
            setattr(self, name, value)

    def _value(self, name: str, value: object) -> object:
        now = getattr(self, name, None) if name in self.__struct_fields__ else None
        if now is None:
            raise ValueError(f"no fault {name!r}; there are {', '.join(self.__struct_fields__)}")
        if isinstance(now, bytes) and isinstance(value, str):
            value = bytes.fromhex(value)
        if type(value) is not type(now) or (isinstance(value, int) and value < 0):
            raise ValueError(f"fault {name!r} cannot be {value!r}")
        if name == "silent_until" and value not in {"", "reset", "power"}:
            raise ValueError(f"fault {name!r} is 'reset', 'power' or empty")
        if name == "swap_pdu" and isinstance(value, str) and value:
            value = validated_pdu(value)
        return value


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
"""Named sets of faults; each ends when its fields are set back."""


def healthy_fields() -> dict[str, object]:
    """Return the changes that clear all faults."""
    healthy = Faults()
    return {name: getattr(healthy, name) for name in Faults.__struct_fields__}


def read_fault(text: str) -> Mapping[str, object]:
    """Return the changes for a name or for `field=value`.

    Raises:
        ValueError: the text is neither of them.
    """
    if text in PRESETS:
        return PRESETS[text]
    if text == "none":
        return healthy_fields()
    name, equals, value = text.partition("=")
    now = getattr(Faults(), name, None) if name in Faults.__struct_fields__ else None
    if now is None or not equals:
        known = ", ".join((*EVENTS, *PRESETS, "none"))
        raise ValueError(f"no fault {text!r}; there are {known}, and FIELD=VALUE")
    if isinstance(now, bool):
        return {name: value.lower() in {"1", "true", "yes", "on"}}
    return {name: int(value) if isinstance(now, int) else value}


class Line:
    """Input and output buffer. `prompt` is True while the phone waits for a message instead of a command."""

    def __init__(self, faults: Faults) -> None:
        self.prompt = False
        self.handed_over = 0
        """Number of bytes returned by `take` in total."""
        self._faults = faults
        self._in = bytearray()
        self._out = bytearray()
        self._said = 0
        self._heard = 0

    def clear(self) -> None:
        """Drop partial lines and unread answers."""
        self.prompt = False
        self._in.clear()
        self._out.clear()

    def say(self, data: bytes) -> int:
        """Append bytes to the output; return the position of their end in the stream of all bytes sent."""
        if every := self._faults.lose_byte_every:
            data, self._said = _thinned(data, every, self._said)
        self._out += data
        return self.handed_over + len(self._out)

    def unread(self) -> int:
        """Return the number of bytes in the output buffer."""
        return len(self._out)

    def take(self) -> bytes:
        """Return bytes of the output, empty when there are none; call until empty."""
        data = bytes(self._out[: self._faults.chunk or len(self._out)])
        del self._out[: len(data)]
        self.handed_over += len(data)
        return data

    def hear(self, data: bytes) -> bytes:
        """Buffer input bytes; return those that were not lost."""
        if every := self._faults.lose_typed_every:
            data, self._heard = _thinned(data, every, self._heard)
        self._in += data
        if len(self._in) > INPUT_BYTES_MAX and self._ends() is None:
            self._in.clear()
        return data

    def next_line(self) -> bytes | None:
        """Return the next complete line without its end, None when there is none."""
        end = self._ends()
        return None if end is None else bytes(self._in[:end])

    def drop_line(self) -> bool:
        """Remove that line; return whether it ended in ESC after a prompt, which cancels sending."""
        end = self._ends()
        if end is None:
            return False
        cancelled = self._in[end] == _CANCEL
        del self._in[: end + 1]
        return cancelled

    def _ends(self) -> int | None:
        """Return the end of the next complete line, or of the message after a prompt."""
        if not self.prompt:
            end = self._in.find(b"\r")
            return None if end < 0 else end
        ends = [at for at in (self._in.find(_SEND), self._in.find(_CANCEL)) if at >= 0]
        return min(ends, default=None)


def _thinned(data: bytes, every: int, seen: int) -> tuple[bytes, int]:
    """Return the data without every n-th byte, and the number of bytes seen in total."""
    kept = bytes(byte for at, byte in enumerate(data, start=seen + 1) if at % every)
    return kept, seen + len(data)
