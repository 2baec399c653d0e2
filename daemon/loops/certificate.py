"""Loop that renews the shop's own server certificate, and reloads certificate files that have changed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from daemon.core.errors import MomoError
from daemon.core.limits import SECOND_US
from daemon.env import Env
from daemon.loops.keep_running import note_work
from daemon.runtime import own_certificate
from daemon.runtime.log import Log
from daemon.runtime.own_certificate import MachineNames, machine_names

WORKER: Final = "certificate"
LOOK_S: Final = 60.0
LOOK_S_MAX: Final = 60.0
"""A slow disk needs this long for the new files."""
_Mark: TypeAlias = tuple[tuple[int, int], ...]


class CertificateLoop:
    """Looks at the certificate of `[http] tls_cert` once a minute; any program may replace its files."""

    def __init__(
        self,
        env: Env,
        reload: Callable[[], None],
        log: Log,
        machine: Callable[[], MachineNames] = machine_names,
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
            self._env.heartbeat(WORKER, LOOK_S_MAX)
            await self.look()
            await note_work(self._env, self._log, WORKER)
            self._env.heartbeat(WORKER, LOOK_S)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Renew and reload the certificate if that is due."""
        try:
            if self._is_own:
                env = self._env
                # A certificate made by a wrong clock would be refused by every phone.
                if env.times().doubt is None:
                    now_s = env.clock.now_us() // SECOND_US
                    why = await asyncio.to_thread(
                        own_certificate.renew_if_due, env.home, self._machine(), now_s
                    )
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
