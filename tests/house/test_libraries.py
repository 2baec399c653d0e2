"""The libraries that the product is built on are declared, and the product's own code calls them when it runs."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.fakes import new_database

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = ("daemon", "momo_cli", "parsers")
USES = {
    "typer": ("typer", "import sys, momo_cli.__main__ as m; sys.argv = ['momo', '--help']; m.main()"),
    "rich": ("rich", "import momo_cli.show.wrapping as w; w.text_width('Akosua \u0254')"),
    "sqlite-utils": (
        "sqlite_utils",
        "import time; from daemon.store.upkeep.operator_sql import open_for_operator\nwith open_for_operator('momo.db', time.monotonic, 'ab', show_phones=False) as sql: sql.tables()",
    ),
    "httpx": (
        "httpx",
        "import asyncio; from daemon.sender.https import Sender\nasyncio.run(Sender().post('https://127.0.0.1/', {}, b'{}'))",
    ),
    "pyserial": (
        "serial",
        "import os; from daemon.modem.port import open_port\nours, theirs = os.openpty(); open_port(os.ttyname(theirs)).close()",
    ),
    "keyring": (
        "keyring",
        "import contextlib; from daemon.runtime.secrets import _Keyring, SecretsLocked\nwith contextlib.suppress(SecretsLocked): _Keyring('shop').fetch(make=True)",
    ),
    "watchfiles": (
        "watchfiles",
        "import threading; from pathlib import Path; from daemon.loops.watched_files import FolderWatch\nseen = threading.Event(); watch = FolderWatch(lambda path: path.name == 'config.toml', seen.set); watch.arm([Path()])\nfor second in range(50):\n    if not seen.wait(1): Path('config.toml').write_text(str(second))\nwatch.close()",
    ),
}
"""Requirement -> its package, and a call of the product that needs it."""
PROBE = """
import json, os, sys, threading
package, folders, code = json.loads(sys.argv[1])
called = set()
def look(frame, event, _):
    caller = frame.f_back
    if event == "call" and caller is not None and frame.f_code.co_name != "<module>":
        name = frame.f_globals.get("__name__", "").partition(".")[0]
        if name == package and caller.f_globals.get("__name__", "").partition(".")[0] in folders:
            called.add(frame.f_code.co_name)
threading.setprofile(look)
sys.setprofile(look)
try:
    exec(code, {"__name__": "probe"})
except SystemExit:
    pass
sys.setprofile(None)
print("\\n" + json.dumps(sorted(called)))
"""


@pytest.mark.parametrize("requirement", USES)
def test_the_product_s_own_code_calls_the_library(requirement: str, tmp_path: Path) -> None:
    new_database.lay(tmp_path / "momo.db")
    package, code = USES[requirement]
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps([package, FOLDERS, code])],
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
            "MOMO_HOME": str(tmp_path),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        },
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[-1]), f"{requirement} is not called"


def test_each_library_is_a_dependency_and_the_tests_run_with_pytest() -> None:
    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=;\[ ]", one)[0] for one in requirements}

    assert names(PROJECT["project"]["dependencies"]) >= set(USES)
    assert "pytest" in names(PROJECT["dependency-groups"]["dev"])


PROGRAM = """
import ctypes, importlib, mmap, pkgutil, sys

SET_MDWE, REFUSE_GAIN = 65, 1  # prctl(2), Linux 6.3; systemd 255 does the same, older ones by seccomp
if ctypes.CDLL(None).prctl(SET_MDWE, REFUSE_GAIN, 0, 0, 0) != 0:
    sys.exit(77)
try:
    mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
except OSError:
    pass
else:
    sys.exit("memory that can be written and run was given out: nothing is proved")

import daemon
for found in pkgutil.walk_packages(daemon.__path__, "daemon."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
# Libraries that are loaded with their first use, and those that call back into Python.
import argon2, keyring, serial, uvloop
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from parsers.phone import read_phone

argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("x")
assert AESGCM(b"k" * 32).encrypt(b"n" * 12, b"x", b"")
assert read_phone("+44 20 7946 0958")

async def nothing() -> None:
    import asyncio
    await asyncio.to_thread(len, "")

uvloop.run(nothing())
"""


@pytest.mark.slow
def test_every_module_and_library_runs_where_no_memory_may_be_written_and_run() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True, timeout=60)
    if done.returncode == 77:
        pytest.skip("this kernel cannot refuse such memory to a process (Linux 6.3)")
    assert (done.returncode, done.stderr) == (0, "")
