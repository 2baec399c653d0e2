"""`momo daemon install` and the service: real files, checked by systemd's own tools; the programs that act on them are stand-ins."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import wire
from momo_cli import system
from momo_cli.service import manager
from momo_cli.service.manager import JOBS, UnitFile
from momo_cli.socket.connect import SYSTEM_ENVIRONMENT, SYSTEM_HOME
from tests.cli import samples
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, ok

EXPOSURE_MAX = 2.0
"""Of 10; the same unit without a sandbox has 9.6."""
USER_EXPOSURE_MAX = 6.5
"""Exposure without PrivateUsers=, which would remove the modem's group."""
CONTROL = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path({folder!r})
with (here / "asked").open("a") as asked:
    asked.write(json.dumps([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]) + "\\n")
says = here / "says"
if says.exists() and "show" in sys.argv:
    print(says.read_text())
refuses = here / "refuses"
if refuses.exists() and refuses.read_text() in sys.argv:
    sys.exit("Failed to connect to bus")
"""
analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine")


class Machine:
    """The programs of a machine's systemd, replaced by scripts that record their arguments."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self._folder = folder
        for name in ("systemctl", "loginctl", "journalctl", "systemd-sysusers"):
            (folder / name).write_text(CONTROL.format(python=sys.executable, folder=str(folder)))
            (folder / name).chmod(0o755)
        environ["PATH"] = f"{folder}:{environ['PATH']}"
        environ["HOME"] = str(folder)
        self.units = folder / ".config" / "systemd" / "user"

    @property
    def asked(self) -> list[list[str]]:
        path = self._folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]

    def says(self, text: str) -> None:
        (self._folder / "says").write_text(text)

    def refuses(self, word: str) -> None:
        (self._folder / "refuses").write_text(word)


