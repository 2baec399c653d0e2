"""Find modems in a simulated /dev and /sys."""

from pathlib import Path

import pytest

from daemon.modem.discovery import PortFinder

LOOKS = 4
"""The look that sees a change, and three more without one."""


class Machine:
    """A small /dev and /sys with the kernel's layout."""

    def __init__(self, root: Path) -> None:
        self.dev = root / "dev"
        self.sys = root / "sys"
        (self.dev / "serial" / "by-id").mkdir(parents=True)
        (self.sys / "class" / "tty").mkdir(parents=True)

    def plug(self, tty: str, usb: str, bus: str, interface: int, kind: str = "ff/ff/ff", alias: str = "") -> None:
        vendor, product = usb.split(":")
        device = self.sys / "devices" / bus
        place = device / f"{bus}:1.{interface}"
        port = place / tty if tty.startswith("ttyUSB") else place
        port.mkdir(parents=True, exist_ok=True)
        (device / "idVendor").write_text(f"{vendor}\n")
        (device / "idProduct").write_text(f"{product}\n")
        (place / "bInterfaceNumber").write_text(f"{interface:02x}\n")
        for name, value in zip(("Class", "SubClass", "Protocol"), kind.split("/"), strict=True):
            (place / f"bInterface{name}").write_text(f"{value}\n")
        (self.sys / "class" / "tty" / tty).mkdir()
        (self.sys / "class" / "tty" / tty / "device").symlink_to(port)
        (self.dev / tty).touch()
        if alias:
            (self.dev / "serial" / "by-id" / alias).symlink_to(f"../../{tty}")

    def pull(self, tty: str) -> None:
        (self.dev / tty).unlink()
        (self.sys / "class" / "tty" / tty / "device").unlink()
        (self.sys / "class" / "tty" / tty).rmdir()

    def finder(self) -> PortFinder:
        return PortFinder(str(self.dev), str(self.sys))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_machine_without_modems_has_none(machine: Machine) -> None:
    assert machine.finder().find() == []


def test_folders_that_do_not_exist_hold_no_modems(tmp_path: Path) -> None:
    assert PortFinder(str(tmp_path / "no"), str(tmp_path / "where")).find() == []


def test_a_huawei_stick_is_known_by_its_protocol_not_by_its_number(machine: Machine) -> None:
    machine.plug("ttyUSB0", "12d1:1506", "1-1", 0, "ff/02/01")
    machine.plug("ttyUSB1", "12d1:1506", "1-1", 1, "ff/02/02", alias="usb-HUAWEI-if01-port0")
    machine.plug("ttyUSB2", "12d1:1506", "1-1", 2, "ff/02/03")
    assert machine.finder().find() == [str(machine.dev / "serial/by-id/usb-HUAWEI-if01-port0")]


@pytest.mark.parametrize(
    ("usb", "interfaces", "chosen"),
    [
        ("12d1:1001", [0, 1, 2], 2),
        ("12d1:1003", [0, 1], 0),
        ("19d2:0117", [0, 1, 2], 2),
        ("19d2:0031", [0, 1, 2, 3], 3),
        ("1e0e:9001", [0, 1, 2, 3], 2),
        ("2c7c:0125", [0, 1, 2, 3], 2),
        ("0af0:7501", [0, 1], 0),
    ],
)
def test_the_command_port_is_chosen_by_make(machine: Machine, usb: str, interfaces: list[int], chosen: int) -> None:
    for number in interfaces:
        machine.plug(f"ttyUSB{number}", usb, "1-1", number)
    assert machine.finder().find() == [str(machine.dev / f"ttyUSB{chosen}")]


def test_a_port_that_never_answers_is_not_named_alone(machine: Machine) -> None:
    machine.plug("ttyUSB0", "2c7c:0125", "1-1", 0)
    assert machine.finder().find() == []


def test_an_acm_modem_is_found(machine: Machine) -> None:
    machine.plug("ttyACM0", "1546:1102", "2-1", 0, "02/02/01")
    assert machine.finder().find() == [str(machine.dev / "ttyACM0")]


def test_printers_and_serial_chips_are_left_alone(machine: Machine) -> None:
    machine.plug("ttyUSB0", "1a86:7523", "1-1", 0)
    machine.plug("ttyACM0", "2341:0043", "1-2", 0)
    assert machine.finder().find() == []


