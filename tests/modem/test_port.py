"""Opening serial ports: real ptys, real locks, and real programs that hold them."""

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import serial

from daemon.modem import port as door
from daemon.modem.port import Closed, Link, Port, PortError, PortGone, PortTrouble, open_port
from daemon.modem.session.events import Event, Freed, Hung, Noted, StoredPart
from daemon.runtime import locks
from daemon.runtime.system import SystemClock

CLOCK = SystemClock()
PART = StoredPart("SM", 1, 1, 25, "00")


class Line:
    """A pty: the phone's end and the name of ours."""

    def __init__(self) -> None:
        self.far, self.near = pty.openpty()
        tty.setraw(self.near)
        os.set_blocking(self.far, False)
        self.path = os.ttyname(self.near)

    def unplug(self) -> None:
        for descriptor in (self.far, self.near):
            with contextlib.suppress(OSError):
                os.close(descriptor)


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.unplug()


class Parrot:
    """A minimal session: records the received bytes, and sends the given ones."""

    def __init__(self, first: bytes = b"") -> None:
        self.heard = bytearray()
        self.heard_at = 0.0
        self.out = bytearray(first)
        self.happened: list[Event] = []
        self.ticks: list[float] = []
        self.deadline: float | None = None
        self.rung = asyncio.Event()
        self.fault: Exception | None = None

    def receive_data(self, data: bytes, now: float) -> None:
        if self.fault is not None:
            raise self.fault
        self.heard_at = now
        self.heard += data
        self.happened.append(Noted(data.decode("latin-1")))

    def data_to_send(self) -> bytes:
        data = bytes(self.out)
        self.out.clear()
        return data

    def events(self) -> list[Event]:
        happened, self.happened = self.happened, []
        return happened

    def tick(self, now: float) -> None:
        self.ticks.append(now)
        if self.deadline is not None and now >= self.deadline:
            self.deadline = None
            self.rung.set()

    def next_deadline(self) -> float | None:
        return self.deadline

    def stored(self, parts: Sequence[StoredPart]) -> None:
        self.out += b"AT+CMGD=1\r"
        self.happened.extend(Freed(part) for part in parts)


