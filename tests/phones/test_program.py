"""The emulated phone as a program, controlled by its standard input and by a socket."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_fields import Deliver
from tests.fakes.bare_phone import LENGTH, PDU_A, PDU_B
from tests.fakes.phone import ROOT, PhoneProcess, PhoneRefused
from tests.fakes.receipts import mtn_receipts, telecel_receipts
from tests.phones.__main__ import main
from tests.phones.test_port import PATIENCE_S, Line


@pytest.fixture
def program(tmp_path: Path) -> Iterator[PhoneProcess]:
    with PhoneProcess(tmp_path / "phone", storages={"SM": 2}) as program:
        yield program


def test_program_tells_all_that_happened(program: PhoneProcess) -> None:
    line = Line(program.link)
    line.ask("ATE0;+CNMI=2,1,0,1,0")
    assert program.deliver([PDU_A, PDU_B, PDU_A]) == [True, True, False]
    line.until(b'"SM",2\r\n')
    line.ask("AT+CMGD=2")
    line.until(b'"SM",2\r\n')
    line.type(f"AT+CMGS={LENGTH}\r".encode())
    line.until(b"> ")
    line.ask(PDU_B + "\x1a")
    line.close()
    state = program.state()
    announced = state.pop("announced")
    assert [(n["index"], n["pdu"]) for n in announced] == [(1, PDU_A), (2, PDU_B), (2, PDU_A)]
    assert state["deleted"][0].pop("at_ns") > announced[0]["written_ns"]
    state["sent"][0].pop("at_ns")
    assert state == {
        "tty": program.tty,
        "link": str(program.link),
        "latency_s": 0.0,
        "family": "generic",
        "iccid": "8923301000000000019",
        "stored": [{"storage": "SM", "index": 1, "pdu": PDU_A}, {"storage": "SM", "index": 2, "pdu": PDU_A}],
        "held": [],
        "deleted": [{"storage": "SM", "index": 2, "pdu": PDU_B, "flag": 0, "command": 3}],
        "displaced": [],
        "passed_on": [],
        "ussd": [],
        "sent": [{"pdu": PDU_B, "reference": 0, "command": 4}],
        "command_count": 4,
        "commands": ["ATE0", "AT+CNMI=2,1,0,1,0", "AT+CMGD=2", f"AT+CMGS={LENGTH}"],
    }
    assert program.state(deleted_from=1, commands=0)["deleted"] == []
    assert program.deleted_pdus() == [PDU_B]


def test_program_plays_any_family_with_any_fault(tmp_path: Path) -> None:
    with (
        PhoneProcess(
            tmp_path / "quectel",
            family="quectel",
            faults=["echo", "fail_delete_in=2"],
            second_sim={"iccid": "89233020000000000016"},
            identity={"imei": "860000000000001", "number": "0244000001"},
        ) as quectel,
        PhoneProcess(tmp_path / "hilink", family="hilink") as hilink,
    ):
        assert quectel.state()["family"] == "quectel"
        line = Line(quectel.link)
        assert line.ask("ATE0+CGMM").endswith(b"\r\nEC25\r\n\r\nOK\r\n")
        assert b"860000000000001" in line.ask("AT+CGSN")
        line.close()
        assert quectel.deliver([PDU_B], iccid="89233020000000000016") == [False]
        hilink.play("sim-out")
        hilink.insert_sim(quectel.take_sim())
        assert hilink.state()["iccid"] == "8923301000000000019"
        with pytest.raises(PhoneRefused, match="no fault 'nonsense'"):
            hilink.play("nonsense")
        with pytest.raises(PhoneRefused, match="no SIM: "):
            quectel.insert_sim({"nonsense": 1})


def test_program_can_be_unplugged_slowed_and_broken(program: PhoneProcess) -> None:
    program.unplug()
    assert not program.link.is_symlink()
    assert program.preload([PDU_A]) == [1]
    program.plug(renumber=True)
    program.fault(silent=True)
    line = Line(program.link)
    line.type(b"AT\r")
    assert program.state()["command_count"] == 0
    program.fault(silent=False)
    program.ask("latency", latency_s=0.01)
    program.ask("resize", storage="SM", capacity=9)
    assert program.state()["latency_s"] == 0.01
    assert b'"SM",1,9' in line.ask("ATE0;+CPMS?")
    line.close()


@pytest.mark.parametrize(
    ("request_line", "error"),
    [
        (b"{", "Expecting property name"),
        (b"\xff", "decode"),
        (b"[]", "a request is a JSON object"),
        (b"[" * 100_000, "recursion"),
        (b"{}", "'command' is one of deliver, preload,"),
        (b'{"command": "deliver"}', "'pdus' is missing"),
        (b'{"command": "deliver", "pdus": [1]}', "'pdus' is a list of hex texts"),
        (b'{"command": "deliver", "pdus": ["zz"]}', "hex"),
        (b'{"command": "deliver", "pdus": [], "storage": 1}', "'storage' is not str"),
        (b'{"command": "preload", "pdus": ["00"], "storage": "XX"}', "no storage 'XX'"),
        (b'{"command": "fault", "faults": {"x": 1}}', "no fault 'x'"),
        (b'{"command": "fault"}', "'faults' is missing"),
        (b'{"command": "resize", "capacity": true}', "'capacity' is not int"),
        (b'{"command": "latency", "latency_s": -1}', "'latency_s' is 0 to 60 seconds"),
        (b'{"command": "plug", "renumber": 1}', "'renumber' is not bool"),
    ],
)
def test_bad_request_is_refused_in_words(tmp_path: Path, request_line: bytes, error: str) -> None:
    arguments = [sys.executable, "-m", "tests.phones", f"--link={tmp_path}/phone"]
    done = subprocess.run(arguments, input=request_line + b"\n", capture_output=True, cwd=ROOT, timeout=20, check=True)
    ready, answer = (json.loads(line) for line in done.stdout.splitlines())
    assert ready["ready"] is True
    assert answer["ok"] is False
    assert error in answer["error"]
    assert list(tmp_path.iterdir()) == []


def test_program_serves_callers_on_a_socket_until_it_is_told_to_quit(tmp_path: Path) -> None:
    path = tmp_path / "control"
    arguments = [f"--link={tmp_path}/phone", f"--control={path}", "--max-seconds=60"]
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.phones", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        assert program.stdout is not None
        assert json.loads(program.stdout.readline())["pid"] == program.pid
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as first, socket.socket(socket.AF_UNIX) as second:
            for caller in (first, second):
                caller.settimeout(PATIENCE_S)
                caller.connect(str(path))
            first.sendall(b'{"command": "deliver", "pdus": ["0041"]}\n{"comm')
            assert first.recv(4096) == b'{"ok": true, "stored": [true]}\n'
            first.close()
            second.sendall(b'{"command": "quit"}\n')
            assert second.recv(4096) == b'{"ok": true}\n'
        assert program.wait(PATIENCE_S) == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("way", ["signal", "input", "time"])
def test_program_ends_and_takes_its_link_away(tmp_path: Path, way: str) -> None:
    program = PhoneProcess(tmp_path / "phone", max_seconds=0.2 if way == "time" else 60)
    program.start()
    process = program._process
    assert process is not None
    assert process.stdin is not None
    if way == "signal":
        process.send_signal(signal.SIGTERM)
    elif way == "input":
        process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    assert list(tmp_path.iterdir()) == []
    program.stop()


def test_program_ends_when_its_parent_dies(tmp_path: Path) -> None:
    arguments = [f"--link={tmp_path}/phone", f"--control={tmp_path}/control", "--max-seconds=60"]
    script = (
        "import subprocess, sys\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'tests.phones', *{arguments!r}],"
        " stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)\n"
        "p.stdout.readline()\n"
        "print(p.pid, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, cwd=ROOT, timeout=50, check=True
    )
    orphan = os.pidfd_open(int(done.stdout))
    try:
        ended, _, _ = select.select([orphan], [], [], PATIENCE_S)
        assert ended
    finally:
        os.close(orphan)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("--latency-s=-1", "invalid _seconds value"),
        ("--storage=SM", "invalid _capacity value"),
        ("--storage==3", "invalid _capacity value"),
        ("--storage=SM=99999999", "is not 0 to 65535"),
        ("--family=nokia", "invalid choice"),
        ("--fault=nonsense", "no fault 'nonsense'"),
        ("--second-sim={}", "a phone of the family generic has one slot"),
        ("--second-sim={", "Expecting property name"),
    ],
)
def test_impossible_flag_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argument: str, why: str
) -> None:
    try:
        code: object = main([f"--link={tmp_path}/phone", argument])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert why in capsys.readouterr().err


def test_receipts_are_two_parts_distinct_and_the_same_again() -> None:
    for make in (mtn_receipts, telecel_receipts):
        receipts = list(make(400, seed=7))
        assert {len(receipt.pdus) for receipt in receipts} == {2}
        assert len({pdu for receipt in receipts for pdu in receipt.pdus}) == 800
        ids = [int(receipt.telco_id) for receipt in receipts]
        assert ids == sorted(set(ids))
        assert receipts == list(make(400, seed=7))
        assert receipts != list(make(400, seed=8))
        for before, after in pairwise(receipts):
            assert after.balance_minor == before.balance_minor + after.amount_minor


def test_receipts_read_back_as_what_was_written() -> None:
    for make in (mtn_receipts, telecel_receipts):
        for receipt in make(20):
            parts = [decode(pdu) for pdu in receipt.pdus]
            assert all(isinstance(part, Deliver) for part in parts)
            assert "".join(part.text for part in parts if isinstance(part, Deliver)) == receipt.text
            assert {part.sender for part in parts if isinstance(part, Deliver)} == {receipt.sender}


def test_fake_raises_what_the_phone_refuses(program: PhoneProcess) -> None:
    with pytest.raises(PhoneRefused, match="no storage 'XX'"):
        program.deliver([PDU_A], "XX")
