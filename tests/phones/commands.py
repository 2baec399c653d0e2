"""AT commands of the emulated phone: names and arguments in, lines or a refusal out.

The Handset is the phone without its serial line: identity, settings, storages, and one function per
command, found in a table by name. Bytes, echo, prompts and the network are handled by
`phone.Phone`. Commands are of 3GPP TS 27.007 and ITU-T V.250; those about messages are in
`message_commands`, those about the SIM in `sim_commands`. A make of phone is data (`Family`).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from tests.phones.command_lines import Handler, Refusal, number, require_form, split_arguments
from tests.phones.message_commands import Messages
from tests.phones.quirks import Family
from tests.phones.sim import Identity, Sim
from tests.phones.sim_commands import NEEDS_SIM, Card
from tests.phones.ussd import Ussd

_RANGES: Final = {
    "+CMEE": range(3),
    "+CMGF": range(2),
    "+CSMS": range(2),
    "+CREG": range(3),
    "+CGREG": range(3),
    "+CEREG": range(3),
}
_PDU_MODE_ONLY: Final = frozenset({"+CMGL", "+CMGR", "+CMGS"})
"""Refused in text mode, which no known program needs for reading on this phone."""
_WITH_CELL: Final = 2  # 27.007 clause 7.2, <n>
_AREA: Final = "01F4"
_CELL: Final = "4E21"
_CHARACTER_SETS: Final = ("IRA", "GSM")
_NUMERIC_OPERATOR: Final = 2
_KEEP_OPERATOR: Final = 3


class Handset:
    """The phone without its serial line: state, storages and command handlers."""

    def __init__(
        self, identity: Identity, capacities: Mapping[str, int], family: Family, spare: Sim | None = None
    ) -> None:
        """Create a handset with empty storages; the first named receives.

        Raises:
            ValueError: no storage, or a capacity out of range.
        """
        self.identity = identity
        self.family = family
        self.messages = Messages(capacities, family)
        self.card = Card(family, Sim.of(identity), spare)
        self.clock = "70/01/01,00:00:00+00"
        """Answer to `AT+CCLK?` (`clock_line`); without time from the network a phone returns a wrong time."""
        self.ussd: Ussd | None = None
        self.covered = True
        """The phone is in network coverage."""
        self.signal = 20
        self.lines: list[str] = []
        """Unsolicited lines to send; emptied by the code that carries the bytes."""
        self._ranges = {**_RANGES, "+CMGF": range(1 + family.text_mode), "+CSMS": family.services}
        self._fixed = dict(family.fixed)
        self.restart()
        self.table = self._table(family)

    def reset(self) -> None:
        """Reset all settings, as `ATZ` does; messages and the SMSC's number stay."""
        self.echo = True
        self.radio = 1
        self.settings = dict.fromkeys(_RANGES, 0)
        self.operator_format = 0
        self.character_set = "IRA"
        self.noisy = True
        self.port = self.family.port
        self.messages.reset()

    def restart(self) -> None:
        """Start as at power-on: the PIN is required, and the SIM is busy for a while."""
        self.reset()
        self.card.reset()
        self.busy = self.family.busy_commands
        self.asleep = self.family.autobaud
        self.restarting = False
        self.lines.clear()

    def registered(self) -> bool:
        """Return whether the network can reach the phone."""
        return self.radio == 1 and self.covered and self.card.state() == "READY"

    def announces_here(self) -> bool:
        """Return whether unsolicited lines are sent to this port."""
        # Quectel's "urcport","all" names every port, and so this one.
        return self.port == self.family.port or self.port.endswith(',"all"')

    def perform(self, name: str, operator: str, argument: str) -> list[str]:
        """Carry out one command; return its answer lines.

        Raises:
            Refusal: the command fails.
        """
        fixed = self._fixed.get(f"{name}{operator}{argument}")
        if fixed is not None:
            return [fixed] if fixed else []
        handler = self.table.get(name)
        if handler is None:
            raise Refusal("CME", 100)
        self.require(name)
        return handler(operator, argument)

    def require(self, name: str) -> None:
        """Accept a command if the SIM and the mode allow it now.

        Raises:
            Refusal: the SIM is locked, missing or busy, or the command does not work in text mode.
        """
        self.card.require(name)
        if self.busy and (name in NEEDS_SIM or name == "+CMGF"):
            self.busy -= 1
            if not self.busy:
                self.lines += self.family.ready_lines
            raise Refusal("", literally=self.family.busy_line)
        if self.settings["+CMGF"] and name in _PDU_MODE_ONLY:
            raise Refusal("CMS", 302)

    def _table(self, family: Family) -> dict[str, Handler]:
        who = self.identity
        switches = {name for name in (family.noise_switch, family.port_switch) if name}
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
            "+CFUN": self._radio,
            "+CSQ": self._signal,
            "+COPS": self._operator,
            "+CSCS": self._characters,
            "+CCLK": self._time,
            "+CUSD": self._ussd,
            "+CLAC": self._commands,
            **{name: self._setting(name) for name in _RANGES},
            "+CGATT": self._attached,
            **dict.fromkeys(family.accepted, _anything),
            **{name: self._switch(name) for name in switches},
            **self.card.table(),
            **self.messages.table,
        }

    def _setting(self, name: str) -> Handler:
        allowed = self._ranges[name]

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
            cell = f',"{_AREA}","{_CELL}"' if value == _WITH_CELL and self.registered() else ""
            served = self.registered() and name in self.family.registers
            return f"{name}: {value},{int(served)}{cell}"
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
        require_form(operator, argument, "")
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
            self.restarting = self.family.restarts
            self.reset()
        self.radio = level
        return []

    def _signal(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "", "=?")
        if operator:
            return ["+CSQ: (0-31,99),(99)"]
        return [f"+CSQ: {self.signal if self.registered() else 99},99"]

    def _operator(self, operator: str, argument: str) -> list[str]:
        sim = self.card.sim
        name, code = (sim.operator, sim.operator_code) if sim else ("", "")
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

    def _ussd(self, operator: str, argument: str) -> list[str]:
        return [] if self.ussd is None else self.ussd.perform(operator, argument, self.lines)

    def _time(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "?")
        return [f'+CCLK: "{self.clock}"']

    def _attached(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "?", "=?")
        return [f"+CGATT: {int(self.registered())}" if operator == "?" else "+CGATT: (0,1)"]

    def _switch(self, name: str) -> Handler:
        def answer(operator: str, argument: str) -> list[str]:
            if operator == "?":
                shown = self.port if name == self.family.port_switch else int(self.noisy)
                return [f"{name}: {shown}"]
            if operator == "=" and name == self.family.port_switch:
                self.port = argument
            elif operator == "=":
                self.noisy = not argument.endswith("0")
            return []

        return answer

    def _commands(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "", "=?")
        return [] if operator else ["+CLAC:" + ",".join(sorted({*self.table, "+CMGS"}))]


def clock_line(at_s: int) -> str:
    """Return a time, in seconds since 1970, in the form of `AT+CCLK?` (27.007 clause 8.15)."""
    return f"{datetime.fromtimestamp(at_s, UTC):%y/%m/%d,%H:%M:%S}+00"


def _anything(operator: str, argument: str) -> list[str]:
    del operator, argument
    return []


def _fact(line: str) -> Handler:
    def answer(operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "", "?", "=?")
        return [] if operator == "=?" else [line]

    return answer


def _only(*allowed: str) -> Handler:
    """Return a handler of a basic command that accepts only these values and changes nothing."""

    def answer(operator: str, argument: str) -> list[str]:
        if operator or argument not in allowed:
            raise Refusal("CME", 4)
        return []

    return answer
