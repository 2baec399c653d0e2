"""The emulated phone on a pty, served by one thread: the caller's (`run_once`) or its own (`start`).

The port keeps the other side of the pty open, so that a restarted daemon finds the same phone;
unplugging closes both sides, and plugging in makes a new pty under the same link. While unplugged
the phone has no power, and the network keeps its messages.

A command is answered after `latency_s`, one at a time: a line of three commands takes three times
as long, and an early command waits for the previous one. No further command is read while an answer
is unsent. A phone that restarts may leave the bus, as USB sticks do: it is unplugged, and plugged in
again under another number after `back_s`.
"""

import contextlib
import os
import queue
import select
import selectors
import threading
import time
import tty
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from tests.phones.phone import Phone
from tests.phones.sim import Sim

READ_BYTES: Final = 65_536
CALL_TIMEOUT_S: Final = 10.0
"""How long another thread waits for the port's thread, which works for microseconds at a time."""
TURN_S_MAX: Final = 1.0
BACK_S: Final = 1.0
"""Real sticks need 10 to 40 s to return; a test gains nothing from waiting so long."""
PIECES_PER_S: Final = 50
"""Number of writes per second on a slow line."""
_NS: Final = 1_000_000_000
_TICK_NS: Final = 1_000_000
"""epoll counts in milliseconds."""

Result = TypeVar("Result")


class Announced(Struct, frozen=True):
    """One `+CMTI` that was sent.

    `written_ns` (`time.monotonic_ns`) is just before the write that contained its last byte. For a
    message forwarded as `+CMT`, `storage` is empty and `index` -1.
    """

    storage: str
    index: int
    pdu: str
    written_ns: int


def _openpty_but(name: str | None) -> tuple[int, int]:
    """Open a pty with another name than this, even if the kernel offers this one first."""
    avoided: list[int] = []
    try:
        while True:
            master, slave = os.openpty()
            if os.ttyname(slave) != name:
                return master, slave
            avoided += master, slave
    finally:
        for end in avoided:
            os.close(end)


