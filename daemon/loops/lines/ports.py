"""Selection of the served ports: those named on the command line, or those found on the machine; and simulated phones.

A simulated phone is emulated in this process on a pty, and read like any phone: port, AT commands, PDUs, parts, store before
delete. Its messages are in test mode, and it is not recorded, so that a start without the flag shows no trace of it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.errors import Unavailable
from daemon.core.inputs import Source
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.lines.ussd import UssdPort
from daemon.core.messages import sandbox
from daemon.env import Env
from daemon.loops.keep_running import keep_running, note_work
from daemon.loops.lines.modems import SERVING, PhoneState, PortLoop, Simulated
from daemon.modem.discovery import find_ports, reject_port
from daemon.modem.port import Port, open_port
from daemon.runtime.log import Log
from daemon.runtime.system import Clock

SCAN_S: Final = 1.0
"""Listing the device folders each second costs 0.03 % of a core and needs no inotify."""
SEARCH: Final = "ports"

GONE: Final = frozenset({"gone", "unreachable"})
"""States in which a port is not held open."""

ASLEEP_S_MIN: Final = 5.0
"""A sleep stops only the monotonic clock; smaller differences come from reading the two clocks."""


class SleepWatch:
    """Detects that the machine slept: the boot-time clock is then ahead of the monotonic one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = clock.boottime() - clock.monotonic()

    def slept_s(self) -> float:
        """Return how long the machine slept since the last call, 0 when it did not."""
        ahead = self._clock.boottime() - self._clock.monotonic()
        slept = ahead - self._ahead
        if slept < ASLEEP_S_MIN:
            return 0.0  # the old difference is kept, so that many short sleeps add up
        self._ahead = ahead
        return slept


