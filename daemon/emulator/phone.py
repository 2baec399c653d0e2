"""An emulated phone for the demo and the sandbox: bytes in, bytes out.

The phone follows 3GPP TS 27.005 and 27.007 and makes no mistakes. It has one SIM, one storage, and PDU mode. There is no
I/O and no clock; `port` carries the bytes. The makes with their quirks and faults are in the tests.
"""

import re
from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from daemon.modem.codec.pdu import decode
from parsers.money import Money, read_balance

CAPACITY: Final = 30
"""Messages that the SIM stores."""
INPUT_BYTES_MAX: Final = 4096
"""A longer line is dropped; an SMS to send has at most 2 * 176 characters."""
_COMMAND: Final = re.compile(r"AT([+][A-Z]+|&?[A-Z]|)(=\?|\?|=|)(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_NOTICES: Final = re.compile(r"[0-2](,[01](,0(,0(,[01])?)?)?)?", re.ASCII)
_INDEX: Final = re.compile(r"\d{1,3}", re.ASCII)
_END, _SEND, _CANCEL = b"\r", b"\x1a", b"\x1b"
_UNREAD, _READ = 0, 1
_SETTINGS: Final = {"+CMEE": "0", "+CREG": "0", "+CGREG": "0", "+CEREG": "0", "+CSCS": '"IRA"'}
_OK: Final = ("", "V1", "Q0", "&F", "&C1", "&D0", "H", "+CMGF=0", "+CNUM", "+COPS=3,0", "+CFUN=1")
"""Commands that change nothing here."""
_MENUS: Final = {"*170#": "Practice wallet\n1) Check balance", "*170# 1": "PIN (any digits)"}
_PIN: Final = re.compile(r"\*170# 1 \d+", re.ASCII)
_REGISTERED: Final = ("+CREG", "+CGREG", "+CEREG")


class Identity(Struct, frozen=True):
    """Identity of the phone and its SIM. The defaults have correct check digits."""

    imei: str = "004401000000014"
    iccid: str = "8923301000000000019"
    imsi: str = "620010000000001"
    manufacturer: str = "Generic"
    model: str = "GSM-1"
    smsc: str = "+233240000099"
    operator: str = "MTN"


class Phone:
    """An emulated phone, just switched on. Not thread-safe; the caller must serialise the calls."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._slots: dict[int, tuple[str, int]] = {}
        """Slot number -> PDU in hex with its status (27.005 clause 3.1)."""
        self._waiting: deque[str] = deque()
        """Messages that the network keeps until a slot is free."""
        self._balance: Money | None = None
        """The wallet's balance, of the last message that names one."""
        self._menu = ""
        self._settings = dict(_SETTINGS)
        self._notices = "0,0,0,0,0"
        self._echo = True
        self._prompt = False
        self._sent = 0
        self._in = bytearray()
        self._out = bytearray()

    def deliver(self, pdu: str) -> None:
        """Deliver an SMS: hex with the SMSC. The network keeps a message that does not fit."""
        self._waiting.append(pdu.upper())
        self._balance = read_balance(getattr(decode(pdu), "text", ""), "GHS") or self._balance
        self._admit()

    def receive_data(self, data: bytes) -> None:
        """Process bytes from the line and carry out every complete command."""
        if self._echo:
            self._out += data
        self._in += data
        while (line := self._next_line()) is not None:
            if self._prompt:
                self._prompt = False
                self._answer(self._send(line))
            elif (command := line.strip().decode("ascii", "replace")) != "":
                self._answer(self._result(command))
            self._admit()
        if len(self._in) > INPUT_BYTES_MAX:
            self._in.clear()

    def data_to_send(self) -> bytes:
        """Return the bytes for the line, empty when there are none."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def _next_line(self) -> bytes | None:
        """Return the next complete command, or the message after a prompt with the character that ends it."""
        ends = (_SEND, _CANCEL) if self._prompt else (_END,)
        found = [at for end in ends if (at := self._in.find(end)) >= 0]
        if not found:
            return None
        end = min(found) + int(self._prompt)
        line = bytes(self._in[:end])
        del self._in[: min(found) + 1]
        return line

    def _admit(self) -> None:
        """Store the messages that wait, and announce each as `AT+CNMI` asks (27.005 clause 3.4.1)."""
        while self._waiting and len(self._slots) < CAPACITY:
            index = next(n for n in range(1, CAPACITY + 1) if n not in self._slots)
            self._slots[index] = (self._waiting.popleft(), _UNREAD)
            if self._notices.split(",")[1] == "1":
                self._say(f'+CMTI: "SM",{index}')

    def _say(self, line: str) -> None:
        self._out += f"\r\n{line}\r\n".encode("latin-1", "replace")

    def _answer(self, lines: list[str]) -> None:
        for line in lines:
            self._say(line)

    def _result(self, command: str) -> list[str]:
        """Carry out one command and return the lines of its answer, the final result last."""
        parsed = _COMMAND.fullmatch(command)
        if parsed is None:
            return ["ERROR"]
        name, operator, argument = (part.strip().upper() for part in parsed.groups())
        if name in {"E", "Z"}:
            self._echo = argument != "0" or name == "Z"
            return ["OK"]
        fixed = self._fixed.get(f"{name}{operator}{argument}")
        if fixed is not None:
            return [*fixed, "OK"]
        handler = self._handlers.get(name)
        lines = None
        if handler is not None and operator == "=":
            lines = handler(argument)
        elif name in self._settings and operator in {"=", "?"}:
            lines = self._setting(name, argument if operator == "=" else None)
        if lines is None:
            return ["+CMS ERROR: 302" if handler else "ERROR"]
        return [] if self._prompt else [*lines, "OK"]

    @property
    def _fixed(self) -> dict[str, list[str]]:
        """The answers that take no argument."""
        who, fill = self._identity, f"{len(self._slots)},{CAPACITY}"
        return {
            **{name: [] for name in _OK}, "I": [who.manufacturer, who.model, f"IMEI: {who.imei}"],
            "+CGMI": [who.manufacturer], "+CGMM": [who.model], "+CGMR": ["1.00"], "+CGSN": [who.imei],
            "+CIMI": [who.imsi], "+CCID": [f"+CCID: {who.iccid}"], "+CPIN?": ["+CPIN: READY"],
            "+CSCA?": [f'+CSCA: "{who.smsc}",145'], "+CSQ": ["+CSQ: 20,99"],
            "+COPS?": [f'+COPS: 0,0,"{who.operator}"'], "+CFUN?": ["+CFUN: 1"],
            "+CCLK?": ['+CCLK: "80/01/06,00:00:00+00"'], "+CSMS=0": ["+CSMS: 1,1,1"],
            "+CPMS=?": ['+CPMS: ("SM"),("SM"),("SM")'], "+CPMS?": ["+CPMS: " + ",".join([f'"SM",{fill}'] * 3)],
            **{"+CPMS=" + ",".join(['"SM"'] * n): ["+CPMS: " + ",".join([fill] * 3)] for n in (1, 2, 3)},
            "+CNMI=?": ["+CNMI: (0,1,2),(0,1),(0),(0),(0,1)"], "+CNMI?": [f"+CNMI: {self._notices}"],
        }  # fmt: skip

    @property
    def _handlers(self) -> dict[str, Callable[[str], list[str] | None]]:
        return {
            "+CNMI": self._notify,
            "+CMGL": self._list,
            "+CMGR": self._show,
            "+CMGD": self._delete,
            "+CMGS": self._open_prompt,
            "+CUSD": self._ussd,
        }

    def _setting(self, name: str, value: str | None) -> list[str]:
        if value is not None:
            self._settings[name] = value
            return []
        served = ",1" if name in _REGISTERED else ""
        return [f"{name}: {self._settings[name]}{served}"]

    def _notify(self, argument: str) -> list[str] | None:
        if not _NOTICES.fullmatch(argument):
            return None
        self._notices = ",".join([*argument.split(","), *"00000"][:5])
        return []

    def _list(self, argument: str) -> list[str] | None:
        wanted = {"0": {_UNREAD}, "1": {_READ}, "4": {_UNREAD, _READ}}.get(argument)
        if wanted is None:
            return None
        chosen = [index for index, (_, status) in sorted(self._slots.items()) if status in wanted]
        return [self._read(f"+CMGL: {index},", index) for index in chosen]

    def _show(self, argument: str) -> list[str] | None:
        index = int(argument) if _INDEX.fullmatch(argument) else 0
        return [self._read("+CMGR: ", index)] if index in self._slots else None

    def _delete(self, argument: str) -> list[str] | None:
        if not _INDEX.fullmatch(argument):
            return None
        self._slots.pop(int(argument), None)
        return []

    def _open_prompt(self, argument: str) -> list[str] | None:
        if not _INDEX.fullmatch(argument):
            return None
        self._prompt = True
        self._out += b"\r\n> "
        return []

    def _ussd(self, argument: str) -> list[str] | None:
        """Answer as a network's menu: `*170#`, 1, any digits as the PIN, and the balance is shown (27.007 clause 7.15)."""
        kind, _, rest = argument.partition(",")
        typed = rest.partition('"')[2].partition('"')[0]
        asked, self._menu = typed if typed.endswith("#") else self._menu + typed, ""
        if kind != "1" or not typed:
            return []
        if asked in _MENUS:
            self._menu = f"{asked} "
            return [f'+CUSD: 1,"{_MENUS[asked]}",15']
        shown = f"Current Balance: {self._balance or 'not known yet'}" if _PIN.fullmatch(asked) else "Unknown code"
        return [f'+CUSD: 0,"{shown}",15']

    def _read(self, head: str, index: int) -> str:
        pdu, status = self._slots[index]
        self._slots[index] = (pdu, _READ)
        return f"{head}{status},,{len(pdu) // 2 - 1 - int(pdu[:2], 16)}\r\n{pdu}"

    def _send(self, typed: bytes) -> list[str]:
        if typed.endswith(_CANCEL):
            return ["OK"]  # 27.005 clause 3.5.1: ESC ends without sending
        self._sent += 1
        return [f"+CMGS: {self._sent % 256}", "OK"]
