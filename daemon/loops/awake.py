"""Keep the machine from sleeping while it is served, as far as `[power] keep_awake` says so."""

import asyncio
from collections.abc import Callable
from typing import Final

from daemon.core.awake import OFF, Hold, wanted
from daemon.env import Env
from daemon.log import Log
from daemon.power import HoldRefused, SleepHold, on_mains

WORKER: Final = "awake"
LOOK_S: Final = 30.0
"""Between two looks at the plug."""
RETRY_S: Final = 600.0
"""Between two tries where the system refuses: it will refuse again."""
TAKE_S: Final = 60.0
"""Two programs may each take their time to start and to end."""


class AwakeLoop:
    """Looks at the plug, and holds or lets go."""

    def __init__(
        self,
        env: Env,
        log: Log,
        hold: SleepHold | None = None,
        plugged: Callable[[], bool] = on_mains,
    ) -> None:
        """Make it; `hold` and `plugged` are the machine's own unless a test has others."""
        self._env = env
        self._log = log
        self._setting = env.config.power.keep_awake
        self._hold = SleepHold(self._setting) if hold is None else hold
        self._plugged = plugged
        self._again_at = 0.0

    async def run(self) -> None:
        """Run until cancelled; where nobody asked for it, only wait for that."""
        if self._setting == OFF:
            await asyncio.Event().wait()
        try:
            while True:
                self._env.promise(WORKER, TAKE_S)
                await self.look()
                self._env.promise(WORKER, LOOK_S)
                await asyncio.sleep(LOOK_S)
        finally:
            await self._hold.release()

    async def look(self) -> None:
        """Hold, or let go, as it is to be now; what changed is logged."""
        if not wanted(self._setting, on_mains=self._plugged()):
            await self._hold.release()
            self._again_at = 0.0
            self._say(Hold.ON_BATTERY)
        elif not self._hold.held and self._env.clock.monotonic() >= self._again_at:
            try:
                self._say(*await self._hold.take())
            except HoldRefused as refused:
                self._again_at = self._env.clock.monotonic() + RETRY_S
                self._say(Hold.REFUSED, str(refused))

    def _say(self, hold: Hold, why: str = "") -> None:
        state = self._env.awake
        if (state.hold, state.why) == (hold, why):
            return
        state.hold, state.why = hold, why
        say = self._log.warning if why else self._log.info
        say("power.awake", hold=hold, why=why)
