"""A line between two network namespaces, which delays, loses or cuts what goes over it.

    with SlowLine() as line:
        Popen([*line.enter(0), "python", ...])     # on 10.213.0.1
        Popen([*line.enter(1), "python", ...])     # on 10.213.0.2
        line.loss = 0.05

Each end is a TUN device, and each packet goes through a thread of this process. So it needs no traffic control of the kernel
(`tc netem` is missing in many small ones), and packets are lost, not calls: TCP is the kernel's own. Only root may make one;
elsewhere the test is skipped with a word.
"""

import contextlib
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from pathlib import Path
from typing import Final, Self

import pytest

_TUNSETIFF: Final = 0x400454CA
_TUN_WITHOUT_HEADER: Final = 0x0001 | 0x1000
PACKET_MAX: Final = 1 << 16
WAITING_MAX: Final = 16
"""Packets that wait for a narrow line, as in a small modem; more are lost."""
_LOOK_S: Final = 0.05
_NUMBERS: Final = itertools.count()


class SlowLine:
    """Two namespaces and the line between them. A context manager; a change of an attribute acts at once.

    Attributes:
        open: Whether packets go from the first end to the second, and from the second to the first.
        delay_s: Time of each packet on the way.
        loss: Share of the packets that are lost.
        bits_per_s: Width of the line in each direction; 0 for any.
    """

    def __init__(self, rng: random.Random) -> None:
        self.open = [True, True]
        self.delay_s = 0.0
        self.loss = 0.0
        self.bits_per_s = 0
        self._rng = rng
        self._ends: list[int] = []
        self._names: list[str] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="line", daemon=True)

    def address(self, end: int) -> str:
        """Return the address of an end, 0 or 1."""
        return f"10.213.0.{end + 1}"

    def enter(self, end: int) -> list[str]:
        """Return the program that runs another one at an end."""
        return ["nsenter", f"--net=/run/netns/{self._names[end]}"]

    def cut(self) -> None:
        """Let nothing through."""
        self.open = [False, False]

    def heal(self) -> None:
        """Make it a good line again."""
        self.open, self.delay_s, self.loss, self.bits_per_s = [True, True], 0.0, 0.0, 0

    def __enter__(self) -> Self:
        if os.geteuid() != 0 or shutil.which("ip") is None or not Path("/dev/net/tun").exists():
            pytest.skip("network namespaces and TUN devices need root, iproute2 and /dev/net/tun")
        try:
            for end in (0, 1):
                self._make_end(end)
        except (OSError, subprocess.CalledProcessError) as error:
            self._remove()
            pytest.skip(f"network namespaces are not permitted here: {error}")
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ending.set()
        self._thread.join(20)
        self._remove()

    def _make_end(self, end: int) -> None:
        name = f"momo-{os.getpid()}-{next(_NUMBERS)}"
        device = f"momo{os.getpid() % 100_000}{'ab'[end]}"
        handle = os.open("/dev/net/tun", os.O_RDWR)
        self._ends.append(handle)
        fcntl.ioctl(handle, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _TUN_WITHOUT_HEADER))
        os.set_blocking(handle, False)
        _ip("netns", "add", name)
        self._names.append(name)
        # The device keeps its handle when it moves.
        _ip("link", "set", device, "netns", name)
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "addr", "add", f"{self.address(end)}/24", "dev", device)
        _ip("-n", name, "link", "set", device, "up")

    def _remove(self) -> None:
        for handle in self._ends:
            os.close(handle)
        for name in self._names:
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)
        self._ends, self._names = [], []

    def _run(self) -> None:
        """Carry packets until it ends."""
        waiting: list[tuple[float, int, int, bytes]] = []
        free_at, numbers = [0.0, 0.0], itertools.count()
        while not self._ending.is_set():
            rest_s = waiting[0][0] - _now() if waiting else _LOOK_S
            ready, _, _ = select.select(self._ends, [], [], min(max(rest_s, 0.0), _LOOK_S))
            for handle in ready:
                end = self._ends.index(handle)
                with contextlib.suppress(BlockingIOError):
                    packet = os.read(handle, PACKET_MAX)
                    due = self._due(end, packet, free_at, [one[2] for one in waiting].count(end))
                    if due is not None:
                        heapq.heappush(waiting, (due, next(numbers), end, packet))
            while waiting and waiting[0][0] <= _now():
                _, _, end, packet = heapq.heappop(waiting)
                if self.open[end]:
                    with contextlib.suppress(OSError):  # the device's queue is full
                        os.write(self._ends[1 - end], packet)

    def _due(self, end: int, packet: bytes, free_at: list[float], before: int) -> float | None:
        """Return when a packet arrives; None if it is lost."""
        if not self.open[end] or self._rng.random() < self.loss:
            return None
        leaves = _now()
        if self.bits_per_s:
            if before >= WAITING_MAX:
                return None
            leaves = max(leaves, free_at[end]) + len(packet) * 8 / self.bits_per_s
            free_at[end] = leaves
        return leaves + self.delay_s


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


def _now() -> float:
    return time.monotonic_ns() / 1e9
