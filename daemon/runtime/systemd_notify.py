"""Notifications and watchdog heartbeats to systemd, by sd_notify(3).

Each is a datagram of `NAME=value` lines to the socket in `NOTIFY_SOCKET`; a leading `@` means the abstract namespace.
There is no answer. A notification that cannot be sent is dropped, because it must not stop the shop.
"""

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final, Self

from daemon.core.limits import SECOND_US

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
