"""Notifications to systemd by sd_notify(3), and the watchdog: a heartbeat is sent while no worker hangs.

Each notification is a datagram of `NAME=value` lines to the socket in `NOTIFY_SOCKET`; a leading `@` means the abstract
namespace. There is no answer. A notification that cannot be sent is dropped, because it must not stop the shop. Without a
heartbeat systemd ends the daemon with SIGABRT, which logs every stack, and restarts it.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.lines.modem_health import ModemHealth
from daemon.env import Env
from daemon.loops.keep_running import note_work
from daemon.runtime.log import Log

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG_USEC: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"


class Supervisor:
    """Sends the state of the service to systemd.

    systemd ends the service unless it gets `WATCHDOG=1` within `watchdog_s` seconds; None without a watchdog.
    """

    def __init__(self, address: str = "", watchdog_s: float | None = None) -> None:
        """Prepare notifications to a socket; without an address, they are not sent."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_s = watchdog_s

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> Self:
        """Return the supervisor named by the environment (sd_watchdog_enabled(3))."""
        address, text = environ.get(SOCKET, ""), environ.get(WATCHDOG_USEC, "")
        ours = environ.get(WATCHDOG_PID, "") in ("", str(pid))
        every_us = int(text) if text.isascii() and text.isdigit() and ours else 0
        return cls(address, every_us / SECOND_US if address and every_us else None)

    def notify(self, **values: object) -> None:
        """Send `NAME=value` lines, such as `notify(READY=1, STATUS="serving")`."""
        if not self._address:
            return
        text = "\n".join(f"{name}={str(value).splitlines()[0]}" for name, value in values.items())
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notify,
        ):
            notify.setblocking(False)
            notify.sendto(text.encode(), self._address)


def remove_from_environment(environ: dict[str, str] | os._Environ[str]) -> None:
    """Remove systemd's variables from the environment: child processes are not the service."""
    for name in (SOCKET, WATCHDOG_USEC, WATCHDOG_PID):
        environ.pop(name, None)


WORKER: Final = "watchdog"
CHECK_S: Final = 5.0
STORE: Final = "store"
"""The single writer of the database: given a write, so that a hang or a fault is noticed even without other writes."""


class Watchdog:
    """Checks the workers every few seconds."""

    def __init__(self, env: Env, supervisor: Supervisor, phones: Callable[[], Sequence[ModemHealth]], log: Log) -> None:
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
