"""The service's unit forbids memory that is writable and executable (MemoryDenyWriteExecute=): no module and no library
may need it.
"""

import subprocess
import sys

import pytest

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
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True, timeout=60
    )
    if done.returncode == 77:
        pytest.skip("this kernel cannot refuse such memory to a process (Linux 6.3)")
    assert (done.returncode, done.stderr) == (0, "")
