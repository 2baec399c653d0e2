"""The emulated phone on a pty, served by a thread of its own.

The port keeps the other side of the pty open, so that a restarted daemon finds the same phone.
"""

import contextlib
import os
import select
import threading
import tty
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from daemon.emulator.phone import Phone

_READ_BYTES: Final = 65_536


class PhonePort:
    """A phone on a pty, with a link of constant name."""

    def __init__(self, phone: Phone, link: Path) -> None:
        """Plug the phone in.

        Raises:
            OSError: There is no pty, or the link cannot be made.
        """
        self._phone = phone
        self._link = link
        self._lock = threading.Lock()
        self._ends: list[int] = []
        try:
            self._master, slave = self._open(*os.openpty())
            tty.setraw(slave)
            os.set_blocking(self._master, False)
            self._wake_read, self._wake_write = self._open(*os.pipe())
            fresh = link.with_name(f".{link.name}.{os.getpid()}")
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(os.ttyname(slave))
            fresh.replace(link)
        except OSError:
            self._close()
            raise
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="emulated phone", daemon=True)
        self._thread.start()

    def deliver(self, pdus: Sequence[str]) -> None:
        """Deliver SMS parts to the phone, in this order; for any thread."""
        with self._lock:
            for pdu in pdus:
                self._phone.deliver(pdu)
        os.write(self._wake_write, b"\0")

    def unplug(self) -> None:
        """Unplug the phone for good: the link and the tty disappear."""
        if self._stopping:
            return
        self._stopping = True
        os.write(self._wake_write, b"\0")
        self._thread.join()
        self._link.unlink(missing_ok=True)
        self._close()

    def _open(self, first: int, second: int) -> tuple[int, int]:
        self._ends += first, second
        return first, second

    def _close(self) -> None:
        for end in self._ends:
            os.close(end)
        self._ends.clear()

    def _serve(self) -> None:
        out = b""
        while not self._stopping:
            writers = [self._master] if out else []
            readable, _, _ = select.select([self._master, self._wake_read], writers, [])
            if self._wake_read in readable:
                os.read(self._wake_read, _READ_BYTES)
            with self._lock, contextlib.suppress(BlockingIOError):
                if self._master in readable:
                    self._phone.receive_data(os.read(self._master, _READ_BYTES))
                out += self._phone.data_to_send()
                out = out[os.write(self._master, out) :] if out else b""
