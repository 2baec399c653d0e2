"""The emulated phone on a real pty, in a thread."""

import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bare_phone import LENGTH, PDU_A
from tests.fakes.receipts import mtn_receipts
from tests.phones.__main__ import main
from tests.phones.phone import Phone
from tests.phones.pty import Announced, PhonePort
from tests.phones.quirks import FAMILIES

PATIENCE_S = 10.0


class Line:
    """The daemon's end of the tty, using only system calls."""

    def __init__(self, link: Path) -> None:
        self.fd = os.open(link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self.unread = b""

    def close(self) -> None:
        os.close(self.fd)

    def type(self, data: bytes) -> None:
        os.write(self.fd, data)

    def until(self, end: bytes) -> bytes:
        while end not in self.unread:
            ready, _, _ = select.select([self.fd], [], [], PATIENCE_S)
            assert ready, f"waited for {end!r}, got {self.unread!r}"
            self.unread += os.read(self.fd, 65_536)
        cut = self.unread.index(end) + len(end)
        answer, self.unread = self.unread[:cut], self.unread[cut:]
        return answer

    def ask(self, command: str) -> bytes:
        self.type(command.encode() + b"\r")
        return self.until(b"OK\r\n")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[PhonePort]:
    with PhonePort(Phone(storages={"SM": 2, "ME": 3000}), link=tmp_path / "phone") as port:
        yield port


def test_commands_and_notices_cross_the_pty(port: PhonePort) -> None:
    line = Line(port.link)
    assert line.ask("ATE0") == b"ATE0\r\r\nOK\r\n"
    assert line.ask("AT+CNMI=2,1,0,1,0") == b"\r\nOK\r\n"
    before_ns = time.monotonic_ns()
    assert port.deliver([PDU_A]) == [True]
    assert line.until(b",1\r\n") == b'\r\n+CMTI: "SM",1\r\n'
    after_ns = time.monotonic_ns()
    assert line.ask("AT+CMGD=1") == b"\r\nOK\r\n"
    line.close()
    [announced] = port.announced
    assert before_ns < announced.written_ns < after_ns
    assert announced == Announced("SM", 1, PDU_A, announced.written_ns)
    [gone] = port.call(lambda phone: phone.deleted)
    assert (gone.pdu, gone.command) == (PDU_A, 3)
    assert gone.at_ns > after_ns


def test_daemon_that_comes_back_finds_the_same_phone(port: PhonePort) -> None:
    line = Line(port.link)
    line.ask("ATE0")
    line.close()
    port.deliver([PDU_A])
    line = Line(port.link)
    assert line.ask("AT+CMGR=1").startswith(b"\r\n+CMGR: 0,,")
    line.close()


def test_long_list_comes_whole_to_a_slow_reader(port: PhonePort) -> None:
    pdus = [pdu for receipt in mtn_receipts(1500) for pdu in receipt.pdus]
    assert port.preload(pdus, "ME") == list(range(1, 3001))
    line = Line(port.link)
    line.ask('ATE0;+CPMS="ME"')
    line.type(b"AT+CMGL=4\rAT+CSQ\r")
    listed = line.until(b"OK\r\n").decode().split("\r\n")
    assert [text for text in listed if text[:2] == "07"] == pdus
    assert line.until(b"OK\r\n") == b"\r\n+CSQ: 20,99\r\n\r\nOK\r\n"
    line.close()


def test_unplugged_phone_is_gone_and_comes_back_under_the_same_link(port: PhonePort) -> None:
    line = Line(port.link)
    line.ask("ATE0;+CNMI=2,1,0,1,0")
    first = port.tty
    port.unplug()
    port.unplug()
    assert (port.tty, port.link.is_symlink()) == (None, False)
    with pytest.raises(OSError, match="error"):
        os.write(line.fd, b"AT\r")
    assert port.deliver([PDU_A]) == [False]
    second = port.plug(renumber=True)
    assert second != first
    assert str(port.link.readlink()) == second == port.tty
    line.close()
    line = Line(port.link)
    assert line.ask("AT+CNMI?") == b"AT+CNMI?\r\r\n+CNMI: 0,0,0,0,0\r\n\r\nOK\r\n"
    assert PDU_A.encode() in line.ask("AT+CMGL=4")
    line.close()
    assert port.announced == []


def test_a_renumbered_phone_never_takes_the_number_it_had_whatever_is_free(tmp_path: Path) -> None:
    with PhonePort(Phone(), link=tmp_path / "phone") as port:
        port.unplug()
        lower = os.openpty()
        first = port.plug()
        port.unplug()
        for end in lower:
            os.close(end)
        assert port.plug(renumber=True) != first


def test_each_command_takes_its_time_one_after_the_other(tmp_path: Path) -> None:
    with PhonePort(Phone(), link=tmp_path / "slow", latency_s=0.03) as port:
        line = Line(port.link)
        started = time.perf_counter()
        line.ask("ATE0")
        assert time.perf_counter() - started >= 0.03
        took_s = []
        for _ in range(5):
            started = time.perf_counter()
            line.type(b"AT+CSQ\rAT+CMGF=0;+CMEE=1\r")
            assert line.until(b"OK\r\n") == b"\r\n+CSQ: 20,99\r\n\r\nOK\r\n"
            line.until(b"OK\r\n")
            took_s.append(time.perf_counter() - started)
            if min(took_s) < 0.5:
                break  # a busy machine may be late, but not each time
        assert 0.09 <= min(took_s) < 0.5
        line.close()


def test_fast_phone_answers_thousands_of_commands_a_second(port: PhonePort, capsys: pytest.CaptureFixture[str]) -> None:
    port.preload([PDU_A])
    line = Line(port.link)
    line.ask("ATE0")
    count = 2000
    started = time.process_time()
    for _ in range(count):
        line.ask("AT+CMGR=1")
    rate = count / (time.process_time() - started)
    line.close()
    with capsys.disabled():
        sys.stdout.write(f"[emulated phone in a thread: {rate:.0f} commands/s] ")
    # Processor time. The emulator alone is much faster: both ends share one interpreter here.
    assert rate > 2000


def test_fault_reaches_the_line(port: PhonePort) -> None:
    line = Line(port.link)
    line.ask("ATE0")
    port.fault(garbage_before="fffe", chunk=1)
    assert line.ask("AT") == b"\xff\xfe\r\nOK\r\n"
    with pytest.raises(ValueError, match="no fault 'x'"):
        port.fault(x=1)
    line.close()


def test_slow_line_is_as_slow_as_asked_and_loses_nothing(port: PhonePort) -> None:
    line = Line(port.link)
    line.ask("ATE0")
    port.preload([PDU_A])
    port.fault(bytes_per_s=500)
    started = time.perf_counter()
    listed = line.ask("AT+CMGL=4")
    took_s = time.perf_counter() - started
    assert listed == f"\r\n+CMGL: 1,0,,{LENGTH}\r\n{PDU_A}\r\n\r\nOK\r\n".encode()
    assert 0.7 * len(listed) / 500 < took_s < 5
    port.fault(bytes_per_s=0)
    assert line.ask("AT") == b"\r\nOK\r\n"
    line.close()


def test_storm_comes_by_itself_and_answers_come_through_it(port: PhonePort) -> None:
    line = Line(port.link)
    line.ask("ATE0")
    port.play("storm_ms=1")
    for _ in range(5):
        line.until(b"\r\n^")
    line.type(b"AT+CSQ\r")
    line.until(b"+CSQ: 20,99\r\n\r\nOK\r\n")
    line.close()


def test_stick_leaves_the_bus_when_it_restarts_and_comes_back_elsewhere(tmp_path: Path) -> None:
    phone = Phone(family=FAMILIES["huawei"])
    with PhonePort(phone, link=tmp_path / "stick") as port:
        port.back_s = 0.05
        first = port.tty
        line = Line(port.link)
        line.ask("ATE0")
        line.type(b"AT+CFUN=1,1\r")
        deadline = time.monotonic_ns() + int(PATIENCE_S * 1e9)
        while port.tty in {first, None}:
            assert time.monotonic_ns() < deadline
            port.call(lambda phone: phone.command_count)
        line.close()
        line = Line(port.link)
        line.until(b"^SIMST:1\r\n")
        line.type(b"AT\r")
        line.until(b"AT\r\r\nOK\r\n")
        line.close()


def test_phone_can_be_unplugged_by_name_and_its_sim_moved(tmp_path: Path) -> None:
    with PhonePort(Phone(), link=tmp_path / "one") as one, PhonePort(Phone(), link=tmp_path / "two") as two:
        one.preload([PDU_A])
        two.take_sim()
        two.insert_sim(one.take_sim())
        assert two.state()["stored"] == [{"storage": "SM", "index": 1, "pdu": PDU_A}]
        assert one.state()["iccid"] is None
        two.play("unplug")
        assert two.tty is None
        two.play("plug")
        assert two.tty is not None


def test_port_gives_everything_back_when_it_stops(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    port = PhonePort(Phone(), link=tmp_path / "phone").start()
    port.stop()
    port.stop()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []


def test_link_never_replaces_what_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "phone").write_text("keep me")
    port = PhonePort(Phone(), link=tmp_path / "phone")
    with pytest.raises(FileExistsError, match="is there already and is no symbolic link"):
        port.start()
    port.stop()
    assert (tmp_path / "phone").read_text() == "keep me"
    assert main([f"--link={tmp_path}/phone"]) == 2
    assert main([f"--link={tmp_path}/no/such/phone"]) == 2


def test_negative_latency_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="latency_s"):
        PhonePort(Phone(), link=tmp_path / "phone", latency_s=-1)
