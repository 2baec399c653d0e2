"""Selection of the served ports: those named on the command line, or those found on the machine."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env
from daemon.loops.keep_running import keep_running, note_work
from daemon.loops.lines.modems import PhoneState, PortLoop, Simulated
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
        loop = PortLoop(
            self._env, path, self._log, self._opener, self._reported_hung, self._simulated.get(path)
        )
        self._loops[path] = loop
        running = keep_running(self._env, self._log, loop.worker, loop.run)
        self._tasks[path] = group.create_task(running, name=loop.worker)
