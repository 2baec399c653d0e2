"""The commands about modems, with their output for people."""

import io
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

MODEM = f"/local/v1/modems/{samples.DEVICE}"


@pytest.fixture
def phones(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM, samples.HUNG]))
    api.on("GET", MODEM, ok(samples.MODEM))
    return api


@pytest.mark.usefixtures("phones")
def test_the_list_says_what_is_wrong_in_a_word(momo: Momo) -> None:
    ran = momo("phones", "status", "-o", "table", COLUMNS="120")
    head, *rows = [" ".join(line.split()) for line in ran.out.splitlines() if line.strip()]
    assert head == "MODEM STATE SIGNAL NETWORK SIM HOLDS LAST SMS TROUBLE"
    assert rows[-2:] == [
        "zte-front ✓ ready ▂▄▆_ -79 dBm MTN GH 2/30 4m ago",
        "/dev/ttyUSB3 ✗ hung — — — 4m ago hung (+1)",
    ]
    assert "next:  momo phones show /dev/ttyUSB3" in ran.err


@pytest.mark.usefixtures("phones")
@pytest.mark.parametrize("wanted", ["zte-front", samples.DEVICE, samples.DEVICE.upper(), samples.MODEM["port"]])
def test_one_is_found_by_name_id_or_port(wanted: str, momo: Momo) -> None:
    ran = momo("phones", "show", wanted, "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "zte-front  ✓ ready",
        "  port      /dev/serial/by-id/usb-ZTE-if01",
        "  make      ZTE MF823",
        "  IMEI      356938035643809",
        "  signal    ▂▄▆_ -79 dBm",
        "  network   MTN GH",
        "  storage   2/30 messages",
        "  last SMS  4m ago",
        "  SIM       slot 0  MTN  024 412 4567  ICCID …0012",
    ]


@pytest.mark.usefixtures("phones")
def test_a_port_without_a_phone_is_shown_with_what_to_do(momo: Momo) -> None:
    ran = momo("phones", "show", "/dev/ttyUSB3", "-o", "table")
    assert ran.out.splitlines()[0] == "/dev/ttyUSB3  ✗ hung"
    assert ran.out.splitlines()[-4:] == [
        "✗ no answer to AT+CMGL 2 times",
        "    pull the modem out",
        "! no message came",
        "    send one",
    ]
    assert momo("phones", "show", "/dev/ttyUSB3", "--json").json["data"] == samples.HUNG


@pytest.mark.usefixtures("phones")
def test_an_unknown_one_is_3_and_names_those_that_there_are(momo: Momo) -> None:
    ran = momo("phones", "show", "back", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "DEVICE_NOT_FOUND")
    assert ran.json["error"]["message"] == ("no phone is called 'back'; there are: zte-front, /dev/ttyUSB3")


def test_two_of_one_name_are_told_apart_by_their_ids(api: FakeApi, momo: Momo) -> None:
    twin = {**samples.MODEM, "device_id": samples.METHOD}
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM, twin]))
    ran = momo("phones", "test", "zte-front")
    assert ran.code == 2
    assert samples.DEVICE in ran.err
    assert samples.METHOD in ran.err


def test_a_test_says_what_is_well(phones: FakeApi, momo: Momo) -> None:
    answer = {**samples.MODEM, "answered": True, "took_ms": 42}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "zte-front",
        "✓ it answers (42 ms)",
        "✓ signal ▂▄▆_ -79 dBm",
        "✓ network MTN GH",
        "✓ the SIM holds 2/30 messages",
        "✓ last SMS 4m ago",
    ]


def test_a_test_says_what_is_not_and_exits_6(phones: FakeApi, momo: Momo) -> None:
    full = {"id": "modem.full", "level": "fail", "text": "the SIM is full", "fix": "empty it"}
    answer = {**samples.MODEM, "answered": True, "took_ms": 42, "troubles": [full]}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 6
    assert "the SIM holds" not in ran.out
    assert ran.out.splitlines()[-2:] == ["✗ the SIM is full", "    empty it"]
    assert "momo doctor modem" in ran.err


