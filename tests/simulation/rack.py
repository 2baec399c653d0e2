"""Emulated phones and the USB ports that they may be in, as the daemon of a simulation finds and opens them."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from daemon.modem.emulated import FAMILIES, Deletion, Phone, Sim
from daemon.modem.port import Port, PortError, PortTrouble
from tests.simulation.simulated_phone import COMMAND_S, SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock

IMEIS: Final = ("356938035643809", "004401000000014", "353456789012348", "867322040000005")


class Rack:
    """The phones, each with a SIM and not yet plugged in."""

    def __init__(
        self,
        names: Sequence[str],
        sims: Sequence[Sim],
        ports: int,
        clock: SimulatedClock,
        dice: random.Random,
        on_deleted: Callable[[SimulatedPhone, Deletion], None],
    ) -> None:
        """Make them: one for each name of a family, with the SIM at its place."""
        self._dice = dice
        self._ports = [f"/dev/ttyUSB{number}" for number in range(ports)]
        self.phones = [
            SimulatedPhone(
                name,
                _phone(name, imei, sim),
                clock,
                command_s=dice.uniform(*COMMAND_S),
                on_deleted=on_deleted,
            )
            for name, imei, sim in zip(names, IMEIS, sims, strict=False)
        ]

    def find(self) -> list[str]:
        """Return the ports that a phone is in."""
        return sorted(phone.path for phone in self.phones if phone.path is not None)

    def open(self, path: str) -> Port:
        """Open a port; PortError when no phone is in it."""
        for phone in self.phones:
            if phone.path == path:
                return phone.open()
        raise PortError(PortTrouble.MISSING, f"{path} is not there", "plug it in")

    def plug(self, phone: SimulatedPhone) -> None:
        """Put a phone that is in none into a free port, often another one than before."""
        if phone.path is None:
            taken = self.find()
            phone.plug(self._dice.choice([port for port in self._ports if port not in taken]))


def _phone(name: str, imei: str, sim: Sim) -> Phone:
    family = FAMILIES[name]
    phone = Phone(family.identity(imei=imei), family=family)
    phone.take_sim()
    phone.insert_sim(sim)
    return phone