def test_two_equal_sticks_are_both_found(machine: Machine) -> None:
    machine.plug("ttyUSB0", "19d2:0117", "1-1", 2)
    machine.plug("ttyUSB1", "19d2:0117", "1-2", 2, alias="usb-ZTE-if02-port0")
    assert machine.finder().find() == [
        str(machine.dev / "serial/by-id/usb-ZTE-if02-port0"),
        str(machine.dev / "ttyUSB0"),
    ]


def test_a_stick_that_comes_later_counts_once_its_ports_are_all_there(machine: Machine) -> None:
    finder = machine.finder()
    assert finder.find() == []
    machine.plug("ttyUSB0", "1e0e:9001", "1-1", 3)
    assert [finder.find() for _ in range(3)] == [[], [], []]
    machine.plug("ttyUSB1", "1e0e:9001", "1-1", 2)
    assert [finder.find() for _ in range(LOOKS)][-1] == [str(machine.dev / "ttyUSB1")]


def test_a_stick_that_is_pulled_out_is_gone_at_once(machine: Machine) -> None:
    machine.plug("ttyUSB0", "1e0e:9001", "1-1", 2)
    finder = machine.finder()
    assert finder.find() == [str(machine.dev / "ttyUSB0")]
    machine.pull("ttyUSB0")
    assert finder.find() == []


def test_a_name_that_the_kernel_has_not_told_of_is_looked_at_again(machine: Machine) -> None:
    (machine.dev / "ttyUSB0").touch()
    finder = machine.finder()
    assert finder.find() == []
    (machine.dev / "ttyUSB0").unlink()
    machine.plug("ttyUSB0", "1e0e:9001", "1-1", 2)
    assert finder.find() == [str(machine.dev / "ttyUSB0")]


def test_nothing_is_asked_of_the_devices_while_the_names_stay(machine: Machine) -> None:
    machine.plug("ttyUSB0", "1e0e:9001", "1-1", 2)
    finder = machine.finder()
    before = finder.find()
    (machine.sys / "devices" / "1-1" / "idVendor").unlink()
    assert [finder.find() for _ in range(2 * LOOKS)] == [before] * (2 * LOOKS)


def test_a_port_that_does_not_answer_gives_way_to_the_next_of_its_device(machine: Machine) -> None:
    for number in range(4):
        machine.plug(f"ttyUSB{number}", "2c7c:0125", "1-1", number)
    machine.plug("ttyUSB9", "12d1:1001", "1-2", 0)
    finder = machine.finder()
    dev = str(machine.dev)
    other = f"{dev}/ttyUSB9"
    assert finder.find() == [f"{dev}/ttyUSB2", other]
    finder.reject(f"{dev}/ttyUSB2")
    assert finder.find() == [f"{dev}/ttyUSB3", other], "0 and 1 are for diagnostics and GPS"
    finder.reject(f"{dev}/ttyUSB3")
    assert finder.find() == [f"{dev}/ttyUSB2", other], "a modem that starts is silent too"


def test_a_device_that_came_again_is_tried_at_its_likeliest_port(machine: Machine) -> None:
    for number in range(2, 4):
        machine.plug(f"ttyUSB{number}", "2c7c:0125", "1-1", number)
    finder = machine.finder()
    finder.find()
    finder.reject(f"{machine.dev}/ttyUSB2")
    assert finder.find() == [f"{machine.dev}/ttyUSB3"]
    for number in range(2, 4):
        machine.pull(f"ttyUSB{number}")
    for _ in range(LOOKS):
        finder.find()
    for number in range(2, 4):
        machine.plug(f"ttyUSB{number}", "2c7c:0125", "1-1", number)
    for _ in range(LOOKS):
        found = finder.find()
    assert found == [f"{machine.dev}/ttyUSB2"]


def test_a_port_that_nobody_named_cannot_be_rejected(machine: Machine) -> None:
    machine.plug("ttyUSB0", "12d1:1001", "1-2", 0)
    finder = machine.finder()
    finder.reject("/dev/ttyUSB7")
    assert finder.find() == [f"{machine.dev}/ttyUSB0"]
