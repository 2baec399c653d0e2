"""The emulated phone with independent software: gammu, gnokii and SMS Server Tools.

Tests with the emulated phone are valid only if programs written for real phones accept it too. Each one reads, sends
and deletes here, and both sides are checked. Phones run `calm`: gammu and gnokii misread a `+ZPASR:` or `^RSSI:`
between a command and its answer as the answer, or wait for ever, as with real sticks.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

import pytest

from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_fields import Deliver, Submit
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import wait_until
from tests.fakes.receipts import mtn_receipts
from tests.phones.quirks import FAMILIES

LONG = "Pay GHS 12.50 to Ama Provisions, reference 7KQ2MX. " * 4
NUMBER = "+233241234567"
PROGRAM_TIMEOUT_S = 60
SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
READABLE = [name for name in FAMILIES if name != "hilink"]  # class 0 is displayed and not stored

pytestmark = pytest.mark.slow


def program(name: str, package: str) -> str:
    """Return the path of a program; skip the test without it."""
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return found


@pytest.fixture
def phone(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[PhoneProcess]:
    """A phone of the requested family, with the two parts of one receipt on its SIM."""
    family = getattr(request, "param", "generic")
    with PhoneProcess(tmp_path / "tty", family=family, faults=["calm"]) as phone:
        phone.preload(PARTS)
        yield phone


PARTS = [pdu for receipt in mtn_receipts(1) for pdu in receipt.pdus]
TEXTS = [part.text for part in map(decode, PARTS) if isinstance(part, Deliver)]


def run(arguments: list[str], home: Path, typed: str = "") -> str:
    """Run a program to its successful end; return its output."""
    done = subprocess.run(
        arguments,
        input=typed,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=PROGRAM_TIMEOUT_S,
        env=surroundings(home),
        cwd=home,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def surroundings(home: Path) -> Mapping[str, str]:
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home), "LC_ALL": "C", "PATH": SEARCH_PATH}


def table(printed: str) -> dict[str, str]:
    """Read lines of the form `Name   : value`."""
    pairs = (line.partition(":") for line in printed.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def sent(phone: PhoneProcess) -> list[tuple[str, str]]:
    """Return recipient and text of the SMS that the phone sent."""
    pdus = [decode(sent["pdu"]) for sent in phone.state()["sent"]]
    return [(pdu.recipient, pdu.text) for pdu in pdus if isinstance(pdu, Submit)]


class Gammu:
    """gammu, with its settings in a temporary folder."""

    def __init__(self, home: Path, phone: PhoneProcess) -> None:
        self._program = program("gammu", "gammu")
        self._home = home
        self._settings = home / "gammurc"
        self._settings.write_text(f"[gammu]\nport = {phone.link}\nconnection = at\nuse_locking = no\n")

    def __call__(self, *arguments: str) -> str:
        return run([self._program, "-c", str(self._settings), *arguments], self._home)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("phone", ["generic", "huawei"], indirect=True)
def test_gammu_identifies_reads_sends_and_deletes(tmp_path: Path, phone: PhoneProcess) -> None:
    gammu = Gammu(tmp_path, phone)
    family = FAMILIES[phone.state()["family"]]

    identity = table(gammu("identify"))
    assert identity["Manufacturer"].lower() == family.manufacturer.lower()
    assert family.model in identity["Model"]
    assert identity["Firmware"] == family.revision
    assert identity["IMEI"] == "004401000000014"
    assert identity["SIM IMSI"] == "620010000000001"

    network = table(gammu("networkinfo"))
    assert network["Network state"] == "home network"
    assert network["Network"] == "620 01 (MTN, Ghana), LAC 01F4, CID 4E21"
    assert network["GPRS"] == "attached"

    listed = gammu("getallsms")
    assert listed.rstrip().endswith("2 SMS parts in 2 SMS sequences")
    assert [text in listed for text in TEXTS] == [True, True]
    assert table(listed)["Remote number"] == '"MobileMoney"'

    assert "OK, message reference=0" in gammu("sendsms", "TEXT", NUMBER, "-text", "hello gammu")
    assert sent(phone) == [(NUMBER, "hello gammu")]
    assert "OK, message reference=1" in gammu("sendsms", "TEXT", NUMBER, "-len", "300", "-text", LONG)
    assert "".join(text for _number, text in sent(phone)[1:]) == LONG
    assert len(sent(phone)) == 3
    phone.fault(fail_send="+CMS ERROR: 38")
    with pytest.raises(AssertionError, match="error 38, message reference=-1"):
        gammu("sendsms", "TEXT", NUMBER, "-text", "lost")
    assert len(sent(phone)) == 3
    phone.play("none")
    phone.play("calm")

    gammu("deleteallsms", "1")
    assert phone.deleted_pdus() == PARTS
    assert phone.state()["stored"] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("phone", READABLE, indirect=True)
def test_gnokii_identifies_reads_and_sends(tmp_path: Path, phone: PhoneProcess) -> None:
    gnokii = [program("gnokii", "gnokii-cli"), "--config", str(tmp_path / "gnokiirc")]
    family = FAMILIES[phone.state()["family"]]
    # It truncates the port's name after some thirty characters, so use a short one, relative to here.
    (tmp_path / "gnokiirc").write_text(
        f"[global]\nport = {phone.link.name}\nmodel = AT\nconnection = serial\nuse_locking = no\n"
        "serial_baudrate = 115200\nsmsc_timeout = 10\n[logging]\ndebug = off\n"
    )

    identity = table(run([*gnokii, "--identify"], tmp_path))
    assert identity["IMEI"] == "004401000000014"
    assert identity["Manufacturer"] == family.manufacturer
    assert identity["Model"] == family.model

    first = family.first_index
    listed = run([*gnokii, "--getsms", "SM", str(first), str(first + 1)], tmp_path)
    assert [text in listed for text in TEXTS] == [True, True]
    assert listed.count("Sender: MobileMoney Msg Center: +233240000099") == 2

    run([*gnokii, "--sendsms", NUMBER], tmp_path, typed="hello gnokii")
    assert sent(phone) == [(NUMBER, "hello gnokii")]


class Smsd:
    """The daemon of SMS Server Tools, with its folders in a temporary one, while the block runs."""

    def __init__(self, home: Path, phone: PhoneProcess) -> None:
        self._program = program("smsd", "smstools")
        self._process: subprocess.Popen[bytes] | None = None
        self._home = home
        self.log = home / "smsd.log"
        for name in ("outgoing", "checked", "incoming", "failed", "sent"):
            (home / name).mkdir()
        folders = "".join(f"{name} = {home / name}\n" for name in ("outgoing", "checked", "incoming", "failed", "sent"))
        (home / "smsd.conf").write_text(
            f"devices = phone\nuser =\n{folders}"
            f"logfile = {self.log}\ninfofile = {home}/smsd.working\npidfile = {home}/smsd.pid\n"
            "loglevel = 7\ndelaytime = 1\n"
            f"[phone]\ndevice = {phone.link}\nincoming = yes\nbaudrate = 115200\n"
        )

    def __enter__(self) -> Self:
        with (self._home / "smsd.out").open("wb") as out:
            self._process = subprocess.Popen(
                [self._program, f"-c{self._home}/smsd.conf", "-t"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=surroundings(self._home),
                cwd=self._home,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(20)
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # the process and its child per modem
                self._process.wait()

    def send(self, number: str, text: str) -> None:
        """Give smsd a message to send; wait until it reports the message as sent."""
        before = len(self.files("sent"))
        (self._home / "outgoing" / f"message{before}").write_text(f"To: {number[1:]}\n\n{text}\n")
        wait_until(lambda: len(self.files("sent")) > before, 40, "smsd has sent its message")

    def files(self, folder: str) -> list[str]:
        """Return the contents of one of its folders."""
        return [path.read_text("latin-1") for path in (self._home / folder).iterdir()]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("phone", ["generic", "sim800"], indirect=True)
def test_smsd_receives_one_message_and_sends_one(tmp_path: Path, phone: PhoneProcess) -> None:
    smsd = Smsd(tmp_path, phone)
    with smsd:
        # On a busy machine smsd gives up its wait for the prompt, types ESC, and takes the OK of that for success.
        for _attempt in range(3):
            smsd.send(NUMBER, "hello smsd")
            # The message may reach the phone after smsd's report.
            with contextlib.suppress(AssertionError):
                wait_until(lambda: sent(phone), 10, "the phone has sent the message")
                break
        wait_until(lambda: len(phone.deleted_pdus()) == 2, 40, "smsd has read the SIM")
        wait_until(lambda: smsd.files("incoming"), 40, "smsd has put the message down")
    [received] = smsd.files("incoming")
    head, _, text = received.partition("\n\n")
    assert table(head)["From"] == "MobileMoney"
    assert table(head)["IMSI"] == "620010000000001"
    assert text == "".join(TEXTS)
    assert sent(phone) == [(NUMBER, "hello smsd")]
    assert phone.deleted_pdus() == PARTS
    assert smsd.files("failed") == []
