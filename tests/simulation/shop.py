"""A whole shop in simulated time: phones, database, flows, delivery and the loops are the daemon's own.

Two SIMs with a number each, three receivers, customers and operators. Everything is drawn from one seed. Faults: the
daemon (killed at any commit, restarted, upgraded, without its master key), the disk, the laptop's power, sleep and
clock, the phones and the network's SMS, the internet and the receivers. After each event the invariants of the database
are checked; at the end, that everything ended (`checks.py`).
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
from daemon.core.errors import MomoError, Refusal, Unavailable
from daemon.core.inputs import PhoneIdentity
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.flows.payments import texts
from daemon.flows.upkeep import machine
from daemon.loops.deliveries import DeliverLoop
from daemon.loops.every_minute import run_every_minute
from daemon.loops.held_messages import settle_held_messages
from daemon.loops.lines.ports import Ports
from daemon.loops.notices import NoticeLoop
from daemon.runtime.config import Config, Trust
from daemon.runtime.log import Log
from daemon.runtime.secrets import SecretsLocked, Vault
from daemon.sender.address_guard import PUBLIC_ONLY
from daemon.sender.connect import HostProbe
from daemon.store import migrate
from daemon.store.lines import devices
from tests.fakes.entropy import FakeEntropy
from tests.fakes.invariants import check_invariants
from tests.fakes.new_database import writer
from tests.phones.message_commands import Deletion
from tests.simulation.initial_state import set_up
from tests.simulation.inline_store import FaultyStore
from tests.simulation.internet import Internet, Receiver, Receivers
from tests.simulation.simulated_phone import SimulatedPhone
from tests.simulation.simulated_time import SimulatedClock
from tests.simulation.traffic import Number
from tests.simulation.usb_ports import IMEIS, UsbPorts

T = TypeVar("T")
MODEMS: Final = ("huawei", "sim800")
RESTART_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """The length of the day, the number of transactions, and the mean time between faults."""

    seed: int
    hours: float = 1.5
    orders: int = 30
    fault_every_s: float = 150.0
    kill_chance: float = 0.01
    thief: int = 3
    """Relative frequency of the thief among the faults; the others add up to 31."""


class Killed(MomoError):
    """The daemon died before it answered, so the outcome of the call is unknown."""


class LockableVault(Vault):
    """A vault that may have a locked keyring."""

    shut = False

    def _master_key(self, *, make: bool) -> bytes:
        if self.shut:
            raise SecretsLocked("nobody has typed the keyring's password")
        return super()._master_key(make=make)


class Shop:
    """The machine, its daemon, and the devices plugged into it."""

    def __init__(self, folder: Path, size: Size) -> None:
        self.size = size
        self.rng = random.Random(size.seed)
        self.clock = SimulatedClock()
        self.internet = Internet()
        self.receivers: dict[str, Receiver] = {}
        self.happened: Counter[str] = Counter()
        self.trace: list[str] = []
        """The events, in order."""
        self.digest = ""
        """Digest of all events and of the database at the end: the same for two runs of one seed."""
        self.too_early: list[str] = []
        """Parts that left their slot before they were stored."""
        self.database = folder / "momo.db"
        self.log = io.StringIO()
        self.kill_chance = 0.0
        self.vault = LockableVault(wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp"), "file")
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
        self.usb_ports = UsbPorts(MODEMS, sims, 4, self.clock, self.rng, self._deleted)
        self.phones = self.usb_ports.phones

    # --- the daemon's life cycle -------------------------------------------------------------------------

    async def begin(self) -> None:
        """Set the shop up and open it."""
        self._open_env()
        for at, number in enumerate(self.numbers):
            sim = number.sim
            who = PhoneIdentity(f"/dev/ttyUSB{at}", IMEIS[at], sim.iccid, sim.imsi, "", "", smsc=sim.smsc)
            await modems.identify(self.env, who)
        now = self.clock.now_us()
        self.receivers = await self.store.write(lambda tx: set_up(tx, self.numbers, self.vault, self._entropy, now))
        self.posts = Receivers(self.internet, self.clock, self.receivers, random.Random(self.size.seed + 2))

        for at, phone in enumerate(self.phones):
            phone.plug(f"/dev/ttyUSB{at}")
        await self._start()
        await asyncio.sleep(60)
        self.kill_chance = self.size.kill_chance
        self.store.kill_chance = self.kill_chance

    def _open_env(self) -> None:
        if self._upgrading:
            self._upgrading = False
            self._migrate_on()
        self.store = self._open_store(self._steps)
        # Writes lost in a power cut are not simulated, and a simulated day has no time to wait for a disk.
        writer(self.store).execute("PRAGMA synchronous = OFF")
        self.store.rng = self._disk
        self.store.on_kill = self._on_kill
        self.env = Env(
            self.store,
            self.clock,
            self._entropy,
            Config(trust=Trust(unconfirmed_limit=1_000_000)),
            self.vault,
            account_key=b"k" * 32,
        )

    def _open_store(self, steps: list[migrate.Migration]) -> FaultyStore:
        """Open the database as a program with these migrations."""
        ours = migrate.migrations
        migrate.migrations = lambda: steps
        try:
            return FaultyStore.open(str(self.database), now_us=self.clock.now_us())
        finally:
            migrate.migrations = ours

    def _migrate_on(self) -> None:
        """Install a newer program: a failing migration changes nothing, and the old program refuses the new schema."""
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
        await self.store.write(devices.mark_all_absent)
        await machine.begin_clock(self.env)
        await texts.recover(self.env)
        log = Log(self.log)
        reach = HostProbe(PUBLIC_ONLY, resolver=self.internet.look_up, connector=self.internet.connect)
        self._deliver = DeliverLoop(self.env, self.posts, log, reach)
        ports = Ports(self.env, log, (), find=self.usb_ports.find, opener=self.usb_ports.open)
        self._loops = [
            asyncio.create_task(work)
            for work in (
                self._deliver.run(), ports.run(), run_every_minute(self.env, log), NoticeLoop(self.env, {}, log).run(),
                settle_held_messages(self.env, log),
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
        """Cut the power of the machine and its devices for `seconds`."""
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
            self.usb_ports.plug(phone)

    async def _revive(self, away_s: float) -> None:
        tasks = [*self._loops, *self._calls]
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            # Code that catches the kill may still try to write; it gets the same error again.
            if isinstance(result, Exception) and not isinstance(result, Unavailable | Refusal):
                raise result
        self.store.close()
        await asyncio.sleep(away_s or self.rng.uniform(1, RESTART_S))
        self._reviving = None
        self._open_env()
        await self._start()

    async def end(self) -> None:
        """Stop it at the end of the simulation."""
        await self._open.wait()
        self._open.clear()
        self.store.kill_chance = 0.0
        await self._deliver.stop()
        for task in self._loops:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        for phone in self.phones:
            phone.unplug()

    # --- for operators and faults --------------------------------------------------------------------

    async def call(self, make: Callable[[Env], Coroutine[Any, Any, T]]) -> T | MomoError:
        """Call the daemon as a client does; return its answer, its refusal, or `Killed`."""
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
        """Run an event, then check the invariants."""
        self.note(what)
        await work
        check_invariants(self.database)

    def note(self, what: str) -> None:
        """Add an event to the trace."""
        self.happened[what] += 1
        self.trace.append(f"{self.clock.monotonic_ns()} {what}")

    def watch(self) -> None:
        """Raise the error that ended a loop."""
        for task in [*self._loops, *([self._reviving] if self._reviving else [])]:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def look(self, sql: str) -> list[tuple[Any, ...]]:
        """Return committed rows; wait while the shop is closed."""
        await self._open.wait()
        return self.store.peek(lambda reader: reader.all(sql))

    # --- the phones --------------------------------------------------------------------------------

    def _deleted(self, phone: SimulatedPhone, deletion: Deletion) -> None:
        """Check that a message is durable at the moment it leaves its slot."""
        sha256 = hashlib.sha256(bytes.fromhex(deletion.pdu)).digest()[:16]
        with contextlib.closing(sqlite3.connect(self.database)) as file:
            sql = "SELECT count(*) FROM sms_parts WHERE sha256 = ?"
            if not file.execute(sql, (sha256,)).fetchone()[0]:
                self.too_early.append(f"{phone.name} {deletion}")
