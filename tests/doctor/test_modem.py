"""Findings of the doctor about the modems of simulated computers, with the next commands."""

import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.lines.modem_health import Level, ModemProblem
from daemon.doctor.checks import PortUser, ReportedModem, System, report
from daemon.doctor.modem import may_open
from daemon.doctor.run import run_checks
from daemon.modem.discovery import usb_devices
from tests.fakes.machine import Machine

ROOT_USER = PortUser(0, frozenset())
SOMEBODY = PortUser(54_321, frozenset({54_321}))
Found = dict[str, tuple[str, str, str]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def found(machine: Machine, **changes: object) -> Found:
    """Return id -> (status, detail, fix) of the checks that failed or warn, or of all checks if none does."""
    patient = replace(System(machine.root, ROOT_USER), **changes)  # fields by name
    return {check.id: (check.status.value, check.detail, check.fix) for check in run_checks(patient, ["modem"])}


def bad(machine: Machine, **changes: object) -> Found:
    return {name: one for name, one in found(machine, **changes).items() if one[0] in ("fail", "warn")}


def zte(machine: Machine, place: str = "1-2", first: int = 0) -> str:
    """Plug in a ZTE modem with its command port on interface 1; return that port."""
    machine.plug(place, "19d2:0016", "ZTE,Incorporated", "ZTE WCDMA Technologies MSM")
    machine.interface(place, 0, driver="option", tty=f"ttyUSB{first}")
    port = machine.interface(place, 1, driver="option", tty=f"ttyUSB{first + 1}")
    machine.interface(place, 2, driver="option", tty=f"ttyUSB{first + 2}")
    return port


def test_a_machine_without_usb_or_modem_says_so(machine: Machine) -> None:
    status, detail, fix = found(machine)["modem.usb"]
    assert status == "fail"
    assert "no modem is plugged in" in detail
    assert "lsusb" in fix


def test_a_modem_that_is_well_is_well_in_every_check(machine: Machine) -> None:
    port = zte(machine)
    every = found(machine, phones=(ReportedModem("front", port, "ready"),))
    assert {name: status for name, (status, _, _) in every.items()} == {
        "modem.usb": "ok",
        "modem.permission": "ok",
        "modem.busy": "ok",
        "modem.manager": "ok",
        "modem.tty": "ok",
        "modem.answers": "ok",
    }
    assert every["modem.tty"][1] == f"commands go to {port}"
    assert "ZTE WCDMA" in every["modem.usb"][1]


def test_without_a_daemon_what_only_a_phone_can_say_is_skipped(machine: Machine) -> None:
    zte(machine)
    assert found(machine)["modem.answers"][0] == "skip"
    assert found(machine)["modem.answers"][2] == "momo daemon start"


@pytest.mark.parametrize("usb", ["12d1:1446", "19d2:2000", "12d1:abcd"])
def test_a_stick_that_is_still_a_cd_rom(machine: Machine, usb: str) -> None:
    machine.plug("1-1", usb, "HUAWEI", "Mobile")
    machine.interface("1-1", 0, "08/06/50", driver="usb-storage")
    ((name, (status, detail, fix)),) = bad(machine).items()
    assert (name, status) == ("modem.storage_mode", "fail")
    assert "CD-ROM" in detail
    assert fix.startswith("sudo apt install usb-modeswitch")


@pytest.mark.parametrize("usb", ["12d1:14dc", "12d1:1f1e"])
def test_a_hilink_stick_is_a_network_card(machine: Machine, usb: str) -> None:
    machine.plug("1-1", usb, "HUAWEI_MOBILE", "HUAWEI_MOBILE")
    machine.interface("1-1", 0, "02/06/00", driver="cdc_ether", network="eth1")
    ((name, (status, detail, _)),) = bad(machine).items()
    assert (name, status) == ("modem.hilink", "fail")
    assert "HiLink" in detail


def test_a_hilink_stick_without_a_source_is_told_how_to_configure_it(machine: Machine) -> None:
    machine.plug("1-1", "12d1:14dc", "HUAWEI_MOBILE", "HUAWEI_MOBILE")
    machine.interface("1-1", 0, "02/06/00", driver="cdc_ether", network="eth1")
    assert bad(machine)["modem.hilink"][2].startswith("momo setup --hilink http://192.168.8.1")
    read = ReportedModem("stick", "http://192.168.8.1", "ready")
    every = found(machine, phones=(read,))
    assert bad(machine, phones=(read,)) == {}
    assert every["modem.hilink"][1].endswith("read at http://192.168.8.1")
    assert "modem.permission" not in every


@pytest.mark.parametrize(
    ("kind", "module", "fix"),
    [("ff/02/01", "option", "echo 12d1 1506 | sudo tee"), ("02/02/01", "cdc_acm", "sudo modprobe cdc_acm")],
)
def test_a_kernel_module_that_is_missing(machine: Machine, kind: str, module: str, fix: str) -> None:
    machine.plug("1-1", "12d1:1506", "HUAWEI", "Mobile")
    machine.interface("1-1", 0, kind)
    machine.interface("1-1", 1, "08/06/50", driver="usb-storage")
    ((name, (status, detail, typed)),) = bad(machine).items()
    assert (name, status) == ("modem.driver", "fail")
    assert module in detail
    assert fix in typed


def test_a_modem_that_speaks_only_qmi_has_no_port(machine: Machine) -> None:
    machine.plug("1-1", "2c7c:0125", "Quectel", "EC25")
    machine.interface("1-1", 4, driver="qmi_wwan", network="wwan0")
    assert list(bad(machine)) == ["modem.port"]


def test_a_user_outside_the_group_is_told_the_group(machine: Machine) -> None:
    port = Path(zte(machine))
    if os.getuid() == 0:
        os.chown(port, -1, 20)
    (machine.root / "etc" / "group").write_text(f"root:x:0:\nuucp:x:{port.stat().st_gid}:\n")
    ((name, (status, detail, fix)),) = bad(machine, user=SOMEBODY).items()
    assert (name, status) == ("modem.permission", "fail")
    assert detail == f"this user may not open {port}: it belongs to the group uucp"
    assert fix == "sudo usermod -aG uucp $USER, then log out and in again"
    member = PortUser(54_321, frozenset({port.stat().st_gid}))
    assert bad(machine, user=member) == {}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to root")
def test_nobody_is_told_to_join_roots_group(machine: Machine) -> None:
    zte(machine)
    status, _, fix = bad(machine, user=SOMEBODY)["modem.permission"]
    assert status == "fail"
    assert "usermod" not in fix
    assert "77-momo-modems.rules" in fix


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [(0o600, (True, False, False)), (0o660, (True, True, False)), (0o666, (True, True, True)),
     (0o640, (True, False, False)), (0o060, (False, True, False))],
)  # fmt: skip
def test_only_owner_group_and_root_may_open_a_port(tmp_path: Path, mode: int, allowed: tuple[bool, bool, bool]) -> None:
    (tmp_path / "tty").touch()
    status = os.stat_result((mode, 0, 0, 1, 1000, 20, 0, 0, 0, 0))
    users = (PortUser(1000, frozenset()), PortUser(7, frozenset({20})), PortUser(7, frozenset({7})))
    assert tuple(may_open(status, user) for user in users) == allowed
    assert may_open(status, PortUser(0, frozenset()))


