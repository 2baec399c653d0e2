"""`python -m daemon VERB`: each verb loads what it needs and no more."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import __main__ as program

ROOT = Path(__file__).parents[2]
NOT_WHEN_IDLE = {
    "aiosmtplib", "argon2", "cryptography", "daemon.backups", "daemon.demo", "daemon.doctor.rounds", "greenlet", "httpx",
    "httpcore", "jinja2", "jwt", "keyring", "phonenumbers", "prometheus_client", "rich", "segno", "tarfile", "typer",
}  # fmt: skip
"""Loaded with the first webhook, mail, login, page, code, question; or never."""
OF_THE_SERVICE = {"daemon.app", "httpx", "rich", "starlette", "uvicorn"}


def test_every_verb_has_a_module_that_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["--help"])
    offered = capsys.readouterr().out.partition("{")[2].partition("}")[0].split(",")
    modules = {path.stem for path in (ROOT / "daemon" / "verbs").glob("*.py")}
    assert set(offered) == set(program.VERBS)
    assert set(program.VERBS.values()) == modules - {"__init__", "say"}
    assert all(
        callable(importlib.import_module(f"daemon.verbs.{module}").run)
        for module in program.VERBS.values()
    )


@pytest.mark.parametrize("verb", ["backup", "config", "logs"])
def test_a_verb_that_serves_nobody_does_not_load_the_service(verb: str) -> None:
    look = (
        "import importlib, sys, daemon.__main__ as program;"
        f"importlib.import_module('daemon.verbs.' + program.VERBS[{verb!r}]);"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert not OF_THE_SERVICE & set(done.stdout.split())


def test_an_idle_daemon_does_not_carry_what_it_may_never_need() -> None:
    look = (
        "import sys, daemon.verbs.daemon_run; from daemon.log import Log;"
        "Log(sys.stderr).info('daemon.ready'); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "uvicorn" in loaded
    assert "structlog" in loaded
    assert not loaded & NOT_WHEN_IDLE
