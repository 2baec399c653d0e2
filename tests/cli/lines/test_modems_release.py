"""`momo phones release`: ModemManager releases the modem, does not have it, is missing, or refuses; mmcli is a script."""

import os
import signal
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

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


def test_modem_manager_lets_go_for_as_long_as_its_program_runs(
    manager: Manager, momo: Momo
) -> None:
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


def test_without_modem_manager_there_is_nothing_to_do(
    manager: Manager, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LOCAL_MODEMS, ok([samples.MODEM]))
    ran = momo("phones", "release", "zte-front", "-o", "table", PATH=str(manager.bin))
    assert (ran.code, ran.out.startswith("There is no ModemManager here")) == (0, True)
    ran = momo("phones", "release", "zte-front", "--json", PATH=str(manager.bin))
    assert (ran.json["data"]["manager"], ran.json["data"]["port"]) == (
        False,
        samples.MODEM["port"],
    )


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
