"""The udev rule has valid syntax and names exactly the modem makers that momo supports."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from daemon.doctor.modem import RULES
from daemon.modem.discovery import MODEM_VENDORS
from momo_cli.service import manager

FILE = Path(manager.__file__).parent / "units" / Path(RULES).name
PAIR = re.compile(
    r"""(?P<key>[A-Z]+)(?:\{(?P<attribute>[^{}"]+)\})?(?P<operator>==|!=|\+=|-=|:=|=)"(?P<value>[^"]*)\""""
)
"""A match or an assignment (udev(7), Rules files)."""
MATCHES = {"ACTION", "SUBSYSTEM", "ATTRS", "TAG", "TEST", "ENV"}
ASSIGNS = {"ENV", "TAG", "GROUP", "MODE", "ATTR", "GOTO", "LABEL"}


def rules() -> list[list[dict[str, str]]]:
    """Return each rule as its pairs; a line that is not made of pairs fails."""
    found = []
    for line in FILE.read_text(encoding="ascii").splitlines():
        if not line or line.startswith("#"):
            continue
        pairs = [match.groupdict(default="") for match in PAIR.finditer(line)]
        assert ", ".join(match.group() for match in PAIR.finditer(line)) == line
        found.append(pairs)
    return found


def test_every_line_is_made_of_pairs_that_udev_knows() -> None:
    for rule in rules():
        for pair in rule:
            compares = pair["operator"] in ("==", "!=")
            assert pair["key"] in (MATCHES if compares else ASSIGNS), pair
            assert bool(pair["attribute"]) == (pair["key"] in ("ATTRS", "ATTR", "ENV")), pair


def test_the_command_the_doctor_and_the_system_service_name_the_same_file() -> None:
    shop = manager.UnitValues("/var/ama", {})
    assert manager.udev_rule("").path == RULES
    assert manager.udev_rule("").text == FILE.read_text()
    assert RULES in [file.path for file in manager.system_files(shop)]


def test_every_jump_has_its_label_further_down() -> None:
    pairs = [pair for rule in rules() for pair in rule]
    labels = [i for i, pair in enumerate(pairs) if pair["key"] == "LABEL"]
    jumps = [i for i, pair in enumerate(pairs) if pair["key"] == "GOTO"]
    assert len(labels) == 1
    assert jumps
    assert all(i < labels[0] and pairs[i]["value"] == pairs[labels[0]]["value"] for i in jumps)


def test_it_names_the_makers_that_momo_looks_for_and_no_others() -> None:
    ignored = {
        rule[0]["value"]
        for rule in rules()
        if {"key": "ENV", "attribute": "ID_MM_DEVICE_IGNORE", "operator": "=", "value": "1"} in rule
    }
    assert ignored == set(MODEM_VENDORS)


def test_it_sorts_before_the_rules_by_which_modem_manager_chooses() -> None:
    """80-mm-candidate.rules tags the ports that ModemManager may take."""
    assert FILE.name < "80-mm-candidate.rules"
    assert FILE.suffix == ".rules"


def test_ports_are_for_the_group_and_for_nobody_else() -> None:
    (port,) = [rule for rule in rules() if any(pair["key"] == "GROUP" for pair in rule)]
    values = {pair["key"]: pair["value"] for pair in port}
    assert (values["SUBSYSTEM"], values["GROUP"], values["MODE"]) == ("tty", "dialout", "0660")


def test_udev_itself_accepts_it() -> None:
    udevadm = shutil.which("udevadm")
    if udevadm is None:
        pytest.skip("no udevadm here")
    version = subprocess.run([udevadm, "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.split()[0]) < 254:
        pytest.skip("udevadm verify came with systemd 254")
    done = subprocess.run([udevadm, "verify", str(FILE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
