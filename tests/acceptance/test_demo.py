"""`momo demo`, as a newcomer runs it."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from rich.console import Console

from daemon.demo.story import print_command
from tests.fakes.postgresql_server import ThrowAwayServer, is_installed
from tests.fakes.real_shop import ROOT


def test_the_demo_plays_one_payment_to_its_end_and_leaves_nothing_behind(tmp_path: Path) -> None:
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "momo_cli", "demo"],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "160", "NO_COLOR": "1"},
        capture_output=True, text=True, timeout=80, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    code = re.search(r"types the payment code ([0-9A-Z]{6}) as the reference", said)
    assert code is not None
    assert f"Reference: {code[1]}." in said, "the receipt carries the code"
    assert "The transaction is SUCCESS received 25.00 of 25.00, MTN transaction 86105511902" in said
    told = "transaction.forwarded GHS 25.00 from KOFI BOATENG, SUCCESS, signature verified ocl_"
    assert said.count(told) == said.count("transaction.") == 1, "one webhook for the endpoint"
    assert said.endswith("Paid, recorded, and sent to the shop's software.")
    assert list(tmp_path.iterdir()) == [], "its folder is gone"
    assert time.perf_counter() - begun < 60


def test_its_commands_are_on_one_line_however_narrow_the_terminal_is() -> None:
    command = "momo lines add --phone 0244111222 --name 'Ama Mensah' --sim huawei-e173:0"
    printed = io.StringIO()
    print_command(Console(file=printed, width=40), command)
    assert printed.getvalue() == f"  $ {command}\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_demo_of_a_hub_pays_at_branches_also_while_the_line_is_cut() -> None:
    # pytest's own folders have long names, and the path of a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="m-") as folder, contextlib.ExitStack() as stack:
        store = ["--store", stack.enter_context(ThrowAwayServer()).new_database()] if is_installed() else []
        done = subprocess.run(
            [sys.executable, "-m", "tests.hub_demo", *store],
            cwd=ROOT, env={**os.environ, "TMPDIR": folder, "COLUMNS": "160", "NO_COLOR": "1"},
            capture_output=True, text=True, timeout=280, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        left = list(Path(folder).iterdir())
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "head office sees the payments of today: kumasi 2, tamale 1" in said
    assert ("with every order" in said) == is_installed(), "a standby takes over on PostgreSQL"
    assert said.endswith("Each payment was used once, whatever the line did.")
    assert left == [], "its folders are gone"
