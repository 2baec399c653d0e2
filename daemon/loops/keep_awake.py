"""Loop that keeps the machine from sleeping, according to `[power] keep_awake`."""

import asyncio
from collections.abc import Callable
from typing import Final

from daemon.core.upkeep.self_check import OFF, AwakeState, should_keep_awake
from daemon.env import Env
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log
from daemon.runtime.power import InhibitRefused, SleepInhibitor, on_mains

WORKER: Final = "awake"
CHECK_S: Final = 30.0
"""Between two checks of the mains supply."""
RETRY_S: Final = 600.0
"""Between two tries after the system refused: it is likely to refuse again."""
INHIBIT_S_MAX: Final = 60.0
"""Two programs may each need time to start and to end."""


class KeepAwakeLoop:
    """Checks the mains supply, and takes or releases the sleep inhibitor."""

    def __init__(
        self,
        env: Env,
        log: Log,
        hold: SleepInhibitor | None = None,
        plugged: Callable[[], bool] = on_mains,
    ) -> None:
        """Create the loop; `hold` and `plugged` default to the machine's own, tests replace them."""
        self._env = env
        self._log = log
        self._setting = env.config.power.keep_awake
        self._hold = SleepInhibitor(self._setting) if hold is None else hold
        self._plugged = plugged
        self._again_at = 0.0

    async def run(self) -> None:
        """Run until cancelled; without the setting, only wait for the cancellation."""
        if self._setting == OFF:
            await asyncio.Event().wait()
        try:
            while True:
                self._env.heartbeat(WORKER, INHIBIT_S_MAX)
                await self.look()
                await note_work(self._env, self._log, WORKER)
                self._env.heartbeat(WORKER, CHECK_S)
                await asyncio.sleep(CHECK_S)
        finally:
            await self._hold.release()

    async def look(self) -> None:
        """Take or release the sleep inhibitor as required now; log changes."""
        if not should_keep_awake(self._setting, on_mains=self._plugged()):
            await self._hold.release()
            self._again_at = 0.0
            self._say(AwakeState.ON_BATTERY)
        elif not self._hold.held and self._env.clock.monotonic() >= self._again_at:
            try:
                self._say(*await self._hold.take())
            except InhibitRefused as refused:
                self._again_at = self._env.clock.monotonic() + RETRY_S
                self._say(AwakeState.REFUSED, str(refused))

    def _say(self, hold: AwakeState, why: str = "") -> None:
        state = self._env.awake
        if (state.hold, state.why) == (hold, why):
            return
        state.hold, state.why = hold, why
        say = self._log.warning if why else self._log.info
        say("power.awake", hold=hold, why=why)
