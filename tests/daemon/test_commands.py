"""`python -m daemon COMMAND`: each command imports only the modules that it needs."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import __main__ as program
from daemon import wire

ROOT = Path(__file__).parents[2]
NOT_WHEN_IDLE = {
    "aiosmtplib", "argon2", "click", "cryptography", "daemon.flows.upkeep.backups", "daemon.demo", "daemon.doctor.run", "greenlet",
    "daemon.loops.sources.post", "daemon.loops.sources.hilink", "daemon.loops.sources.modem_manager", "daemon.modem.hilink", "daemon.modem.modem_manager", "httpcore", "huawei_lte_api", "importlib.resources", "jeepney", "jinja2", "jwt", "keyring", "phonenumbers", "prometheus_client", "requests", "rich", "segno", "tarfile", "typer", "uvicorn.main", "zipfile",
}  # fmt: skip
"""Loaded with the first webhook, e-mail, login, page or metrics request, or never."""
OF_THE_SERVICE = {"daemon.app", "httpx", "rich", "starlette", "uvicorn"}


def loaded_by(statement: str) -> set[str]:
    """Run a statement in a new interpreter and return the names of the loaded modules."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stdout.split())


def test_every_command_has_its_function_in_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["--help"])
    offered = capsys.readouterr().out.partition("{")[2].partition("}")[0].split(",")
    assert set(offered) == set(program.COMMANDS)
    modules = {path.stem for path in (ROOT / "daemon" / "commands").glob("*.py")}
    assert set(program.COMMANDS.values()) == modules - {"__init__", "output"}
    functions = {
        name
        for module in set(program.COMMANDS.values())
        for name in vars(importlib.import_module(f"daemon.commands.{module}"))
        if name.endswith("_command")
    }
    assert functions == {f"{name.replace('-', '_')}_command" for name in program.COMMANDS}


@pytest.mark.parametrize("command", ["backup", "config", "logs", "decode", "setup"])
def test_a_command_that_serves_nothing_does_not_load_the_service(command: str) -> None:
    loaded = loaded_by(f"import daemon.commands.{program.COMMANDS[command]}")
    assert not OF_THE_SERVICE & loaded


def test_an_idle_daemon_does_not_load_what_it_may_never_need() -> None:
    loaded = loaded_by(
        "import daemon.commands.run; from daemon.runtime.log import Log;Log(sys.stderr).info('daemon.ready')"
    )
    assert "uvicorn" in loaded
    assert "structlog" in loaded
    assert not loaded & NOT_WHEN_IDLE


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
