"""Loops of the machine: its own server certificate is renewed, and it is kept from sleeping."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from daemon.core.errors import MomoError
from daemon.core.limits import SECOND_US
from daemon.core.upkeep.self_check import OFF, AwakeState, should_keep_awake
from daemon.env import Env
from daemon.loops.keep_running import note_work
from daemon.runtime import own_certificate
from daemon.runtime.log import Log
from daemon.runtime.own_certificate import MachineNames, machine_names
from daemon.runtime.power import InhibitRefused, SleepInhibitor, on_mains

CERTIFICATE_WORKER: Final = "certificate"
CERTIFICATE_LOOK_S: Final = 60.0
CERTIFICATE_LOOK_S_MAX: Final = 60.0
"""A slow disk needs this long for the new files."""
_Mark: TypeAlias = tuple[tuple[int, int], ...]


class CertificateLoop:
    """Looks at the certificate of `[http] tls_cert` once a minute; any program may replace its files."""

    def __init__(
        self, env: Env, reload: Callable[[], None], log: Log, machine: Callable[[], MachineNames] = machine_names
    ) -> None:
        """Create the loop.

        `reload` makes the listener use the present files, and raises a `MomoError` if they cannot be used; tests replace
        `machine`.
        """
        self._env = env
        self._reload = reload
        self._log = log
        self._machine = machine
        http = env.config.http
        self._files = [each for each in (http.tls_cert, http.tls_key) if each]
        self._is_own = http.tls_cert == own_certificate.server_file(env.home)
        self._loaded: _Mark = ()
        self._loaded = self._mark()
        self._trouble = ""

    async def run(self) -> None:
        """Run until cancelled; without TLS, only wait for the cancellation."""
        if not self._files:
            await asyncio.Event().wait()
        while True:
            self._env.heartbeat(CERTIFICATE_WORKER, CERTIFICATE_LOOK_S_MAX)
            await self.look()
            await note_work(self._env, self._log, CERTIFICATE_WORKER)
            self._env.heartbeat(CERTIFICATE_WORKER, CERTIFICATE_LOOK_S)
            await asyncio.sleep(CERTIFICATE_LOOK_S)

    async def look(self) -> None:
        """Renew and reload the certificate if that is due."""
        try:
            if self._is_own:
                env = self._env
                # A certificate made by a wrong clock would be refused by every phone.
                if env.times().doubt is None:
                    now_s = env.clock.now_us() // SECOND_US
                    why = await asyncio.to_thread(own_certificate.renew_if_due, env.home, self._machine(), now_s)
                    if why:
                        self._log.info("certificate.renewed", why=why)
                facts = own_certificate.read_facts(env.home)
                env.certificate_names = frozenset(facts.names if facts else ())
            mark = self._mark()
            if mark != self._loaded:
                # In this thread: a handshake may not meet a context that is being changed.
                self._reload()
                self._loaded = mark
                self._log.info("certificate.reloaded", file=self._files[0])
            self._trouble = ""
        except MomoError as error:
            if self._trouble != str(error):
                self._trouble = str(error)
                self._log.error("certificate.unusable", why=self._trouble)

    def _mark(self) -> _Mark:
        """Return a mark that changes when a file is replaced; a file that is missing, because it is being replaced, keeps the mark."""
        try:
            found = [Path(each).stat() for each in self._files]
        except OSError:
            return self._loaded
        return tuple((each.st_mtime_ns, each.st_ino) for each in found)


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
        self, env: Env, log: Log, hold: SleepInhibitor | None = None, plugged: Callable[[], bool] = on_mains
    ) -> None:
        """Create the loop; `hold` and `plugged` default to the machine's own, tests replace them."""
        self._env = env
        self._log = log
        self._setting = env.config.power.keep_awake
        self._hold = SleepInhibitor() if hold is None else hold
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