@pytest.fixture
def machine(tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Machine:
    folder = tmp_path / "machine"
    folder.mkdir()
    return Machine(folder, shop.environ)


def written(folder: Path, files: list[UnitFile]) -> list[str]:
    """Write units where systemd-analyze can read them; returns their paths."""
    paths = []
    for file in files:
        path = folder / Path(file.path).name
        path.write_text(file.text)
        paths.append(str(path))
    return paths


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def system_shop() -> manager.UnitValues:
    return manager.UnitValues(f"{SYSTEM_HOME}/default", SYSTEM_ENVIRONMENT)


@analyze
def test_systemd_finds_no_fault_in_any_unit(tmp_path: Path) -> None:
    odd = '/var/ama b/50% "off"/$shop'
    user = manager.UnitValues(odd, {"MOMO_HOME": odd}, "momo-odd")
    files = [
        manager.user_service(user, ""),
        *manager.timers(user, "", system=False),
        manager.system_files(system_shop())[0],
        *manager.timers(system_shop(), "", system=True),
    ]
    said = run("systemd-analyze", "verify", "--man=no", *written(tmp_path, files))
    assert str(tmp_path) not in said, said


@analyze
def test_units_are_as_confined_as_they_can_be(tmp_path: Path) -> None:
    system = manager.system_files(system_shop())[0]
    user = manager.user_service(manager.UnitValues("/var/ama", {}, "momo-ama"), "")
    for file, most in ((system, EXPOSURE_MAX), (user, USER_EXPOSURE_MAX)):
        unit = written(tmp_path, [file])[0]
        threshold = f"--threshold={most * 10:.0f}"
        run("systemd-analyze", "security", "--offline=true", "--no-pager", threshold, unit)


def test_the_system_service_starts_with_and_without_the_key_among_its_credentials() -> None:
    unit = manager.system_files(system_shop())[0].text.splitlines()
    # By its name alone: a path that is not there would keep the service from starting (systemd.exec(5)).
    assert "LoadCredentialEncrypted=momo-master-key" in unit
    user = manager.user_service(manager.UnitValues("/var/ama", {}), "").text
    assert "LoadCredential" not in user  # the user's systemd cannot open sealed ones


def test_both_services_may_open_as_many_files_as_the_limit_of_connections_needs() -> None:
    for file in (manager.system_files(system_shop())[0], manager.user_service(manager.UnitValues("/var/ama", {}), "")):
        assert "LimitNOFILE=8192" in file.text.splitlines()


def test_the_system_service_may_open_serial_ports_and_nothing_else() -> None:
    unit = manager.system_files(system_shop())[0].text.splitlines()
    assert "DevicePolicy=closed" in unit
    allowed = {line.partition("=")[2] for line in unit if line.startswith("DeviceAllow=")}
    # USB modems, and a board on the pins of a Raspberry Pi (ttyAMA0, ttyS0; serial0 is a link to one of them).
    assert allowed == {f"char-{name} rw" for name in ("ttyUSB", "ttyACM", "ttyAMA", "ttyS")}
    # The owner of a Pi's own UART is root, its group dialout.
    assert "SupplementaryGroups=dialout" in unit


@analyze
def test_every_timer_has_a_time_that_comes_again() -> None:
    assert "Next elapse" in run("systemd-analyze", "calendar", *[job.when for job in JOBS])


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_job_is_a_command_that_momo_takes(job: manager.Job, momo: Momo) -> None:
    for words in job.commands:
        ran = momo(*[word.replace("%i", samples.ENDPOINT["id"]) for word in words])
        assert ran.code != 2, ran.err  # the daemon is down, or the shop is empty: not the words


def test_install_writes_the_unit_and_switches_it_on(machine: Machine, shop: Shop, momo: Momo) -> None:
    ran = momo("daemon", "install", "--linger", "--yes", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (0, "installed")
    unit = machine.units / "momo.service"
    assert ran.json["data"]["path"] == str(unit)
    text = unit.read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert shlex.split(line.removeprefix("ExecStart=")) == system.python_argv("daemon", "run", "--supervised")
    assert f"Environment=MOMO_HOME={shop.home}\n" in text
    assert unit.stat().st_mode & 0o777 == 0o644
    assert machine.asked == [
        ["systemctl", "--user", "daemon-reload"],
        ["loginctl", "enable-linger"],
        ["systemctl", "--user", "enable", "--now", "momo.service"],
    ]
    assert momo("daemon", "install", "--yes", "--json").json["data"]["status"] == ("already_installed")
    unit.write_text(text + "# changed\n")
    assert momo("daemon", "install", "--yes", "--json").json["data"]["status"] == "updated"
    assert unit.read_text() == text


def test_timers_come_with_one_instance_for_each_endpoint(machine: Machine, api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    assert momo("daemon", "install", "--timers", "--yes").code == 0
    assert len(list(machine.units.iterdir())) == 1 + 2 * len(JOBS)
    units = machine.asked[-1][4:]
    assert units[0] == "momo.service"
    assert f"momo-replay@{samples.ENDPOINT['id']}.timer" in units
    assert "momo-backup.timer" in units


@pytest.mark.parametrize("flag", ["--print", "--dry-run"])
def test_a_dry_run_and_a_print_write_nothing(flag: str, machine: Machine, momo: Momo) -> None:
    ran = momo("daemon", "install", "--timers", flag)
    assert ran.code == 0
    assert ran.out
    assert not machine.units.exists()
    assert machine.asked == []


def test_print_of_one_file_is_the_file(machine: Machine, momo: Momo) -> None:
    out = momo("daemon", "install", "--print").out
    assert out.startswith("# Written by `momo daemon install`")
    assert momo("daemon", "install", "--print", "--system").out.count("\n[Service]\n") == 1


def test_nobody_to_ask_is_2_and_writes_nothing(machine: Machine, momo: Momo) -> None:
    ran = momo("daemon", "install", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "USAGE")
    assert not machine.units.exists()


def test_machine_without_a_running_systemd_keeps_the_files_and_says_so(machine: Machine, momo: Momo) -> None:
    machine.refuses("daemon-reload")
    ran = momo("daemon", "install", "--yes", "--json")
    assert ran.code == 6
    assert ran.json["data"]["problems"] == ["systemctl --user daemon-reload: Failed to connect to bus"]
    assert (machine.units / "momo.service").exists()


def test_uninstall_removes_what_is_this_shop_s_and_nothing_else(machine: Machine, momo: Momo) -> None:
    momo("daemon", "install", "--timers", "--yes")
    other = machine.units / "momo-second.service"
    other.write_text("# Shop: /another/shop\n")
    machine.asked  # noqa: B018 -- clears the recorded calls
    ran = momo("daemon", "uninstall", "--json")
    assert (ran.code, ran.json["data"]["status"]) == (0, "uninstalled")
    assert [path.name for path in machine.units.iterdir()] == [other.name]
    assert machine.asked[0][:4] == ["systemctl", "--user", "disable", "--now"]
    assert momo("daemon", "uninstall", "--json").json["data"]["status"] == "already_uninstalled"


def test_a_daemon_that_does_not_answer_is_stopped_by_its_service(machine: Machine, shop: Shop, momo: Momo) -> None:
    assert momo("daemon", "stop", "--get", "data.status").out == "already_stopped\n"
    assert machine.asked == []
    momo("daemon", "install", "--yes")
    machine.asked  # noqa: B018 -- clears the recorded calls
    assert momo("daemon", "stop", "--get", "data.status").out == "already_stopped\n"
    assert machine.asked == [["systemctl", "--user", "stop", "momo.service"]]
    machine.refuses("stop")
    ran = momo("daemon", "stop")
    assert (ran.code, "Failed to connect to bus" in ran.err) == (0, True)


def test_a_service_that_systemd_does_not_remove_is_told(machine: Machine, momo: Momo) -> None:
    momo("daemon", "install", "--yes")
    machine.refuses("disable")
    ran = momo("daemon", "uninstall")
    assert (ran.code, "Failed to connect to bus" in ran.err) == (0, True)


def test_status_says_what_systemd_knows(machine: Machine, momo: Momo, api: FakeApi) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok(samples.STATUS))
    momo("daemon", "install", "--yes")
    machine.says(
        "ActiveState=active\nSubState=running\nMainPID=4121\nUnitFileState=enabled\n"
        "StatusText=serving, 1 of 1 phones ready\nNRestarts=2"
    )
    ran = momo("daemon", "status", "-o", "table")
    assert ran.code == 0
    assert ran.out.splitlines()[1:5] == [
        "✓ momo.service: active (running), pid 4121",
        "  says      serving, 1 of 1 phones ready",
        "  at start  enabled",
        "  restarts  2",
    ]
    unit = machine.units / "momo.service"
    unit.write_text(unit.read_text() + "# changed\n")
    assert "The unit differs" in momo("daemon", "status", "-o", "table").err
    machine.refuses("show")
    ran = momo("daemon", "status", "-o", "table")
    assert (ran.code, "Failed to connect to bus" in ran.err) == (0, True)


def test_status_without_a_daemon_is_7_and_still_says_what_systemd_knows(machine: Machine, momo: Momo) -> None:
    assert momo("daemon", "status", "-o", "table").out == ""
    momo("daemon", "install", "--yes")
    machine.says("ActiveState=failed\nSubState=failed\nMainPID=0\nUnitFileState=enabled")
    ran = momo("daemon", "status", "-o", "table")
    assert (ran.code, "✗ momo.service: failed (failed)\n" in ran.out) == (7, True)
    assert momo("daemon", "status", "--json").json["error"]["code"] == "DAEMON_DOWN"


def test_the_journal_is_shown_by_its_own_program(machine: Machine, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def became(_program: str, words: list[str], _environ: dict[str, str]) -> None:
        seen.append(words)
        raise KeyboardInterrupt

    ran = momo("daemon", "logs", "--journal", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "SERVICE_NOT_INSTALLED")
    momo("daemon", "install", "--yes")
    ran = momo("daemon", "logs", "--journal", "--json", PATH="/nonexistent")
    assert (ran.code, ran.json["error"]["next"]) == (1, ["momo daemon logs"])
    monkeypatch.setattr(os, "execvpe", became)
    assert momo("daemon", "logs", "--journal", "-f", "--lines", "20").code == 130
    assert seen == [["journalctl", "--user", "--unit=momo.service", "--no-pager", "-n20", "-f"]]


def test_system_service_that_could_not_see_its_program_is_refused(
    machine: Machine, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(Path("/home") / "ama" / "python"))
    ran = momo("daemon", "install", "--system", "--yes", "--json")
    assert ran.code == 2
    assert "install momo for all users" in ran.json["error"]["message"]


def test_templates_are_in_the_package() -> None:
    from importlib import resources

    here = Path(manager.__file__).parent / "units"
    named = {entry.name for entry in resources.files("momo_cli.service.units").iterdir()}
    assert {path.name for path in here.iterdir() if path.suffix != ".py"} <= named
    assert 'momo_cli = ["service/units/*"]' in (here.parents[2] / "pyproject.toml").read_text()
