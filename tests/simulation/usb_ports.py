"""Emulated phones and the USB ports for them, as the daemon of a simulation finds and opens them."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from daemon.modem.port import Port, PortError, PortTrouble
from tests.phones.message_commands import Deletion
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Sim
from tests.simulation.simulated_phone import COMMAND_S, SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock

IMEIS: Final = ("356938035643809", "004401000000014", "353456789012348", "867322040000005")


class UsbPorts:
    """The phones, each with a SIM and not yet plugged in."""

    def __init__(
        self,
        names: Sequence[str],
        sims: Sequence[Sim],
        ports: int,
        clock: SimulatedClock,
        rng: random.Random,
        on_deleted: Callable[[SimulatedPhone, Deletion], None],
    ) -> None:
        """Make one phone for each model name, with the SIM at the same index."""
        self._rng = rng
        self._ports = [f"/dev/ttyUSB{number}" for number in range(ports)]
        self.phones = [
            SimulatedPhone(
                name, _phone(name, imei, sim), clock, command_s=rng.uniform(*COMMAND_S), on_deleted=on_deleted
            )
            for name, imei, sim in zip(names, IMEIS, sims, strict=False)
        ]

    def find(self) -> list[str]:
        """Return the ports that have a phone."""
        return sorted(phone.path for phone in self.phones if phone.path is not None)

    def open(self, path: str) -> Port:
        """Open a port; raise PortError if it has no phone."""
        for phone in self.phones:
            if phone.path == path:
                return phone.open()
        raise PortError(PortTrouble.MISSING, f"{path} is not there", "plug it in")

    def plug(self, phone: SimulatedPhone) -> None:
        """Plug an unplugged phone into a free port, often another one than before."""
        if phone.path is None:
            taken = self.find()
            phone.plug(self._rng.choice([port for port in self._ports if port not in taken]))


def _phone(name: str, imei: str, sim: Sim) -> Phone:
    family = FAMILIES[name]
    phone = Phone(family.identity(imei=imei), family=family)
    phone.take_sim()
    phone.insert_sim(sim)
    return phone
