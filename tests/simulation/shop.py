"""A whole shop in simulated time: phones, database, flows, delivery and the loops are the daemon's own.

Two SIMs with a number each, three receivers, customers who pay and people who work. Everything is drawn from one seed.
What breaks: the daemon (killed at any commit, restarted, upgraded, without its master key), the disk, the laptop's
power, sleep and clock, the phones and the network's SMS, the internet and the receivers. After each thing that happens the database is
asked whether all that must always hold still does; at the end, whether everything came to its end (`judge.py`).

Longer than 300 lines because the shop of a simulation is one class that everything else acts on.
"""

import asyncio
import contextlib
import hashlib
import io
import random
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from daemon import wire
from daemon.config import Config
from daemon.core.errors import MomoError, Refusal, Unavailable
from daemon.core.requests import PhoneIdentity
from daemon.env import Env
from daemon.flows import clock, identify, send_text
from daemon.log import Log
from daemon.loops.deliver import DeliverLoop
from daemon.loops.notices import NoticeLoop
from daemon.loops.ports import Ports
from daemon.loops.sweep import sweep
from daemon.modem.emulated import Deletion
from daemon.secrets import SecretsLocked, Vault
from daemon.store import migrate, presence
from daemon.webhooks.addresses import PUBLIC_ONLY
from daemon.webhooks.reach import Reach
from tests.fakes.entropy import FakeEntropy
from tests.fakes.invariants import check_invariants
from tests.simulation.furniture import furnish
from tests.simulation.inline_store import FaultyStore
from tests.simulation.internet import Internet, Receiver, Receivers
from tests.simulation.rack import IMEIS, Rack
from tests.simulation.simulated_phone import SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock
from tests.simulation.traffic import Number

