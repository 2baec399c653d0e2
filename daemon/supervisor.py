"""The program that watches over us, when there is one: systemd's side of sd_notify(3).

A datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names; a leading `@` is the abstract namespace.
Nobody answers, and a supervisor that is gone must not stop the shop, so what cannot be sent is dropped.
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
    """Says how the service is doing.

    Attributes:
        watchdog_s: We are ended unless we say `WATCHDOG=1` this often; None when nobody counts.
    """

    def __init__(self, address: str = "", watchdog_s: float | None = None) -> None:
        """Speak to a socket; without an address to nobody."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_s = watchdog_s

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> Self:
        """Return the supervisor that the environment names (sd_watchdog_enabled(3))."""
        address, text = environ.get(SOCKET, ""), environ.get(WATCHDOG_USEC, "")
        ours = environ.get(WATCHDOG_PID, "") in ("", str(pid))
        every_us = int(text) if text.isascii() and text.isdigit() and ours else 0
        return cls(address, every_us / SECOND_US if address and every_us else None)

    def tell(self, **values: object) -> None:
        """Send `NAME=value` lines, such as `tell(READY=1, STATUS="serving")`."""
        if not self._address:
            return
        text = "\n".join(f"{name}={str(value).splitlines()[0]}" for name, value in values.items())
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as door,
        ):
            door.setblocking(False)
            door.sendto(text.encode(), self._address)


def forget(environ: dict[str, str] | os._Environ[str]) -> None:
    """Take the supervisor out of the environment: programs that we start are not the service."""
    for name in (SOCKET, WATCHDOG_USEC, WATCHDOG_PID):
        environ.pop(name, None)
