"""A day of modems: four SIMs with a number each, four modems of different makes, the network's messages and faults.

Everything is drawn from one seed. Checked continuously: no message leaves a slot before its part is stored. Checked at
the end (`Verdict`): every message is stored once, whole, under the right SIM and line.

A phone's own memory does not record the SIM of a message, which is unknown once the SIM is removed. So a SIM is only
moved from a phone while the phone's own memory is empty, as it is except for seconds after a message.
"""

import asyncio
import contextlib
import hashlib
import io
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from daemon import wire
from daemon.core.inputs import PhoneIdentity
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.loops.held_messages import settle_held_messages
from daemon.loops.lines.ports import Ports
from daemon.runtime.config import Config, Trust
from daemon.runtime.log import Log
from daemon.runtime.secrets import Vault
from tests.fakes.entropy import FakeEntropy
from tests.phones.faults import PRESETS, healthy_fields
from tests.phones.message_commands import Deletion
from tests.phones.sim import Sim
from tests.simulation.initial_state import register_number
from tests.simulation.inline_store import InlineStore
from tests.simulation.simulated_phone import SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock
from tests.simulation.traffic import Number, Sent, Writer
from tests.simulation.usb_ports import IMEIS, UsbPorts

MODEMS = ("huawei", "sim800", "quectel", "generic")
LAST_HOURS = 1.5
"""A quiet time at the end: a phone that hung is back, and each storage was swept."""
QUIET_S = 600.0
FILL_MAX = 60
HANGS = ("hang", "hang-until-reset", "hang-until-replug", "hang-on-list")
NAGS = (
    "garbage", "byte-loss", "echo", "sim-busy", "errors", "noise", "storm", "no-notices", "no-network", "slow",
    "delete-fails", "delete-lies", "full-storm",
)  # fmt: skip
"""Faults that the phone works through; by the names of `emulator.faults`, except the last."""
TROUBLES = (
    *HANGS, *NAGS, "unplug", "sims moved", "sims moved as they run", "storage full", "loud reboot", "silent reboot", "daemon restarted",
    "laptop asleep",
)  # fmt: skip


@dataclass(slots=True)
class Day:
    """The length and load of the day."""

    seed: int
    hours: float = 24.0
    messages: int = 5_000
    fault_every_s: float = 500.0


@dataclass(slots=True)
class Verdict:
    """The problems found; all empty if there are none."""

    too_early: list[str] = field(default_factory=list)
    """Left their slot before they were stored."""
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    left_on_phones: int = 0


