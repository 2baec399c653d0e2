"""The network's USSD menu behind the emulated phone: `AT+CUSD` (27.007 clause 7.15), and its misbehaviour.

`Faults.ussd` has the names of what goes wrong, separated by spaces: `silent` (no answer), `ucs2`, `packed` (texts are packed
septets in hex, in both directions), `wrong_coding` (UCS2 under the coding 15), `garbage`, `unclosed`, `ended` (the network ends
each session after its first menu), `unsupported`, `timeout`, `changes` (another menu follows the first one unasked), `late_ok`
(OK comes after the answer), `refuses`, `cut` (an SMS that arrives ends the session).
"""

from typing import Final

from daemon.modem.codec import gsm7
from tests.phones.command_lines import Refusal, split_arguments
from tests.phones.faults import Faults

MENU: Final = "MobileMoney\n1) Transfer Money\n6) My Wallet"
WALLET: Final = "My Wallet\n1) Check Balance"
PIN: Final = "Enter MM PIN"
BALANCE: Final = "Current Balance: GHS 214.56. Available Balance: GHS 210.00"
UNKNOWN: Final = "UNKNOWN APPLICATION"
WRONG: Final = "Invalid choice. Try again"
CHANGED: Final = "Promotion\n1) Send GHS 50.00"
GARBAGE: Final = '+CUSD: 1,"\xff\xfe\x01"Mo"\x1b[2J,,,99999'
_INSTEAD: Final = {"unsupported": ("+CUSD: 4",), "timeout": ("+CUSD: 5",), "silent": (), "garbage": (GARBAGE,)}


class Ussd:
    """The menu of one SIM."""

    def __init__(self, faults: Faults) -> None:
        self.typed: list[str] = []
        """What the network got, in order."""
        self._faults = faults
        self._place = ""
        self.is_open = False

    def perform(self, operator: str, argument: str, lines: list[str]) -> list[str]:
        """Carry out `AT+CUSD`: append the network's lines to `lines`; return those before OK."""
        if operator == "=?":
            return ["+CUSD: (0-2)"]
        parts = split_arguments(argument)
        if operator != "=" or parts[0] not in {"0", "1", "2"}:
            raise Refusal("CME", 50)
        if parts[0] == "2":
            self.is_open = False
            return []
        if len(parts) == 1 or parts[0] == "0":
            return []
        fault = self._fault()
        text = self._read(parts[1].strip('"'))
        if "refuses" in fault:
            raise Refusal("CME", 30)
        self.typed.append(text)
        answer = self._answer(text)
        if "late_ok" in fault:
            return answer
        lines += answer
        return []

    def _fault(self) -> set[str]:
        return set(self._faults.ussd.split())

    def _read(self, text: str) -> str:
        if "packed" not in self._fault():
            return text
        try:
            octets = bytes.fromhex(text)
        except ValueError:
            raise Refusal("", literally="ERROR") from None
        return gsm7.decode(gsm7.unpack(octets, len(octets) * 8 // 7)).rstrip("\r")

    def _answer(self, text: str) -> list[str]:
        fault = self._fault()
        for name, lines in _INSTEAD.items():
            if name in fault:
                return [*lines]
        shown, self.is_open = self._step(text)
        first = self._line(shown)
        if "unclosed" in fault:
            return [first.rpartition('"')[0]]
        if "ended" in fault and shown == MENU:
            self.is_open = False
            return [first, "+CUSD: 2"]
        if "changes" in fault and shown == MENU:
            return [first, self._line(CHANGED)]
        return [first]

    def _line(self, shown: str) -> str:
        fault, coding = self._fault(), 15
        if "ucs2" in fault or "wrong_coding" in fault:
            coding = 72 if "ucs2" in fault else 15
            shown = shown.encode("utf-16-be").hex().upper()
        elif "packed" in fault:
            septets = gsm7.encode(shown)
            assert septets is not None
            shown = gsm7.pack(septets + b"\r" * (len(septets) % 8 == 7)).hex().upper()
        return f'+CUSD: {int(self.is_open)},"{shown}",{coding}'

    def _step(self, text: str) -> tuple[str, bool]:
        steps = {("", "*170#"): ("menu", MENU), ("menu", "6"): ("wallet", WALLET), ("wallet", "1"): ("pin", PIN)}
        if text.endswith("#") or not self.is_open:
            self._place = ""
        if self._place == "pin" and text.isdecimal() and len(text) >= 4:
            return BALANCE, False
        if (step := steps.get((self._place, text))) is not None:
            self._place, shown = step
            return shown, True
        return (WRONG, True) if self._place else (UNKNOWN, False)

    def arrived(self) -> list[str]:
        """Return the lines for an SMS that arrives."""
        if not (self.is_open and "cut" in self._fault()):
            return []
        self.is_open = False
        return ["+CUSD: 2"]