class PhonePort:
    """A phone on a pty, with a link of constant name.

    Either call `plug` and then `run_once` repeatedly from one thread, or `start` and `stop`
    the port's own thread: then all other methods may be called from any thread.
    """

    def __init__(self, phone: Phone, *, link: Path | str, latency_s: float = 0.0) -> None:
        """Prepare the port; the phone is not plugged in yet.

        The port owns the phone from now on. `link` is the path of the symbolic link to the tty; a command takes
        `latency_s`.

        Raises:
            ValueError: a negative latency.
        """
        if latency_s < 0:
            raise ValueError("latency_s is not negative")
        self.link = Path(link)
        self.latency_s = latency_s
        self.back_s = BACK_S
        """How long a restarting phone stays unplugged."""
        self.tty: str | None = None
        self._last_tty: str | None = None
        """The tty's own name while plugged in."""
        self.announced: list[Announced] = []
        """All notices written to the pty, in order."""
        self.selector = selectors.DefaultSelector()
        """The caller of `run_once` may register more files here, with a callable as data."""
        self._phone = phone
        self._master = -1
        self._slave = -1
        self._events = 0
        self._out = b""
        self._due_ns: int | None = None
        self._write_ns: int | None = None
        self._back_ns: int | None = None
        self._notices_seen = 0
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self.selector.register(self._wake_read, selectors.EVENT_READ, self._run_calls)
        self._thread: threading.Thread | None = None
        self._stopping = False
        phone.power_off()

    def start(self) -> Self:
        """Plug the phone in and serve it from its own thread.

        Raises:
            OSError: there is no pty, or the link cannot be made.
        """
        self.plug()
        self._thread = threading.Thread(target=self._serve, name="emulated-phone", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Unplug, end the thread and release all resources. Idempotent."""
        if self._thread is not None:
            self._stopping = True
            self.wake()
            self._thread.join(CALL_TIMEOUT_S)
            self._thread = None
        if self._wake_write >= 0:
            self._unplug()
            self.selector.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run_once(self, timeout_s: float = TURN_S_MAX) -> None:
        """Serve ready files and due work, waiting at most `timeout_s` for them."""
        wait_ns = int(timeout_s * _NS)
        due_ns = self._next_ns()
        if due_ns is not None:
            wait_ns = max(0, min(wait_ns, due_ns - time.monotonic_ns()))
        if due_ns is not None and 0 < wait_ns < _TICK_NS:
            # epoll would sleep a whole millisecond, which would make the phone slower than configured.
            select.select([], [], [], wait_ns / _NS)
            wait_ns = 0
        for key, _ in self.selector.select(wait_ns // _TICK_NS / 1000):
            key.data()
        if due_ns is not None and time.monotonic_ns() >= due_ns:
            if self._back_ns is not None and time.monotonic_ns() >= self._back_ns:
                self._plug(renumber=True)
            self._carry()

    def _next_ns(self) -> int | None:
        # The next command waits until all output is written, even if it is due.
        dues = (None if self._out else self._due_ns, self._write_ns, self._back_ns)
        known = [due for due in dues if due is not None]
        if self._master >= 0 and (due := self._phone.due_ns()) is not None:
            known.append(due)
        return min(known, default=None)

    def call(self, ask: Callable[[Phone], Result]) -> Result:
        """Call a function with the phone in the thread that owns it; return its result or raise its exception."""
        return self._in_thread(lambda: ask(self._phone))

    def deliver(self, pdus: Sequence[str], storage: str | None = None, iccid: str | None = None) -> list[bool]:
        """Call `Phone.deliver` for each SMS; those before an invalid one are delivered."""
        return self.call(lambda phone: [phone.deliver(pdu, storage, iccid) for pdu in pdus])

    def preload(self, pdus: Sequence[str], storage: str = "SM") -> list[int]:
        """Call `Phone.preload`."""
        return self.call(lambda phone: phone.preload(pdus, storage))

    def fault(self, **changes: object) -> None:
        """Call `Faults.change`."""
        self.call(lambda phone: phone.faults.change(changes))

    def play(self, fault: str) -> None:
        """Inject a fault by name (`Phone.play`), or `unplug` or `plug`.

        Raises:
            ValueError: the name is unknown, or the event is not possible now.
        """
        if fault == "unplug":
            self.unplug()
        elif fault == "plug":
            self.plug()
        else:
            self.call(lambda phone: phone.play(fault))

    def take_sim(self) -> Sim:
        """Call `Phone.take_sim`."""
        return self.call(Phone.take_sim)

    def insert_sim(self, sim: Sim) -> None:
        """Call `Phone.insert_sim`."""
        self.call(lambda phone: phone.insert_sim(sim))

    def unplug(self) -> None:
        """Unplug the phone: the link and the tty disappear. Idempotent."""
        self._in_thread(self._unplug)

    def plug(self, *, renumber: bool = False) -> str:
        """Plug the phone in and switch it on; return the tty's name.

        With `renumber` it gets another number than the last one.

        Raises:
            OSError: there is no pty, or the link cannot be made.
        """
        return self._in_thread(lambda: self._plug(renumber=renumber))

    def state(self, deleted_from: int = 0, commands: int = 100) -> dict[str, object]:
        """Return the content and the logs of the phone, ready for JSON.

        It omits the `deleted_from` oldest deletions, and has the newest `commands`.
        """
        return self._in_thread(lambda: self._state(deleted_from, commands))

    def _state(self, deleted_from: int, commands: int) -> dict[str, object]:
        phone = self._phone
        return {
            "tty": self.tty,
            "link": str(self.link),
            "latency_s": self.latency_s,
            "family": phone.family.name,
            "iccid": phone.sim.iccid if phone.sim else None,
            "stored": [
                {"storage": storage, "index": index, "pdu": pdu} for (storage, index), pdu in phone.stored().items()
            ],
            "held": phone.held(),
            "deleted": [asdict(deletion) for deletion in phone.deleted[deleted_from:]],
            "displaced": [{"storage": storage, "index": index, "pdu": pdu} for storage, index, pdu in phone.displaced],
            "passed_on": list(phone.passed_on),
            "sent": [asdict(sent) for sent in phone.sent],
            "ussd": list(phone.ussd.typed),
            "announced": [asdict(announced) for announced in self.announced],
            "command_count": phone.command_count,
            "commands": list(phone.commands)[-commands:] if commands > 0 else [],
        }

    def _in_thread(self, work: Callable[[], Result]) -> Result:
        if self._thread is None or threading.current_thread() is self._thread:
            result = work()
            self._carry()
            return result
        answer: Future[Result] = Future()

        def do() -> None:
            try:
                answer.set_result(work())
            except Exception as error:  # noqa: BLE001 - it is raised in the thread that asked
                answer.set_exception(error)

        self._calls.put(do)
        self.wake()
        return answer.result(CALL_TIMEOUT_S)

    def wake(self) -> None:
        """Wake up a waiting `run_once`; for other threads and signal handlers."""
        os.write(self._wake_write, b"\0")

    def _run_calls(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_read, READ_BYTES)
        while not self._calls.empty():
            self._calls.get_nowait()()
        self._carry()

    def _serve(self) -> None:
        while not self._stopping:
            self.run_once()

    def _plug(self, *, renumber: bool) -> str:
        if self.tty is not None:
            return self.tty
        if self.link.exists() and not self.link.is_symlink():
            raise FileExistsError(f"{self.link} is there already and is no symbolic link")
        master, slave = _openpty_but(self._last_tty) if renumber else os.openpty()
        tty.setraw(slave)
        os.set_blocking(master, False)
        name = os.ttyname(slave)
        fresh = self.link.with_name(f".{self.link.name}.{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(name)
            fresh.replace(self.link)
        except OSError:
            os.close(master)
            os.close(slave)
            raise
        self._master, self._slave, self.tty = master, slave, name
        self._last_tty = name
        self._back_ns = None
        self._phone.power_on()
        self._notices_seen = len(self._phone.notices)
        self._carry()
        return name

    def _unplug(self) -> None:
        self._back_ns = None
        if self.tty is None:
            return
        self._phone.power_off()
        self._out, self._due_ns, self._write_ns = b"", None, None
        self._watch(0)
        if self.link.is_symlink() and str(self.link.readlink()) == self.tty:
            self.link.unlink()
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1
        self.tty = None

    def _carry(self) -> None:
        """Write answers, read commands and do due work, until all of them must wait."""
        if self._master < 0:
            return
        now_ns = time.monotonic_ns()
        self._phone.tick(now_ns)
        if self._write_ns is not None and now_ns >= self._write_ns:
            self._write_ns = None
        while True:
            if self._out or self._phone_speaks():
                if not self._speak():
                    return
            elif self._phone.leaving:
                self._leave()
                return
            elif commands := self._phone.waiting():
                if not self._obey(commands):
                    return
            elif not self._read():
                self._watch(selectors.EVENT_READ)
                return

    def _speak(self) -> bool:
        """Write if it is time; False while output remains."""
        if self._write_ns is None and self._write():
            return True
        # A slow line waits for its next write time, a full one for its reader.
        self._watch(selectors.EVENT_WRITE if self._write_ns is None else 0)
        return False

    def _obey(self, commands: int) -> bool:
        now_ns = time.monotonic_ns()
        if self._due_ns is None:
            self._due_ns = now_ns + int(commands * self.latency_s * _NS)
        if now_ns < self._due_ns:
            self._watch(0)  # input is not read meanwhile
            return False
        self._due_ns = None
        self._phone.step(now_ns)
        return True

    def _leave(self) -> None:
        self._phone.leaving = False
        self._unplug()
        self._back_ns = time.monotonic_ns() + int(self.back_s * _NS)

    def _phone_speaks(self) -> bool:
        self._out = self._phone.data_to_send()
        return bool(self._out)

    def _read(self) -> bool:
        try:
            self._phone.feed(os.read(self._master, READ_BYTES))
        except BlockingIOError:
            return False
        return True

    def _write(self) -> bool:
        """Write as much as the pty accepts; return whether all was written."""
        # Before the write: afterwards the reader may already be ahead of us.
        now_ns = time.monotonic_ns() if self._notices_seen < len(self._phone.notices) else 0
        speed = self._phone.faults.bytes_per_s
        piece = self._out[: max(1, speed // PIECES_PER_S)] if speed else self._out
        self._write_ns = None
        try:
            written = os.write(self._master, piece)
        except BlockingIOError:
            return False
        if speed:
            self._write_ns = time.monotonic_ns() + written * _NS // speed
        self._out = self._out[written:]
        if now_ns:
            self._note_announced(now_ns)
        return not self._out

    def _note_announced(self, now_ns: int) -> None:
        notices = self._phone.notices
        offset = self._phone.bytes_handed_over - len(self._out)
        while self._notices_seen < len(notices) and notices[self._notices_seen].offset <= offset:
            seen = notices[self._notices_seen]
            self.announced.append(Announced(seen.storage, seen.index, seen.pdu, now_ns))
            self._notices_seen += 1

    def _watch(self, events: int) -> None:
        if events == self._events:
            return
        if not self._events:
            self.selector.register(self._master, events, self._carry)
        elif events:
            self.selector.modify(self._master, events, self._carry)
        else:
            self.selector.unregister(self._master)
        self._events = events