def test_a_warning_alone_is_no_finding(phones: FakeApi, momo: Momo) -> None:
    weak = {"id": "modem.signal", "level": "warn", "text": "weak", "fix": "move it"}
    answer = {**samples.MODEM, "answered": True, "took_ms": 42, "troubles": [weak]}
    phones.on("POST", f"{MODEM}/test", ok(answer))
    assert momo("phones", "test", "zte-front").code == 0


def test_no_answer_is_a_finding(phones: FakeApi, momo: Momo) -> None:
    phones.on("POST", f"{MODEM}/test", ok({**samples.MODEM, "answered": False, "took_ms": 15_000}))
    ran = momo("phones", "test", "zte-front", "-o", "table")
    assert ran.code == 6
    assert ran.out.splitlines() == ["zte-front", "✗ it does not answer"]


@pytest.mark.usefixtures("phones")
def test_a_port_that_never_answered_cannot_be_asked_or_named(momo: Momo) -> None:
    ran = momo("phones", "test", "/dev/ttyUSB3", "--json")
    assert (ran.code, ran.json["data"]["answered"]) == (6, False)
    assert momo("phones", "name", "/dev/ttyUSB3", "till").code == 2


def test_a_name_is_given(phones: FakeApi, momo: Momo) -> None:
    phones.on("PATCH", MODEM, ok({**samples.MODEM, "name": "till 2"}))
    ran = momo("phones", "name", "zte-front", "till 2", "-o", "table")
    assert ran.out == "✓ zte-front is now called till 2\n"
    assert phones.asked[-1].body == {"name": "till 2"}


def test_the_lines_say_what_is_wrong_with_the_phones(phones: FakeApi, momo: Momo) -> None:
    phones.on("GET", wire.Path.LINES, ok(samples.LINES))
    ran = momo("lines", "-o", "table")
    assert "! /dev/ttyUSB3: no answer to AT+CMGL 2 times\n" in ran.err
    assert "/dev/ttyUSB3" not in momo("lines", "--plain").err, "a script gets the lines alone"


MMCLI = """\
#!/bin/sh
echo "$*" >> {log}
case "$1" in
--list-modems) echo '{{"modem-list":["/org/freedesktop/ModemManager1/Modem/3"]}}' ;;
--modem=*) echo '{{"modem":{{"generic":{{"device":"{uid}","ports":["cdc-wdm0 (qmi)","{tty} (at)"]}}}}}}' ;;
--inhibit-device=*) {inhibit} ;;
esac
"""
HOLDS = """echo "successfully inhibited device with uid '$1'"; exec sleep 60"""
REFUSES = """echo "error: couldn't inhibit device: 'Unauthorized'" >&2; exit 1"""


class Manager:
    """A machine with one stick, and the ModemManager that has it."""

    def __init__(self, folder: Path, shop: Shop) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "asked"
        self.sys = folder / "sys"
        usb = self.sys / "devices/usb1/1-2"
        (usb / "1-2:1.1/ttyUSB1").mkdir(parents=True)
        (usb / "idVendor").write_text("19d2\n")
        link = self.sys / "class/tty/ttyUSB1"
        link.mkdir(parents=True)
        (link / "device").symlink_to(usb / "1-2:1.1/ttyUSB1")
        self.uid = str(usb)
        self.path = f"{self.bin}:{shop.environ['PATH']}"

    def has(self, tty: str, uid: str | None = None, inhibit: str = HOLDS) -> None:
        script = self.bin / "mmcli"
        script.write_text(MMCLI.format(log=self.log, uid=uid or self.uid, tty=tty, inhibit=inhibit))
        script.chmod(0o755)


