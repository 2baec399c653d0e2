"""Which ports are served: those named on the command line, or those found on the machine."""

import asyncio
from typing import Final

from daemon.env import Env
from daemon.log import Log
from daemon.loops.modems import PhoneState, PortLoop
from daemon.modem.discovery import find_ports

LOOK_S: Final = 1.0
"""Listing the device folders each second costs 0.03 % of a core and needs no inotify."""


class Ports:
    """One `PortLoop` per port, each in a task of its own."""

    def __init__(self, env: Env, log: Log, named: tuple[str, ...]) -> None:
        self._env = env
        self._log = log
        self._named = named
        self._loops: dict[str, PortLoop] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def states(self) -> list[PhoneState]:
        """Return what each port is doing."""
        return [loop.state for loop in self._loops.values()]

    async def run(self) -> None:
        """Serve ports until cancelled; a fault in one ends all, loudly, rather than reading on half blind."""
        try:
            async with asyncio.TaskGroup() as group:
                for path in self._named:
                    self._start(group, path)
                while True:
                    if not self._named:
                        for path in find_ports():
                            if path not in self._tasks:
                                self._start(group, path)
                        await asyncio.sleep(LOOK_S)
                    else:
                        await asyncio.sleep(3600)
        finally:
            self._tasks.clear()

    def _start(self, group: asyncio.TaskGroup, path: str) -> None:
        loop = PortLoop(self._env, path, self._log)
        self._loops[path] = loop
        self._tasks[path] = group.create_task(loop.run(), name=f"modem {path}")