T = TypeVar("T")
MODEMS: Final = ("huawei", "sim800")
RESTART_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much happens: for so long, so many orders, and something breaks so often."""

    seed: int
    hours: float = 1.5
    orders: int = 30
    fault_every_s: float = 150.0
    kill_chance: float = 0.01
    thief: int = 3
    """How often what strikes is the thief; all else together weighs 31."""


class Killed(MomoError):
    """The daemon died before it answered: nobody knows what became of the call."""


class LockableVault(Vault):
    """A vault whose keyring nobody may have unlocked yet."""

    shut = False

    def _master_key(self, *, make: bool) -> bytes:
        if self.shut:
            raise SecretsLocked("nobody has typed the keyring's password")
        return super()._master_key(make=make)


class Shop:
    """The machine, its daemon, and what is plugged into it."""

    def __init__(self, folder: Path, size: Size) -> None:
        self.size = size
        self.dice = random.Random(size.seed)
        self.clock = SimulatedClock()
        self.internet = Internet()
        self.receivers: dict[str, Receiver] = {}
        self.happened: Counter[str] = Counter()
        self.trace: list[str] = []
        """What happened, in order."""
        self.digest = ""
        """Of all that happened and all that is in the database at the end: two runs of one seed have the same."""
        self.too_early: list[str] = []
        """Parts that left their slot before they were stored."""
        self.database = folder / "momo.db"
        self.log = io.StringIO()
        self.kill_chance = 0.0
        self.vault = LockableVault.open(wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp"), "file")
        self._entropy = FakeEntropy(size.seed)
        self._steps = migrate.migrations()
        self._upgrading = False
        self._disk = random.Random(size.seed + 1)
        self._loops: list[asyncio.Task[None]] = []
        self._calls: set[asyncio.Task[Any]] = set()
        self._reviving: asyncio.Task[None] | None = None
        self._open = asyncio.Event()
        self.numbers = [Number.make(at) for at in range(len(MODEMS))]
        sims = [number.sim for number in self.numbers]
        self.rack = Rack(MODEMS, sims, 4, self.clock, self.dice, self._deleted)
        self.phones = self.rack.phones

    # --- the daemon's life -------------------------------------------------------------------------

    async def begin(self) -> None:
        """Set the shop up and open it."""
        self._open_doors()
        for at, number in enumerate(self.numbers):
            sim = number.sim
            who = PhoneIdentity(f"/dev/ttyUSB{at}", IMEIS[at], sim.iccid, sim.imsi, "", "")
            await identify.identify(self.env, who)
        now = self.clock.now_us()
        self.receivers = await self.store.write(
            lambda tx: furnish(tx, self.numbers, self.vault, self._entropy, now)
        )
        self.posts = Receivers(
            self.internet, self.clock, self.receivers, random.Random(self.size.seed + 2)
        )

        for at, phone in enumerate(self.phones):
            phone.plug(f"/dev/ttyUSB{at}")
        await self._start()
        await asyncio.sleep(60)
        self.kill_chance = self.size.kill_chance
        self.store.kill_chance = self.kill_chance

    def _open_doors(self) -> None:
        if self._upgrading:
            self._upgrading = False
            self._migrate_on()
        self.store = self._open_store(self._steps)
        # A power cut is not played here, and a simulated day has no time to wait for a disk.
        self.store._writer.execute("PRAGMA synchronous = OFF")
        self.store.dice = self._disk
        self.store.on_kill = self._on_kill
        self.env = Env(
            self.store, self.clock, self._entropy, Config(), self.vault, account_key=b"k" * 32
        )

    def _open_store(self, steps: list[migrate.Migration]) -> FaultyStore:
        """Open the database as a program that knows these steps of the schema."""
        ours = migrate.migrations
        migrate.migrations = lambda: steps
        try:
            return FaultyStore.open(str(self.database), now_us=self.clock.now_us())
        finally:
            migrate.migrations = ours

    def _migrate_on(self) -> None:
        """Put a newer program in: a step that fails changes nothing, and the old program refuses what the new one left."""
        number = len(self._steps) + 1
        sql = (
            f"CREATE TABLE newer_{number} (id INTEGER PRIMARY KEY) STRICT;\n"
            f"ALTER TABLE transactions ADD COLUMN newer_{number} TEXT;\n"
        )
        fails = migrate.Migration(number, "newer", sql + "INSERT INTO nowhere VALUES (1);\n")
        with pytest.raises(sqlite3.OperationalError):
            self._open_store([*self._steps, fails])
        old = self._steps
        self._open_store(old).close()
        self._steps = [*old, migrate.Migration(number, "newer", sql)]
        self._open_store(self._steps).close()
        with pytest.raises(migrate.DatabaseNewer):
            self._open_store(old)

    async def _start(self) -> None:
        """Start as `daemon.app` does."""
        await self.store.write(presence.all_left)
        await clock.begin(self.env)
        await send_text.recover(self.env)
        log = Log(self.log)
        reach = Reach(PUBLIC_ONLY, resolver=self.internet.look_up, connector=self.internet.connect)
        self._deliver = DeliverLoop(self.env, lambda: self.posts, log, reach)
        ports = Ports(self.env, log, (), find=self.rack.find, door=self.rack.open)
        self._loops = [
            asyncio.create_task(work)
            for work in (
                self._deliver.run(), ports.run(), sweep(self.env, log), NoticeLoop(self.env, {}, log).run(),
            )
        ]  # fmt: skip
        self.store.kill_chance = self.kill_chance
        self._open.set()

    def _on_kill(self) -> None:
        self.note("killed")
        self._open.clear()
        self._reviving = asyncio.create_task(self._revive(0.0))

    async def restart(self, away_s: float) -> None:
        """Stop it as SIGTERM does, and start it again later."""
        if not self._open.is_set():
            return
        self._open.clear()
        self.store.kill_chance = 0.0
        await self._deliver.stop()
        if self._reviving is None:
            self._reviving = asyncio.create_task(self._revive(away_s))
        await self._open.wait()

    async def upgrade(self, away_s: float) -> None:
        """Stop it, and start a newer one."""
        self._upgrading = self._open.is_set()
        await self.restart(away_s)

    async def power_cut(self, off_s: float) -> None:
        """Take the machine's power, and that of all that is plugged into it, for so long."""
        if not self._open.is_set():
            return
        self._open.clear()
        self.store.dead = True
        plugged = [phone for phone in self.phones if phone.path is not None]
        for phone in plugged:
            phone.unplug()
        self.clock.reboot(off_s)
        if self._reviving is None:
            self._reviving = asyncio.create_task(self._revive(0.0))
        await self._open.wait()
        for phone in plugged:
            self.rack.plug(phone)

    async def _revive(self, away_s: float) -> None:
        tasks = [*self._loops, *self._calls]
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            # Whoever catches the end may still try to write something down: then it hears that this daemon is dead.
            if isinstance(result, Exception) and not isinstance(result, Unavailable | Refusal):
                raise result
        self.store.close()
        await asyncio.sleep(away_s or self.dice.uniform(1, RESTART_S))
        self._reviving = None
        self._open_doors()
        await self._start()

    async def end(self) -> None:
        """Stop it for good."""
        await self._open.wait()
        self._open.clear()
        self.store.kill_chance = 0.0
        await self._deliver.stop()
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        for phone in self.phones:
            phone.unplug()

    # --- what people and faults use ----------------------------------------------------------------

    async def call(self, make: Callable[[Env], Coroutine[Any, Any, T]]) -> T | MomoError:
        """Call the daemon as a client would; return its answer, what it refused, or `Killed`."""
        await self._open.wait()
        task = asyncio.create_task(make(self.env))
        self._calls.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._calls.discard(task)
        if task.cancelled():
            return Killed("the daemon is gone")
        error = task.exception()
        if isinstance(error, Refusal | Unavailable):
            return error
        return task.result()

    async def happen(self, what: str, work: Awaitable[object]) -> None:
        """Let something happen, and ask whether all still holds."""
        self.note(what)
        await work
        check_invariants(self.database)

    def note(self, what: str) -> None:
        """Put into the trace that something happens."""
        self.happened[what] += 1
        self.trace.append(f"{self.clock.monotonic_ns()} {what}")

    def watch(self) -> None:
        """Raise what a loop died of."""
        for task in [*self._loops, *([self._reviving] if self._reviving else [])]:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def look(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what is committed; waits while the shop is closed."""
        await self._open.wait()
        return self.store.look(lambda reader: reader.all(sql))

    # --- the phones --------------------------------------------------------------------------------

    def _deleted(self, phone: SimulatedPhone, deletion: Deletion) -> None:
        """Look, at the moment a message leaves its slot, whether it is durable."""
        sha256 = hashlib.sha256(bytes.fromhex(deletion.pdu)).hexdigest()
        with contextlib.closing(sqlite3.connect(self.database)) as file:
            sql = "SELECT count(*) FROM sms_parts WHERE sha256 = ?"
            if not file.execute(sql, (sha256,)).fetchone()[0]:
                self.too_early.append(f"{phone.name} {deletion}")