class Ports:
    """Runs one `PortLoop` per port, each in its own task."""

    worker = "modems"

    def __init__(  # noqa: PLR0913 -- arguments that tests replace
        self,
        env: Env,
        log: Log,
        named: tuple[str, ...],
        *,
        find: Callable[[], list[str]] = find_ports,
        opener: Callable[[str], Port] = open_port,
        reject: Callable[[str], None] = reject_port,
        simulated: Mapping[str, Simulated] | None = None,
    ) -> None:
        """Prepare; `simulated` has the simulated phones by the paths of their ports."""
        self._env = env
        self._simulated: Mapping[str, Simulated] = simulated or {}
        self._reject = reject
        self._opener = opener
        self._find = find
        self._log = log
        self._named = named
        self._loops: dict[str, PortLoop] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._reported_hung = set[str]()

    def states(self) -> list[PhoneState]:
        """Return the state of each port."""
        return [loop.state for loop in self._loops.values()]

    def conditions(self) -> list[ModemHealth]:
        """Return the states as immutable values for display."""
        return [state.condition for state in self.states()]

    async def inspect(self, device_id: str) -> bool:
        """Refresh the health of a phone; False when it is not connected or does not answer."""
        loops = [loop for loop in self._loops.values() if loop.state.device_id == device_id]
        answers = [await loop.inspect() for loop in loops]
        return any(answers)

    def ussd(self, device_id: str) -> UssdPort | None:
        """Return the port of a phone; None if it is not connected."""
        loops = self._loops.values()
        return next((loop for loop in loops if loop.state.device_id == device_id and loop.state.state in SERVING), None)

    async def run(self) -> None:
        """Serve ports until cancelled; a port that fails by a bug is opened again, and ends no other one.

        Raises:
            ExceptionGroup: The database cannot be used.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for path in (*self._named, *self._simulated):
                    self._start(group, path)
                # Apart from this task, so that a fault of the search closes no port.
                search = partial(self._search, group)
                await keep_running(self._env, self._log, SEARCH, search)
        finally:
            self._tasks.clear()

    async def _search(self, group: asyncio.TaskGroup) -> None:
        watch = SleepWatch(self._env.clock)
        while True:
            self._env.heartbeat(SEARCH, SCAN_S)
            if slept := watch.slept_s():
                self._log.info("modem.resume", slept_s=round(slept))
                for loop in self._loops.values():
                    loop.reopen()
            if not self._named:
                mute = [path for path, loop in self._loops.items() if loop.state.mute]
                for path in mute:
                    self._loops[path].state.mute = False
                    self._reject(path)
                found = self._find()
                for path in found:
                    if path not in self._tasks:
                        self._start(group, path)
                for path in set(self._tasks).difference(found, self._simulated):
                    if path in mute or self._loops[path].state.state in GONE:
                        self._tasks.pop(path).cancel()
                        del self._loops[path]
            await note_work(self._env, self._log, SEARCH)
            await asyncio.sleep(SCAN_S)

    def _start(self, group: asyncio.TaskGroup, path: str) -> None:
        loop = PortLoop(self._env, path, self._log, self._opener, self._reported_hung, self._simulated.get(path))
        self._loops[path] = loop
        running = keep_running(self._env, self._log, loop.worker, loop.run)
        self._tasks[path] = group.create_task(running, name=loop.worker)


if TYPE_CHECKING:
    from daemon.emulator.port import PhonePort

STORED_S_MAX: Final = 20.0
"""Time limit until an SMS sent to the phone is stored; it takes milliseconds, unless the disk is full."""
_IDENTITIES: Final[Mapping[str, Mapping[str, str]]] = {
    "momo_mtn": {
        "imei": "004999010640000",
        "iccid": "8923301999999999911",
        "imsi": "620019999999991",
        "operator": "MTN (simulated)",
    },
    "momo_telecel": {
        "imei": "004999010640018",
        "iccid": "8923302999999999929",
        "imsi": "620029999999992",
        "operator": "Telecel (simulated)",
    },
}
"""IMEIs that begin with 00 are assigned to no manufacturer (GSMA TS.06)."""


class SimulatedPhone:
    """One simulated phone."""

    def __init__(self, provider: str, link: Path) -> None:
        self.provider = provider
        self.path = str(link)
        self.source = Source(sandbox.sim_key(provider), sandbox.device_id(provider), 0, test=True)
        self._link = link
        self._port: PhonePort | None = None
        self._waiting: dict[str, asyncio.Event] = {}
        """PDUs that were sent to the phone and are not stored yet."""

    def plug(self) -> None:
        """Plug the phone in.

        Raises:
            OSError: There is no pty, or the link cannot be made.
        """
        # A daemon without the flag does not need these modules.
        from daemon.emulator.phone import Identity, Phone  # noqa: PLC0415 -- loaded only when it is needed
        from daemon.emulator.port import PhonePort  # noqa: PLC0415 -- loaded only when it is needed

        self._link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileNotFoundError):
            self._link.unlink()  # left behind by a killed predecessor
        identity = Identity(manufacturer="momo", model="simulated", **_IDENTITIES[self.provider])
        self._port = PhonePort(Phone(identity), self._link)

    def unplug(self) -> None:
        """Unplug the phone for good."""
        if self._port is not None:
            self._port.unplug()

    def taken(self, pdus: Sequence[str]) -> None:
        """Wake up the senders of these PDUs, which are durable now."""
        for pdu in pdus:
            if (event := self._waiting.pop(pdu.upper(), None)) is not None:
                event.set()

    async def deliver(self, pdus: Sequence[str]) -> None:
        """Deliver an SMS to the phone, and wait until all its parts are stored.

        Raises:
            Unavailable: They were not stored in time; the phone keeps them, and they are stored later.
        """
        assert self._port is not None, "plugged in before anybody can ask"
        events = [self._waiting.setdefault(pdu.upper(), asyncio.Event()) for pdu in pdus]
        await asyncio.to_thread(self._port.deliver, list(pdus))
        try:
            async with asyncio.timeout(STORED_S_MAX):
                for event in events:
                    await event.wait()
        except TimeoutError:
            raise Unavailable("the simulated phone has not handed over its SMS yet") from None


class SimulatedPhones:
    """All simulated phones."""

    def __init__(self, folder: Path) -> None:
        """Prepare one phone for each network of the sandbox, with ports in this folder."""
        self.by_provider = {
            provider: SimulatedPhone(provider, folder / f"simulated-{provider.removeprefix('momo_')}")
            for provider in sandbox.PROVIDERS
        }

    @property
    def by_path(self) -> dict[str, SimulatedPhone]:
        """Return the phones by the paths of their ports."""
        return {phone.path: phone for phone in self.by_provider.values()}

    def plug(self) -> None:
        """Plug in all phones.

        Raises:
            OSError: A pty or link could not be made.
        """
        for phone in self.by_provider.values():
            phone.plug()

    def unplug(self) -> None:
        """Unplug all phones."""
        for phone in self.by_provider.values():
            phone.unplug()

    async def deliver(self, provider: str, pdus: Sequence[str]) -> Source:
        """Deliver an SMS to a network's phone, wait until it is stored, and return its source.

        Raises:
            Unavailable: It was not stored in time.
        """
        phone = self.by_provider[provider]
        await phone.deliver(pdus)
        return phone.source
