"""Serial ports: opens one exclusively, and carries the bytes of a session over it.

pyserial opens and configures the port (raw, 115200 8N1, no flow control, flock); the bytes are then
read by the event loop and `os.read`, which costs 13 us a line where a reader thread costs 300 us.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import stat
import termios
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

import serial
from msgspec import Struct

from daemon.modem.session.events import Event, Hung, StoredPart
from daemon.runtime.locks import MODEM_MANAGER, holders, running

BAUD_RATE: Final = 115_200
"""USB sticks ignore it; boards with a UART detect it or are set to it."""
READ_BYTES: Final = 65_536


class PortTrouble(StrEnum):
    """Reason why a port cannot be used."""

    MISSING = "missing"
    PERMISSION = "permission"
    BUSY = "busy"
    NOT_A_TTY = "not_a_tty"
    GONE = "gone"


class PortError(Exception):
    """A port that cannot be used, with a message for the shop's staff.

    `message` is the problem, and its cause if known; `next_step` is the command to type or the action to take.
    """

    def __init__(self, kind: PortTrouble, message: str, next_step: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.next_step = next_step


class PortGone(Struct, frozen=True):
    """The device disappeared while it was open."""

    why: str

    def __str__(self) -> str:
        return self.why


class Closed(Struct, frozen=True):
    """We closed the port ourselves."""

    def __str__(self) -> str:
        return "closed"


class Port:
    """A serial port that is open exclusively."""

    def __init__(self, path: str, device: serial.Serial) -> None:
        """Wrap an open pyserial device; created by `open_port`."""
        self.path = path
        self._device: serial.Serial | None = device
        self._descriptor = int(device.fileno())

    def fileno(self) -> int:
        """Return the file descriptor, which is non-blocking."""
        return self._descriptor

    def close(self) -> None:
        """Close the port at once, without waiting for bytes that a hung phone never reads. Idempotent."""
        device, self._device = self._device, None
        if device is None:
            return
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCOFLUSH)
        with contextlib.suppress(OSError):
            device.close()


def open_port(path: str) -> Port:
    """Open a serial port exclusively, so that no other program reads a part of an answer.

    Raises:
        PortError: The port is missing, in use, broken, not a serial port, or its permissions forbid it.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise _trouble(path, error.errno) from error
    if not stat.S_ISCHR(mode):
        raise _trouble(path, errno.ENOTTY)
    try:
        device = serial.Serial(path, BAUD_RATE, timeout=0, write_timeout=0, exclusive=True)
    except serial.SerialException as error:
        raise _trouble(path, _number(error)) from error
    except (OSError, termios.error) as error:
        raise _trouble(path, error.args[0] if error.args else None) from error
    port = Port(path, device)
    try:
        # pyserial sets VMIN 0, with which a read without data and a hang-up look the same (termios(3)).
        attributes = termios.tcgetattr(port.fileno())
        attributes[6][termios.VMIN] = 1
        termios.tcsetattr(port.fileno(), termios.TCSANOW, attributes)
    except termios.error as error:
        port.close()
        raise _trouble(path, error.args[0]) from error
    # Both ends of a pty may be in one process, and its exclusive flag would outlast this port;
    # the flag of a real port is cleared by the last close.
    if not os.path.realpath(path).startswith("/dev/pts/"):
        others = holders(path)
        if others:
            port.close()
            raise _trouble(path, errno.EBUSY)
        try:
            fcntl.ioctl(port.fileno(), termios.TIOCEXCL)
        except OSError as error:
            port.close()
            raise _trouble(path, error.errno) from error
    return port


def _number(error: serial.SerialException) -> int | None:
    """Return the errno of a pyserial error; for configuration errors it is only in the context."""
    if error.errno is not None:
        return int(error.errno)
    cause = error.__context__
    return cause.args[0] if isinstance(cause, termios.error | OSError) and cause.args else None


_KINDS: Final = {
    errno.ENOENT: PortTrouble.MISSING, errno.ENOTDIR: PortTrouble.MISSING, errno.ELOOP: PortTrouble.MISSING,
    errno.EACCES: PortTrouble.PERMISSION, errno.EPERM: PortTrouble.PERMISSION, errno.EBUSY: PortTrouble.BUSY,
    errno.EAGAIN: PortTrouble.BUSY, errno.ENOTTY: PortTrouble.NOT_A_TTY, errno.EINVAL: PortTrouble.NOT_A_TTY,
}  # fmt: skip


_TROUBLES: Final = {
    PortTrouble.MISSING: (
        "{path} is not there: the modem is not plugged in, or it has another name now",
        "Plug it in and wait 30 seconds; `ls /dev/serial/by-id` shows the names.",
    ),
    PortTrouble.PERMISSION: (
        "no permission to open {path}: this user is not in the group that may use modems",
        "Type `sudo usermod -aG dialout $USER`, then log out and in again.",
    ),
    PortTrouble.NOT_A_TTY: (
        "{path} is not a serial port",
        "Name the modem's port, such as /dev/ttyUSB0; `ls /dev/serial/by-id` shows the names.",
    ),
    PortTrouble.GONE: (
        "{path} does not answer the computer: {said}",
        "Pull the modem out, wait 5 seconds and plug it in again.",
    ),
}
"""Message and next step."""


def _trouble(path: str, number: object) -> PortError:
    kind = _KINDS.get(number, PortTrouble.GONE) if isinstance(number, int) else PortTrouble.GONE
    if kind is PortTrouble.BUSY:
        return PortError(kind, *_who_is_busy(path))
    said = os.strerror(number) if isinstance(number, int) else "no reason given"
    message, next_step = _TROUBLES[kind]
    return PortError(kind, message.format(path=path, said=said), next_step)