class World:
    """The shop, the phones, the network, and the random numbers."""

    def __init__(self, folder: Path, day: Day) -> None:
        self.day = day
        self.rng = random.Random(day.seed)
        self.clock = SimulatedClock()
        self.sent: list[Sent] = []
        self.happened: Counter[str] = Counter()
        self.verdict = Verdict()
        self.store_rows: list[tuple[str, str | None, str | None, str]] = []
        """SIM, line, text and state of each message, as stored at the end."""
        self.log = io.StringIO()
        self._writer = Writer(self.rng, self.clock)
        self._ports: Ports | None = None
        self._task: asyncio.Task[None] | None = None
        self._broken: set[str] = set()
        places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
        self.store = InlineStore.open(str(folder / "momo.db"), now_us=self.clock.now_us())
        self.store.rng = random.Random(day.seed + 1)
        self.env = Env(
            self.store,
            self.clock,
            FakeEntropy(day.seed),
            Config(trust=Trust(unconfirmed_limit=1_000_000)),
            Vault(places, "file"),
            account_key=b"k" * 32,
        )
        self.numbers = [Number.make(at) for at in range(len(MODEMS))]
        sims = [number.sim for number in self.numbers]
        self.usb_ports = UsbPorts(MODEMS, sims, 6, self.clock, self.rng, self._deleted)
        self.phones = self.usb_ports.phones

    # --- the day -----------------------------------------------------------------------------------

    async def run(self) -> Verdict:
        """Run the day and the quiet hours after it."""
        await self.begin()
        end = self.clock.monotonic() + self.day.hours * 3600
        work = [asyncio.create_task(self._network(end)), asyncio.create_task(self._strike(end))]
        await asyncio.gather(*work)
        return await self.end()

    async def begin(self) -> None:
        """Open the shop."""
        await self._give_numbers_lines()
        for at, phone in enumerate(self.phones):
            phone.plug(f"/dev/ttyUSB{at}")
        self._start_daemon()
        await asyncio.sleep(60)

    async def end(self) -> Verdict:
        """End all faults, wait for the quiet hours, and return the verdict."""
        await self._mend_all()
        for _ in range(round(LAST_HOURS * 3600 / QUIET_S)):
            await asyncio.sleep(QUIET_S)
            self._watch_daemon()
        await self._stop_daemon()
        for phone in self.phones:
            phone.unplug()
        return self._judge()

    async def swap_running(self, phone: SimulatedPhone, other: SimulatedPhone, gap_s: float) -> None:
        """Swap the SIMs of two phones in place; both are empty for `gap_s`."""
        first, second = phone.phone.take_sim(), other.phone.take_sim()
        phone.carry()
        other.carry()
        await asyncio.sleep(gap_s)
        phone.phone.insert_sim(second)
        other.phone.insert_sim(first)
        for it in (phone, other):
            self.usb_ports.plug(it)
            it.carry()

    async def _give_numbers_lines(self) -> None:
        now = self.clock.now_us()
        for at, number in enumerate(self.numbers):
            sim = number.sim
            who = PhoneIdentity(f"/dev/ttyUSB{at}", IMEIS[at], sim.iccid, sim.imsi, "", "", smsc=sim.smsc)
            await modems.identify(self.env, who)
            await self.store.write(partial(register_number, at=at, number=number, now=now))

    def _start_daemon(self) -> None:
        self._ports = Ports(self.env, Log(self.log), (), find=self.usb_ports.find, opener=self.usb_ports.open)
        self._task = asyncio.create_task(self._run_daemon())

    async def _run_daemon(self) -> None:
        assert self._ports is not None
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._ports.run())
            loops.create_task(settle_held_messages(self.env, Log(self.log)))

    async def _stop_daemon(self) -> None:
        assert self._task is not None
        task, self._task = self._task, None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    def _watch_daemon(self) -> None:
        if self._task is not None and self._task.done():
            self._task.result()

    # --- the network -------------------------------------------------------------------------------

    async def _network(self, end: float) -> None:
        """Send all messages, some of them in bursts, parts in any order, sometimes one part twice."""
        while (left := self.day.messages - len(self.sent)) > 0:
            mean_s = (end - self.clock.monotonic()) / left
            count = min(left, self.rng.randrange(20, 60) if self.rng.random() < 0.01 else 1)
            await asyncio.sleep(max(0.0, self.rng.uniform(0, 2) * mean_s * count))
            number = self.rng.choice(self.numbers)
            for _ in range(count):
                self.send(number)

    def send(self, number: Number) -> None:
        """Send one message to a number, now and in the next seconds."""
        message = self._writer.message(number)
        self.sent.append(message)
        pdus = list(message.pdus)
        if self.rng.random() < 0.3:
            self.rng.shuffle(pdus)
        if self.rng.random() < 0.03:
            pdus.append(self.rng.choice(pdus))  # the acknowledgement was lost, so the network sends it again
        gap_s = 0.0
        for pdu in pdus:
            asyncio.get_running_loop().call_later(gap_s, self._deliver, number.sim, pdu)
            gap_s += self.rng.choice((0.0, 0.1, 3.0))

    def _deliver(self, sim: Sim, pdu: str) -> None:
        for phone in self.phones:
            if phone.phone.sim is sim:
                if not self._deliver_elsewhere(phone, pdu):
                    phone.phone.deliver(pdu)
                phone.carry()
                return
        sim.waiting.append((pdu, None))

    def _deliver_elsewhere(self, phone: SimulatedPhone, pdu: str) -> bool:
        """Some phones put a message into another storage than the configured one, without a notice."""
        if phone.path is None or self.rng.random() > 0.05:
            return False
        with contextlib.suppress(ValueError):
            phone.phone.preload([pdu], "ME")
            return True
        return False

    # --- faults ------------------------------------------------------------------------------------

    async def _strike(self, end: float) -> None:
        trouble = (
            self._unplug, self._hang, self._nag, self._move_sims, self._fill, self._reboot,
            self._restart_daemon, self._sleep,
        )  # fmt: skip
        weights = (4, 4, 10, 3, 2, 3, 1, 1)
        tasks = set[asyncio.Task[None]]()
        while True:
            pause_s = self.rng.expovariate(len(self.phones) / self.day.fault_every_s)
            if self.clock.monotonic() + pause_s > end:
                break
            await asyncio.sleep(pause_s)
            self._watch_daemon()
            whole = [phone for phone in self.phones if phone.name not in self._broken]
            if not whole:
                continue
            what = self.rng.choices(trouble, weights)[0]
            task = asyncio.create_task(self._break(what, self.rng.choice(whole)))
            tasks.add(task)
        await asyncio.gather(*tasks)

    async def _break(self, what: "Callable[[SimulatedPhone], object]", phone: SimulatedPhone) -> None:
        self._broken.add(phone.name)
        try:
            done = what(phone)
            if asyncio.iscoroutine(done):
                await done
        finally:
            self._broken.discard(phone.name)

    async def _unplug(self, phone: SimulatedPhone) -> None:
        self.happened["unplug"] += 1
        phone.unplug()
        await asyncio.sleep(self.rng.expovariate(1 / 120))
        self.usb_ports.plug(phone)

    async def _hang(self, phone: SimulatedPhone) -> None:
        kind = self.rng.choice(HANGS)
        self.happened[kind] += 1
        phone.phone.play(kind)
        await asyncio.sleep(self.rng.uniform(60, 1800))
        phone.phone.faults.change(healthy_fields())
        phone.phone.faults.silent = False
        if self.rng.random() < 0.5:
            phone.unplug()
            await asyncio.sleep(10)
            self.usb_ports.plug(phone)
        phone.carry()

    async def _nag(self, phone: SimulatedPhone) -> None:
        """Apply a fault that the phone works through, for a while."""
        kind = self.rng.choice(NAGS)
        self.happened[kind] += 1
        if kind == "full-storm":
            phone.phone.faults.change({"storm_ms": 20, "noise": '^SMMEMFULL: "SM"'})
        else:
            phone.phone.faults.change(PRESETS[kind])
        phone.carry()
        short = kind in {"storm", "full-storm"}
        await asyncio.sleep(self.rng.uniform(5, 40) if short else self.rng.uniform(60, 900))
        phone.phone.faults.change(healthy_fields())
        phone.carry()

    async def _move_sims(self, phone: SimulatedPhone) -> None:
        """Swap the SIMs of two phones, both unplugged or (where that works) running."""
        other = self.rng.choice([it for it in self.phones if it is not phone])
        if other.name in self._broken:
            return
        self._broken.add(other.name)
        try:
            await self._swap(phone, other)
        finally:
            self._broken.discard(other.name)

    async def _swap(self, phone: SimulatedPhone, other: SimulatedPhone) -> None:
        for _ in range(60):
            phones = (phone, other)
            # The SIM of messages in a phone's own memory would be unknown: see the module docstring.
            if not any(storage != "SM" for it in phones for storage, _ in it.phone.stored()):
                break
            await asyncio.sleep(1)
        else:
            return
        running = self.rng.random() < 0.5
        self.happened["sims moved as they run" if running else "sims moved"] += 1
        for it in phones:
            if not running:
                it.unplug()
        await self.swap_running(phone, other, self.rng.uniform(5, 300))

    async def _fill(self, phone: SimulatedPhone) -> None:
        """Send more at once than fits."""
        sim = phone.phone.sim
        if sim is None:
            return
        self.happened["storage full"] += 1
        number = next(number for number in self.numbers if number.sim is sim)
        room = min(FILL_MAX, self.day.messages - len(self.sent))
        for storage in ("SM", "ME"):
            with contextlib.suppress(ValueError):
                for _ in range(room // 2):
                    text = self._writer.text(number)
                    phone.phone.preload(text.pdus, storage)
                    self.sent.append(text)
        phone.carry()

    async def _reboot(self, phone: SimulatedPhone) -> None:
        loud = self.rng.random() < 0.3
        self.happened["loud reboot" if loud else "silent reboot"] += 1
        phone.phone.reboot(loud=loud)
        phone.carry()

    async def _restart_daemon(self, _: SimulatedPhone) -> None:
        if self._task is None:
            return
        self.happened["daemon restarted"] += 1
        await self._stop_daemon()
        await asyncio.sleep(self.rng.uniform(1, 60))
        self._start_daemon()

    async def _sleep(self, _: SimulatedPhone) -> None:
        self.happened["laptop asleep"] += 1
        self.clock.sleep(self.rng.uniform(60, 1800))

    async def _mend_all(self) -> None:
        self._watch_daemon()
        for phone in self.phones:
            phone.phone.faults.change(healthy_fields())
            self.usb_ports.plug(phone)
            phone.carry()

    # --- checks --------------------------------------------------------------------------------------

    def _deleted(self, phone: SimulatedPhone, deletion: Deletion) -> None:
        """Check that a message is durable at the moment it leaves its slot."""
        sha256 = hashlib.sha256(bytes.fromhex(deletion.pdu)).digest()[:16]
        sql = "SELECT count(*) FROM sms_parts WHERE sha256 = :sha"
        if not self.store.peek(lambda reader: reader.value(sql, {"sha": sha256})):
            self.verdict.too_early.append(f"{phone.name} {deletion}")

    def _judge(self) -> Verdict:
        verdict = self.verdict
        sql = "SELECT sim_key, (SELECT id FROM payment_methods WHERE seq = payment_method_seq), body, state FROM messages WHERE body <> '' ORDER BY seq"
        self.store_rows = self.store.peek(lambda reader: reader.all(sql))
        lines = {number.sim.iccid: number.line_id for number in self.numbers}
        found = Counter[tuple[str, str | None]]()
        expected = {(message.iccid, message.body) for message in self.sent}
        bodies = {message.body for message in self.sent}
        for iccid, line_id, body, state in self.store_rows:
            found[iccid, body] += 1
            if line_id != lines.get(iccid) or ((iccid, body) not in expected and body in bodies):
                verdict.misplaced.append(f"{iccid} {body!r}")
            elif (iccid, body) not in expected:
                verdict.unexpected.append(f"{iccid} {state} {body!r}")
        verdict.lost = [f"{one[0]} {one[1]!r}" for one in sorted(expected) if not found[one]]
        verdict.twice = [f"{one[0]} {one[1]!r}" for one in found if one[1] and found[one] > 1]
        verdict.left_on_phones = sum(len(phone.phone.stored()) + len(phone.phone.held()) for phone in self.phones)
        return verdict
