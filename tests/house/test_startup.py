"""The command line starts quickly because it does not import unused modules."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import wire
from momo_cli.frame.command_table import COMMANDS
from tests.cli import samples
from tests.fakes.fake_api import FakeApi, ok, serving

NEVER = {
    "asyncio", "httpx", "keyring", "msgspec", "pydantic", "serial", "sqlite3", "sqlite_utils",
    "starlette", "structlog", "uvicorn", "cryptography", "phonenumbers",
    "daemon.app", "daemon.core", "daemon.flows", "daemon.store",
}  # fmt: skip
NOT_FOR_HELP = {"http.client", "rich", "ssl", "email", "csv", "zoneinfo", "momo_cli.socket.client"}
NOT_FOR_LINES = {"rich", "http", "email", "ssl", "random", "zoneinfo", "parsers", "momo_cli.socket.trace"}
ROOT = Path(__file__).parents[2]
PROBE = """
import json, runpy, sys
sys.argv = ["momo", *sys.argv[1:]]
said, sys.stdout = sys.stdout, sys.stderr
try:
    runpy.run_module("momo_cli", run_name="__main__", alter_sys=True)
except SystemExit as end:
    code = end.code or 0
said.write(json.dumps([code, sorted(sys.modules)]))
"""


def imported_by(*argv: str, home: str = "/nonexistent", code: int = 0) -> set[str]:
    """Run `momo argv` in a new interpreter and return the modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *argv],
        cwd=ROOT,
        env={"MOMO_HOME": home, "LANG": "C.UTF-8", "COLUMNS": "80"},
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
    )
    ended, modules = json.loads(done.stdout)
    assert ended == code
    return set(modules)


@pytest.mark.parametrize("command", ["init", "tx list", "tx watch", "setup", "status", "help"])
def test_help_imports_nothing_heavy(command: str) -> None:
    assert command in COMMANDS
    loaded = imported_by(*command.split(), "--help")
    assert not loaded & (NEVER | {"rich"})


def test_root_help_imports_no_command_and_no_client() -> None:
    loaded = imported_by("--help")
    assert not loaded & (NEVER | NOT_FOR_HELP | {info.module for info in COMMANDS.values()})


@pytest.mark.parametrize("form", [["--plain"], ["--json"], ["-o", "csv"], ["--get", "data.ready"]])
def test_lines_imports_nothing_heavy(form: list[str], tmp_path: Path) -> None:
    (tmp_path / wire.DATABASE_NAME).touch()
    api = FakeApi()
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    with serving(api, tmp_path / "run" / wire.SOCKET_NAME):
        loaded = imported_by("lines", *form, home=str(tmp_path))
    assert not loaded & (NEVER | NOT_FOR_LINES)
    assert {m for m in loaded if m.startswith("momo_cli.commands.")} == {
        "momo_cli.commands.lines",
        "momo_cli.commands.lines.lines",
    }


def test_a_table_needs_only_the_widths_of_letters_from_rich(tmp_path: Path) -> None:
    (tmp_path / wire.DATABASE_NAME).touch()
    api = FakeApi()
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    with serving(api, tmp_path / "run" / wire.SOCKET_NAME):
        loaded = imported_by("lines", "-o", "table", home=str(tmp_path))
    assert "rich.cells" in loaded
    assert not loaded & (NEVER | {"rich.console", "rich.table", "rich.text"})


def test_failure_imports_nothing_heavy() -> None:
    assert not imported_by("lines", code=11) & (NEVER | {"rich"})
