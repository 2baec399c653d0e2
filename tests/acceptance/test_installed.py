"""momo installed from its wheel, and as a zipapp: from `momo setup` to a payment, away from the sources."""

import json
import os
import pwd
import shlex
import subprocess
import tarfile
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from zipfile import ZipFile

import pytest

from momo_cli.service.manager import JOBS
from tests.fakes.installed import build, make_venv, make_zipapp

pytestmark = pytest.mark.slow
LONG = os.environ.get("MOMO_TEST_LONG") == "1"


class Customer:
    """A user with an own home folder and an installed `momo`."""

    def __init__(self, momo: list[str], home: Path) -> None:
        self.words, self.home = momo, home
        home.mkdir()
        (home / "run").mkdir(mode=0o700)
        self.environ = {
            "HOME": str(home), "PATH": "/usr/bin:/bin", "LOGNAME": "ama", "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(home / "run"),
        }  # fmt: skip

    def runs(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.home, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip

    def types(self, line: str) -> str:
        """Run `momo LINE`, which must succeed, and return its output."""
        done = self.runs(*self.words, *shlex.split(line))
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout.strip()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(params=["wheel", "zipapp"])
def customer(request: pytest.FixtureRequest, built: tuple[Path, Path], tmp_path: Path) -> Iterator[Customer]:
    _, wheel = built
    home = tmp_path / "home"
    if request.param == "wheel":
        found = Customer([str(make_venv(tmp_path / "venv", wheel) / "momo")], home)
    else:
        python = make_venv(tmp_path / "venv", None) / "python"
        # By a relative path, as one types it.
        found = Customer([str(python), f"../{make_zipapp(tmp_path, wheel).name}"], home)
    yield found
    found.runs(*found.words, "daemon", "stop")


def test_from_setup_to_a_paid_transaction_and_to_the_end(customer: Customer) -> None:
    assert customer.types("--version").startswith("momo 0.1.0 ")
    (customer.home / "password").write_text("correct horse 42\n")
    customer.types("setup --no-input --shop 'Ama Provisions' --password-file password --http off")
    customer.types("daemon restart --simulated-phone --http 127.0.0.1:0")
    asked = json.loads(customer.types("init 12.50 --phone 0244765432 --sandbox --json"))["data"]
    code, checkout = asked["svc_code"], urlsplit(asked["checkout_url"]).path
    customer.types(f"simulate payment --order {code}")
    customer.types(f"tx wait {code} --timeout 30s")
    assert customer.types(f"tx show {code} --get data.status") == "SUCCESS"

    # Templates, words and style come out of the package, which may be one file.
    address = customer.types("status --get data.http")
    for page, text in (("/docs", "initializeTransaction"), (checkout, "12.50")):
        with urllib.request.urlopen(f"http://{address}{page}", timeout=30) as answer:
            assert text in answer.read().decode()

    # The unit and the timers start the same momo, without this environment and in another folder.
    units = customer.types("daemon install --timers --print --output plain")
    commands = [
        shlex.split(line.removeprefix("ExecStart=").replace("$$", "$").replace("%%", "%"))
        for line in units.splitlines()
        if line.startswith("ExecStart=")
    ]
    assert len(commands) == 1 + sum(len(job.commands) for job in JOBS)
    assert commands[0][-2:] == ["run", "--supervised"]
    jobs = [command for command in commands[1:] if "%i" not in command]
    for words in ([*commands[0][:-2], "--help"], *jobs):
        done = subprocess.run(
            words, cwd="/", env={**customer.environ, "PYTHONUNBUFFERED": "1"}, capture_output=True,
            text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 6), (words, done.stderr)

    customer.types("daemon stop")
    assert customer.runs(*customer.words, "daemon", "status").returncode == 7


def test_the_demo_runs_away_from_the_sources(customer: Customer) -> None:
    done = customer.runs(*customer.words, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "signature verified" in " ".join(done.stdout.split())


@pytest.mark.timeout(1500)
@pytest.mark.skipif(not LONG, reason="installs from the package index: MOMO_TEST_LONG=1")
def test_pip_installs_the_wheel_and_its_libraries_as_a_shop_does(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Nothing of the tests' own environment is found: a library that the wheel forgets to require is missing here."""
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv/bin"
    # The tests have a home of their own; pip's settings are in the real one.
    environ = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environ.pop(name, None)
    words = [str(programs / "pip"), "install", "--quiet", f"{built[1]}[hilink]"]
    subprocess.run(words, check=True, env=environ, cwd=tmp_path)
    customer = Customer([str(programs / "momo")], tmp_path / "home")
    done = customer.runs(*customer.words, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "signature verified" in " ".join(done.stdout.split())
    stick = customer.runs(
        str(programs / "python"), "-c", "import huawei_lte_api.Client, daemon; print(daemon.__file__)"
    )
    assert stick.stdout.startswith(str(tmp_path / "venv")), stick.stderr


def test_the_sdist_and_the_wheel_have_everything(built: tuple[Path, Path], tmp_path: Path) -> None:
    sdist, wheel = built
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    with ZipFile(wheel) as zipped:
        in_wheel = set(zipped.namelist())
    units = "momo_cli/service/units"
    data = {
        f"{units}/system.service", f"{units}/user.service", f"{units}/job.timer",
        f"{units}/77-momo-modems.rules", f"{units}/modules.conf", f"{units}/sysusers.conf",
        "daemon/store/migrations/0001_schema.sql", "daemon/pages/look/page.css",
        "daemon/words/en/checkout.json", "daemon/api/templates/docs.html",
        "daemon/manual/shop/mishaps.md", "daemon/manual/img/demo.svg",
    }  # fmt: skip
    assert data <= in_wheel
    assert data | {"LICENSE", "README.md", "packaging/man/momo.1"} <= in_sdist
    about = "momo_shop-0.1.0"
    assert {f"{about}.dist-info/licenses/LICENSE", f"{about}.data/data/share/man/man1/momo-tx-list.1"} <= in_wheel
    assert not [name for name in in_wheel | in_sdist if "tests/" in name or "__pycache__" in name]

    folder = make_venv(tmp_path / "venv", wheel)
    assert (folder.parent / "share/man/man1/momo.1").read_text().startswith(".TH MOMO 1")
    rule = subprocess.run([folder / "momo", "phones", "udev-rule"], capture_output=True, text=True, check=True)
    assert "ID_MM_DEVICE_IGNORE" in rule.stdout
    for shell in ("bash", "zsh", "fish"):
        done = subprocess.run(
            [folder / "momo", "completion", shell], capture_output=True, text=True, check=True, env=dict(os.environ)
        )
        assert "momo __complete" in done.stdout
