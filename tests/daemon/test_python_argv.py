"""The command line of a child process of momo names the right code in every folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from daemon import wire


def test_code_that_pip_installed_is_found_by_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    # The .deb; a venv of pipx or uv tool looks the same.
    monkeypatch.setattr(sys, "prefix", "/usr/lib/momo")
    monkeypatch.setattr(sys, "executable", "/usr/lib/momo/bin/python3")
    file = "/usr/lib/momo/lib/python3.13/site-packages/daemon/wire.py"
    assert wire.python_argv(file, "daemon", "run", "--supervised") == [
        "/usr/lib/momo/bin/python3", "-P", "-m", "daemon", "run", "--supervised",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "file",
    [
        "/var/lib/shop/momo.pyz/daemon/wire.py",
        # A folder of a zipapp that unpacks itself; only its name is like that of pip's.
        "/var/lib/shop/.shiv/momo/site-packages/daemon/wire.py",
        "/var/lib/checkout/daemon/wire.py",
    ],
)
def test_other_code_is_named_by_its_path(file: str) -> None:
    argv = wire.python_argv(file, "momo_cli", "status")
    assert (argv[:3], argv[4:]) == ([sys.executable, "-P", "-c"], ["status"])
    assert repr(file.removesuffix("/daemon/wire.py")) in argv[3]


def test_a_checkout_is_found_from_a_folder_with_modules_of_the_same_names(tmp_path: Path) -> None:
    for name in ("daemon", "runpy", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n")
    for module, words in (("daemon", ["--help"]), ("momo_cli", ["--version"])):
        done = subprocess.run(
            wire.python_argv(str(Path(wire.__file__).absolute()), module, *words),
            cwd=tmp_path, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
