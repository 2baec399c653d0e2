"""Watchdog: sends a heartbeat to the service manager while no worker hangs.

Without a heartbeat the service manager ends the daemon with SIGABRT, which logs every stack, and restarts it.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log
from daemon.runtime.systemd_notify import Supervisor

WORKER: Final = "watchdog"
CHECK_S: Final = 5.0
STORE: Final = "store"
"""The single writer of the database: given a write, so that a hang or a fault is noticed even without other writes."""


class Watchdog:
    """Checks the workers every few seconds."""

    def __init__(
        self,
        env: Env,
        supervisor: Supervisor,
        phones: Callable[[], Sequence[ModemHealth]],
        log: Log,
    ) -> None:
        """Create the watchdog; `phones` are for the status line that `systemctl status` shows."""
        self._env = env
        self._supervisor = supervisor
        self._phones = phones
        self._log = log
        self._reported: frozenset[str] = frozenset()
        self._asking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        half_s = (self._supervisor.watchdog_s or 2 * CHECK_S) / 2
        try:
            while True:
                self.look()
                await note_work(self._env, self._log, WORKER)
                await asyncio.sleep(min(CHECK_S, half_s))
        finally:
            if self._asking is not None:
                self._asking.cancel()

    def look(self) -> None:
        """Check once: send the heartbeat, or report the hung workers."""
        late = self._env.hanging_workers()
        for worker in sorted(set(late) - self._reported):
            self._log.error("daemon.hung", worker=worker, late_s=round(late[worker], 1))
        for worker in sorted(self._reported - set(late)):
            self._log.info("daemon.recovered", worker=worker)
        self._reported = frozenset(late)
        if late:
            self._supervisor.notify(STATUS=f"hangs: {', '.join(sorted(late))}")
        else:
            self._supervisor.notify(WATCHDOG=1, STATUS=self._status())
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_store(), name="ask the store")

    async def _ask_store(self) -> None:
        self._env.heartbeat(STORE)
        with contextlib.suppress(Unavailable):  # a full disk is an answer too
            await self._env.store.check_writable()
        self._env.heartbeats.rest(STORE)

    def _status(self) -> str:
        if faults := self._env.faults.all():
            return f"degraded: {faults[0].text}"
        states = [phone.state for phone in self._phones()]
        ready = sum(state in ("ready", "hilink") for state in states)
        return f"serving, {ready} of {len(states)} phones ready" if states else "serving, no phone"
