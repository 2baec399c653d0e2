"""A shop's day: four SIMs with a number each, four modems of different makes, what the network sends and what breaks.

Everything is drawn from one seed. What is checked all the time: no message leaves a slot before its part is stored.
What is checked at the end (`Verdict`): every message is there once, whole, under the SIM and the line it was sent to.

A phone's own memory does not say which SIM a message came by; nobody can know it once the SIM is gone. So people here
move a SIM only from a phone whose own memory is empty, as it is all but for seconds after a message came.

Longer than 300 lines, because what breaks and what is checked is about the same phones at the same time.
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
from daemon.config import Config
from daemon.core.requests import PhoneIdentity
from daemon.env import Env
from daemon.flows import identify
from daemon.log import Log
from daemon.loops.ports import Ports
from daemon.modem.emulated import Deletion, Sim
from daemon.modem.emulated_faults import PRESETS, mended
from daemon.secrets import Vault
from tests.fakes.entropy import FakeEntropy
from tests.simulation.furniture import give_line
from tests.simulation.inline_store import InlineStore
from tests.simulation.rack import IMEIS, Rack
from tests.simulation.simulated_phone import SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock
from tests.simulation.traffic import Number, Sent, Writer

MODEMS = ("huawei", "sim800", "quectel", "generic")
LAST_HOURS = 1.5
"""At the end nothing breaks any more for so long: a phone that hung is back, and each storage was swept."""
QUIET_S = 600.0
FILL_MAX = 60
HANGS = ("hang", "hang-until-reset", "hang-until-replug", "hang-on-list")
NAGS = (
    "garbage", "byte-loss", "echo", "sim-busy", "errors", "noise", "storm", "no-notices", "no-network", "slow",
    "delete-fails", "delete-lies", "full-storm",
)  # fmt: skip
"""What the phone goes on through; by the names of `emulated_faults`, but the last."""
TROUBLES = (
    *HANGS, *NAGS, "unplug", "sims moved", "sims moved as they run", "storage full", "loud reboot", "silent reboot", "daemon restarted",
    "laptop asleep",
)  # fmt: skip


@dataclass(slots=True)
class Day:
    """How much happens."""

    seed: int
    hours: float = 24.0
    messages: int = 5_000
    fault_every_s: float = 500.0


@dataclass(slots=True)
class Verdict:
    """What became of the messages; all is empty when all went well."""

    too_early: list[str] = field(default_factory=list)
    """Left their slot before they were stored."""
    lost: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    left_on_phones: int = 0


class World:
    """The shop, the phones, the network, and the dice."""

    def __init__(self, folder: Path, day: Day) -> None:
        self.day = day
        self.dice = random.Random(day.seed)
        self.clock = SimulatedClock()
        self.sent: list[Sent] = []
        self.happened: Counter[str] = Counter()
        self.verdict = Verdict()
        self.store_rows: list[tuple[str, str | None, str | None, str]] = []
        """SIM, line, text and state of each message, as stored at the end."""
        self.log = io.StringIO()
        self._writer = Writer(self.dice, self.clock)
        self._ports: Ports | None = None
        self._task: asyncio.Task[None] | None = None
        self._broken: set[str] = set()
        places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
        self.store = InlineStore.open(str(folder / "momo.db"), now_us=self.clock.now_us())
        self.store.dice = random.Random(day.seed + 1)
        self.env = Env(
            self.store,
            self.clock,
            FakeEntropy(day.seed),
            Config(),
            Vault.open(places, "file"),
            account_key=b"k" * 32,
        )
        self.numbers = [Number.make(at) for at in range(len(MODEMS))]
        sims = [number.sim for number in self.numbers]
        self.rack = Rack(MODEMS, sims, 6, self.clock, self.dice, self._deleted)
        self.phones = self.rack.phones

    # --- the day -----------------------------------------------------------------------------------

    async def run(self) -> Verdict:
        """Live through the day and the quiet hours after it."""
        await self.begin()
        end = self.clock.monotonic() + self.day.hours * 3600
        work = [asyncio.create_task(self._network(end)), asyncio.create_task(self._bad_luck(end))]
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
        """Mend all, let it be quiet for long enough, and judge."""
        await self._mend_all()
        for _ in range(round(LAST_HOURS * 3600 / QUIET_S)):
            await asyncio.sleep(QUIET_S)
            self._watch_daemon()
        await self._stop_daemon()
        for phone in self.phones:
            phone.unplug()
        return self._judge()

    async def swap_running(
        self, phone: SimulatedPhone, other: SimulatedPhone, gap_s: float
    ) -> None:
        """Swap the SIMs of two phones that stay where they are; both are empty for so long."""
        first, second = phone.phone.take_sim(), other.phone.take_sim()
        phone.carry()
        other.carry()
        await asyncio.sleep(gap_s)
        phone.phone.insert_sim(second)
        other.phone.insert_sim(first)
        for it in (phone, other):
            self.rack.plug(it)
            it.carry()

    async def _give_numbers_lines(self) -> None:
        now = self.clock.now_us()
        for at, number in enumerate(self.numbers):
            sim = number.sim
            who = PhoneIdentity(f"/dev/ttyUSB{at}", IMEIS[at], sim.iccid, sim.imsi, "", "")
            await identify.identify(self.env, who)
            await self.store.write(partial(give_line, at=at, number=number, now=now))

    def _start_daemon(self) -> None:
        self._ports = Ports(self.env, Log(self.log), (), find=self.rack.find, door=self.rack.open)
        self._task = asyncio.create_task(self._ports.run())

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
        """Send all messages, some of them in bursts, parts in any order, now and then one part twice."""
        while (left := self.day.messages - len(self.sent)) > 0:
            mean_s = (end - self.clock.monotonic()) / left
            count = min(left, self.dice.randrange(20, 60) if self.dice.random() < 0.01 else 1)
            await asyncio.sleep(max(0.0, self.dice.uniform(0, 2) * mean_s * count))
            number = self.dice.choice(self.numbers)
            for _ in range(count):
                self.send(number)

    def send(self, number: Number) -> None:
        """Send one message to a number, now and in the next seconds."""
        message = self._writer.message(number)
        self.sent.append(message)
        pdus = list(message.pdus)
        if self.dice.random() < 0.3:
            self.dice.shuffle(pdus)
        if self.dice.random() < 0.03:
            pdus.append(
                self.dice.choice(pdus)
            )  # its acknowledgement was lost: the network sends it again
        gap_s = 0.0
        for pdu in pdus:
            asyncio.get_running_loop().call_later(gap_s, self._deliver, number.sim, pdu)
            gap_s += self.dice.choice((0.0, 0.1, 3.0))

    def _deliver(self, sim: Sim, pdu: str) -> None:
        for phone in self.phones:
            if phone.phone.sim is sim:
                if not self._deliver_elsewhere(phone, pdu):
                    phone.phone.deliver(pdu)
                phone.carry()
                return
        sim.waiting.append((pdu, None))

    def _deliver_elsewhere(self, phone: SimulatedPhone, pdu: str) -> bool:
        """Some phones put a message into another storage than the one they were told, and say nothing."""
        if phone.path is None or self.dice.random() > 0.05:
            return False
        with contextlib.suppress(ValueError):
            phone.phone.preload([pdu], "ME")
            return True
        return False

    # --- what breaks -------------------------------------------------------------------------------

    async def _bad_luck(self, end: float) -> None:
        trouble = (
            self._unplug, self._hang, self._nag, self._move_sims, self._fill, self._reboot,
            self._restart_daemon, self._sleep,
        )  # fmt: skip
        weights = (4, 4, 10, 3, 2, 3, 1, 1)
        tasks = set[asyncio.Task[None]]()
        while True:
            pause_s = self.dice.expovariate(len(self.phones) / self.day.fault_every_s)
            if self.clock.monotonic() + pause_s > end:
                break
            await asyncio.sleep(pause_s)
            self._watch_daemon()
            whole = [phone for phone in self.phones if phone.name not in self._broken]
            if not whole:
                continue
            what = self.dice.choices(trouble, weights)[0]
            task = asyncio.create_task(self._break(what, self.dice.choice(whole)))
            tasks.add(task)
        await asyncio.gather(*tasks)

    async def _break(
        self, what: "Callable[[SimulatedPhone], object]", phone: SimulatedPhone
    ) -> None:
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
        await asyncio.sleep(self.dice.expovariate(1 / 120))
        self.rack.plug(phone)

    async def _hang(self, phone: SimulatedPhone) -> None:
        kind = self.dice.choice(HANGS)
        self.happened[kind] += 1
        phone.phone.play(kind)
        await asyncio.sleep(self.dice.uniform(60, 1800))
        phone.phone.faults.change(mended())
        phone.phone.faults.silent = False
        if self.dice.random() < 0.5:
            phone.unplug()
            await asyncio.sleep(10)
            self.rack.plug(phone)
        phone.carry()

    async def _nag(self, phone: SimulatedPhone) -> None:
        """Let something be wrong for a while that the phone goes on through."""
        kind = self.dice.choice(NAGS)
        self.happened[kind] += 1
        if kind == "full-storm":
            phone.phone.faults.change({"storm_ms": 20, "noise": '^SMMEMFULL: "SM"'})
        else:
            phone.phone.faults.change(PRESETS[kind])
        phone.carry()
        short = kind in {"storm", "full-storm"}
        await asyncio.sleep(self.dice.uniform(5, 40) if short else self.dice.uniform(60, 900))
        phone.phone.faults.change(mended())
        phone.carry()

    async def _move_sims(self, phone: SimulatedPhone) -> None:
        """Swap the SIMs of two phones, both pulled out or (where that works) as they run."""
        other = self.dice.choice([it for it in self.phones if it is not phone])
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
            # Nobody knows whose the messages in a phone's own memory are: see above.
            if not any(storage != "SM" for it in phones for storage, _ in it.phone.stored()):
                break
            await asyncio.sleep(1)
        else:
            return
        running = self.dice.random() < 0.5
        self.happened["sims moved as they run" if running else "sims moved"] += 1
        for it in phones:
            if not running:
                it.unplug()
        await self.swap_running(phone, other, self.dice.uniform(5, 300))

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
        loud = self.dice.random() < 0.3
        self.happened["loud reboot" if loud else "silent reboot"] += 1
        phone.phone.reboot(loud=loud)
        phone.carry()

    async def _restart_daemon(self, _: SimulatedPhone) -> None:
        if self._task is None:
            return
        self.happened["daemon restarted"] += 1
        await self._stop_daemon()
        await asyncio.sleep(self.dice.uniform(1, 60))
        self._start_daemon()

    async def _sleep(self, _: SimulatedPhone) -> None:
        self.happened["laptop asleep"] += 1
        self.clock.sleep(self.dice.uniform(60, 1800))

    async def _mend_all(self) -> None:
        self._watch_daemon()
        for phone in self.phones:
            phone.phone.faults.change(mended())
            self.rack.plug(phone)
            phone.carry()

    # --- what must hold ----------------------------------------------------------------------------

    def _deleted(self, phone: SimulatedPhone, deletion: Deletion) -> None:
        """Look, at the moment a message leaves its slot, whether it is durable."""
        sha256 = hashlib.sha256(bytes.fromhex(deletion.pdu)).hexdigest()
        sql = "SELECT count(*) FROM sms_parts WHERE sha256 = :sha"
        if not self.store.look(lambda reader: reader.value(sql, {"sha": sha256})):
            self.verdict.too_early.append(f"{phone.name} {deletion}")

    def _judge(self) -> Verdict:
        verdict = self.verdict
        sql = "SELECT sim_key, payment_method_id, body, state FROM messages ORDER BY seq"
        self.store_rows = self.store.look(lambda reader: reader.all(sql))
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
        verdict.left_on_phones = sum(
            len(phone.phone.stored()) + len(phone.phone.held()) for phone in self.phones
        )
        return verdict
