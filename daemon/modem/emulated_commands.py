"""What each AT command does to the emulated phone: names and arguments in, lines or a refusal out.

The Handset is the phone without its line: identity, settings, storages, and one function per
command, found in a table by name. It knows nothing of bytes, echo, prompts or the network; that
is `emulated.Phone`. Commands are of 3GPP TS 27.007 and ITU-T V.250; those of messages live in
`emulated_messages`. A make of phone is data (`Family`): another make is another row.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.modem.emulated_answers import (
    Handler,
    Refusal,
    bare,
    number,
    split_arguments,
    type_of_address,
)
from daemon.modem.emulated_messages import Messages

_RANGES: Final = {
    "+CMEE": range(3),
    "+CMGF": range(1),  # PDU mode only
    "+CSMS": range(1),  # without +CNMA
    "+CREG": range(3),
    "+CGREG": range(3),
    "+CEREG": range(3),
}
_CHARACTER_SETS: Final = ("IRA", "GSM")
_NUMERIC_OPERATOR: Final = 2
_KEEP_OPERATOR: Final = 3
_PHONE_NUMBER: Final = re.compile(r"\+?\d{1,20}", re.ASCII)


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


@dataclass(frozen=True, slots=True)
class Family:
    """How a make of phone departs from the standard, as data."""

    name: str = "generic"
    first_index: int = 1
    """Number of the first slot; some makes count from 0."""
    empty_slot_error: bool = True
    """Reading a free slot is `+CMS ERROR: 321`; some makes answer a bare OK."""
    iccid_commands: tuple[str, ...] = ("+CCID", "+ICCID")


GENERIC: Final = Family()


class Handset:
    """The phone without its line: what it knows, holds and does for each command."""

    def __init__(self, identity: Identity, capacities: Mapping[str, int], family: Family) -> None:
        """Make a handset with empty storages; the first named receives.

        Raises:
            ValueError: no storage at all, or a capacity that no phone has.
        """
        self.identity = identity
        self.messages = Messages(
            capacities, family.first_index, empty_slot_error=family.empty_slot_error
        )
        self.clock = "70/01/01,00:00:00+00"
        """What `AT+CCLK?` says; a phone that no network has told the time says nonsense."""
        self.smsc = identity.smsc
        self.reset()
        self.table = self._table(family)

    def reset(self) -> None:
        """Forget all settings, as at power-on; messages and the SMSC's number stay."""
        self.echo = True
        self.radio = 1
        self.settings = dict.fromkeys(_RANGES, 0)
        self.operator_format = 0
        self.character_set = "IRA"
        self.messages.reset()

    def registered(self) -> bool:
        """Say whether the network can reach the phone."""
        return self.radio == 1

    def perform(self, name: str, operator: str, argument: str) -> list[str]:
        """Carry out one command; return its lines.

        Raises:
            Refusal: the phone says no.
        """
        handler = self.table.get(name)
        if handler is None:
            raise Refusal("CME", 100)
        return handler(operator, argument)

    def _table(self, family: Family) -> dict[str, Handler]:
        who = self.identity
        return {
            "E": self._echo,
            "V": _only("1"),
            "Q": _only("", "0"),
            "Z": self._restore,
            "&F": self._restore,
            "&C": _only("", "0", "1"),
            "&D": _only("", "0", "1", "2"),
            "&W": _only("", "0"),
            "H": _only("", "0"),
            "I": self._about,
            "+GMI": _fact(who.manufacturer),
            "+CGMI": _fact(who.manufacturer),
            "+GMM": _fact(who.model),
            "+CGMM": _fact(who.model),
            "+GMR": _fact(who.revision),
            "+CGMR": _fact(who.revision),
            "+GSN": _fact(who.imei),
            "+CGSN": self._imei,
            "+CIMI": _fact(who.imsi),
            "+CNUM": self._own_number,
            "+CPIN": self._pin,
            "+CFUN": self._radio,
            "+CSQ": self._signal,
            "+COPS": self._operator,
            "+CSCA": self._centre,
            "+CSCS": self._characters,
            "+CCLK": self._time,
            "+CLAC": self._commands,
            **{name: self._setting(name) for name in _RANGES},
            **{name: _fact(f"{name}: {who.iccid}") for name in family.iccid_commands},
            **self.messages.table,
        }

    def _setting(self, name: str) -> Handler:
        allowed = _RANGES[name]

        def answer(operator: str, argument: str) -> list[str]:
            if operator == "=?":
                return [f"{name}: ({','.join(map(str, allowed))})"]
            if operator == "?":
                return [self._setting_line(name)]
            if operator != "=":
                raise Refusal("CME", 4)
            self.settings[name] = number(argument, allowed, Refusal("CME", 50))
            return ["+CSMS: 1,1,1"] if name == "+CSMS" else []

        return answer

    def _setting_line(self, name: str) -> str:
        value = self.settings[name]
        if name == "+CSMS":
            return f"{name}: {value},1,1,1"
        if name.endswith("REG"):
            return f"{name}: {value},{int(self.registered())}"
        return f"{name}: {value}"

    def _echo(self, operator: str, argument: str) -> list[str]:
        if operator or argument not in {"", "0", "1"}:
            raise Refusal("CME", 50)
        self.echo = argument == "1"
        return []

    def _restore(self, operator: str, argument: str) -> list[str]:
        if operator or argument not in {"", "0"}:
            raise Refusal("CME", 50)
        self.reset()
        return []

    def _about(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "")
        who = self.identity
        return [who.manufacturer, who.model, who.revision, f"IMEI: {who.imei}"]

    def _imei(self, operator: str, argument: str) -> list[str]:
        if operator == "=?":
            return ["+CGSN: (0,1)"]
        if (operator, argument) == ("=", "1"):
            return [f'+CGSN: "{self.identity.imei}"']
        if (operator, argument) not in {("", ""), ("=", "0")}:
            raise Refusal("CME", 50)
        return [self.identity.imei]

    def _own_number(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "", "=?")
        own = self.identity.number
        return [] if operator or not own else [f'+CNUM: "","{own}",{type_of_address(own)}']

    def _pin(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "?", "=?")
        return ["+CPIN: READY"] if operator == "?" else []

    def _radio(self, operator: str, argument: str) -> list[str]:
        if operator == "?":
            return [f"+CFUN: {self.radio}"]
        if operator == "=?":
            return ["+CFUN: (0,1,4),(0,1)"]
        parts = split_arguments(argument)
        if operator != "=" or len(parts) > 2 or parts[1:] not in ([], ["0"], ["1"]):
            raise Refusal("CME", 50)
        level = number(parts[0], (0, 1, 4), Refusal("CME", 50))
        if parts[1:] == ["1"]:
            self.reset()
        self.radio = level
        return []

    def _signal(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "", "=?")
        if operator:
            return ["+CSQ: (0-31,99),(99)"]
        return ["+CSQ: 20,99" if self.registered() else "+CSQ: 99,99"]

    def _operator(self, operator: str, argument: str) -> list[str]:
        name, code = self.identity.operator, self.identity.operator_code
        if operator == "?":
            if not self.registered():
                return ["+COPS: 0"]
            shown = code if self.operator_format == _NUMERIC_OPERATOR else name
            return [f'+COPS: 0,{self.operator_format},"{shown}"']
        if operator == "=?":
            return [f'+COPS: (2,"{name}","{name}","{code}"),,(0,3),(0,1,2)']
        parts = split_arguments(argument)
        if operator != "=" or len(parts) > 2:
            raise Refusal("CME", 50)
        mode = number(parts[0], (0, _KEEP_OPERATOR), Refusal("CME", 50))
        if mode == _KEEP_OPERATOR:
            form = parts[1] if len(parts) == 2 else ""
            self.operator_format = number(form, range(3), Refusal("CME", 50))
        return []

    def _centre(self, operator: str, argument: str) -> list[str]:
        if operator == "?":
            return [f'+CSCA: "{self.smsc}",{type_of_address(self.smsc)}']
        if operator == "=?":
            return []
        given = split_arguments(argument)[0]
        if operator != "=" or not _PHONE_NUMBER.fullmatch(given):
            raise Refusal("CMS", 304)
        self.smsc = given
        return []

    def _characters(self, operator: str, argument: str) -> list[str]:
        if operator == "?":
            return [f'+CSCS: "{self.character_set}"']
        if operator == "=?":
            return ["+CSCS: (" + ",".join(f'"{name}"' for name in _CHARACTER_SETS) + ")"]
        given = split_arguments(argument)[0]
        if operator != "=" or given not in _CHARACTER_SETS:
            raise Refusal("CME", 50)
        self.character_set = given
        return []

    def _time(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "?")
        return [f'+CCLK: "{self.clock}"']

    def _commands(self, operator: str, argument: str) -> list[str]:
        bare(operator, argument, "", "=?")
        return [] if operator else ["+CLAC:" + ",".join(sorted({*self.table, "+CMGS"}))]


def _fact(line: str) -> Handler:
    """Make a command that says one thing."""

    def answer(operator: str, argument: str) -> list[str]:
        bare(operator, argument, "", "?", "=?")
        return [] if operator == "=?" else [line]

    return answer


def _only(*allowed: str) -> Handler:
    """Make a basic command that changes nothing and takes these values alone."""

    def answer(operator: str, argument: str) -> list[str]:
        if operator or argument not in allowed:
            raise Refusal("CME", 4)
        return []

    return answer