def test_another_program_on_the_port_is_named(machine: Machine) -> None:
    port = zte(machine)
    machine.program(4312, "minicom", port)
    assert bad(machine) == {"modem.busy": ("fail", f"minicom (PID 4312) uses {port}", "kill 4312")}
    assert bad(machine, pid=4312) == {}


def test_modem_manager_on_the_port_is_asked_to_release_it(machine: Machine) -> None:
    port = zte(machine)
    machine.program(812, "ModemManager", port)
    assert bad(machine)["modem.busy"][2] == f"momo phones add modemmanager; or: momo phones release {port}"


def test_modem_manager_that_reads_for_momo_is_no_fault(machine: Machine) -> None:
    port = zte(machine)
    machine.program(812, "ModemManager", port)
    machine.plug("1-3", "2c7c:0125", "Quectel", "EM05")
    machine.interface("1-3", 4, driver="qmi_wwan", network="wwan0")
    assert bad(machine)["modem.port"][2] == "momo phones add modemmanager"
    assert bad(machine, phones=(ReportedModem("em05", "modemmanager:1-2", "ready"),)) == {}


@pytest.mark.parametrize("usb", ["19d2:1405", "1bbb:0195"])
def test_a_web_stick_of_another_maker_is_not_taken_for_hilink(machine: Machine, usb: str) -> None:
    machine.plug("1-1", usb, "ZTE,Incorporated", "ZTE Mobile Broadband")
    machine.interface("1-1", 0, "e0/01/03", driver="rndis_host", network="usb0")
    ((name, (status, detail, fix)),) = bad(machine).items()
    assert (name, status) == ("modem.web_stick", "fail")
    assert "momo cannot read" in detail
    assert "HiLink stick" in fix


