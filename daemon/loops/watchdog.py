"""Watch the workers, tell the supervisor that we live, and fall silent when one of them hangs.

A supervisor that hears nothing ends us with SIGABRT, which writes every stack to the log, and starts us again.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.errors import Unavailable
from daemon.core.phones import Condition
from daemon.env import Env
from daemon.log import Log
from daemon.supervisor import Supervisor

LOOK_S: Final = 5.0
STORE: Final = "store"
"""The one writer of the database: asked to do nothing, so that a writer that hangs is noticed while no one writes."""


class Watchdog:
    """Looks every few seconds."""

    def __init__(
        self,
        env: Env,
        supervisor: Supervisor,
        phones: Callable[[], Sequence[Condition]],
        log: Log,
    ) -> None:
        """Make it; `phones` are for the line that `systemctl status` shows."""
        self._env = env
        self._supervisor = supervisor
        self._phones = phones
        self._log = log
        self._told: frozenset[str] = frozenset()
        self._asking: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        half_s = (self._supervisor.watchdog_s or 2 * LOOK_S) / 2
        try:
            while True:
                self.look()
                await asyncio.sleep(min(LOOK_S, half_s))
        finally:
            if self._asking is not None:
                self._asking.cancel()

    def look(self) -> None:
        """Look once: ping, or name who hangs."""
        late = self._env.late()
        for worker in sorted(set(late) - self._told):
            self._log.error("daemon.hung", worker=worker, late_s=round(late[worker], 1))
        for worker in sorted(self._told - set(late)):
            self._log.info("daemon.recovered", worker=worker)
        self._told = frozenset(late)
        if late:
            self._supervisor.tell(STATUS=f"hangs: {', '.join(sorted(late))}")
        else:
            self._supervisor.tell(WATCHDOG=1, STATUS=self._status())
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_store(), name="ask the store")

    async def _ask_store(self) -> None:
        self._env.promise(STORE)
        with contextlib.suppress(Unavailable):  # a full disk is an answer too
            await self._env.store.write(lambda _tx: None)
        self._env.pulse.rest(STORE)

    def _status(self) -> str:
        states = [phone.state for phone in self._phones()]
        ready = sum(state in ("ready", "hilink") for state in states)
        return f"serving, {ready} of {len(states)} phones ready" if states else "serving, no phone"
