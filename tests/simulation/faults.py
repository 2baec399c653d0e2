"""Faults of the simulated shop, one or several at a time, each for a while."""

import asyncio
import random
from typing import Final

from tests.phones.faults import PRESETS, healthy_fields
from tests.simulation.customers import Customers
from tests.simulation.initial_state import HOSTS
from tests.simulation.operators import Operators
from tests.simulation.shop import Shop
from tests.simulation.simulated_phone import SimulatedPhone

NAGS: Final = ("garbage", "errors", "sim-busy", "no-notices", "slow", "delete-fails", "delete-lies")
HANGS: Final = ("hang", "hang-until-reset")
WAYS: Final = ((503,), (503, 200), ("lost", 200), ("hang",), ("hang", 200), (404,), (200, 410), (429, 200))

FAULTS: Final = {
    "unplug": 3, "hang": 2, "nag": 3, "swap sims": 2, "reboot": 2, "restart": 2, "upgrade": 1, "power cut": 1, "sleep": 1,
    "wrong clock": 2, "offline": 3, "receiver": 6, "dns lies": 2, "disk full": 2, "locked": 2, "thief": 3,
}  # fmt: skip
"""Fault -> relative frequency; the thief's is `Size.thief`."""
WRONG_S: Final = (-7200, -60, 60, 7200, -400 * 86_400, 400 * 86_400)


class Faults:
    """Inject faults; `mend` ends all of them."""

    def __init__(self, shop: Shop, customers: Customers, operators: Operators) -> None:
        self._shop = shop
        self._customers = customers
        self._operators = operators
        self._rng = random.Random(shop.size.seed + 4)
        self._broken: set[str] = set()

    async def strike(self, end: float) -> None:
        """Inject faults until `end`."""
        weights = [self._shop.size.thief if name == "thief" else weight for name, weight in FAULTS.items()]
        struck = list[asyncio.Task[None]]()
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._shop.size.fault_every_s))
            if self._shop.clock.monotonic() > end:
                break
            self._shop.watch()
            name = self._rng.choices([*FAULTS], weights)[0]
            what = self._customers.thief if name == "thief" else getattr(self, "_" + name.replace(" ", "_"))
            struck.append(asyncio.create_task(self._shop.happen(name, what())))
        await asyncio.gather(*struck)

    async def mend(self) -> None:
        """End all faults."""
        shop = self._shop
        shop.kill_chance = shop.store.kill_chance = 0.0
        shop.internet.up = True
        shop.internet.lying.clear()
        shop.vault.shut = False
        shop.clock.set_wrong(0)
        for receiver in shop.receivers.values():
            receiver.ways = (200,)
        for phone in shop.phones:
            phone.phone.faults.change(healthy_fields())
            phone.phone.faults.silent = False
            shop.usb_ports.plug(phone)
            phone.carry()
        for number in shop.numbers:
            await self._operators.put_back(number)

    async def _a_while(self, most_s: float) -> None:
        await asyncio.sleep(self._rng.uniform(1, most_s))

    # --- phones ------------------------------------------------------------------------------------

    def _phone(self) -> SimulatedPhone | None:
        whole = [phone for phone in self._shop.phones if phone.name not in self._broken]
        return self._rng.choice(whole) if whole else None

    async def _unplug(self) -> None:
        if phone := self._phone():
            self._broken.add(phone.name)
            phone.unplug()
            await self._a_while(300)
            self._shop.usb_ports.plug(phone)
            self._broken.discard(phone.name)

    async def _hang(self) -> None:
        await self._play(HANGS, 900)

    async def _nag(self) -> None:
        await self._play(NAGS, 600)

    async def _play(self, names: tuple[str, ...], most_s: float) -> None:
        if phone := self._phone():
            self._broken.add(phone.name)
            name = self._rng.choice(names)
            self._shop.note(f"phone has {name}")
            phone.phone.faults.change(PRESETS[name])
            phone.carry()
            await self._a_while(most_s)
            phone.phone.faults.change(healthy_fields())
            phone.phone.faults.silent = False
            phone.unplug()
            await asyncio.sleep(10)
            self._shop.usb_ports.plug(phone)
            self._broken.discard(phone.name)

    async def _reboot(self) -> None:
        if phone := self._phone():
            phone.phone.reboot(loud=self._rng.random() < 0.5)
            phone.carry()

    async def _swap_sims(self) -> None:
        """Swap the SIMs, only while no message is in a phone's own memory, which does not record the SIM."""
        phones = self._shop.phones
        if self._broken or any(one != "SM" for it in phones for one, _ in it.phone.stored()):
            return
        self._broken.update(phone.name for phone in phones)
        for phone in phones:
            phone.unplug()
        sims = [phone.phone.take_sim() for phone in phones]
        await self._a_while(120)
        for phone, sim in zip(phones, reversed(sims), strict=True):
            phone.phone.insert_sim(sim)
            self._shop.usb_ports.plug(phone)
        self._broken.clear()

    # --- the laptop --------------------------------------------------------------------------------

    async def _restart(self) -> None:
        await self._shop.restart(self._rng.uniform(1, 120))

    async def _upgrade(self) -> None:
        await self._shop.upgrade(self._rng.uniform(1, 120))

    async def _power_cut(self) -> None:
        if not self._broken:
            await self._shop.power_cut(self._rng.uniform(30, 7200))

    async def _sleep(self) -> None:
        self._shop.clock.sleep(self._rng.uniform(60, 1800))

    async def _wrong_clock(self) -> None:
        wrong_s = self._rng.choice(WRONG_S)
        self._shop.note(f"clock wrong by {wrong_s} s")
        self._shop.clock.set_wrong(wrong_s)
        await self._a_while(600)
        self._shop.clock.set_wrong(0)

    async def _disk_full(self) -> None:
        self._shop.store.full = True
        await self._a_while(300)
        self._shop.store.full = False

    async def _locked(self) -> None:
        self._shop.vault.shut = True
        await self._a_while(600)
        self._shop.vault.shut = False

    # --- the internet ------------------------------------------------------------------------------

    async def _offline(self) -> None:
        self._shop.internet.up = False
        await self._a_while(900)
        self._shop.internet.up = True

    async def _receiver(self) -> None:
        receiver = self._shop.receivers[self._rng.choice(HOSTS)]
        receiver.ways = self._rng.choice(WAYS)
        self._shop.note(f"receiver says {receiver.ways}")
        await self._a_while(1800)
        receiver.ways = (200,)

    async def _dns_lies(self) -> None:
        host = self._rng.choice(HOSTS)
        self._shop.internet.lying.add(host)
        await self._a_while(600)
        self._shop.internet.lying.discard(host)