def test_modem_manager_that_may_come_is_a_warning_until_udev_says_ignore(machine: Machine) -> None:
    zte(machine)
    machine.program(812, "ModemManager")
    status, detail, fix = bad(machine)["modem.manager"]
    assert status == "warn"
    assert "ttyUSB0, ttyUSB1, ttyUSB2" in detail
    assert "77-momo-modems.rules" in fix
    for tty in ("ttyUSB0", "ttyUSB1"):
        machine.udev(tty, "ID_VENDOR=ZTE", "ID_MM_DEVICE_IGNORE=1")
    assert "may take ttyUSB2 " in bad(machine)["modem.manager"][1]
    machine.udev("ttyUSB2", "ID_MM_PORT_IGNORE=1")
    assert bad(machine) == {}


def test_the_wrong_port_of_a_stick(machine: Machine) -> None:
    port = zte(machine)
    wrong = str(machine.root / "dev" / "ttyUSB0")
    named = ReportedModem("front", wrong, "hung")
    status, detail, fix = bad(machine, phones=(named,))["modem.tty"]
    assert status == "fail"
    assert detail.startswith(wrong)
    assert f"--modem {port}" in fix


def test_a_stick_without_its_command_port(machine: Machine) -> None:
    machine.plug("1-1", "2c7c:0125", "Quectel", "EC25")
    machine.interface("1-1", 0, driver="option", tty="ttyUSB0")
    assert list(bad(machine)) == ["modem.tty"]


def test_brltty_that_took_the_chip_of_a_board(machine: Machine) -> None:
    zte(machine)
    machine.plug("1-9", "1a86:7523", "", "USB Serial")
    machine.interface("1-9", 0)
    assert bad(machine) == {}
    machine.program(33, "brltty")
    assert list(bad(machine)) == ["modem.braille"]


def test_what_the_phones_say_is_told_under_their_names(machine: Machine) -> None:
    port = zte(machine)
    pin = ModemProblem("modem.pin", Level.FAIL, "the SIM asks for SIM PIN", "unlock it")
    weak = ModemProblem("modem.signal", Level.WARN, "weak", "move it")
    phones = (ReportedModem("front", port, "pin_needed", (pin, weak)), ReportedModem("back", port, "ready"))
    assert bad(machine, phones=phones) == {
        "modem.pin": ("fail", "front: the SIM asks for SIM PIN", "unlock it"),
        "modem.signal": ("warn", "front: weak", "move it"),
    }


def test_a_sentence_about_a_port_does_not_name_it_twice(machine: Machine) -> None:
    zte(machine)
    gone = ModemProblem("modem.port", Level.FAIL, "/dev/ttyUSB9 is not there", "plug it in")
    phone = ReportedModem("/dev/ttyUSB9", "/dev/ttyUSB9", "unreachable", (gone,))
    assert bad(machine, phones=(phone,))["modem.port"][1] == "/dev/ttyUSB9 is not there"


def test_a_served_pty_is_a_modem_too(machine: Machine) -> None:
    """The demo's phone is on no USB."""
    every = found(machine, phones=(ReportedModem("demo", "/dev/pts/99", "ready"),))
    assert every["modem.usb"] == ("ok", "/dev/pts/99", "")


def test_the_document_says_whether_all_is_well(machine: Machine) -> None:
    patient = System(machine.root, ROOT_USER)
    document = report(run_checks(patient, ["modem"]))
    assert (document["success"], document["data"]["ok"]) == (False, False)
    first = document["data"]["checks"][0]
    assert (first["id"], first["area"], first["status"]) == ("modem.usb", "modem", "fail")
    zte(machine)
    assert report(run_checks(patient, ["modem"]))["success"] is True


def test_a_machine_without_sys_has_no_devices(tmp_path: Path) -> None:
    assert usb_devices(tmp_path / "sys") == []


def test_a_port_of_a_cdc_modem_is_found_in_its_own_folder(machine: Machine) -> None:
    machine.plug("1-1", "1546:1102", "u-blox", "LISA-U2")
    machine.interface("1-1", 0, "02/02/01", driver="cdc_acm", tty="ttyACM0")
    (device,) = usb_devices(machine.root / "sys")
    assert device.ttys == ("ttyACM0",)
    assert bad(machine) == {}


def test_every_id_is_explained_and_every_explained_id_is_there() -> None:
    root = Path(__file__).parents[2]
    sources = ("daemon/doctor/modem.py", "daemon/core/lines/modem_health.py")
    made = {name for source in sources for name in re.findall(r'"(modem\.[a-z_]+)"', (root / source).read_text())}
    rows = re.findall(r"^\| (`modem\..+?) \|", (root / "docs/shop/modems.md").read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(modem\.[a-z_]+)`", row)}
    assert made - {"modem.state"} == told
