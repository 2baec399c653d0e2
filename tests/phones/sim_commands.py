"""SIM slots of the emulated phone and the commands about the SIM (3GPP TS 27.007 and 27.005)."""

import re
from typing import Final

from tests.phones.command_lines import Handler, Refusal, number, require_form, split_arguments, type_of_address
from tests.phones.quirks import Family
from tests.phones.sim import Sim

NEEDS_SIM: Final = {
    "+CIMI": "CME", "+CNUM": "CME", "+CSCA": "CMS", "+CPMS": "CMS", "+CNMI": "CMS",
    "+CMGL": "CMS", "+CMGR": "CMS", "+CMGD": "CMS", "+CMGS": "CMS",
}  # fmt: skip
"""Commands that a phone without an unlocked SIM refuses, and the kind of the error."""
_PHONE_NUMBER: Final = re.compile(r"\+?\d{1,20}", re.ASCII)
_PIN: Final = re.compile(r"\d{4,8}", re.ASCII)
_READ_ICCID: Final = "176,12258,0,0,10"
"""`AT+CRSM` for the file EF-ICCID (TS 102.221 clause 13.2)."""


class Card:
    """The SIM in use, the SIM in the other slot, and the PIN state."""

    def __init__(self, family: Family, sim: Sim, spare: Sim | None = None) -> None:
        """Insert the SIM; `spare` is in the second slot of a phone with two."""
        self.sim: Sim | None = sim
        self.spare = spare
        self.slot = 0
        self.opened = False
        self.switched = False
        """A command has changed the slot; cleared by the code that moves the messages."""
        self._family = family

    def reset(self) -> None:
        """Ask for the PIN again, as at power-on."""
        self.opened = False

    def state(self) -> str:
        """Return the answer to `AT+CPIN?`, empty without a working SIM."""
        if self.sim is None or self.sim.dead:
            return ""
        if not self.sim.pin_tries:
            return "SIM PUK"
        return "SIM PIN" if self.sim.pin and not self.opened else "READY"

    def require(self, name: str) -> None:
        """Accept a command if it needs no SIM or the SIM is unlocked.

        Raises:
            Refusal: the command needs an unlocked SIM.
        """
        kind = NEEDS_SIM.get(name)
        if kind is not None and (state := self.state()) != "READY":
            raise self._refusal(kind, state)

    def table(self) -> dict[str, Handler]:
        """Return the SIM commands by name."""
        family = self._family
        table: dict[str, Handler] = {
            "+CIMI": self._imsi,
            "+CNUM": self._own_number,
            "+CSCA": self._centre,
            "+CPIN": self._pin,
            family.pin_counter: self._tries,
            **{name: self._iccid(name) for name in family.iccid_commands},
        }
        if family.text_mode:
            table["+CSMP"] = self._text_parameters
        if family.sim_switch and self.spare is not None:
            table[family.sim_switch] = self._switch
        return table

    def _refusal(self, kind: str, state: str) -> Refusal:
        dead = self.sim is not None and self.sim.dead
        cme, cms = {"SIM PIN": (11, 311), "SIM PUK": (12, 316)}.get(state, (13, 313) if dead else (10, 310))
        return Refusal(kind, cme if kind == "CME" else cms)

    def _present_sim(self) -> Sim:
        if self.sim is None or self.sim.dead:
            raise self._refusal("CME", "")
        return self.sim

    def _imsi(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "", "?", "=?")
        return [] if operator == "=?" else [self._present_sim().imsi]

    def _iccid(self, name: str) -> Handler:
        def answer(operator: str, argument: str) -> list[str]:
            require_form(operator, argument, "", "?", "=?")
            if operator == "=?":
                return []
            iccid = self._present_sim().iccid
            shown = swap_nibbles(iccid) if self._family.iccid_swapped else iccid
            return [self._family.iccid_form.format(name=name, iccid=shown)]

        def file(operator: str, argument: str) -> list[str]:
            if (operator, argument) != ("=", _READ_ICCID):
                raise Refusal("CME", 4)
            return [f'+CRSM: 144,0,"{swap_nibbles(self._present_sim().iccid)}"']

        return file if name == "+CRSM" else answer

    def _own_number(self, operator: str, argument: str) -> list[str]:
        require_form(operator, argument, "", "=?")
        own = self._present_sim().number
        return [] if operator or not own else [f'+CNUM: "","{own}",{type_of_address(own)}']

    def _centre(self, operator: str, argument: str) -> list[str]:
        sim = self._present_sim()
        if operator == "?":
            return [f'+CSCA: "{sim.smsc}",{type_of_address(sim.smsc)}']
        if operator == "=?":
            return []
        given = split_arguments(argument)[0]
        if operator != "=" or not _PHONE_NUMBER.fullmatch(given):
            raise Refusal("CMS", 304)
        sim.smsc = given
        return []

    def _text_parameters(self, operator: str, _: str) -> list[str]:
        if operator == "?":
            return ["+CSMP: 17,167,0,0"]
        if operator == "=" and self._family.wipes_smsc and self.sim is not None:
            self.sim.smsc = ""
        return []

    def _pin(self, operator: str, argument: str) -> list[str]:
        if operator == "=":
            self._unlock(split_arguments(argument))
            return []
        require_form(operator, argument, "?", "=?")
        if operator == "=?":
            return []
        state = self.state()
        if not state:
            raise self._refusal("CME", "")
        return [f"+CPIN: {state}"]

    def _unlock(self, given: list[str]) -> None:
        sim, state = self._present_sim(), self.state()
        if state == "READY":
            raise Refusal("CME", 3)
        if not all(_PIN.fullmatch(pin) for pin in given) or len(given) > 2:
            raise Refusal("CME", 50)
        if state == "SIM PIN" and len(given) == 1:
            right = sim.enter_pin(given[0])
        elif state == "SIM PUK" and len(given) == 2:
            right = sim.enter_puk(*given)
        else:
            raise self._refusal("CME", state)
        if not right:
            after = self.state()
            raise Refusal("CME", 16) if after == state else self._refusal("CME", after)
        self.opened = True

    def _tries(self, operator: str, _: str) -> list[str]:
        if operator == "=?" and not self._family.pin_counter_tested:
            return []
        sim, state = self._present_sim(), self.state()
        left = sim.puk_tries if state == "SIM PUK" else sim.pin_tries
        return [
            line.format(state=state, left=left, pin=sim.pin_tries, puk=sim.puk_tries)
            for line in self._family.pin_counter_lines
        ]

    def _switch(self, operator: str, argument: str) -> list[str]:
        if operator == "?":
            return [f"{self._family.sim_switch}: {self.slot}"]
        if operator != "=":
            return [f"{self._family.sim_switch}: (0,1)"]
        slot = number(argument, (0, 1), Refusal("CME", 50))
        self.switched = slot != self.slot
        self.slot = slot
        return []


def swap_nibbles(iccid: str) -> str:
    """Return the digits as stored in the card's file: a filler at the end, nibbles swapped."""
    digits = iccid + "F" * (len(iccid) % 2)
    return "".join(digits[at + 1] + digits[at] for at in range(0, len(digits), 2))