class Joined:
    """A running link, and its events."""

    def __init__(self, line: Line, session: Parrot) -> None:
        self.port = open_port(line.path)
        self.session = session
        self.told: list[Event] = []
        self.news = asyncio.Event()
        self.link = Link(self.port, session, clock=CLOCK.monotonic, on_events=self._on_events)
        self.link.start()

    def _on_events(self, events: list[Event]) -> None:
        self.told.extend(events)
        self.news.set()

    async def until(self, ready: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not ready():
                self.news.clear()
                await self.news.wait()


async def readable(descriptor: int) -> None:
    """Wait until there is something to read."""
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(descriptor, came.set)
    try:
        async with asyncio.timeout(10):
            await came.wait()
    finally:
        loop.remove_reader(descriptor)


def refused(path: str | Path) -> PortError:
    with pytest.raises(PortError) as caught:
        open_port(str(path))
    return caught.value


# --- opening ---------------------------------------------------------------------------------


def test_open_port_is_raw_and_does_not_block(line: Line) -> None:
    port = open_port(line.path)
    try:
        local_modes = termios.tcgetattr(port.fileno())[3]
        assert not local_modes & (termios.ECHO | termios.ICANON | termios.ISIG)
        with pytest.raises(BlockingIOError):
            os.read(port.fileno(), 1)
        os.write(line.far, b"\x00\xff\r\x03")
        assert os.read(port.fileno(), 10) == b"\x00\xff\r\x03"
    finally:
        port.close()


def test_closing_twice_is_closing_once(line: Line) -> None:
    port = open_port(line.path)
    port.close()
    port.close()
    open_port(line.path).close()


def test_missing_port_says_to_plug_in(tmp_path: Path) -> None:
    error = refused(tmp_path / "ttyUSB7")
    assert error.kind is PortTrouble.MISSING
    assert (
        str(error)
        == error.message
        == (f"{tmp_path}/ttyUSB7 is not there: the modem is not plugged in, or it has another name now")
    )
    assert error.next_step == ("Plug it in and wait 30 seconds; `ls /dev/serial/by-id` shows the names.")


@pytest.mark.parametrize("kind", ["file", "folder", "pipe"])
def test_something_else_than_a_tty_is_not_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "file":
        path.write_text("x")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    error = refused(path)
    assert (error.kind, error.message) == (PortTrouble.NOT_A_TTY, f"{path} is not a serial port")


def test_device_that_is_no_tty_is_told_apart() -> None:
    error = refused("/dev/null")
    assert (error.kind, error.message) == (PortTrouble.NOT_A_TTY, "/dev/null is not a serial port")


def test_busy_port_names_the_program_that_holds_it(line: Line) -> None:
    code = (
        "import fcntl, os, sys\n"
        f"fd = os.open({line.path!r}, os.O_RDWR | os.O_NOCTTY)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        error = refused(line.path)
        name = Path(f"/proc/{other.pid}/comm").read_text().strip()
        other.stdin.close()
    assert error.kind is PortTrouble.BUSY
    assert error.message == f"{line.path} is in use by {name} (PID {other.pid})"
    assert error.next_step == f"Stop it: `kill {other.pid}`."
    open_port(line.path).close()


def test_port_is_ours_alone_while_it_is_open(line: Line) -> None:
    port = open_port(line.path)
    try:
        assert refused(line.path).kind is PortTrouble.BUSY
        second = os.open(line.path, os.O_RDWR | os.O_NOCTTY)
        with contextlib.closing(os.fdopen(second, "rb", buffering=0)), pytest.raises(OSError):  # noqa: PT011 - the number is asserted below
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        port.close()


@pytest.mark.parametrize(
    ("number", "kind", "message", "next_step"),
    [
        (
            errno.EACCES,
            PortTrouble.PERMISSION,
            "no permission to open /dev/ttyUSB0: this user is not in the group that may use modems",
            "Type `sudo usermod -aG dialout $USER`, then log out and in again.",
        ),
        (
            errno.EIO,
            PortTrouble.GONE,
            "/dev/ttyUSB0 does not answer the computer: Input/output error",
            "Pull the modem out, wait 5 seconds and plug it in again.",
        ),
        (
            None,
            PortTrouble.GONE,
            "/dev/ttyUSB0 does not answer the computer: no reason given",
            "Pull the modem out, wait 5 seconds and plug it in again.",
        ),
    ],
)
def test_refusal_of_the_system_becomes_words(
    number: int | None, kind: PortTrouble, message: str, next_step: str
) -> None:
    error = door._trouble("/dev/ttyUSB0", number)
    assert (error.kind, error.message, error.next_step) == (kind, message, next_step)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_port_of_somebody_else_says_which_group(line: Line) -> None:
    code = (
        "import os, sys\n"
        "from daemon.modem.port import PortError, open_port\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        f"    open_port({line.path!r})\n"
        "except PortError as error:\n"
        "    print(error.kind, error.next_step)\n"
    )
    Path(line.path).chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == ("permission Type `sudo usermod -aG dialout $USER`, then log out and in again.\n")


# --- programs that hold the port -------------------------------------------------------------


class Programs:
    """A made-up /proc."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, pid: int, name: str, *files: str, hidden: bool = False) -> None:
        folder = self.root / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(f"{name}\n")
        if hidden:
            return
        (folder / "fd").mkdir()
        for number, file in enumerate(files):
            (folder / "fd" / str(number)).symlink_to(file)


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    made = Programs(tmp_path / "proc")
    made.root.mkdir()
    (made.root / "self").mkdir()
    return made


def test_holders_are_found_through_links(programs: Programs, tmp_path: Path) -> None:
    device = tmp_path / "ttyUSB0"
    device.touch()
    link = tmp_path / "usb-modem"
    link.symlink_to(device)
    programs.add(7, "gammu-smsd", "/dev/null", str(device))
    programs.add(8, "bash", "/dev/null")
    programs.add(9, "ModemManager", hidden=True)
    assert locks.holders(str(link), programs.root) == [locks.Holder(7, "gammu-smsd")]
    assert locks.running("ModemManager", programs.root) == 9
    assert locks.running("minicom", programs.root) is None


def test_without_proc_nobody_is_named(tmp_path: Path) -> None:
    assert locks.holders("/dev/ttyUSB0", tmp_path / "none") == []
    assert locks.running("ModemManager", tmp_path / "none") is None


READS, RELEASE = "ModemManager; momo phones add modemmanager reads it there", "momo phones release /dev/ttyUSB0"


@pytest.mark.parametrize(
    ("found", "manager", "said"),
    [
        ([locks.Holder(9, "ModemManager")], None, (f"/dev/ttyUSB0 is in use, by {READS}", RELEASE)),
        ([], 9, (f"/dev/ttyUSB0 is in use, probably by {READS}", RELEASE)),
        (
            [],
            None,
            ("/dev/ttyUSB0 is in use by another user's program", "`sudo fuser -v /dev/ttyUSB0` shows which; stop it."),
        ),
        (
            [locks.Holder(7, "minicom"), locks.Holder(8, "")],
            9,
            ("/dev/ttyUSB0 is in use by minicom (PID 7) and a program (PID 8)", "Stop it: `kill 7`."),
        ),
    ],
)
def test_busy_port_says_how_to_release_it(
    monkeypatch: pytest.MonkeyPatch, found: list[locks.Holder], manager: int | None, said: tuple[str, str]
) -> None:
    monkeypatch.setattr(door, "holders", lambda _: found)
    monkeypatch.setattr(door, "running", lambda _: manager)
    error = door._trouble("/dev/ttyUSB0", errno.EAGAIN)
    assert (error.kind, error.message, error.next_step) == (PortTrouble.BUSY, *said)


# --- the link --------------------------------------------------------------------------------


async def test_link_carries_bytes_both_ways(line: Line) -> None:
    joined = Joined(line, Parrot(b"AT\r"))
    await readable(line.far)
    assert os.read(line.far, 100) == b"AT\r"
    os.write(line.far, b"\r\nOK\r\n")
    await joined.until(lambda: bytes(joined.session.heard) == b"\r\nOK\r\n")
    joined.link.close()
    assert await joined.link.wait_closed() == Closed()
    assert str(Closed()) == "closed"


async def test_stored_is_told_and_spoken_at_once(line: Line) -> None:
    joined = Joined(line, Parrot())
    joined.link.stored([PART])
    assert os.read(line.far, 100) == b"AT+CMGD=1\r"
    assert joined.told == [Freed(PART)]
    assert len(joined.session.ticks) == 2  # at the start, and with the stored part
    joined.link.close()
    joined.link.stored([PART])
    assert joined.told == [Freed(PART)]


async def test_timer_ticks_when_the_session_asks(line: Line) -> None:
    session = Parrot()
    session.deadline = CLOCK.monotonic() + 0.02
    wanted = session.deadline
    joined = Joined(line, session)
    async with asyncio.timeout(10):
        await session.rung.wait()
    assert session.ticks[-1] >= wanted
    assert len(session.ticks) <= 3
    joined.link.close()


async def test_earlier_deadline_replaces_the_timer(line: Line) -> None:
    session = Parrot()
    session.deadline = CLOCK.monotonic() + 3600
    joined = Joined(line, session)
    session.deadline = CLOCK.monotonic()
    joined.link.stored([])
    async with asyncio.timeout(10):
        await session.rung.wait()
    joined.link.close()


async def test_phone_that_vanishes_ends_the_link(line: Line) -> None:
    joined = Joined(line, Parrot())
    line.unplug()
    async with asyncio.timeout(10):
        why = await joined.link.wait_closed()
    assert isinstance(why, PortGone)
    assert str(why) == why.why
    assert why.why.startswith(f"{line.path} vanished")
    joined.link.close()
    assert await joined.link.wait_closed() == why


async def test_phone_that_vanishes_before_we_speak_ends_the_link(line: Line) -> None:
    port = open_port(line.path)
    line.unplug()
    link = Link(port, Parrot(b"AT\r"), clock=CLOCK.monotonic, on_events=lambda _: None)
    link.start()
    async with asyncio.timeout(10):
        assert isinstance(await link.wait_closed(), PortGone)


async def test_hung_session_closes_the_port(line: Line) -> None:
    session = Parrot()
    session.happened.append(Hung("no answer"))
    joined = Joined(line, session)
    assert await joined.link.wait_closed() == Hung("no answer")
    assert joined.told == [Hung("no answer")]
    assert str(Hung("no answer")) == "no answer"
    open_port(line.path).close()


async def test_fault_of_ours_reaches_the_one_who_waits(line: Line) -> None:
    session = Parrot()
    session.fault = AssertionError("ours")
    joined = Joined(line, session)
    os.write(line.far, b"x")
    with pytest.raises(AssertionError, match="ours"):
        await joined.link.wait_closed()
    open_port(line.path).close()


async def test_slow_phone_gets_everything_in_order(line: Line) -> None:
    wanted = bytes(range(256)) * 1024
    joined = Joined(line, Parrot(wanted))
    joined.session.out += b"end"
    joined.link.stored([])
    taken = bytearray()
    async with asyncio.timeout(20):
        while not taken.endswith(b"endAT+CMGD=1\r"):
            await readable(line.far)
            taken += os.read(line.far, 65_536)
    assert bytes(taken) == wanted + b"endAT+CMGD=1\r"
    joined.link.close()


async def test_slow_phone_that_vanishes_ends_the_link(line: Line) -> None:
    joined = Joined(line, Parrot(b"x" * 1_000_000))
    line.unplug()
    async with asyncio.timeout(10):
        assert isinstance(await joined.link.wait_closed(), PortGone)


def test_number_of_a_hidden_error_is_found() -> None:
    inner = termios.error(errno.ENOTTY, "no tty")
    outer = serial.SerialException("Could not configure port: (25, 'no tty')")
    outer.__context__ = inner
    assert door._number(outer) == errno.ENOTTY
    assert door._number(serial.SerialException("no reason")) is None


def test_port_keeps_its_name(line: Line) -> None:
    port: Port = open_port(line.path)
    assert port.path == line.path
    port.close()