@pytest.fixture
def manager(tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Manager:
    manager = Manager(tmp_path, shop)
    monkeypatch.setattr("momo_cli.service.modem_manager.SYS", str(manager.sys))
    return manager


def test_modem_manager_lets_go_for_as_long_as_its_program_runs(manager: Manager, momo: Momo) -> None:
    manager.has("ttyUSB1")
    ran = momo("phones", "release", "/dev/ttyUSB1", "--json", PATH=manager.path)
    data = ran.json["data"]
    # It is still there: this would raise otherwise.
    os.kill(data["pid"], signal.SIGTERM)
    _, status = os.waitpid(data["pid"], 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert (ran.code, data["state"], data["uid"]) == (0, "released", manager.uid)
    assert manager.log.read_text().splitlines()[-1] == f"--inhibit-device={manager.uid}"


def test_a_person_hears_how_long_it_lasts(manager: Manager, momo: Momo) -> None:
    # ModemManager knows the stick by another of its ports.
    manager.has("ttyUSB0")
    ran = momo("phones", "release", "/dev/ttyUSB1", "-o", "table", PATH=manager.path)
    first, lasts, for_good = ran.out.splitlines()
    os.kill(pid := int(lasts.rpartition(" ")[2]), signal.SIGTERM)
    os.waitpid(pid, 0)
    assert first == "✓ ModemManager has released /dev/ttyUSB1."
    assert for_good == "To make it permanent: momo phones udev-rule"
    assert "ID_MM_DEVICE_IGNORE" in momo("phones", "udev-rule").out


def test_a_modem_that_it_does_not_have_is_released_already(manager: Manager, momo: Momo) -> None:
    manager.has("ttyUSB7", uid="/sys/devices/usb1/1-9")
    ran = momo("phones", "release", "/dev/ttyUSB1", "--json", PATH=manager.path)
    assert (ran.code, ran.json["data"]["state"]) == (0, "already_released")
    assert "--inhibit" not in manager.log.read_text()


def test_without_modem_manager_there_is_nothing_to_do(manager: Manager, api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    ran = momo("phones", "release", "zte-front", "-o", "table", PATH=str(manager.bin))
    assert (ran.code, ran.out.startswith("There is no ModemManager here")) == (0, True)
    ran = momo("phones", "release", "zte-front", "--json", PATH=str(manager.bin))
    assert (ran.json["data"]["manager"], ran.json["data"]["port"]) == (False, samples.MODEM["port"])


def test_what_modem_manager_refuses_is_told(manager: Manager, momo: Momo) -> None:
    manager.has("ttyUSB1", inhibit=REFUSES)
    ran = momo("phones", "release", "/dev/ttyUSB1", PATH=manager.path)
    assert ran.code == 4
    assert "couldn't inhibit device: 'Unauthorized'" in ran.err
    assert "next:  sudo systemctl disable --now ModemManager" in ran.err
    (manager.bin / "mmcli").write_text("#!/bin/sh\necho 'error: no such bus' >&2; exit 1\n")
    ran = momo("phones", "release", "/dev/ttyUSB1", PATH=manager.path)
    assert (ran.code, "no such bus" in ran.err) == (1, True)


def test_a_port_that_is_no_usb_modem_is_refused(manager: Manager, momo: Momo) -> None:
    manager.has("ttyUSB1")
    ran = momo("phones", "release", "/dev/ttyS0", PATH=manager.path)
    assert (ran.code, "not a USB modem" in ran.err) == (2, True)


WELL = {**samples.MODEM, "answered": True, "took_ms": 42}
TEXTS = f"{MODEM}/texts"
SEND = ("phones", "test", "zte-front", "--send-to", "0244124567")


@pytest.fixture
def well(api: FakeApi, naps: list[float]) -> FakeApi:
    assert naps == []
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    api.on("POST", f"{MODEM}/test", ok(WELL))
    api.on("POST", TEXTS, ok(samples.SMS))
    api.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms("sending"), sms("sent"))
    return api


def sms(status: str, why: str = "") -> Any:
    return ok({**samples.SMS, "status": status, "why": why})


def sent(api: FakeApi) -> list[Any]:
    return [asked.body for asked in api.asked if asked.path == TEXTS]


def types(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.StringIO(f"{answer}\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)


def test_it_waits_until_the_network_has_it(well: FakeApi, momo: Momo) -> None:
    ran = momo(*SEND, "--yes", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "zte-front"
    assert ran.out.splitlines()[-1] == "✓ the network took the SMS to 024 412 4567"
    assert sent(well) == [{"number": "0244124567"}]


@pytest.mark.usefixtures("well")
def test_the_document_is_the_modem_with_its_sms(momo: Momo) -> None:
    ran = momo(*SEND, "--yes", "--json")
    assert ran.json["data"] == {**WELL, "sms": {**samples.SMS, "status": "sent"}}
    assert momo(*SEND, "--yes", "--fields", "name,sms").out == "zte-front\tsent\n"


def test_a_person_sees_the_modem_and_is_asked_first(well: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    types("n", monkeypatch)
    ran = momo(*SEND, "-o", "table")
    assert (ran.code, ran.out) == (10, "No SMS was sent.\n")
    assert "✓ it answers (42 ms)" in ran.err
    assert "Send an SMS from zte-front to 0244124567?" in ran.err
    assert sent(well) == []
    types("y", monkeypatch)
    ran = momo(*SEND, "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ the network took the SMS to 024 412 4567\n")


def test_without_a_person_yes_must_be_said_and_nothing_is_asked_of_the_modem(well: FakeApi, momo: Momo) -> None:
    ran = momo(*SEND, "--json", "--no-input")
    assert (ran.code, ran.json["error"]["code"]) == (2, "USAGE")
    assert "--yes" in ran.json["error"]["message"]
    assert well.asked == []


def test_what_is_no_number_is_refused_before_anything_else(well: FakeApi, momo: Momo) -> None:
    ran = momo("phones", "test", "zte-front", "--send-to", "02441", "--yes", "--json")
    assert ran.code == 2
    assert "'02441' is no phone number" in ran.json["error"]["message"]
    assert well.asked == []


@pytest.mark.parametrize(
    ("status", "why", "line"),
    [
        ("failed", "no credit", "✗ the SMS to 024 412 4567 was not sent: no credit"),
        ("unknown", "", "! the SMS to 024 412 4567 may or may not have been sent"),
        ("expired", "", "✗ the SMS to 024 412 4567 was not sent in time"),
    ],
)
def test_what_did_not_surely_go_out_is_a_finding(status: str, why: str, line: str, well: FakeApi, momo: Momo) -> None:
    well.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms(status, why))
    ran = momo(*SEND, "--yes", "-o", "table")
    assert (ran.code, ran.out.splitlines()[-1]) == (6, line)


def test_when_nobody_knows_yet_it_is_8(well: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    well.on("GET", f"{TEXTS}/{samples.SMS['id']}", sms("sending"))
    seconds = iter(range(0, 10_000, 20))
    monkeypatch.setattr("momo_cli.system.monotonic", lambda: float(next(seconds)))
    ran = momo(*SEND, "--yes", "--json")
    assert (ran.code, ran.json["data"]["sms"]["status"]) == (8, "sending")


def test_a_modem_that_is_not_well_sends_nothing(well: FakeApi, momo: Momo) -> None:
    well.on("POST", f"{MODEM}/test", ok({**WELL, "answered": False}))
    ran = momo(*SEND, "--yes", "-o", "table")
    assert (ran.code, ran.out.splitlines()[-1]) == (6, "No SMS was sent.")
    assert momo(*SEND, "--yes", "--json").json["data"]["sms"] is None
    assert sent(well) == []


def test_a_simulated_phone_sends_nothing(well: FakeApi, momo: Momo) -> None:
    well.on("GET", wire.Path.LOCAL_MODEMS, ok([{**samples.MODEM, "simulated": True}]))
    ran = momo(*SEND, "--yes")
    assert ran.code == 5
    assert "zte-front is simulated: no SMS leaves it" in ran.err
    assert sent(well) == []