def _who_is_busy(path: str) -> tuple[str, str]:
    others = holders(path)
    names = {other.name for other in others}
    if MODEM_MANAGER in names or (not others and running(MODEM_MANAGER) is not None):
        sure = "" if others else "probably "
        return (
            f"{path} is in use, {sure}by {MODEM_MANAGER}; momo phones add modemmanager reads it there",
            f"momo phones release {path}",
        )
    if others:
        said = " and ".join(f"{other.name or 'a program'} (PID {other.pid})" for other in others)
        return f"{path} is in use by {said}", f"Stop it: `kill {others[0].pid}`."
    return (f"{path} is in use by another user's program", f"`sudo fuser -v {path}` shows which; stop it.")


class SessionProtocol(Protocol):
    """The methods of a session that a link uses (`daemon.modem.session.session.Session`)."""

    def receive_data(self, data: bytes, now: float) -> None:
        """Process received bytes."""

    def data_to_send(self) -> bytes:
        """Return the bytes to send."""

    def events(self) -> list[Event]:
        """Return the events since the last call."""

    def tick(self, now: float) -> None:
        """Handle deadlines."""

    def next_deadline(self) -> float | None:
        """Return the time of the next `tick`."""

    def stored(self, parts: Sequence[StoredPart]) -> None:
        """Mark these parts as durable."""


class Link:
    """Runs a session on a port, in the running event loop.

    Call `start`, report durable parts with `stored`, await `wait_closed`. When the phone disappears
    or hangs, the port is closed at once: an open descriptor would keep its device name in use.
    """

    def __init__(
        self,
        port: Port,
        session: SessionProtocol,
        *,
        clock: Callable[[], float],
        on_events: Callable[[list[Event]], None],
    ) -> None:
        """Connect a port and a session.

        The link closes the port. `clock` returns monotonic seconds, as for the session. `on_events` is called in the
        loop with each batch of events and must not block.
        """
        self._port = port
        self._session = session
        self._clock = clock
        self._on_events = on_events
        self._loop = asyncio.get_running_loop()
        self._closed: asyncio.Future[PortGone | Hung | Closed] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._unwritten = bytearray()

    def start(self) -> None:
        """Start to read and write. Call once."""
        self._loop.add_reader(self._port.fileno(), self._readable)
        self._guarded(self._session.tick)

    def do(self, step: Callable[[float], None]) -> None:
        """Run a step of the caller's on the session, with the time as argument; no effect when the link is closed."""
        if self._closed.done():
            return

        def take(now: float) -> None:
            step(now)
            self._session.tick(now)

        self._guarded(take)

    def stored(self, parts: Sequence[StoredPart]) -> None:
        """Report to the session that these parts are durable, so that their slots may be emptied."""
        self.do(lambda _now: self._session.stored(parts))

    async def wait_closed(self) -> PortGone | Hung | Closed:
        """Wait until the link is closed and return the reason. A bug in a step is raised here."""
        return await asyncio.shield(self._closed)

    def close(self) -> None:
        """Close the link. Idempotent."""
        self._end(Closed())

    def _readable(self) -> None:
        try:
            data = os.read(self._port.fileno(), READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._vanished(error)
            return
        if not data:
            self._vanished(None)
            return
        self._guarded(lambda now: self._session.receive_data(data, now))

    def _guarded(self, step: Callable[[float], None]) -> None:
        """Run one step of the session, then send its bytes and dispatch its events.

        An exception would end in the event loop's log and leave a dead link that looks alive, so
        it is raised in `wait_closed`.
        """
        try:
            step(self._clock())
            data = self._session.data_to_send()
            if data:
                self._write(data)
            events = self._session.events()
            if events:
                self._on_events(events)
                for event in events:
                    if isinstance(event, Hung):
                        self._end(event)
            self._set_timer()
        except Exception as fault:  # noqa: BLE001 - passed on, not swallowed
            self._end(fault)

    def _write(self, data: bytes) -> None:
        if self._closed.done():
            return
        if self._unwritten:
            self._unwritten += data
            return
        try:
            written = os.write(self._port.fileno(), data)
        except (BlockingIOError, InterruptedError):
            written = 0
        except OSError as error:
            self._vanished(error)
            return
        if written < len(data):
            self._unwritten += data[written:]
            self._loop.add_writer(self._port.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            del self._unwritten[: os.write(self._port.fileno(), self._unwritten)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._vanished(error)
            return
        if not self._unwritten:
            self._loop.remove_writer(self._port.fileno())

    def _set_timer(self) -> None:
        """Keep one timer that fires no later than the session's next deadline.

        Most deadlines are time limits that an answer postpones, so an early timer is left to fire
        and is set again, which is cheaper than a new timer for each command.
        """
        if self._closed.done():
            return
        due = self._session.next_deadline()
        if due is None or (self._timer is not None and self._due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = self._loop.call_later(max(0.0, due - self._clock()), self._fire)

    def _fire(self) -> None:
        self._timer = None
        self._guarded(self._session.tick)

    def _vanished(self, error: OSError | None) -> None:
        said = f": {error.strerror}" if error is not None and error.strerror else ""
        self._end(PortGone(f"{self._port.path} vanished{said}"))

    def _end(self, why: PortGone | Hung | Closed | Exception) -> None:
        if self._closed.done():
            return
        if isinstance(why, Exception):
            self._closed.set_exception(why)
            self._closed.exception()  # retrieved, so that asyncio does not warn if `wait_closed` is not called
        else:
            self._closed.set_result(why)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        descriptor = self._port.fileno()
        self._loop.remove_reader(descriptor)
        self._loop.remove_writer(descriptor)
        self._port.close()
