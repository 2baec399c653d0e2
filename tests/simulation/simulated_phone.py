"""An emulated phone on a socket instead of a pty, served by the loop of the simulation, without threads or real time.

A pty's bytes pass through a kernel worker at an unpredictable time; a socket pair passes them at once, so a run can be
repeated. The daemon's end is a real `Port` with a real descriptor. The rules are those of `tests/phones/pty.py`.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

from daemon.modem.port import Port, PortError, PortTrouble
from tests.phones.message_commands import Deletion
from tests.phones.phone import Phone
from tests.simulation.simulated_time import SimulatedClock

READ_BYTES = 65_536
PIECES_PER_S = 50
WRITE_AGAIN_S = 0.01
COMMAND_S = (0.002, 0.02)


class _Device:
    """The part of pyserial's device that `Port` uses."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def close(self) -> None:
        self._end.close()


class SimulatedPhone:
    """A phone in a USB port; `path` names the port while it is plugged in."""

    def __init__(
        self,
        name: str,
        phone: Phone,
        clock: SimulatedClock,
        *,
        command_s: float,
        on_deleted: Callable[["SimulatedPhone", Deletion], None],
    ) -> None:
        self.name = name
        self.phone = phone
        self.path: str | None = None
        self._clock = clock
        self._command_s = command_s
        self._on_deleted = on_deleted
        self._deletions = 0
        self._end: socket.socket | None = None
        self._out = b""
        self._step: asyncio.TimerHandle | None = None
        self._write: asyncio.TimerHandle | None = None
        self._tick: asyncio.TimerHandle | None = None
        phone.power_off()

    # --- events -----------------------------------------------------------------------------------

    def plug(self, path: str) -> None:
        assert self.path is None, "it is in a port already"
        self.path = path
        self.phone.power_on()
        self.carry()

    def unplug(self) -> None:
        if self.path is None:
            return
        self.path = None
        self.phone.power_off()
        self._hang_up()

    def open(self) -> Port:
        """Open the port; an earlier holder loses it."""
        if self.path is None:
            raise PortError(PortTrouble.MISSING, "not there", "plug it in")
        self._hang_up()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        self._end = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._readable)
        device: Any = _Device(theirs)
        return Port(self.path, device)

    def _hang_up(self) -> None:
        for timer in (self._step, self._write, self._tick):
            if timer is not None:
                timer.cancel()
        self._step = self._write = self._tick = None
        self._out = b""
        if self._end is not None:
            asyncio.get_running_loop().remove_reader(self._end.fileno())
            self._end.close()
            self._end = None

    # --- the bytes ---------------------------------------------------------------------------------

    def _readable(self) -> None:
        assert self._end is not None
        try:
            data = self._end.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.phone.feed(data)
            self.carry()
        else:
            self._hang_up()

    def carry(self) -> None:
        """Move all available bytes; call it after each event of the phone."""
        now_ns = self._clock.monotonic_ns()
        if self.path is None:
            return
        self.phone.tick(now_ns)
        self._speak()
        if self.phone.leaving:
            self.phone.leaving = False
            path = self.path
            self.unplug()
            asyncio.get_running_loop().call_later(12.0, self._come_back, path)
            return
        if self._step is None and not self._out and (commands := self.phone.waiting()):
            self._step = self._later(commands * self._command_s, self._obey)
        if self._tick is None and (due_ns := self.phone.due_ns()) is not None:
            self._tick = self._later((due_ns - now_ns) / 1e9, self._on_tick)

    def _come_back(self, path: str) -> None:
        if self.path is None:
            with contextlib.suppress(AssertionError):
                self.plug(path)

    def _later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(max(0.0, seconds), call)

    def _obey(self) -> None:
        self._step = None
        self.phone.step(self._clock.monotonic_ns())
        for deletion in self.phone.deleted[self._deletions :]:
            self._on_deleted(self, deletion)
        self._deletions = len(self.phone.deleted)
        self.carry()

    def _on_tick(self) -> None:
        self._tick = None
        self.carry()

    def _on_write(self) -> None:
        self._write = None
        self.carry()

    def _speak(self) -> None:
        """Write the phone's output, in pieces on a slow line; it is lost while the port is closed."""
        while self._write is None:
            self._out = self._out or self.phone.data_to_send()
            if not self._out:
                return
            if self._end is None:
                self._out = b""
                continue
            speed = self.phone.faults.bytes_per_s
            piece = self._out[: max(1, speed // PIECES_PER_S)] if speed else self._out
            try:
                written = self._end.send(piece)
            except BlockingIOError:
                self._write = self._later(WRITE_AGAIN_S, self._on_write)
                return
            except OSError:
                self._hang_up()
                return
            self._out = self._out[written:]
            if speed:
                self._write = self._later(written / speed, self._on_write)
