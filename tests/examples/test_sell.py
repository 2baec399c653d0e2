"""The example script for a till, with the real daemon and simulated payments."""

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.real_shop import RealShop

SCRIPT = Path(__file__).parents[2] / "examples" / "sell.sh"


def test_a_sale_shows_the_code_and_waits_for_the_money(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    momo = programs / "momo"
    momo.write_text(f'#!/bin/sh\nexec {sys.executable} -m momo_cli "$@"\n')
    momo.chmod(0o755)
    with RealShop(tmp_path / "shop") as shop:
        shop.start()
        path = f"{programs}:{os.environ['PATH']}"
        sale = subprocess.Popen(
            ["sh", str(SCRIPT), "12.50", "0244124567", "--sandbox"],
            env={**shop.environ, "PATH": path, "PYTHONPATH": str(SCRIPT.parents[1])},
            stdout=subprocess.PIPE,
            text=True,
        )
        with sale:
            assert sale.stdout is not None
            said = sale.stdout.readline()
            code = said.split()[-1]
            assert said == f"Type this code as the reference: {code}\n"
            done = shop.momo("simulate", "payment", "--order", code)
            assert done.returncode == 0, done.stderr
            assert sale.wait(30) == 0
            assert sale.stdout.read().startswith("Paid: 12.50 for svc_trx_")
