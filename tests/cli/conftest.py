"""A shop in a folder, the fake daemon on its socket, and `momo` run inside the test."""

import contextlib
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from momo_cli import system
from momo_cli.frame.run import main
from tests.cli.sample_files import FILES, write_files
from tests.fakes.fake_api import FakeApi, serving

NOW = datetime(2026, 11, 20, 9, 18, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Shop:
    """A folder that is set up, and the environment that names it."""

    home: Path
    environ: dict[str, str]

    @property
    def places(self) -> wire.Places:
        return wire.places(self.environ, os.getuid(), tempfile.gettempdir())

    @property
    def socket(self) -> Path:
        return Path(self.places.socket)


@dataclass(frozen=True, slots=True)
class Ran:
    """Exit code and output of one run of `momo`."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the one document of stdout; more or less than one is an error."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        return json.loads(self.out)


Momo = Callable[..., Ran]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    home = tmp_path / "shop"
    home.mkdir(mode=0o700)
    (home / wire.DATABASE_NAME).touch()
    environ = {"MOMO_HOME": str(home), "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
    return Shop(home, environ)


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the command line's clock shortly after the samples happened."""
    monkeypatch.setattr("momo_cli.system.now", lambda: NOW)


@pytest.fixture
def api(shop: Shop) -> Iterator[FakeApi]:
    with serving(FakeApi(), shop.socket) as served:
        yield served


@pytest.fixture
def momo(shop: Shop, capsys: pytest.CaptureFixture[str]) -> Momo:
    def run(*argv: str, **environ: str) -> Ran:
        capsys.readouterr()
        code = main(argv, {**shop.environ, **environ})
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replace sleep; return the list of the requested seconds."""
    taken: list[float] = []
    monkeypatch.setattr("momo_cli.system.sleep", taken.append)
    return taken


@pytest.fixture(scope="session")
def _sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_files(folder, FILES)
    return folder


@pytest.fixture
def sample_folder(_sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the files that the rows of the matrix name; to be read only."""
    monkeypatch.chdir(_sample_folder)
    return _sample_folder


@pytest.fixture
def in_process(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `python -m daemon VERB` in this process: a new process would take a second for each call."""
    from daemon import __main__ as __main___module

    monkeypatch.setenv("MOMO_HOME", str(shop.home))
    real = subprocess.run

    def run(words: list[str], **how: Any) -> Any:
        program = system.python_argv("daemon")
        if words[: len(program)] != program:
            return real(words, **how)
        out, err = io.StringIO(), io.StringIO()
        typed = io.TextIOWrapper(io.BytesIO(how.get("input") or b""), encoding="utf-8")
        with monkeypatch.context() as here:
            here.setattr("sys.stdin", typed)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = __main___module.main(words[len(program) :])
        return subprocess.CompletedProcess(words, code, out.getvalue().encode(), err.getvalue().encode())

    monkeypatch.setattr("momo_cli.service.daemon_program.subprocess.run", run)
